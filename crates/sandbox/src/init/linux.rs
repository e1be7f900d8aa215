//! The steps on Linux, in an order that each of them still allows: the last one forbids the others.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Args, InitError, Run, capabilities, forward as forwarder, landlock, mounts, seccomp};
use crate::{Network, Wall};

/// Starts the forwarder; says on which port of 127.0.0.1 it listens.
pub(super) fn forward(args: &Args, socket: &Path) -> Result<u16, InitError> {
    leave_terminal();
    // Without a network of its own, the port would be open to all programs of the machine.
    if args.wall != Wall::Bubblewrap {
        return Err(InitError::Step("proxy", "only behind bubblewrap".into()));
    }
    let step = InitError::step("proxy");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(&step)?;
    let port = listener.local_addr().map_err(&step)?.port();
    capabilities::drop_all().map_err(InitError::step("capabilities"))?;
    forwarder::start(&listener, socket, || {
        // It keeps what the command loses, so the command must not get hold of it.
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .map_err(InitError::step("forwarder"))?;
        landlock::restrict(Wall::Bubblewrap, &[]).map_err(InitError::step("landlock"))?;
        seccomp::restrict(seccomp::Sockets { inet: true, unix: true }).map_err(InitError::step("seccomp"))
    })?;
    Ok(port)
}

/// Puts the walls around this process; gives the command to become.
pub(super) fn enclose(args: &Args, _port: Option<u16>) -> Result<Option<Command>, InitError> {
    if args.wall == Wall::Seatbelt {
        return Err(InitError::Wall(args.wall));
    }
    leave_terminal();
    if args.wall == Wall::Bubblewrap {
        let step = InitError::step("mounts");
        let list = std::fs::read("/proc/self/mountinfo").map_err(&step)?;
        let inside = landlock::INSIDE.iter().map(Path::new);
        let writable: Vec<&Path> = args.writable.iter().map(PathBuf::as_path).chain(inside).collect();
        mounts::verify(&list, &writable, &args.held, mounts::can_be_written)
            .map_err(InitError::step("mounts"))?;
    }
    capabilities::drop_all().map_err(InitError::step("capabilities"))?;
    rustix::thread::set_no_new_privs(true).map_err(InitError::step("no_new_privs"))?;
    landlock::restrict(args.wall, &args.writable).map_err(InitError::step("landlock"))?;
    let inet = args.wall == Wall::Bubblewrap || args.network == Network::Open;
    seccomp::restrict(seccomp::Sockets { inet, unix: args.unix_sockets })
        .map_err(InitError::step("seccomp"))?;
    close_files().map_err(InitError::step("open files"))?;
    Ok(match &args.run {
        Run::Probe => None,
        Run::Command { program, args } => {
            let mut command = Command::new(program);
            command.args(args);
            Some(command)
        }
    })
}

/// Gives up the terminal, not the process group: signals to the group are meant for the command. The leader of a
/// session would hang up on itself; it is not started so, and typing into the terminal is refused to it anyway.
fn leave_terminal() {
    // SAFETY: no memory is involved. (The leader may be outside of the name space, and its number 0.)
    #[expect(unsafe_code, reason = "a call of the system; see SAFETY")]
    let (session, own) = unsafe { (libc::getsid(0), libc::getpid()) };
    if session == own {
        return;
    }
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return };
    use std::os::fd::AsRawFd as _;
    // SAFETY: the file is open, and this request takes no argument.
    #[expect(unsafe_code, reason = "a call of the system; see SAFETY")]
    unsafe {
        libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY);
    }
}

/// Keeps the command from what was left open for it by mistake: a folder's descriptor leads around the walls.
fn close_files() -> std::io::Result<()> {
    // SAFETY: only marks descriptors; those that this process still uses stay open.
    #[expect(unsafe_code, reason = "a call of the system; see SAFETY")]
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
