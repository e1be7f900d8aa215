//! What the kernel tells of a process, read from `/proc`. The calls for it have no answer that `rustix` can hold
//! when a group or a session is led from outside of our space of numbers, as in a container that was entered:
//! they give 0.

use rustix::process::Pid;

/// A process, as `/proc/PID/stat` has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Whether it has ended and only waits to be reaped.
    pub(super) zombie: bool,
    /// Its process group; 0 if that is led from outside.
    pub(super) group: i32,
    /// Its session; 0 if that is led from outside.
    pub(super) session: i32,
}

impl Stat {
    /// Of a process that is there and may be seen.
    pub(super) fn of(pid: Pid) -> Option<Self> {
        Self::read(&std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?)
    }

    /// Of this program.
    pub(super) fn own() -> Option<Self> {
        Self::read(&std::fs::read("/proc/self/stat").ok()?)
    }

    /// `pid (name) state parent group session …`; the name may have anything in it.
    fn read(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        Some(Self { zombie, group: fields.nth(1)?.parse().ok()?, session: fields.next()?.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::Stat;

    // proves: X21
    #[test]
    fn a_process_is_read_whatever_its_name() {
        let read = |text: &str| Stat::read(text.as_bytes());
        let stat = |zombie, group, session| Some(Stat { zombie, group, session });
        assert_eq!(read("7 (a) S 1 7 5 0 -1 4194304 1"), stat(false, 7, 5));
        assert_eq!(read("7 (a) Z 9 9) Z 1 0 0 0 -1"), stat(true, 0, 0));
        assert_eq!(read("7 (a) S 1"), None);
        assert_eq!(read(""), None);
    }
}
