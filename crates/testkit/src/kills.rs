//! A program that is killed at a chosen moment of its work, and started again.

use std::path::Path;
use std::time::Duration;

use crate::process::{LIMIT, Run, pause, poll};

/// The seed of a test that kills at random; it is printed, and a failed run is repeated with it (`TROUPE_SEED`).
///
/// # Panics
/// When the variable holds no number.
#[expect(clippy::disallowed_methods, reason = "a failed run is repeated with its seed")]
#[expect(clippy::print_stderr, reason = "the seed is for who reads the test's output")]
pub fn seed(random: u64) -> u64 {
    let given = std::env::var("TROUPE_SEED").ok();
    let seed = given.map_or(random, |seed| seed.parse().expect("TROUPE_SEED is a number"));
    eprintln!("TROUPE_SEED={seed}");
    seed
}

/// Bytes of transcripts and queues below a folder, which grow with each thing that is recorded.
pub fn progress(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => progress(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// Kills a program a moment after its state holds so many bytes; whether it had not ended before.
///
/// # Panics
/// When it does neither within [`LIMIT`].
pub fn kill_at(mut run: Run, state: &Path, bytes: u64, later: Duration) -> bool {
    poll("progress", LIMIT, || (run.has_ended() || progress(state) >= bytes).then_some(()));
    // A kill right after a write would always find the same half of what is done.
    pause(later);
    if run.has_ended() {
        return false;
    }
    run.kill();
    true
}
