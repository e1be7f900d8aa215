//! The listening side. Whoever connects has little time, one line and one answer; no more than a few at once.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use troupe_core::BoxFuture;
use troupe_core::ids::SessionId;

use super::Peering;
use super::letter::{Answer, LINE, Letter};
use super::register::{Mark, Peer, Register};
use crate::team::process;

/// Most connections at once. One more is told to try again.
const MOST: usize = 64;
/// How long a line may take to come.
const READ: Duration = Duration::from_secs(5);
/// How long a letter may take until it is durable.
const TAKE: Duration = Duration::from_secs(10);
/// How long an answer may take to go.
const WRITE: Duration = Duration::from_secs(5);
/// The pause where the system gives no connection.
const PAUSE: Duration = Duration::from_millis(100);

/// A letter with what the system says of its sender.
pub(crate) struct Arrived {
    pub(crate) letter: Letter,
    /// The sender's process, where the system tells.
    pub(crate) pid: Option<u32>,
}

/// Takes a letter: durable when this answers, with its id.
pub(crate) type Take = Arc<dyn Fn(Arrived) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// A socket that is open, and its place in the register. Dropped, both are gone.
pub(crate) struct Door {
    listener: UnixListener,
    slots: Arc<Semaphore>,
    #[cfg_attr(not(test), expect(dead_code, reason = "dropped with the door"))]
    place: Entered,
}

struct Entered {
    register: Register,
    peer: Peer,
    mark: Mark,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.register.leave(&self.peer, self.mark);
    }
}

/// Opens a session's socket and enters it. The session's lease is held, so no other process has it.
pub(crate) fn open(
    register: &Register,
    session: &SessionId,
    cwd: PathBuf,
    peering: &Peering,
) -> io::Result<Door> {
    let socket = register.socket(session, &peering.folders)?;
    // Under another name until it listens and is closed to others: who finds it under its own can connect.
    let name = uuid::Uuid::new_v4().simple().to_string();
    let beside = socket.with_file_name(format!(".{}", &name[..12]));
    let listener = UnixListener::bind(&beside)?;
    let placed = fs::set_permissions(&beside, fs::Permissions::from_mode(0o600))
        .and_then(|()| fs::rename(&beside, &socket))
        .and_then(|()| Mark::of(&socket).ok_or_else(|| io::Error::other("the socket is gone")));
    let mark = placed.inspect_err(|_| drop(fs::remove_file(&beside)))?;
    let peer = Peer { session: session.clone(), socket, process: process::own(), cwd };
    let place = Entered { register: register.clone(), peer, mark };
    register.enter(&place.peer)?;
    Ok(Door { listener, slots: Arc::new(Semaphore::new(MOST)), place })
}

impl Door {
    /// The next connection, as what is to be done with it. A stranger, and one too many, are sent away.
    pub(crate) async fn next(&self, take: &Take) -> impl Future<Output = ()> + Send + 'static {
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not taken");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
                send_away(
                    stream,
                    &Answer::Refused { error: "too many connections; try again".into(), busy: true },
                );
                continue;
            };
            let pid = match stream.peer_cred() {
                Ok(cred) if may(cred.uid(), rustix::process::geteuid().as_raw()) => cred.pid(),
                Ok(_) => {
                    send_away(stream, &Answer::refused("this session belongs to another user"));
                    continue;
                }
                Err(error) => {
                    send_away(stream, &Answer::refused(format!("who you are can't be told: {error}")));
                    continue;
                }
            };
            let pid = pid.and_then(|pid| u32::try_from(pid).ok());
            let take = Arc::clone(take);
            return async move {
                serve(stream, pid, &take).await;
                drop(slot);
            };
        }
    }
}

/// Whether a user may write to a session of another: the same, and root, who may anything.
fn may(uid: u32, own: u32) -> bool {
    uid == own || uid == 0
}

/// Answers without waiting: the answer fits into the socket's buffer.
fn send_away(stream: UnixStream, answer: &Answer) {
    if let Ok(mut stream) = stream.into_std() {
        // Who does not hear it is not there any more.
        let _ = stream.write_all(&answer.line());
    }
}

async fn serve(mut stream: UnixStream, pid: Option<u32>, take: &Take) {
    let (reads, mut writes) = stream.split();
    let Some(answer) = answer(reads, pid, take).await else { return };
    // Who does not wait for the answer sends the letter again, under its id.
    let _ = timeout(WRITE, writes.write_all(&answer.line())).await;
    let _ = writes.shutdown().await;
}

/// The answer to a connection; none where it says nothing, as one that only looks whether somebody listens.
async fn answer(reads: impl tokio::io::AsyncRead + Unpin, pid: Option<u32>, take: &Take) -> Option<Answer> {
    let mut line = Vec::new();
    let mut bounded = BufReader::new(reads.take(LINE as u64 + 1));
    match timeout(READ, bounded.read_until(b'\n', &mut line)).await {
        Err(_) => return Some(Answer::refused(format!("no line came within {} s", READ.as_secs()))),
        Ok(Err(error)) => return Some(Answer::refused(error.to_string())),
        Ok(Ok(0)) => return None,
        Ok(Ok(_)) if line.len() > LINE => {
            return Some(Answer::refused(format!("a line has {LINE} bytes at most")));
        }
        Ok(Ok(_)) if line.last() != Some(&b'\n') => {
            return Some(Answer::refused("the line has no end: half a message is none"));
        }
        Ok(Ok(_)) => {}
    }
    let letter = match Letter::read(&line) {
        Ok(letter) => letter,
        Err(why) => return Some(Answer::refused(why)),
    };
    Some(match timeout(TAKE, take(Arrived { letter, pid })).await {
        Ok(Ok(id)) => Answer::Taken { ok: true, id },
        Ok(Err(why)) => Answer::refused(why),
        Err(_) => Answer::refused("it could not be written down in time; send it again under the same id"),
    })
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
