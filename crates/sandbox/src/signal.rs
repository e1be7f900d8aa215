//! The signals that ask a process group to end. The outermost process of the walls holds them back, so that they
//! end the command and not the walls; [`crate::init`] lets them in again for the command.

use std::io;

const ASKING: [libc::c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// Holds them back in this process and those that it starts. Allocates nothing.
pub(crate) fn block() -> io::Result<()> {
    mask(libc::SIG_BLOCK)
}

/// Lets them in; one that waits comes at once.
pub(crate) fn unblock() -> io::Result<()> {
    mask(libc::SIG_UNBLOCK)
}

fn mask(how: libc::c_int) -> io::Result<()> {
    // SAFETY: the set is this function's own, and filled before it is used.
    #[expect(unsafe_code, reason = "a call of the system; see SAFETY")]
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        for signal in ASKING {
            libc::sigaddset(&raw mut set, signal);
        }
        match libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
}
