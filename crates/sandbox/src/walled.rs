//! A command behind walls.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::{Hold, parent};

/// A command behind walls.
#[derive(Debug)]
pub struct Walled {
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// To be kept until the command has ended.
    pub hold: Hold,
}

/// Why a policy can't be enforced.
#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    /// A path is relative, or has `..` where nothing is.
    #[error("the sandbox takes no path like {}", .0.display())]
    Path(PathBuf),
    /// A path that is not there yet can't be kept from being made.
    #[error("{} can't be kept from being made: {}", .0.display(), .1)]
    Placeholder(PathBuf, std::io::Error),
}

impl Walled {
    /// The command, ready for its environment and its pipes. It leads a process group of its own (set no other),
    /// and dies with the thread that spawns it (see [`parent::spawn`]). A signal to the group reaches what runs
    /// behind the walls without tearing them down; `SIGKILL` to the group ends all of it. (To the process alone it
    /// does so too, but for the first milliseconds, when bubblewrap's second process does not follow it yet.)
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        parent::lead(&mut command);
        command
    }
}
