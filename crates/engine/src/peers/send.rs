//! The sending side.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::PeerError;
use super::letter::{Answer, Letter, line};

/// How long one try may take: longer than the other side may.
const TRY: Duration = Duration::from_secs(25);
/// How long it is tried again where the other side is busy.
const TRIED: Duration = Duration::from_secs(20);
/// The pause before the first such try; each is longer than the last, up to the longest.
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(200);
/// Most bytes of an answer.
const ANSWER: u64 = 64 * 1024;

/// Sends a letter to whoever listens at a socket, and waits until it is durable there. Gives its id.
///
/// # Errors
/// See [`PeerError`].
pub async fn deliver(socket: &Path, letter: &Letter) -> Result<String, PeerError> {
    let until = Instant::now() + TRIED;
    let mut pause = PAUSE;
    loop {
        let written = AtomicBool::new(false);
        let late = || {
            let may = if written.load(Ordering::Relaxed) { "; the message may have arrived" } else { "" };
            PeerError::NoAnswer {
                socket: socket.to_owned(),
                why: format!("not within {} s{may}", TRY.as_secs()),
            }
        };
        match timeout(TRY, try_once(socket, letter, &written)).await.map_err(|_| late())? {
            Err(PeerError::Busy(_)) if Instant::now() < until => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST);
            }
            done => return done,
        }
    }
}

async fn try_once(socket: &Path, letter: &Letter, is_written: &AtomicBool) -> Result<String, PeerError> {
    let mut stream = match UnixStream::connect(socket).await {
        Ok(stream) => stream,
        // More wait to be let in than the system keeps.
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            return Err(PeerError::Busy(socket.to_owned()));
        }
        Err(source) => return Err(PeerError::Nobody { socket: socket.to_owned(), source }),
    };
    let no_answer = |why: String| PeerError::NoAnswer { socket: socket.to_owned(), why };
    let cred = stream.peer_cred().map_err(|error| no_answer(error.to_string()))?;
    if cred.uid() != rustix::process::geteuid().as_raw() {
        return Err(PeerError::Stranger(socket.to_owned()));
    }
    // One that sends away does not read; what it says counts then.
    let written = stream.write_all(&line(letter)).await;
    is_written.store(written.is_ok(), Ordering::Relaxed);
    let mut bytes = Vec::new();
    // One line is the answer, whether or not the other side goes then.
    let read = BufReader::new((&mut stream).take(ANSWER)).read_until(b'\n', &mut bytes).await;
    match (serde_json::from_slice(&bytes), written, read) {
        (Ok(Answer::Taken { ok: true, id }), ..) => Ok(id),
        (Ok(Answer::Refused { busy: true, .. }), ..) => Err(PeerError::Busy(socket.to_owned())),
        (Ok(Answer::Refused { error, .. }), ..) => Err(PeerError::Refused(error)),
        (_, Err(error), _) | (_, _, Err(error)) => Err(no_answer(error.to_string())),
        (_, Ok(()), Ok(_)) => Err(no_answer("what it said is no answer".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use tokio::net::UnixListener;

    use super::*;

    /// A listener that reads a line, says `answer` and stays.
    async fn sent_to(answer: &'static str) -> Result<String, PeerError> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let stays = async {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            stream.read_until(b'\n', &mut Vec::new()).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        };
        let letter = Letter { text: "x".into(), ..Letter::default() };
        tokio::select! { () = stays => unreachable!("it stays"), sent = deliver(&socket, &letter) => sent }
    }

    // proves: M6
    #[tokio::test(start_paused = true)]
    async fn an_answer_is_one_line_and_without_one_the_letter_may_have_arrived() {
        assert_eq!(sent_to("{\"ok\":true,\"id\":\"7\"}\n").await.unwrap(), "7");
        let late = sent_to("").await.unwrap_err().to_string();
        assert!(late.contains("may have arrived"), "{late}");
    }
}
