//! The person's own program that prints a key (`apiKeyHelper`). Its command never comes from a repository; the
//! settings see to that.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use troupe_models::anthropic::KeyHelper;

use crate::trace::Secrets;

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Most bytes that are taken of what it prints.
const MOST: u64 = 64 * 1024;

/// A helper that runs `command` in a shell.
pub(super) fn helper(command: String, secrets: Secrets) -> KeyHelper {
    Arc::new(move || {
        let (command, secrets) = (command.clone(), secrets.clone());
        Box::pin(async move {
            let key = timeout(LIMIT, run(&command))
                .await
                .unwrap_or_else(|_| Err(format!("`{command}` did not end in {} s", LIMIT.as_secs())))?;
            secrets.add(&key);
            Ok(key)
        })
    })
}

async fn run(command: &str) -> Result<String, String> {
    let fail = |error: std::io::Error| format!("`{command}`: {error}");
    let child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(fail)?;
    let mut group = Group(child);
    let (out, err) = (group.0.stdout.take(), group.0.stderr.take());
    let (out, err) = tokio::join!(take(out), take(err));
    let status = group.0.wait().await.map_err(fail)?;
    if !status.success() {
        let last = err.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(format!("`{command}` ended with {status}: {}", last.trim()));
    }
    Ok(out)
}

/// What a pipe holds; more than the limit is read and dropped, so that its writer can end.
async fn take(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let mut bytes = Vec::new();
    // A pipe that breaks gives what came before.
    let _ = (&mut pipe).take(MOST).read_to_end(&mut bytes).await;
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The helper and all that it started; killed when it is given up.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended just now.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[tokio::test]
    async fn the_key_is_what_it_prints_and_becomes_a_secret() {
        let secrets = Secrets::default();
        let key = helper("echo key-from-helper; echo noise >&2".into(), secrets)().await.unwrap();
        assert_eq!(key.trim(), "key-from-helper");
    }

    #[tokio::test]
    async fn a_failure_says_its_last_words() {
        let error =
            helper("echo one >&2; echo locked >&2; exit 3".into(), Secrets::default())().await.unwrap_err();
        assert!(error.contains("exit status: 3") && error.ends_with("locked"), "{error}");
    }

    /// A child of the helper writes its own id, and is gone when the helper is given up.
    #[tokio::test]
    async fn given_up_it_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("pid");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        let command = format!("sh -c 'echo $$ > {}; exec sleep 600'", fifo.display());
        let running = helper(command, Secrets::default())();
        let mut pipe = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
        let mut pid = String::new();
        tokio::select! {
            _ = running => panic!("it ended by itself"),
            read = async { pipe.readable().await.unwrap(); pipe.read_to_string(&mut pid).await } => drop(read.unwrap()),
        }
        // The select has dropped the helper's future.
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        let gone = async {
            while rustix::process::test_kill_process(pid).is_ok()
                && !std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
                    .is_ok_and(|stat| stat.contains(") Z "))
            {
                tokio::task::yield_now().await;
            }
        };
        timeout(LIMIT, gone).await.unwrap();
    }
}
