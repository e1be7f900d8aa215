//! The end of a member's own process, whatever its model says (X17). A pane that was opened for it goes with the process;
//! one that a person opened is never touched.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};
use tokio::time::{Instant, sleep};
use troupe_core::team::{BackendKind, Member, Owner};

use super::process;

/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);
/// How long the system may take to end it.
const KILL: Duration = Duration::from_secs(5);
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// How a member has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its process was there, and is gone.
    Now,
    /// Its process was gone already, or its number is another's by now.
    Before,
    /// It has no process of its own: it goes with its lead's.
    WithLead,
}

/// Why a member's process is there still.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndError {
    /// The system forbids it.
    #[error("process {pid} of {name} can't be ended: {why}")]
    Refused {
        /// Whose.
        name: String,
        /// Which.
        pid: u32,
        /// What the system said.
        why: String,
    },
    /// It was killed and is there.
    #[error("process {pid} of {name} is there still")]
    Alive {
        /// Whose.
        name: String,
        /// Which.
        pid: u32,
    },
}

/// Ends the process that a member's pane was opened with: asked first, then killed; whether it is gone is looked at.
///
/// # Errors
/// See [`EndError`].
pub async fn end_member(member: &Member) -> Result<Ended, EndError> {
    end_within(member, GRACE).await
}

async fn end_within(member: &Member, grace: Duration) -> Result<Ended, EndError> {
    let has_own = matches!(member.backend_type, Some(BackendKind::Tmux | BackendKind::Iterm2));
    let Some(owner) = member.process.as_ref().filter(|_| has_own) else { return Ok(Ended::WithLead) };
    if !process::is_alive(owner) {
        return Ok(Ended::Before);
    }
    for (signal, limit) in [(Signal::TERM, grace), (Signal::KILL, KILL)] {
        signal_to(&member.name, owner, signal)?;
        if ends(owner, limit).await {
            return Ok(Ended::Now);
        }
    }
    Err(EndError::Alive { name: member.name.clone(), pid: owner.pid })
}

/// Signals the process, and all that it leads where it leads a group: a shell around the member ignores TERM.
fn signal_to(name: &str, owner: &Owner, signal: Signal) -> Result<(), EndError> {
    let pid = i32::try_from(owner.pid).ok().and_then(Pid::from_raw);
    // Looked at once more: the number may be another's since.
    let Some(pid) = pid.filter(|_| process::is_alive(owner)) else { return Ok(()) };
    let leads = getpgid(Some(pid)).is_ok_and(|group| group == pid);
    let sent = if leads { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
    match sent {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => {
            Err(EndError::Refused { name: name.to_owned(), pid: owner.pid, why: error.to_string() })
        }
    }
}

async fn ends(owner: &Owner, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    while process::is_alive(owner) {
        if Instant::now() >= until {
            return false;
        }
        sleep(LOOK).await;
    }
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn child(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    fn member(pid: u32, start: u64) -> Member {
        let process = Some(Owner { pid, start });
        Member { name: "ann".into(), process, backend_type: Some(BackendKind::Tmux), ..Member::default() }
    }

    // proves: X17, F059
    #[tokio::test]
    async fn a_process_ends_by_number_and_start_and_no_other_does() {
        let mut process = child("echo; read line");
        let pid = process.id();
        // It runs its own program from its first line on.
        std::io::Read::read_exact(process.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let start = process::started(pid).unwrap();
        assert_eq!(end_member(&member(pid, start + 1)).await, Ok(Ended::Before));
        assert!(process.try_wait().unwrap().is_none(), "the number alone ends nothing");
        let here = Member { backend_type: Some(BackendKind::InProcess), ..member(pid, start) };
        assert_eq!(end_member(&here).await, Ok(Ended::WithLead));
        assert!(process.try_wait().unwrap().is_none());
        assert_eq!(end_member(&member(pid, start)).await, Ok(Ended::Now));
        assert!(!process.wait().unwrap().success());
        assert_eq!(end_member(&member(pid, start)).await, Ok(Ended::Before));
    }

    // proves: F059
    #[tokio::test]
    async fn one_that_ignores_the_request_is_killed() {
        let mut process = child("trap '' TERM; echo; while :; do read line; done");
        let pid = process.id();
        std::io::Read::read_exact(process.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let start = process::started(pid).unwrap();
        assert_eq!(end_within(&member(pid, start), Duration::from_millis(50)).await, Ok(Ended::Now));
        let status = process.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}
