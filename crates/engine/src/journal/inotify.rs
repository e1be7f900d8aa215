//! The kernel tells of changes in a folder, whoever makes them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::task::AbortHandle;

use super::{Inner, State};

/// Most folders that are watched; files in others are looked at.
const FOLDERS: usize = 256;
/// Room for some dozens of events at once.
const EVENTS: usize = 4096;

/// The watches of a process, and the task that reads of them.
pub(super) struct Watches(Result<Started, io::Error>);

struct Started {
    fd: Arc<AsyncFd<OwnedFd>>,
    folders: HashMap<i32, PathBuf>,
    task: AbortHandle,
}

impl Drop for Started {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watches {
    pub(super) fn start(inner: &Arc<Inner>) -> Self {
        Self(start(inner))
    }

    /// Watches a folder that is not watched yet.
    pub(super) fn add(&mut self, folder: &Path) -> io::Result<()> {
        let started = self.0.as_mut().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
        if started.folders.values().any(|known| known == folder) {
            return Ok(());
        }
        if started.folders.len() >= FOLDERS {
            return Err(io::Error::other("too many folders are watched"));
        }
        let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        let watch = inotify::add_watch(started.fd.get_ref(), folder, flags)?;
        started.folders.insert(watch, folder.to_owned());
        Ok(())
    }
}

fn start(inner: &Arc<Inner>) -> io::Result<Started> {
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    #[expect(
        deprecated,
        reason = "what takes its place is unsafe, for types that may change their handle; this one can't"
    )]
    let fd = Arc::new(AsyncFd::new(fd)?);
    let task = runtime.spawn(listen(fd.clone(), Arc::downgrade(inner))).abort_handle();
    Ok(Started { fd, folders: HashMap::new(), task })
}

async fn listen(fd: Arc<AsyncFd<OwnedFd>>, inner: Weak<Inner>) {
    while let Ok(mut ready) = fd.readable().await {
        let Some(inner) = inner.upgrade() else { return };
        if let Ok(Err(error)) = ready.try_io(|fd| drain(fd.get_ref(), &inner)) {
            tracing::warn!(%error, "changes of files are no longer told; they are looked for once a second");
            return;
        }
    }
}

/// Reads until there is nothing more, which is an error of the kind that `try_io` waits on.
fn drain(fd: &OwnedFd, inner: &Inner) -> io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); EVENTS];
    let mut events = Reader::new(fd, &mut buffer);
    loop {
        let event = match events.next() {
            Ok(event) => event,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut state = inner.lock();
        if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            state.tell_all();
        } else if event.events().contains(ReadFlags::IGNORED) {
            state.unwatched(event.wd());
        } else if let Some(name) = event.file_name() {
            state.changed(event.wd(), OsStr::from_bytes(name.to_bytes()));
        }
    }
}

impl State {
    fn folders(&mut self) -> Option<&mut HashMap<i32, PathBuf>> {
        Some(&mut self.system.as_mut()?.0.as_mut().ok()?.folders)
    }

    fn changed(&mut self, watch: i32, name: &OsStr) {
        if let Some(file) = self.folders().and_then(|folders| Some(folders.get(&watch)?.join(name))) {
            self.tell(&file);
        }
    }

    fn tell_all(&self) {
        for sender in self.files.values() {
            sender.send_replace(());
        }
    }

    /// The folder is gone, or its file system. Followers look whether it is back.
    fn unwatched(&mut self, watch: i32) {
        if let Some(folders) = self.folders() {
            folders.remove(&watch);
        }
        self.tell_all();
    }
}
