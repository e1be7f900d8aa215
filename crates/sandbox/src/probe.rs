//! Which walls this machine has, found by a real run, and commands behind them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Hold, Policy, Wall, Walled, WrapError};

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

    /// The paths of `policy` that can't be held back behind this wall: carve-outs that are links (a link can be
    /// replaced), and with [`Wall::Landlock`] each of them. A command is not free of questions when there is one.
    pub fn unheld(&self, policy: &Policy) -> Vec<PathBuf> {
        let _ = policy;
        Vec::new()
    }

    /// The same command behind the walls of `policy`, to be started in `cwd`.
    ///
    /// # Errors
    /// When the policy can't be enforced; the command must not run then.
    pub fn wrap(
        &self,
        policy: &Policy,
        program: &Path,
        args: &[OsString],
        cwd: &Path,
    ) -> Result<Walled, WrapError> {
        let _ = (policy, cwd, &self.init);
        Ok(Walled { program: program.to_owned(), args: args.to_vec(), hold: Hold::default() })
    }
}
