//! Which walls this machine has, found by a real run, and commands behind them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Policy, Wall};

/// The walls of this machine.
#[derive(Clone, Debug)]
pub struct Sandbox {
    wall: Wall,
    /// The program whose first argument `sandbox-init` leads to [`crate::init`]: this one.
    init: PathBuf,
}

/// No wall works here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox works on this machine: {0}")]
pub struct Unavailable(pub String);

/// A command behind walls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walled {
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl Sandbox {
    /// Finds the best wall that works, by running a command behind it. `init` is a program whose first argument
    /// `sandbox-init` leads to [`crate::init`]. Blocks for some 10 ms, 2 s at most.
    ///
    /// # Errors
    /// [`Unavailable`], with what each wall said.
    pub fn probe(init: &Path) -> Result<Self, Unavailable> {
        let _ = init;
        Err(Unavailable("not built yet".into()))
    }

    /// Which wall it is.
    pub fn wall(&self) -> Wall {
        self.wall
    }

    /// The same command behind the walls of `policy`, to be started in `cwd`.
    pub fn wrap(&self, policy: &Policy, program: &Path, args: &[OsString], cwd: &Path) -> Walled {
        let _ = (policy, cwd, &self.init);
        Walled { program: program.to_owned(), args: args.to_vec() }
    }
}
