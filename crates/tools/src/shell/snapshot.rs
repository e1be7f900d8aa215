//! Aliases and functions of the person's rc file, captured once as text that a shell can source. Not its
//! variables: commands inherit those of the harness.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::process::{Group, mark};
use super::sweep;

/// How long the rc file may run.
const LIMIT: Duration = Duration::from_secs(5);
/// How long to read on from a pipe that is held open after the end.
const HELD_PIPE: Duration = Duration::from_millis(100);
/// Largest output that is taken, in bytes.
const MOST: u64 = 256 * 1024;
/// Divides what the rc file prints from what is captured.
const MARKER: &str = "\u{1}troupe-snapshot\u{1}";

/// Prints the definitions. Functions whose names start with `_` serve completion and are left out.
const CAPTURE: &str = r#"
printf '\1troupe-snapshot\1'
shopt -p extglob
alias -p
while read -r _ _ name; do
    case $name in _*) ;; *) declare -f -- "$name" ;; esac
done < <(declare -F)
printf '\1troupe-snapshot\1'
exit 0
"#;

/// What `rc` defines; none if the file is not there, defines nothing, fails, or takes too long.
pub(super) async fn capture(shell: &Path, rc: &Path) -> Option<String> {
    let known = tokio::fs::metadata(rc).await.ok()?;
    if !known.is_file() {
        return None;
    }
    let text = tokio::time::timeout(LIMIT, printed(shell, rc)).await.ok()??;
    let mut parts = text.split(MARKER);
    let (_, captured, _) = (parts.next()?, parts.next()?, parts.next()?);
    let options = captured.lines().filter(|line| line.starts_with("shopt ")).count();
    if captured.lines().count() <= options {
        return None;
    }
    Some(format!("shopt -s expand_aliases\n{captured}"))
}

/// Runs an interactive shell, since most rc files do nothing in another one. It gets a session of its own:
/// an interactive shell would take the terminal. Without `setsid` it is not interactive.
async fn printed(shell: &Path, rc: &Path) -> Option<String> {
    let mark = mark("snapshot");
    for interactive in [true, false] {
        let mut command = Command::new(if interactive { Path::new("setsid") } else { shell });
        if interactive {
            command.arg("--wait").arg(shell).arg("--rcfile").arg(rc).args(["-i", "-c", CAPTURE]);
        } else {
            command.arg("-c").arg(format!(". \"$0\"\n{CAPTURE}")).arg(rc).process_group(0);
        }
        command.env(sweep::MARK, &mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.kill_on_drop(true).spawn() else { continue };
        // Whatever the rc file started ends with it.
        let _group = Group::of(&child, &mark).ok()?;
        let mut bytes = Vec::new();
        let mut output = child.stdout.take()?.take(MOST);
        tokio::select! {
            read = output.read_to_end(&mut bytes) => { read.ok()?; }
            // A process that outlives the rc file may hold the pipe.
            ended = child.wait() => {
                ended.ok()?;
                let _ = tokio::time::timeout(HELD_PIPE, output.read_to_end(&mut bytes)).await;
            }
        }
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    None
}
