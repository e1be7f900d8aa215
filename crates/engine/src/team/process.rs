//! Processes that are found again by number and start, and ended with all below them, verified.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};
use troupe_core::team::Owner;

/// How long a process that was asked to end may take; a session ends its commands meanwhile.
const GRACE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 8 });
/// How long the system may take to end one that was killed.
const KILLED: Duration = Duration::from_secs(3);
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// How many processes above this one are looked at.
const DEEPEST: usize = 64;

/// What is known of a process now.
#[derive(Clone, Debug)]
struct Seen {
    owner: Owner,
    parent: u32,
}

/// This process.
pub fn own() -> Option<Owner> {
    owner(std::process::id())
}

/// The process of this number, if it is there and has not ended.
pub fn owner(pid: u32) -> Option<Owner> {
    seen(pid).map(|seen| seen.owner)
}

/// Whether it is still there. One that only waits to be reaped is not.
pub fn is_alive(owner: &Owner) -> bool {
    self::owner(owner.pid).as_ref() == Some(owner)
}

/// Whether it is this process, or one above it.
pub fn is_above(owner: &Owner) -> bool {
    let mut pid = std::process::id();
    // A table that changes meanwhile may lead round in a circle.
    for _ in 0..DEEPEST {
        let Some(seen) = seen(pid) else { return false };
        if seen.owner == *owner {
            return true;
        }
        pid = seen.parent;
    }
    false
}

/// Ends a process and all below it: asks, waits, kills; whether none of them is there any more.
pub async fn end(owner: &Owner) -> bool {
    end_within(owner, GRACE).await
}

/// The same, with another time between the question and the kill.
pub(super) async fn end_within(owner: &Owner, grace: Duration) -> bool {
    if !is_alive(owner) {
        return true;
    }
    let mut tree = below(owner);
    signal(owner, Signal::TERM);
    signal(owner, Signal::CONT);
    let until = Instant::now() + grace;
    while is_alive(owner) && Instant::now() < until {
        sleep(LOOK).await;
    }
    // Also what came meanwhile: with its parent gone it is found no more.
    tree.extend(below(owner));
    tree.push(owner.clone());
    for one in &tree {
        signal(one, Signal::KILL);
    }
    let until = Instant::now() + KILLED;
    while tree.iter().any(is_alive) && Instant::now() < until {
        sleep(LOOK).await;
    }
    !tree.iter().any(is_alive)
}

fn signal(owner: &Owner, signal: Signal) {
    let pid = i32::try_from(owner.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| is_alive(owner)) {
        // It may have ended by now, which is what is wanted.
        let _ = kill_process(pid, signal);
    }
}

/// All that a process has started and what these have, as far as it hangs together.
fn below(owner: &Owner) -> Vec<Owner> {
    let all = all();
    let mut found: Vec<Owner> = Vec::new();
    let mut next = vec![owner.pid];
    while let Some(parent) = next.pop() {
        for child in all.iter().filter(|seen| seen.parent == parent) {
            if !found.contains(&child.owner) && child.owner.pid != owner.pid {
                found.push(child.owner.clone());
                next.push(child.owner.pid);
            }
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn seen(pid: u32) -> Option<Seen> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // `pid (name) state parent … start` with the start as the 22nd; the name may have anything in it.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(Seen { owner: Owner { pid, start }, parent })
}

#[cfg(target_os = "linux")]
fn all() -> Vec<Seen> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pid = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    entries.flatten().filter_map(pid).filter_map(seen).collect()
}

#[cfg(not(target_os = "linux"))]
fn seen(pid: u32) -> Option<Seen> {
    listed(&["-p", &pid.to_string()]).into_iter().next()
}

#[cfg(not(target_os = "linux"))]
fn all() -> Vec<Seen> {
    listed(&["-A"])
}

/// Processes as `ps` has them; the start is a digest of its words.
#[cfg(not(target_os = "linux"))]
fn listed(which: &[&str]) -> Vec<Seen> {
    use sha2::{Digest as _, Sha256};
    let said = std::process::Command::new("ps")
        .args(which)
        .args(["-o", "pid=,ppid=,stat=,lstart="])
        .env("LC_ALL", "C")
        .output();
    let Ok(said) = said else { return Vec::new() };
    let read = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        if words.next()?.starts_with('Z') {
            return None;
        }
        let start: Vec<&str> = words.collect();
        let digest = Sha256::digest(start.join(" "));
        let start = u64::from_be_bytes(digest.first_chunk().copied()?);
        Some(Seen { owner: Owner { pid, start }, parent })
    };
    String::from_utf8_lossy(&said.stdout).lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: X17
    #[test]
    fn a_process_is_the_same_by_number_and_start_alone() {
        assert_eq!(own().map(|own| is_alive(&own) && is_above(&own)), Some(true));
        assert_eq!(owner(1).map(|first| is_above(&first)), Some(true));
        let other = own().map(|own| Owner { start: own.start + 1, ..own });
        assert_eq!(other.map(|other| is_alive(&other) || is_above(&other)), Some(false));
    }
}
