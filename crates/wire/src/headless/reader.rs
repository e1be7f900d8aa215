//! Lines from a host or a terminal, each of bounded length. One task owns the reader and ends with its owner.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Most bytes of a line: what images in a prompt need, and no more.
const LONGEST: usize = 64 * 1024 * 1024;

/// Lines that wait to be taken. Few: each may be long, and control is taken at once.
const WAITING: usize = 4;

/// What was read.
#[derive(Debug, PartialEq)]
pub(super) enum Read {
    /// A line without its end.
    Line(String),
    /// A line that can't be taken, and why; the next one can.
    Bad(String),
    /// Nothing more comes.
    End,
}

/// The reading end; dropped, it ends the task.
pub(super) struct Lines {
    receiver: mpsc::Receiver<Read>,
    _task: JoinSet<()>,
}

impl Lines {
    pub(super) fn new(reader: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        Self::with_limit(reader, LONGEST)
    }

    fn with_limit(reader: Box<dyn AsyncRead + Send + Unpin>, longest: usize) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let mut task = JoinSet::new();
        task.spawn(read(BufReader::new(reader), longest, sender));
        Self { receiver, _task: task }
    }

    /// The next line. Safe to be dropped while it waits.
    pub(super) async fn next(&mut self) -> Read {
        self.receiver.recv().await.unwrap_or(Read::End)
    }
}

async fn read(
    mut reader: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    longest: usize,
    sender: mpsc::Sender<Read>,
) {
    let mut line = Vec::new();
    let mut over = false;
    loop {
        let (used, ended) = match reader.fill_buf().await {
            Ok([]) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let part = &bytes[..end.unwrap_or(bytes.len())];
                over |= line.len() + part.len() > longest;
                if over {
                    line = Vec::new();
                } else {
                    line.extend_from_slice(part);
                }
                (part.len() + usize::from(end.is_some()), end.is_some())
            }
            Err(error) => {
                let _ = sender.send(Read::Bad(format!("reading failed: {error}"))).await;
                break;
            }
        };
        reader.consume(used);
        if ended && !give(&sender, std::mem::take(&mut line), std::mem::take(&mut over), longest).await {
            return;
        }
    }
    // A last line without its end counts.
    if over || !line.is_empty() {
        give(&sender, line, over, longest).await;
    }
    let _ = sender.send(Read::End).await;
}

/// Hands a line on; `false` when nobody wants any.
async fn give(sender: &mpsc::Sender<Read>, line: Vec<u8>, over: bool, longest: usize) -> bool {
    let read = if over {
        Read::Bad(format!("a line is longer than {longest} bytes"))
    } else {
        match String::from_utf8(line) {
            Ok(line) if line.trim().is_empty() => return true,
            Ok(line) => Read::Line(line),
            Err(_) => Read::Bad("a line is not UTF-8".to_owned()),
        }
    };
    sender.send(read).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &'static [u8], longest: usize) -> Vec<Read> {
        let mut lines = Lines::with_limit(Box::new(bytes), longest);
        let mut read = Vec::new();
        loop {
            match lines.next().await {
                Read::End => return read,
                other => read.push(other),
            }
        }
    }

    fn line(text: &str) -> Read {
        Read::Line(text.to_owned())
    }

    #[tokio::test]
    async fn lines_with_and_without_an_end() {
        assert_eq!(all(b"a\r\n\n  \nb", 10).await, [line("a\r"), line("b")]);
        assert!(all(b"", 10).await.is_empty());
    }

    #[tokio::test]
    async fn a_bad_line_costs_only_itself() {
        let read = all(b"0123456789\n01234567890\n\xff\nlast", 10).await;
        assert_eq!(read.len(), 4);
        assert_eq!(read[0], line("0123456789"));
        assert!(matches!(&read[1], Read::Bad(why) if why.contains("longer than 10")));
        assert!(matches!(&read[2], Read::Bad(why) if why.contains("UTF-8")));
        assert_eq!(read[3], line("last"));
    }
}
