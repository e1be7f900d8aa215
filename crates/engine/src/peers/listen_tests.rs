//! A socket with friends, strangers and those who say nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Mutex;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::super::{FindError, PeerError, deliver};
use super::*;

/// A session that listens and keeps what it takes.
struct Stage {
    home: TempDir,
    taken: Arc<Mutex<Vec<Letter>>>,
    tasks: JoinSet<()>,
    socket: PathBuf,
}

fn session(n: u32) -> SessionId {
    SessionId::new(format!("{n:08}-1f43-4a53-9c39-6fd2d1f2f001"))
}

fn door(register: &Register, n: u32) -> Door {
    open(register, &session(n), "/work".into(), &Peering::default()).unwrap()
}

impl Stage {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let door = door(&Register::new(home.path()), 1);
        let socket = door.place.peer.socket.clone();
        let taken: Arc<Mutex<Vec<Letter>>> = Arc::default();
        let keeps = Arc::clone(&taken);
        let take: Take = Arc::new(move |arrived: Arrived| {
            let keeps = Arc::clone(&keeps);
            Box::pin(async move {
                let id = arrived.letter.id.clone().unwrap_or_default();
                assert_eq!(arrived.pid, Some(std::process::id()));
                keeps.lock().unwrap().push(arrived.letter);
                if id == "full" { Err("it is full".to_owned()) } else { Ok(id) }
            })
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut served = JoinSet::new();
            loop {
                served.spawn(door.next(&take).await);
                while served.try_join_next().is_some() {}
            }
        });
        Self { home, taken, tasks, socket }
    }

    fn register(&self) -> Register {
        Register::new(self.home.path())
    }

    /// Writes these bytes, says that no more come, and gives the answer.
    async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        // One that was sent away meanwhile reads the answer all the same.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        // What was not read to its end is a reset, behind the answer.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }
}

fn letter(n: usize) -> Letter {
    Letter { from: "test".into(), text: format!("text {n}"), id: Some(n.to_string()), ..Letter::default() }
}

// proves: M6
#[tokio::test]
async fn a_letter_is_taken_and_answered_and_the_socket_is_the_users_alone() {
    let mut stage = Stage::new();
    assert_eq!(deliver(&stage.socket, &letter(7)).await.unwrap(), "7");
    assert_eq!(stage.taken.lock().unwrap()[0].text, "text 7");
    let full = Letter { id: Some("full".into()), ..letter(1) };
    let refused = deliver(&stage.socket, &full).await;
    assert!(matches!(&refused, Err(PeerError::Refused(why)) if why == "it is full"), "{refused:?}");
    assert_eq!(stage.socket.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(stage.socket.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    let register = stage.register();
    let running = register.running().await;
    assert_eq!((running.len(), &running[0].session), (1, &session(1)));
    stage.tasks.shutdown().await;
    assert!(!stage.socket.exists() && register.all().is_empty(), "nothing is left of one that ended");
    assert!(matches!(deliver(&stage.socket, &letter(1)).await, Err(PeerError::Nobody { .. })));
}

// proves: M6
#[tokio::test]
async fn garbage_and_half_a_line_are_answered_and_nothing_of_them_is_taken() {
    let stage = Stage::new();
    for (bytes, word) in [
        (&b"hello\n"[..], "one line of JSON"),
        (b"\n", "one line of JSON"),
        (b"{\"from\":\"a\",\"text\":\"half", "no end"),
        (b"{\"from\":\"a\",\"text\":\"whole\"}", "no end"),
        (b"\xff\xfe\x00\n", "one line of JSON"),
        (b"{\"text\":\"\"}\n", "bytes of text"),
        (b"GET / HTTP/1.1\r\n\r\n", "one line of JSON"),
    ] {
        let answer = stage.say(bytes).await;
        assert!(answer.starts_with("{\"error\":") && answer.contains(word), "{bytes:?} {answer}");
    }
    let long = [b"{\"text\":\"".as_slice(), &vec![b'x'; 3 * LINE]].concat();
    assert!(stage.say(&long).await.contains("bytes at most"));
    assert_eq!(stage.say(b"").await, "");
    assert!(stage.taken.lock().unwrap().is_empty());
    assert_eq!(deliver(&stage.socket, &letter(1)).await.unwrap(), "1");
}

// proves: M6, X2
#[tokio::test(start_paused = true)]
async fn one_that_says_nothing_is_sent_away() {
    let stage = Stage::new();
    let mut silent = UnixStream::connect(&stage.socket).await.unwrap();
    silent.write_all(b"{\"text\":").await.unwrap();
    let mut answer = String::new();
    silent.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("no line came within 5 s"), "{answer}");
}

// proves: M6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_lose_nothing() {
    let stage = Stage::new();
    // As many as are let in say nothing for a while; the others are told to come again.
    let mut silent = Vec::new();
    for _ in 0..MOST {
        silent.push(UnixStream::connect(&stage.socket).await.unwrap());
    }
    let sent: FuturesUnordered<_> = (0..1_000)
        .map(|n| {
            let socket = stage.socket.clone();
            async move { deliver(&socket, &letter(n)).await.unwrap() }
        })
        .collect();
    let all = sent.collect::<BTreeSet<_>>();
    let freed = async {
        tokio::task::yield_now().await;
        drop(silent);
    };
    let (ids, ()) = tokio::join!(all, freed);
    assert_eq!(ids.len(), 1_000);
    let taken = stage.taken.lock().unwrap();
    let texts: BTreeSet<&str> = taken.iter().map(|letter| &*letter.text).collect();
    assert_eq!(texts.len(), 1_000);
}

// proves: M6
#[test]
fn the_same_user_and_root_may_write_and_nobody_else() {
    assert!(may(1000, 1000) && may(0, 1000) && may(0, 0));
    assert!(!may(1001, 1000) && !may(1000, 0) && !may(65_534, 0));
}

// proves: M6
#[tokio::test]
async fn what_dead_sessions_left_is_removed_and_what_lives_stays() {
    let home = tempfile::tempdir().unwrap();
    let register = Register::new(home.path());
    let (alive, mut dead) = (door(&register, 1), door(&register, 2));
    // As a kill leaves it: nobody listens, and all lies there.
    let spare = tempfile::tempdir().unwrap();
    let file = home.path().join("peers").join(format!("{}.json", session(2)));
    let kept = std::fs::read(&file).unwrap();
    let socket = dead.place.peer.socket.clone();
    let beside = spare.path().join("s");
    std::fs::rename(&socket, &beside).unwrap();
    dead.place.mark = Mark::of(&beside).unwrap();
    drop(dead);
    std::fs::rename(&beside, &socket).unwrap();
    std::fs::write(&file, kept).unwrap();
    std::fs::write(home.path().join("peers/odd.json"), "{").unwrap();
    std::fs::write(home.path().join("peers/keep.sock"), "no socket").unwrap();
    assert_eq!(register.all().len(), 2);
    assert_eq!(register.sweep().await, 1);
    assert!(!socket.exists() && !file.exists());
    assert_eq!(register.running().await.len(), 1);
    assert!(home.path().join("peers/keep.sock").exists());
    drop(alive);
}

// proves: M5
#[tokio::test]
async fn a_session_is_found_by_the_beginning_of_its_id_where_that_is_one_alone() {
    let home = tempfile::tempdir().unwrap();
    let register = Register::new(home.path());
    let _doors = [door(&register, 11), door(&register, 12), door(&register, 20)];
    assert_eq!(register.find("0000002").map(|peer| peer.session), Ok(session(20)));
    assert_eq!(register.find(session(11).as_str()).map(|peer| peer.session), Ok(session(11)));
    assert_eq!(register.find("0000001"), Err(FindError::Several(vec![session(11), session(12)])));
    assert_eq!(register.find("9"), Err(FindError::None));
    assert_eq!(register.find(""), Err(FindError::None));
}

// proves: M6
#[tokio::test]
async fn a_home_whose_path_is_too_long_has_its_socket_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let deep = home.path().join("x".repeat(90));
    let other = home.path().join("run");
    let register = Register::new(&deep);
    let open =
        |folders: Vec<PathBuf>| open(&register, &session(1), "/".into(), &Peering { listens: true, folders });
    assert!(open(Vec::new()).is_err(), "told, and no panic");
    let door = open(vec![other.clone()]).unwrap();
    assert!(door.place.peer.socket.starts_with(&other));
    assert_eq!(register.running().await.len(), 1);
    // A folder that others can write to is none.
    drop(door);
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(open(vec![other]).is_err());
}
