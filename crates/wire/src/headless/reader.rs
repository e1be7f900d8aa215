//! Lines from a host or a terminal, each of bounded length. A host's are read ahead by one task that ends with
//! its owner; a person's are read only while they are waited for.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Most bytes of a line: what images in a prompt need, and no more.
const LONGEST: usize = 64 * 1024 * 1024;

/// Most bytes of a person's answer.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Lines that wait to be taken. Few: each may be long, and control is taken at once.
const WAITING: usize = 4;

/// Most pieces of what was typed ahead that are thrown away at once: an endless reader must not hold the run.
const MOST_FORGOTTEN: usize = 1024;

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
        task.spawn(read_ahead(Source::new(reader, longest), sender));
        Self { receiver, _task: task }
    }

    /// The next line. Safe to be dropped while it waits.
    pub(super) async fn next(&mut self) -> Read {
        self.receiver.recv().await.unwrap_or(Read::End)
    }
}

async fn read_ahead(mut source: Source, sender: mpsc::Sender<Read>) {
    loop {
        let read = source.next().await;
        let ended = read == Read::End;
        if sender.send(read).await.is_err() || ended {
            return;
        }
    }
}

/// A person's answers: nothing is read before somebody waits for it.
pub(super) struct Answers {
    source: Source,
    forget: Arc<dyn Fn() + Send + Sync>,
}

impl Answers {
    /// `forget` throws away what was typed and not read yet.
    pub(super) fn new(
        reader: Box<dyn AsyncRead + Send + Unpin>,
        forget: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self { source: Source::new(reader, LONGEST_ANSWER), forget }
    }

    /// The next line. Safe to be dropped while it waits.
    pub(super) async fn next(&mut self) -> Read {
        self.source.next().await
    }

    /// Throws away what came so far, half a line too: it was typed for something else.
    pub(super) fn forget(&mut self) {
        (self.forget)();
        self.source.forget();
    }
}

/// A reader and what is known of its next line.
struct Source {
    reader: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    longest: usize,
    line: Vec<u8>,
    /// Whether the line is too long.
    over: bool,
    ended: bool,
}

impl Source {
    fn new(reader: Box<dyn AsyncRead + Send + Unpin>, longest: usize) -> Self {
        Self { reader: BufReader::new(reader), longest, line: Vec::new(), over: false, ended: false }
    }

    /// The next line that is not empty. Safe to be dropped while it waits: it waits only for bytes, and all that
    /// came is kept.
    async fn next(&mut self) -> Read {
        while !self.ended {
            let (used, ended) = match self.reader.fill_buf().await {
                Ok([]) => break,
                Ok(bytes) => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let part = &bytes[..end.unwrap_or(bytes.len())];
                    self.over |= self.line.len() + part.len() > self.longest;
                    if self.over {
                        self.line = Vec::new();
                    } else {
                        self.line.extend_from_slice(part);
                    }
                    (part.len() + usize::from(end.is_some()), end.is_some())
                }
                Err(error) => {
                    self.ended = true;
                    return Read::Bad(format!("reading failed: {error}"));
                }
            };
            self.reader.consume(used);
            if ended && let Some(read) = self.take() {
                return read;
            }
        }
        self.ended = true;
        // A last line without its end counts.
        self.take().unwrap_or(Read::End)
    }

    /// The line as it is now; none if nothing stands in it.
    fn take(&mut self) -> Option<Read> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.over) {
            return Some(Read::Bad(format!("a line is longer than {} bytes", self.longest)));
        }
        match String::from_utf8(line) {
            Ok(line) if line.trim().is_empty() => None,
            Ok(line) => Some(Read::Line(line)),
            Err(_) => Some(Read::Bad("a line is not UTF-8".to_owned())),
        }
    }

    /// Throws away what was read, and what can be read without waiting.
    fn forget(&mut self) {
        self.line.clear();
        self.over = false;
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..MOST_FORGOTTEN {
            // Whether it may read on is no matter of how much this task did before.
            let mut bytes = pin!(tokio::task::unconstrained(self.reader.fill_buf()));
            let count = match bytes.as_mut().poll(&mut context) {
                Poll::Ready(Ok(bytes)) => bytes.len(),
                // Whoever reads next hears of the error, if it lasts.
                Poll::Ready(Err(_)) | Poll::Pending => 0,
            };
            if count == 0 {
                return;
            }
            self.reader.consume(count);
        }
    }
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

    // proves: S2
    #[tokio::test]
    async fn what_was_typed_before_a_question_answers_nothing() {
        use tokio::io::AsyncWriteExt as _;

        let (terminal, mut person) = tokio::io::duplex(64 * 1024);
        let flushed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = Arc::clone(&flushed);
        let flush = move || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let mut answers = Answers::new(Box::new(terminal), Arc::new(flush));
        assert!(person.write_all("a\ny\n".repeat(10_000).as_bytes()).await.is_ok());
        assert!(person.write_all(b"alw").await.is_ok());
        answers.forget();
        assert_eq!(flushed.load(std::sync::atomic::Ordering::Relaxed), 1);
        assert!(person.write_all(b"n\nno").await.is_ok());
        assert_eq!(answers.next().await, line("n"));
        // Half a line that a wait has read already goes too.
        assert!(tokio::time::timeout(std::time::Duration::ZERO, answers.next()).await.is_err());
        answers.forget();
        assert!(person.write_all(b"y\n").await.is_ok());
        drop(person);
        assert_eq!(answers.next().await, line("y"));
        answers.forget();
        assert_eq!(answers.next().await, Read::End, "an end is not forgotten");
    }
}
