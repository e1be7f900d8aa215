//! The lines of a command's output as they come, for whoever watches it. Nobody waits for the watcher: lines that
//! it can't take are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

/// Lines that may wait.
const WAITING: usize = 1_000;
/// Most bytes of a line; the rest of it is left out.
const LINE: usize = 2_000;

/// Where lines go in.
pub(super) struct Lines {
    part: Vec<u8>,
    sender: mpsc::Sender<String>,
    lost: Arc<AtomicU64>,
}

/// Where they come out; ends when the command has.
pub(super) struct Heard {
    receiver: mpsc::Receiver<String>,
    lost: Arc<AtomicU64>,
}

/// Both ends.
pub(super) fn lines() -> (Lines, Heard) {
    let (sender, receiver) = mpsc::channel(WAITING);
    let lost = Arc::new(AtomicU64::new(0));
    (Lines { part: Vec::new(), sender, lost: Arc::clone(&lost) }, Heard { receiver, lost })
}

impl Lines {
    /// Takes in a part of the output.
    pub(super) fn take(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.add(&rest[..end]);
            self.send();
            rest = &rest[end + 1..];
        }
        self.add(rest);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = LINE.saturating_sub(self.part.len());
        self.part.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn send(&mut self) {
        let line = String::from_utf8_lossy(&self.part).trim_end().to_owned();
        self.part.clear();
        if !line.is_empty() && self.sender.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Lines {
    /// The last line may lack its end.
    fn drop(&mut self) {
        self.send();
    }
}

impl Heard {
    /// The next line; none when all has been said.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.receiver.recv().await
    }

    /// How many lines could not be taken since the last time this was asked.
    pub(super) fn lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: A2
    #[tokio::test]
    async fn lines_are_whole_wherever_the_output_is_cut() {
        let text = "one\ntwo \u{e9}\n\nthree";
        for cut in 0..=text.len() {
            let (mut lines, mut heard) = lines();
            lines.take(&text.as_bytes()[..cut]);
            lines.take(&text.as_bytes()[cut..]);
            drop(lines);
            let mut told = Vec::new();
            while let Some(line) = heard.next().await {
                told.push(line);
            }
            assert_eq!(told, ["one", "two \u{e9}", "three"], "cut at {cut}");
        }
    }

    // proves: A2
    #[tokio::test]
    async fn what_nobody_takes_is_counted_and_holds_nothing_up() {
        let (mut lines, mut heard) = lines();
        lines.take("x\n".repeat(WAITING + 7).as_bytes());
        lines.take(&[b'y'; 3 * LINE]);
        assert_eq!((heard.lost(), heard.lost()), (7, 0));
        assert_eq!(heard.next().await.as_deref(), Some("x"));
        drop(lines);
        let mut last = String::new();
        while let Some(line) = heard.next().await {
            last = line;
        }
        assert_eq!(last.len(), LINE, "a line has a limit");
    }
}
