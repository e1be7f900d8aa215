//! Writers and readers of one team, killed at random: what was acknowledged is applied, once, in the sender's order.
//!
//! `TROUPE_TORTURE_SECONDS` says how long; without it a few seconds.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use troupe_testkit::post::TEAM;
use troupe_testkit::process::{pause, poll};

use super::MAILER;

/// How long the last messages may take once nothing more is killed, in a debug build on a busy machine.
const DRAIN: Duration = Duration::from_mins(2);

/// A process with what it has printed.
struct Process {
    child: Child,
    lines: Option<JoinHandle<Vec<String>>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start(words: &[&str]) -> Self {
        let mut child = Command::new(MAILER).args(words).stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        // A last line without its end was not said.
        let whole = |out: ChildStdout| {
            let mut lines = Vec::new();
            let (mut out, mut line) = (BufReader::new(out), String::new());
            while out.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
                lines.push(std::mem::take(&mut line));
            }
            lines
        };
        Self { child, lines: Some(std::thread::spawn(move || whole(out))) }
    }

    fn kill(mut self) -> Vec<String> {
        assert!(self.child.try_wait().unwrap().is_none(), "it ended by itself");
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lines.take().unwrap().join().unwrap()
    }
}

struct Torture {
    home: tempfile::TempDir,
    format: &'static str,
    readers: Vec<String>,
    /// Milliseconds between two messages of a writer.
    pause: usize,
    /// The length of a text.
    bytes: usize,
    /// By writer, how many numbers from 0 were acknowledged.
    acknowledged: HashMap<String, usize>,
    repeated: usize,
    refused: usize,
}

impl Torture {
    fn new(format: &'static str, writers: usize, readers: usize, pause: usize, bytes: usize) -> Self {
        let acknowledged = (0..writers).map(|n| (format!("w{n}"), 0)).collect();
        let readers = (0..readers).map(|n| format!("r{n}")).collect();
        let home = tempfile::tempdir().unwrap();
        Self { home, format, readers, pause, bytes, acknowledged, repeated: 0, refused: 0 }
    }

    fn home(&self) -> &str {
        self.home.path().to_str().unwrap()
    }

    fn transcript(&self, reader: &str) -> PathBuf {
        self.home.path().join(format!("{reader}.transcript"))
    }

    fn writer(&self, name: &str) -> Process {
        let [first, pause, bytes] = [self.acknowledged[name], self.pause, self.bytes].map(|n| n.to_string());
        Process::start(&[
            "write",
            self.home(),
            self.format,
            name,
            &self.readers.join(","),
            &first,
            &pause,
            &bytes,
        ])
    }

    fn reader(&self, name: &str) -> Process {
        Process::start(&["read", self.home(), self.format, name, self.transcript(name).to_str().unwrap()])
    }

    fn end_writer(&mut self, name: &str, process: Process) {
        for line in process.kill() {
            if line.starts_with("refused") {
                self.refused += 1;
                continue;
            }
            let number: usize = line.strip_prefix("sent ").unwrap().trim().parse().unwrap();
            let next = self.acknowledged.get_mut(name).unwrap();
            assert_eq!(number, *next, "{name} sends its numbers in order");
            *next += 1;
        }
    }

    fn end_reader(&mut self, process: Process) {
        let lines = process.kill();
        self.repeated += lines.iter().filter(|line| line.starts_with("again")).count();
        let failed: Vec<_> = lines.iter().filter(|line| line.starts_with("failed")).collect();
        // The array's lock may not be had in time; the message comes again then.
        assert!(failed.is_empty() || self.format == "array", "{failed:?}");
    }

    #[expect(
        clippy::print_stderr,
        reason = "the seed of a run, and what it came to, are for who reads the test's output"
    )]
    fn run(mut self) {
        let seed = fastrand::u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let names: Vec<String> = self.acknowledged.keys().cloned().collect();
        let mut writers: HashMap<String, Process> =
            names.iter().map(|name| (name.clone(), self.writer(name))).collect();
        let mut readers: HashMap<String, Process> =
            self.readers.clone().iter().map(|name| (name.clone(), self.reader(name))).collect();
        let (start, mut killed) = (Instant::now(), 0);
        while start.elapsed() < length() {
            pause(Duration::from_millis(random.u64(10..80)));
            killed += 1;
            if random.u8(0..3) == 0 {
                let name = random.choice(&self.readers).unwrap().clone();
                self.end_reader(readers.remove(&name).unwrap());
                readers.insert(name.clone(), self.reader(&name));
            } else {
                let name = random.choice(&names).unwrap();
                self.end_writer(name, writers.remove(name).unwrap());
                writers.insert(name.clone(), self.writer(name));
            }
        }
        for (name, process) in writers {
            self.end_writer(&name, process);
        }
        let wanted: HashSet<String> = self
            .acknowledged
            .iter()
            .flat_map(|(name, count)| (0..*count).map(move |n| format!("{name}-{n}")))
            .collect();
        let there = || {
            let applied: HashSet<String> =
                self.readers.iter().flat_map(|name| applied(&self.transcript(name))).collect();
            wanted.is_subset(&applied).then_some(())
        };
        poll(&format!("seed {seed}: what was acknowledged is applied"), DRAIN, || {
            pause(Duration::from_millis(50));
            there()
        });
        for (_, process) in readers {
            self.end_reader(process);
        }
        for (n, reader) in self.readers.iter().enumerate() {
            self.check(n, &applied(&self.transcript(reader)));
        }
        eprintln!(
            "{}: seed {seed}, {killed} killed, {} acknowledged, {} repeated, {} refused, {} bytes in the mailboxes",
            self.format,
            wanted.len(),
            self.repeated,
            self.refused,
            self.size()
        );
        assert!(wanted.len() > names.len(), "there was something to lose");
    }

    fn size(&self) -> u64 {
        let inboxes = self.home.path().join("teams").join(TEAM).join("inboxes");
        std::fs::read_dir(inboxes).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    }

    /// What reader `n` applied: its own, once, in order.
    fn check(&self, n: usize, applied: &[String]) {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for id in applied {
            let (writer, number) = id.split_once('-').unwrap();
            let number: usize = number.parse().unwrap();
            assert_eq!(number % self.readers.len(), n, "{id} is not for this one");
            let before = last.insert(writer, number);
            assert!(before.is_none_or(|before| before < number), "{id} after {before:?}");
        }
    }
}

/// The whole lines of a file.
fn applied(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |last| last + 1);
    text[..whole].lines().map(str::to_owned).collect()
}

#[expect(clippy::disallowed_methods, reason = "whoever runs the tests says how long")]
fn length() -> Duration {
    let seconds = std::env::var("TROUPE_TORTURE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

// proves: M1, M4, F043
#[test]
fn fifty_writers_and_five_readers_killed_at_random_lose_repeat_and_reorder_nothing() {
    // Long texts, so that old mail goes; in a long run as much in all, so that the readers keep up.
    let (pause, bytes) = if length().as_secs() <= 5 { (40, 10_000) } else { (100, 1_000) };
    Torture::new("journal", 50, 5, pause, bytes).run();
}

// proves: M1, F042
#[test]
fn ten_writers_of_array_files_killed_at_random_lose_nothing() {
    Torture::new("array", 10, 2, 40, 40).run();
}
