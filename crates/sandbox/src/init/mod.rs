//! What runs between the walls and the command: `sandbox-init …`. It puts up those walls that a process builds
//! around itself, hands the proxy its listener, and becomes the command.

mod args;
#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod set_id;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

pub(crate) use args::{Args, Run};

use crate::{Network, Wall, handover};

#[cfg(target_os = "linux")]
use linux::{enclose, first_process};
#[cfg(target_os = "macos")]
use macos::{enclose, first_process};

/// What a probe says on stdout.
pub(crate) const STANDS: &str = "the walls stand\n";
/// The command was not run.
const NOT_RUN: u8 = 126;
/// The command was not found.
const NOT_FOUND: u8 = 127;

/// Why the command was not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InitError {
    #[error("{0}")]
    Args(#[from] args::BadArgs),
    #[error("{} does not work on this system", .0.as_str())]
    Wall(Wall),
    #[error("{0}: {1}")]
    Step(&'static str, String),
    #[error("{} was not found", .0.display())]
    NotFound(std::path::PathBuf),
    #[error("{} could not be run: {}", .0.display(), .1)]
    NotRun(std::path::PathBuf, io::Error),
}

impl InitError {
    /// A step that failed.
    pub(crate) fn step<E: ToString>(name: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Step(name, error.to_string())
    }
}

/// Runs `sandbox-init` with the arguments after that word; to be called before anything else is set up, while the
/// program has one thread. Returns only if the command could not be run (126; 127 if there is no such program),
/// with the reason on stderr, and from a probe.
pub fn init(args: impl Iterator<Item = OsString>) -> ExitCode {
    let error = match Args::decode(args).map_err(InitError::Args).and_then(|args| run(&args)) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    // Nobody is left to tell of it when stderr is closed.
    let _ = writeln!(io::stderr(), "sandbox: {error}");
    ExitCode::from(if matches!(error, InitError::NotFound(_)) { NOT_FOUND } else { NOT_RUN })
}

fn run(args: &Args) -> Result<(), InitError> {
    crate::signal::unblock().map_err(InitError::step("signals"))?;
    let port = match &args.network {
        Network::Proxy(socket) => Some(hand_over(args, socket)?),
        Network::Closed | Network::Open => None,
    };
    let Some(mut command) = enclose(args, port)? else {
        return io::stdout().write_all(STANDS.as_bytes()).map_err(InitError::step("stdout"));
    };
    if let Some(port) = port {
        announce(&mut command, port);
    }
    if let Some(temp) = &args.temp {
        command.env("TMPDIR", temp);
    }
    let error = command.exec();
    let program = command.get_program().into();
    Err(match error.kind() {
        io::ErrorKind::NotFound => InitError::NotFound(program),
        _ => InitError::NotRun(program, error),
    })
}

/// Gives the proxy the listener where the command finds it; says its port on 127.0.0.1.
fn hand_over(args: &Args, socket: &Path) -> Result<u16, InitError> {
    // Without walls around the network, the port would be open to the whole machine or to nobody.
    if args.wall == Wall::Landlock {
        return Err(InitError::Step("proxy", "not behind landlock".into()));
    }
    let step = InitError::step("proxy");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(&step)?;
    let port = listener.local_addr().map_err(&step)?.port();
    let first = first_process();
    handover::give(socket, &listener, first.as_ref().map(|first| first.as_fd())).map_err(&step)?;
    Ok(port)
}

/// Tells the command of the proxy. `ALL_PROXY` is HTTP too: some clients stop at a SOCKS address that they were
/// built without.
fn announce(command: &mut Command, port: u16) {
    let proxy = format!("http://127.0.0.1:{port}");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env(name, &proxy);
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "localhost,127.0.0.1,::1");
    }
}
