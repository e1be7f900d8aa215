//! Mail, measured: from one process to another, of one writer, and beside mailboxes of different sizes.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement prints, and fails by panicking")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use troupe_engine::team::Teams;
use troupe_engine::team::mailbox::Mailbox;
use troupe_engine::team::reader::Reader;

use super::{TEAM, message};

/// Messages from one process to the other, and the pause between them.
const DELIVERIES: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(3);
/// Messages of one writer in a row.
const ROW: u32 = 50_000;
/// Sizes of mailboxes, and how many messages are measured in each.
const SIZES: [usize; 4] = [10, 1_000, 100_000, 1_000_000];
const SAMPLES: u32 = 200;
/// The length of a text.
const TEXT: usize = 100;

fn mail(home: &Path) -> Arc<dyn Mailbox> {
    Teams::new(home.to_owned()).place(TEAM).unwrap().mail(false)
}

#[expect(clippy::disallowed_methods, reason = "the one clock that two processes share")]
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()
}

/// Measures all, in a folder that is empty again afterwards.
///
/// # Panics
/// When something can't be measured.
pub async fn run(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let home = tempfile::tempdir_in(folder).unwrap();
    deliveries(&home.path().join("delivery")).await;
    row(&home.path().join("row")).await;
    sizes(&home.path().join("sizes")).await;
}

async fn deliveries(home: &Path) {
    let mut reader = Command::new(std::env::current_exe().unwrap())
        .args(["latency", home.to_str().unwrap(), &DELIVERIES.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let mailbox = mail(home);
    for n in 0..DELIVERIES {
        let mut message = message("a", "lead", n, 0);
        message.text = now().to_string();
        mailbox.send(&message).await.unwrap();
        tokio::time::sleep(PAUSE).await;
    }
    let mut micros: Vec<u64> = lines.map(|line| line.unwrap().parse().unwrap()).collect();
    assert!(reader.wait().unwrap().success());
    micros.sort_unstable();
    let at = |share: usize| micros[(micros.len() * share / 100).min(micros.len() - 1)];
    println!("delivery between two processes: median {} µs, p99 {} µs, most {} µs", at(50), at(99), at(100));
}

/// The reader's side: how long each message took, in microseconds, a line each.
///
/// # Panics
/// When it can't be read.
pub async fn report_latency(home: &str, count: usize) {
    let mut reader = Reader::open(mail(Path::new(home)), "lead").await.unwrap();
    println!("ready");
    let mut out = Vec::new();
    for _ in 0..count {
        let waiting = reader.next().await.unwrap();
        let sent: u128 = waiting.message.text.parse().unwrap();
        out.push(now().saturating_sub(sent) / 1_000);
        reader.done(waiting.position).await.unwrap();
    }
    let mut stdout = std::io::stdout().lock();
    for micros in out {
        writeln!(stdout, "{micros}").unwrap();
    }
}

async fn row(home: &Path) {
    let mailbox = mail(home);
    let start = Instant::now();
    for n in 0..ROW {
        mailbox.send(&message("a", "lead", n as usize, TEXT)).await.unwrap();
    }
    let per_second = f64::from(ROW) / start.elapsed().as_secs_f64();
    println!("one writer, not synced: {per_second:.0} messages/s");
}

/// What a message costs a process that never saw the mailbox before, and its reader, which is at the end.
async fn sizes(home: &Path) {
    let mailbox = mail(home);
    let mut count = 0;
    for size in SIZES {
        while count < size {
            mailbox.send(&message("a", "lead", count, TEXT)).await.unwrap();
            count += 1;
        }
        let (mut sent, mut read) = (Duration::ZERO, Duration::ZERO);
        let reader = mail(home);
        let mut at = u64::try_from(count).unwrap();
        // From then on it knows its place.
        assert_eq!(reader.unread("lead", at - 1).await.unwrap().waiting.len(), 1);
        for _ in 0..SAMPLES {
            let writer = mail(home);
            let start = Instant::now();
            writer.send(&message("a", "lead", count, TEXT)).await.unwrap();
            sent += start.elapsed();
            let start = Instant::now();
            let unread = reader.unread("lead", at).await.unwrap();
            read += start.elapsed();
            assert_eq!(unread.waiting.len(), 1);
            (at, count) = (unread.waiting[0].position, count + 1);
        }
        let micros = |all: Duration| all.as_secs_f64() * 1e6 / f64::from(SAMPLES);
        println!("at {size} messages: {:.1} µs to send, {:.1} µs to read", micros(sent), micros(read));
    }
}
