//! The steps on Linux, in an order that each of them still allows: the last one forbids the others.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Args, InitError, Run, capabilities, landlock, mounts, seccomp};
use crate::{Network, Wall};

/// The process that the walls end with: bubblewrap's first one in its name space. An old kernel has no descriptor
/// for it.
pub(super) fn first_process() -> Option<OwnedFd> {
    let first = rustix::process::getppid()?;
    rustix::process::pidfd_open(first, rustix::process::PidfdFlags::empty()).ok()
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
