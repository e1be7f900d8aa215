//! Panes that members of other processes run in: one trait, two back ends (T4, T10). What is known of a pane stands in
//! the membership, so that any process finds it again and ends exactly what was started in it (X17).

pub mod detect;
mod iterm2;
mod run;
mod tmux;

use std::path::PathBuf;

use troupe_core::BoxFuture;
use troupe_core::color::Color;
use troupe_core::team::{BackendKind, Owner, PaneAt};

use super::process;

pub use iterm2::Iterm2;
pub use tmux::Tmux;

/// Why a pane did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum PaneError {
    /// The program is not there.
    #[error("{0} is not installed")]
    Missing(String),
    /// It said no.
    #[error("{what}: {said}")]
    Refused {
        /// The call.
        what: String,
        /// What it said.
        said: String,
    },
    /// It took too long, and was ended.
    #[error("{what} took longer than {seconds} s")]
    TimedOut {
        /// The call.
        what: String,
        /// The limit.
        seconds: u64,
    },
    /// Its words make no sense.
    #[error("{what} said {said:?}, which makes no sense")]
    Unclear {
        /// The call.
        what: String,
        /// What it said.
        said: String,
    },
    /// This kind of pane can't do it.
    #[error("{0}")]
    Unable(String),
    /// What was started there is still alive.
    #[error("process {0} has not ended")]
    Alive(u32),
    /// The system refused.
    #[error("run {what}: {source}")]
    Io {
        /// The call.
        what: String,
        /// Why.
        source: std::io::Error,
    },
}

/// What a pane is opened for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The program and its arguments, each as it is: nothing of it is read by a shell.
    pub command: Vec<String>,
    /// The folder that it starts in.
    pub cwd: PathBuf,
    /// The member's name.
    pub name: String,
    /// Its team.
    pub team: String,
    /// Its colour.
    pub color: Color,
    /// Panes of the team in which its processes run, the oldest first.
    pub ours: Vec<PaneAt>,
}

impl Wanted {
    /// Those on a server: ids are only its own.
    fn ours_on(&self, socket: Option<&str>) -> Vec<String> {
        self.ours.iter().filter(|pane| pane.socket.as_deref() == socket).map(|pane| pane.id.clone()).collect()
    }
}

/// Where members have panes.
pub trait Backend: Send + Sync {
    /// Which one it is.
    fn kind(&self) -> BackendKind;

    /// Opens a pane with a command in it.
    ///
    /// # Errors
    /// See [`PaneError`]; there is no pane then.
    fn open<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<PaneAt, PaneError>>;

    /// How a person gets to see the panes, where they don't by themselves.
    fn how_to_see(&self, pane: &PaneAt) -> Option<String>;

    /// Moves a pane out of sight; what runs in it goes on.
    ///
    /// # Errors
    /// See [`PaneError`]; the pane is where it was then.
    fn hide<'a>(&'a self, pane: &'a PaneAt) -> BoxFuture<'a, Result<(), PaneError>>;

    /// Brings it back, beside one of `others` where what it stood beside is gone.
    ///
    /// # Errors
    /// See [`PaneError`].
    fn show<'a>(&'a self, pane: &'a PaneAt, others: &'a [String]) -> BoxFuture<'a, Result<(), PaneError>>;

    /// Closes a pane in which what `of` names was started, and nothing else runs.
    ///
    /// # Errors
    /// See [`PaneError`].
    fn close<'a>(&'a self, pane: &'a PaneAt, of: Option<&'a Owner>) -> BoxFuture<'a, Result<(), PaneError>>;
}

/// The back end of a pane that was opened before, by whichever process.
pub fn of(kind: BackendKind) -> Option<Box<dyn Backend>> {
    match kind {
        BackendKind::Tmux => Some(Box::new(Tmux::any())),
        BackendKind::Iterm2 => Some(Box::new(Iterm2::any())),
        BackendKind::InProcess | BackendKind::Remote => None,
    }
}

/// Ends what was started in a pane, with all below it, and closes the pane. A pane in which something else runs by now
/// stays: a person opened that (X17).
///
/// # Errors
/// [`PaneError::Alive`] when a process is there that nothing ended.
pub async fn end(backend: &dyn Backend, pane: &PaneAt, process: Option<&Owner>) -> Result<(), PaneError> {
    // What the pane was opened with, and what the member said that it is; as a rule the same.
    let both = [pane.process.as_ref(), process];
    for owner in both.into_iter().flatten() {
        if !process::end(owner).await {
            return Err(PaneError::Alive(owner.pid));
        }
    }
    backend.close(pane, pane.process.as_ref().or(process)).await
}

#[cfg(test)]
#[path = "tmux_tests.rs"]
mod tmux_tests;
