//! Who waits for a file to change: one watch a folder for all readers of a process, and a look once a second where there
//! is no watch. On Linux by inotify; elsewhere, and where the system has no more watches, only by the look.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

#[cfg(target_os = "linux")]
#[path = "inotify.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "no_watch.rs"]
mod system;

/// How often a follower looks without being told.
pub const LOOK: Duration = Duration::from_secs(1);

/// The watches of a process. Clones are one.
#[derive(Clone, Default)]
pub struct Watch(Arc<Inner>);

#[derive(Default)]
struct Inner(Mutex<State>);

#[derive(Default)]
struct State {
    files: HashMap<PathBuf, watch::Sender<()>>,
    /// None before the first follower.
    system: Option<system::Watches>,
}

/// Waits for changes of one file, which need not be there yet.
pub struct Follow {
    watch: Watch,
    file: PathBuf,
    changes: watch::Receiver<()>,
}

impl Watch {
    /// Follows a file from now on. A change between this and [`Follow::changed`] is not lost.
    pub fn follow(&self, file: &Path) -> Follow {
        let changes = {
            let mut state = self.0.lock();
            state.files.retain(|_, sender| sender.receiver_count() > 0);
            state.files.entry(file.to_owned()).or_insert_with(|| watch::Sender::new(())).subscribe()
        };
        self.look_after(file);
        Follow { watch: self.clone(), file: file.to_owned(), changes }
    }

    /// Tells the followers in this process that a file has changed, before the system does.
    pub fn nudge(&self, file: &Path) {
        self.0.lock().tell(file);
    }

    /// Has the folder of a file watched, where that is possible.
    fn look_after(&self, file: &Path) {
        let Some(folder) = file.parent() else { return };
        let mut state = self.0.lock();
        let watches = state.system.get_or_insert_with(|| system::Watches::start(&self.0));
        if let Err(error) = watches.add(folder) {
            tracing::debug!(folder = %folder.display(), %error, "a folder is looked at once a second, not watched");
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&self, file: &Path) {
        if let Some(sender) = self.files.get(file) {
            sender.send_replace(());
        }
    }
}

impl Follow {
    /// Answers when the file may have changed: soon after it did, and once in [`LOOK`] in any case. Dropping the wait
    /// loses nothing.
    pub async fn changed(&mut self) {
        match tokio::time::timeout(LOOK, self.changes.changed()).await {
            Ok(Ok(())) => {}
            // The folder may have been made, or made anew.
            Err(_) => self.watch.look_after(&self.file),
            Ok(Err(_)) => tokio::time::sleep(LOOK).await,
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
