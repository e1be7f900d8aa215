//! The sessions that listen: a file a session in the Home's `peers/`, with where its socket is. Whether one runs, its
//! socket says; what a dead one has left goes when somebody finds it.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::timeout;
use troupe_core::ids::SessionId;
use troupe_core::team::Owner;

use crate::store::private;

/// Most bytes of a socket's path, on every system.
const PATH: usize = 100;
/// Most sessions that are looked at.
const MOST: usize = 1_000;
/// Most bytes of a file of the register.
const FILE: u64 = 64 * 1024;
/// How long the look at a socket may take.
const LOOK: Duration = Duration::from_millis(500);
/// How old a socket without an owner is at least, in seconds.
const OLD: u64 = 60;

/// A session that listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The session.
    pub session: SessionId,
    /// Where it listens.
    pub socket: PathBuf,
    /// Its process; none where the system tells nothing of it.
    #[serde(default)]
    pub process: Option<Owner>,
    /// Where it works.
    #[serde(default)]
    pub cwd: PathBuf,
}

/// Why no session was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindError {
    /// None listens whose id begins so.
    None,
    /// More than one does.
    Several(Vec<SessionId>),
}

/// The register of a Home.
#[derive(Clone, Debug)]
pub struct Register {
    folder: PathBuf,
}

impl Register {
    /// The register below the folder that holds `projects/`.
    pub fn new(root: &Path) -> Self {
        Self { folder: root.join("peers") }
    }

    fn file(&self, session: &str) -> PathBuf {
        self.folder.join(format!("{session}.json"))
    }

    /// Where a session's socket goes: the Home, else the first of `others` in which its path is short enough. The folder
    /// is made, and is the user's alone.
    pub(super) fn socket(&self, session: &SessionId, others: &[PathBuf]) -> io::Result<PathBuf> {
        let mut last =
            io::Error::new(io::ErrorKind::InvalidFilename, "the path of a socket has 100 bytes at most");
        for folder in std::iter::once(&self.folder).chain(others) {
            let socket = folder.join(format!("{session}.sock"));
            if socket.as_os_str().len() > PATH {
                continue;
            }
            match own_folder(folder) {
                Ok(()) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Enters a session.
    pub(crate) fn enter(&self, peer: &Peer) -> io::Result<()> {
        private::write(&self.file(peer.session.as_str()), &serde_json::to_vec_pretty(peer)?)
    }

    /// Takes a session out, as far as it is this one still: its socket and its file.
    pub(super) fn leave(&self, peer: &Peer, socket: Mark) {
        if Mark::of(&peer.socket) == Some(socket) {
            // What is there still is found by the next one.
            let _ = fs::remove_file(&peer.socket);
            if self.read(peer.session.as_str()).as_ref() == Some(peer) {
                let _ = fs::remove_file(self.file(peer.session.as_str()));
            }
        }
    }

    fn read(&self, session: &str) -> Option<Peer> {
        let file = self.file(session);
        file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= FILE)?;
        let peer: Peer = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        let named =
            |end: &str| peer.socket.file_name().is_some_and(|name| *name == *format!("{session}{end}"));
        (peer.session.as_str() == session && named(".sock") && peer.socket.is_absolute()).then_some(peer)
    }

    /// All sessions of the register, whether or not they run.
    pub fn all(&self) -> Vec<Peer> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let sessions = names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()));
        let mut all: Vec<Peer> = sessions.take(MOST).filter_map(|session| self.read(&session)).collect();
        all.sort_by(|a, b| a.session.cmp(&b.session));
        all
    }

    /// The sessions that listen now.
    pub async fn running(&self) -> Vec<Peer> {
        self.looked_at(|listens| listens == Listens::Yes).await
    }

    async fn looked_at(&self, is_wanted: impl Fn(Listens) -> bool) -> Vec<Peer> {
        let peers = self.all();
        let looks = join_all(peers.iter().map(|peer| look(&peer.socket))).await;
        peers
            .into_iter()
            .zip(looks)
            .filter(|(_, listens)| is_wanted(*listens))
            .map(|(peer, _)| peer)
            .collect()
    }

    /// The session of this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// [`FindError`].
    pub fn find(&self, id: &str) -> Result<Peer, FindError> {
        of_id(self.all(), id)
    }

    /// The same among those that are not known to be dead: what a dead one has left hides no other.
    ///
    /// # Errors
    /// [`FindError`].
    pub async fn find_running(&self, id: &str) -> Result<Peer, FindError> {
        of_id(self.looked_at(|listens| listens != Listens::No).await, id)
    }

    /// Removes what sessions have left that are dead: nobody listens at their sockets. Gives their number.
    pub async fn sweep(&self) -> usize {
        let mut gone = 0;
        for peer in self.all() {
            let mark = Mark::of(&peer.socket);
            if look(&peer.socket).await != Listens::No {
                continue;
            }
            match mark {
                // Another took the place meanwhile, or it is no socket.
                Some(mark) if Mark::of(&peer.socket) != Some(mark) || !is_socket(&peer.socket) => {}
                Some(mark) => {
                    self.leave(&peer, mark);
                    gone += 1;
                }
                None => {
                    let _ = fs::remove_file(self.file(peer.session.as_str()));
                    gone += 1;
                }
            }
        }
        let known: Vec<PathBuf> = self.all().into_iter().map(|peer| peer.socket).collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten().take(MOST) {
            let path = entry.path();
            let old = entry.metadata().ok().and_then(|meta| meta.modified().ok()?.elapsed().ok());
            let is_old = old.is_some_and(|old| old.as_secs() >= OLD);
            // One of a session that died before it was entered.
            if is_old && is_socket(&path) && !known.contains(&path) && look(&path).await == Listens::No {
                let _ = fs::remove_file(&path);
            }
        }
        gone
    }
}

fn of_id(mut found: Vec<Peer>, id: &str) -> Result<Peer, FindError> {
    if let Some(at) = found.iter().position(|peer| peer.session.as_str() == id) {
        return Ok(found.swap_remove(at));
    }
    found.retain(|peer| !id.is_empty() && peer.session.as_str().starts_with(id));
    match found.len() {
        0 => Err(FindError::None),
        1 => Ok(found.swap_remove(0)),
        _ => Err(FindError::Several(found.into_iter().map(|peer| peer.session).collect())),
    }
}

/// What tells a socket from another that took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u64, u64);

impl Mark {
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|meta| Self(meta.dev(), meta.ino()))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listens {
    Yes,
    No,
    /// It can't be told.
    Unclear,
}

async fn look(socket: &Path) -> Listens {
    match timeout(LOOK, UnixStream::connect(socket)).await {
        Ok(Ok(_)) => Listens::Yes,
        Ok(Err(error)) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Listens::No,
            _ => Listens::Unclear,
        },
        Err(_) => Listens::Unclear,
    }
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket())
}

/// Makes a folder, and makes sure that it is the user's alone.
fn own_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let meta = fs::symlink_metadata(folder)?;
    let ours = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw();
    if ours && meta.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} is open to others", folder.display())))
    }
}
