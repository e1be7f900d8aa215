//! The sandbox around commands: which of them run in it, what they find there, and what is told of what it
//! refused. The walls themselves are [`troupe_sandbox`]'s.

mod excluded;
mod inside;
mod policies;
mod refused;
mod sweeps;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use troupe_core::policy::{Command, Walls};
use troupe_core::ports::tool::Place;
use troupe_sandbox::proxy::{Domains, Upstream};
use troupe_sandbox::{Sandbox, Wall};

pub use excluded::Excluded;
pub(super) use inside::{Door, Inside, Plan};
pub use policies::Policies;
pub(super) use refused::Refused;
pub use sweeps::Sweeps;

/// Whether commands run in a sandbox.
#[derive(Clone, Debug, Default)]
pub enum Sandboxing {
    /// No.
    #[default]
    Off,
    /// Yes.
    On(Arc<ShellSandbox>),
    /// They are to, and it does not work: each is refused, with this reason.
    Refused(String),
}

/// The sandbox around commands.
pub struct ShellSandbox {
    /// The walls of this machine.
    pub sandbox: Sandbox,
    /// What a command may touch.
    pub policies: Policies,
    /// What it may reach. Behind a wall that can't lead to a proxy ([`Wall::Landlock`]), nothing.
    pub network: NetworkRules,
    /// Variables that commands in it do not get: the harness's own keys.
    pub withheld: Vec<String>,
    /// A folder that only this user may enter, which lasts as long as the session: sockets and prologues lie in it.
    pub folder: PathBuf,
    /// Whether commands in it run without a question, where the walls can hold all that they should.
    pub auto_allow: bool,
    /// Whether a call may ask to run outside.
    pub allow_unsandboxed: bool,
    /// Commands that run outside.
    pub excluded: Excluded,
    /// Walls that are being taken down.
    pub sweeps: Sweeps,
    /// What is refused and not worth a word: the start of a command (`*`: any), and pieces of what was refused.
    pub ignored: Vec<(String, Vec<String>)>,
}

/// What a command may reach.
#[derive(Clone, Debug, Default)]
pub struct NetworkRules {
    /// The lists.
    pub domains: Domains,
    /// Whether a person is asked about a host in neither.
    pub asks: bool,
    /// The proxy by which this machine reaches the internet.
    pub upstream: Option<Upstream>,
}

/// Where a call's command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Inside,
    /// Outside, since its call asks for that.
    Left,
    /// Outside, since the settings say so.
    Excluded,
}

impl Sandboxing {
    /// The text for the model: two lines more where there is a sandbox.
    pub(super) fn described(&self, text: &str) -> String {
        match self {
            Self::On(_) => format!("{text}\n{}", include_str!("sandbox.md").trim_end()),
            Self::Off | Self::Refused(_) => text.to_owned(),
        }
    }

    /// What is true of `dangerouslyDisableSandbox`.
    pub(super) fn leaving(&self) -> &'static str {
        match self {
            Self::On(sandbox) if sandbox.allow_unsandboxed => "run outside the sandbox; a person is asked",
            Self::On(_) | Self::Off | Self::Refused(_) => "no effect",
        }
    }

    /// The sandbox that a call's command runs in.
    pub(super) fn around(&self, input: &Value, parsed: &Command) -> Option<Arc<ShellSandbox>> {
        match self {
            Self::On(sandbox) if sandbox.side(input, parsed) == Side::Inside => Some(Arc::clone(sandbox)),
            Self::On(_) | Self::Off | Self::Refused(_) => None,
        }
    }

    /// Waits until nothing of earlier commands' walls is left, for a command outside of them.
    pub(super) async fn settle(&self) {
        match self {
            Self::On(sandbox) => sandbox.sweeps.done().await,
            Self::Off | Self::Refused(_) => {}
        }
    }

    /// What stands around a call's command, for the policy that judges it.
    pub(super) fn walls(&self, input: &Value, parsed: &Command, at: &Place) -> Walls {
        match self {
            Self::On(sandbox) => sandbox.walls(sandbox.side(input, parsed), at),
            Self::Off | Self::Refused(_) => Walls::None,
        }
    }
}

impl ShellSandbox {
    fn side(&self, input: &Value, parsed: &Command) -> Side {
        let leaves = input.get("dangerouslyDisableSandbox").and_then(Value::as_bool).unwrap_or(false);
        if leaves && self.allow_unsandboxed {
            Side::Left
        } else if self.excluded.covers(parsed) {
            Side::Excluded
        } else {
            Side::Inside
        }
    }

    /// Looks at the disk for links where there should be files, and for more than can be looked at.
    fn walls(&self, side: Side, at: &Place) -> Walls {
        match side {
            Side::Left => Walls::Left,
            Side::Excluded => Walls::None,
            Side::Inside => {
                if !self.auto_allow && !at.read_only {
                    return Walls::Sandbox { free: false, holds_project: false };
                }
                self.policies.judge(at, |policy| Walls::Sandbox {
                    free: self.auto_allow && self.sandbox.holds(policy),
                    holds_project: at.read_only && self.sandbox.keeps(policy, &at.roots),
                })
            }
        }
    }

    fn has_network(&self) -> bool {
        self.sandbox.wall() != Wall::Landlock
    }
}

/// The folder below [`ShellSandbox::folder`] where commands keep what need not last.
pub fn temp_in(folder: &Path) -> PathBuf {
    folder.join("tmp")
}

impl fmt::Debug for ShellSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellSandbox")
            .field("sandbox", &self.sandbox)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}
