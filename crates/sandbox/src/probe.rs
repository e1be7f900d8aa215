//! Which walls this machine has, found by a real run, and commands behind them.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use crate::bubblewrap::{self, Bubblewrap};
use crate::init::{Args, Run, STANDS};
use crate::seen::Seen;
use crate::{Network, Policy, Wall, Walled, WrapError, plan, seatbelt};

/// How long all runs of a probe may take together.
const LIMIT: Duration = Duration::from_secs(2);
/// Longest reason of a wall that does not work, in bytes.
const REASON_MOST: u64 = 2000;

/// The walls of this machine.
#[derive(Clone, Debug)]
pub struct Sandbox {
    kind: Kind,
    /// The program whose first argument `sandbox-init` leads to [`crate::init`]: this one.
    init: PathBuf,
}

#[derive(Clone, Debug)]
enum Kind {
    Bubblewrap(Bubblewrap),
    Landlock,
    Seatbelt,
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
        let walls: &[Wall] =
            if cfg!(target_os = "macos") { &[Wall::Seatbelt] } else { &[Wall::Bubblewrap, Wall::Landlock] };
        let deadline = Instant::now() + LIMIT;
        let mut reasons = Vec::new();
        for wall in walls {
            match Self::probe_until(init, *wall, deadline) {
                Ok(sandbox) => return Ok(sandbox),
                Err(Unavailable(reason)) => reasons.push(reason),
            }
        }
        Err(Unavailable(reasons.join("; ")))
    }

    /// The same for one wall alone: to say why a better one does not work.
    ///
    /// # Errors
    /// [`Unavailable`], with what the wall said.
    pub fn probe_wall(init: &Path, wall: Wall) -> Result<Self, Unavailable> {
        Self::probe_until(init, wall, Instant::now() + LIMIT)
    }

    fn probe_until(init: &Path, wall: Wall, deadline: Instant) -> Result<Self, Unavailable> {
        let mut reason = format!("{}: it is not installed", wall.as_str());
        for kind in Kind::of(wall) {
            let sandbox = Self { kind, init: init.to_owned() };
            match sandbox.try_out(deadline) {
                Ok(()) => return Ok(sandbox),
                Err(error) => reason = format!("{}: {}", wall.as_str(), explain(wall, &error)),
            }
        }
        Err(Unavailable(reason))
    }

    /// Which wall it is.
    pub fn wall(&self) -> Wall {
        match self.kind {
            Kind::Bubblewrap(_) => Wall::Bubblewrap,
            Kind::Landlock => Wall::Landlock,
            Kind::Seatbelt => Wall::Seatbelt,
        }
    }

    /// The paths of `policy` that can't be held back behind this wall: carve-outs that are links (a link can be
    /// replaced), and with [`Wall::Landlock`] each of them and all that is hidden. A command is not free of questions when there is one.
    pub fn unheld(&self, policy: &Policy) -> Vec<PathBuf> {
        match self.kind {
            Kind::Bubblewrap(_) => plan::behind_links(policy),
            Kind::Landlock => {
                let writable = |path: &&PathBuf| policy.writable.iter().any(|root| path.starts_with(root));
                policy.read_only.iter().filter(writable).chain(&policy.hidden).cloned().collect()
            }
            Kind::Seatbelt => Vec::new(),
        }
    }

    /// Whether these walls hold all that `policy` should, so that a command may run without a question.
    pub fn holds(&self, policy: &Policy) -> bool {
        self.wall().carves_out() && !policy.incomplete && self.unheld(policy).is_empty()
    }

    /// Whether the walls keep each of these folders from being written, but for what the policy frees in them.
    pub fn keeps(&self, policy: &Policy, folders: &[PathBuf]) -> bool {
        folders.iter().all(|folder| {
            let around = policy.writable.iter().any(|around| folder.starts_with(around));
            !policy.lets_write(folder) && (!around || self.wall().carves_out())
        })
    }

    /// The same command behind the walls of `policy`, to be started in `cwd` by [`Walled::command`].
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
        self.put_around(policy, Run::Command { program: program.to_owned(), args: args.to_vec() }, cwd)
    }

    fn put_around(&self, policy: &Policy, run: Run, cwd: &Path) -> Result<Walled, WrapError> {
        let mut inner = Args {
            wall: self.wall(),
            network: policy.network.clone(),
            unix_sockets: policy.unix_sockets,
            writable: policy.writable.iter().chain(&policy.temp).cloned().collect(),
            held: Vec::new(),
            temp: policy.temp.clone(),
            profile: None,
            run,
        };
        match &self.kind {
            Kind::Bubblewrap(bubblewrap) => return bubblewrap.wrap(&self.init, policy, inner.run, cwd),
            // The proxy can't be the only way out here, so there is none.
            Kind::Landlock => {
                inner.writable = Seen::default().existing(&inner.writable)?;
                if policy.network != Network::Open {
                    inner.network = Network::Closed;
                }
            }
            Kind::Seatbelt => inner.profile = Some(seatbelt::profile(policy)?.into()),
        }
        let mut args = vec!["sandbox-init".into()];
        args.extend(inner.encode());
        Ok(Walled { program: self.init.clone(), args, hold: crate::Hold::default() })
    }

    fn try_out(&self, deadline: Instant) -> Result<(), String> {
        let walled = self.put_around(&Policy::default(), Run::Probe, Path::new("/"));
        let mut command = walled.map_err(|error| error.to_string())?.command();
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let mut said = Vec::new();
        let in_time = child.stdout.take().is_none_or(|out| read_until(out, &mut said, deadline));
        // It has ended, or is out of time. The group: see `Walled::command`.
        let _ = rustix::process::kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait();
        if said == STANDS.as_bytes() {
            return Ok(());
        }
        if !in_time {
            return Err("it takes too long".into());
        }
        let mut reason = String::new();
        if let Some(errors) = child.stderr.take() {
            // An answer that is cut, or no text, is answer enough.
            let _ = errors.take(REASON_MOST).read_to_string(&mut reason);
        }
        Err(reason.trim().to_owned())
    }
}

impl Kind {
    /// The ways to have a wall, better ones first.
    fn of(wall: Wall) -> Vec<Self> {
        match wall {
            Wall::Landlock => vec![Self::Landlock],
            Wall::Seatbelt => vec![Self::Seatbelt],
            Wall::Bubblewrap => {
                let program = bubblewrap::PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
                let found = program.into_iter().flat_map(|program| {
                    // Versions before 0.8 can't forbid user name spaces; the filter of system calls does too.
                    [true, false]
                        .map(|disable_userns| Bubblewrap { program: program.clone(), disable_userns })
                });
                found.map(Self::Bubblewrap).collect()
            }
        }
    }
}

/// Adds what a person can do about it to what a wall said.
fn explain(wall: Wall, said: &str) -> String {
    let hint = match wall {
        Wall::Bubblewrap if said.contains("setting up uid map") || said.contains("Permission denied") => {
            " (AppArmor or a container may forbid user namespaces: allow them to bwrap)"
        }
        Wall::Bubblewrap if said.contains("No permissions to create") || said.contains("namespace") => {
            " (user namespaces are off on this system)"
        }
        Wall::Landlock if said.contains("landlock") => {
            " (the kernel has no Landlock, or one older than 6.2's)"
        }
        _ if said.is_empty() => "it ended without a word",
        _ => "",
    };
    format!("{said}{hint}")
}

/// Reads to the end; `false` when the time is over first.
fn read_until(
    mut from: impl std::io::Read + std::os::fd::AsFd,
    into: &mut Vec<u8>,
    deadline: Instant,
) -> bool {
    let mut buffer = [0; 256];
    loop {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
        let Ok(left) = Timespec::try_from(left) else { return false };
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return true,
            Ok(_) => {}
        }
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => return true,
            Ok(read) => into.extend_from_slice(&buffer[..read]),
        }
    }
}
