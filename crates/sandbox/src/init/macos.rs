//! The steps on macOS: `sandbox-exec` builds the walls, told on which port the forwarder listens. Never run by
//! those who wrote it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;

use super::{Args, InitError, Run, forward as forwarder};
use crate::{Wall, seatbelt};

/// How often the forwarder looks whether the command is still there.
const WATCH: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };

/// Starts the forwarder; says on which port of 127.0.0.1 it listens.
pub(super) fn forward(_args: &Args, socket: &Path) -> Result<u16, InitError> {
    let step = InitError::step("proxy");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(&step)?;
    let port = listener.local_addr().map_err(&step)?.port();
    let command = rustix::process::getpid();
    forwarder::start(&listener, socket, move || {
        let watch = move || {
            while rustix::process::getppid() == Some(command) {
                let _ = rustix::event::poll(&mut [], Some(&WATCH));
            }
            std::process::exit(0)
        };
        std::thread::Builder::new().spawn(watch).map(drop).map_err(InitError::step("forwarder"))
    })?;
    Ok(port)
}

/// Gives `sandbox-exec` with the command.
pub(super) fn enclose(args: &Args, port: Option<u16>) -> Result<Option<Command>, InitError> {
    let (Wall::Seatbelt, Some(profile)) = (args.wall, &args.profile) else {
        return Err(InitError::Wall(args.wall));
    };
    let mut command = Command::new(seatbelt::PROGRAM);
    if let Some(port) = port {
        command.arg("-D").arg(format!("{}={port}", seatbelt::PORT));
    }
    command.arg("-p").arg(profile);
    match &args.run {
        Run::Probe => command.arg("/bin/echo").arg(super::STANDS.trim_end()),
        Run::Command { program, args } => command.arg("--").arg(program).args(args),
    };
    Ok(Some(command))
}
