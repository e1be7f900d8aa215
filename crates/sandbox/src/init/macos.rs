//! The steps on macOS: `sandbox-exec` builds the walls, told on which port the proxy listens. Never run by
//! those who wrote it.

use std::os::fd::OwnedFd;
use std::process::Command;

use super::{Args, InitError, Run};
use crate::{Wall, seatbelt};

/// There is no name space here that ends with a process.
pub(super) fn first_process() -> Option<OwnedFd> {
    None
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
