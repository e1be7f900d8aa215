//! The end of a member's own process, whatever its model says (X17). A pane that was opened for it goes with the process;
//! one that a person opened is never touched.

use troupe_core::team::Member;

use super::backend::{self, PaneError};
use super::process;

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

/// Ends the process that a member's pane was opened with, and all below it: asked first, then killed; whether it is gone is
/// looked at. Then its pane is closed, unless something else runs in it by now.
///
/// # Errors
/// [`PaneError`], when something of it is there still.
pub async fn end_member(member: &Member) -> Result<Ended, PaneError> {
    let Some(back) = member.backend_type.and_then(backend::of) else { return Ok(Ended::WithLead) };
    let owners = [member.process.as_ref(), member.pane.as_ref().and_then(|pane| pane.process.as_ref())];
    let there = owners.into_iter().flatten().any(process::is_alive);
    match (&member.pane, &member.process) {
        (Some(pane), process) => backend::end(&*back, pane, process.as_ref()).await?,
        (None, Some(owner)) if !process::end(owner).await => return Err(PaneError::Alive(owner.pid)),
        (None, _) => {}
    }
    Ok(if there { Ended::Now } else { Ended::Before })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use troupe_core::team::{BackendKind, Owner};

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
        let start = process::owner(pid).unwrap().start;
        assert_eq!(end_member(&member(pid, start + 1)).await.unwrap(), Ended::Before);
        assert!(process.try_wait().unwrap().is_none(), "the number alone ends nothing");
        let here = Member { backend_type: Some(BackendKind::InProcess), ..member(pid, start) };
        assert_eq!(end_member(&here).await.unwrap(), Ended::WithLead);
        assert!(process.try_wait().unwrap().is_none());
        assert_eq!(end_member(&member(pid, start)).await.unwrap(), Ended::Now);
        assert!(!process.wait().unwrap().success());
        assert_eq!(end_member(&member(pid, start)).await.unwrap(), Ended::Before);
    }

    // proves: F059
    #[tokio::test]
    async fn one_that_ignores_the_request_is_killed() {
        let mut process = child("trap '' TERM; echo; while :; do read line; done");
        let pid = process.id();
        std::io::Read::read_exact(process.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let start = process::owner(pid).unwrap().start;
        assert!(process::end_within(&Owner { pid, start }, Duration::from_millis(50)).await);
        let status = process.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}
