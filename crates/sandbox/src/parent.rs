//! Children that die with their parent. The kernel follows the *thread* that spawned: where that one may end
//! before the program does, spawn by [`spawn`].

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Makes a child die (`SIGKILL`) as soon as the thread that spawns it ends. Does nothing where the system can't.
pub fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec, only system calls are made and no memory is allocated.
    #[expect(unsafe_code, reason = "a call of the system; see SAFETY")]
    unsafe {
        command.pre_exec(move || die_with(parent));
    }
}

/// Makes a child that leads a process group, dies with its parent, and leaves signals meant for the group to the
/// others in it. No session of its own: on a busy machine the scheduler makes those wait.
pub(crate) fn lead(command: &mut Command) {
    die_with_parent(command);
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "a call of the system; see SAFETY")]
    unsafe {
        command.pre_exec(|| {
            rustix::process::setpgid(None, None)?;
            crate::signal::block()
        });
    }
}

#[cfg(target_os = "linux")]
fn die_with(parent: rustix::process::Pid) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before the line above.
    if getppid() != Some(parent) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where it can fail")]
fn die_with(_parent: rustix::process::Pid) -> io::Result<()> {
    Ok(())
}

type Work = Box<dyn FnOnce() + Send>;

/// Runs `start`, which spawns a child, on a thread that lasts as long as the program: a thread of a runtime's
/// pool may end, and its children with it. Blocks for as long as a spawn takes.
///
/// # Errors
/// Those of `start`, and of starting the thread.
pub fn spawn<T: Send + 'static>(start: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    static THREAD: OnceLock<Option<SyncSender<Work>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that spawns has ended");
    let thread = THREAD.get_or_init(|| {
        let (sender, receiver) = sync_channel::<Work>(16);
        // A panic in one start must not end the thread, and all children with it.
        let one = |work: Work| drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
        let run = move || receiver.into_iter().for_each(one);
        std::thread::Builder::new().name("spawn".into()).spawn(run).ok().map(|_| sender)
    });
    let (sender, receiver) = sync_channel(1);
    let work = Box::new(move || {
        // The receiver waits for it.
        let _ = sender.send(start());
    });
    thread.as_ref().ok_or_else(gone)?.send(work).map_err(|_| gone())?;
    receiver.recv().map_err(|_| gone())?
}
