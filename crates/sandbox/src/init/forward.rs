//! The forwarder: takes connections on 127.0.0.1 and passes their bytes to the proxy's Unix socket. It understands
//! none of them. It is a process of its own, since the command's may make no Unix socket, and ends with the walls.

use std::io::{self, Read as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::InitError;

/// Most connections at a time; more are closed at once.
const MOST: usize = 128;
/// Stack of a thread that copies bytes, in bytes.
const STACK: usize = 128 << 10;

/// Starts it in a new process, after `restrict` has run there.
pub(super) fn start(
    listener: &TcpListener,
    socket: &Path,
    restrict: impl FnOnce() -> Result<(), InitError>,
) -> Result<(), InitError> {
    // The child says by this pipe that it is ready, so that a command never runs beside one that failed.
    let (mut ready, tell) = io::pipe().map_err(InitError::step("forwarder"))?;
    // SAFETY: the program has one thread here, so the child has all of it.
    #[expect(unsafe_code, reason = "a call of the system; see SAFETY")]
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(InitError::Step("forwarder", io::Error::last_os_error().to_string())),
        0 => {
            drop(ready);
            let done = leave_streams().map_err(InitError::step("forwarder")).and_then(|()| restrict());
            if done.and_then(|()| say(tell)).is_ok() {
                serve(listener, socket);
            }
            std::process::exit(1)
        }
        _ => {
            drop(tell);
            let mut byte = [0];
            ready.read_exact(&mut byte).map_err(|_| InitError::Step("forwarder", "it did not start".into()))
        }
    }
}

fn say(mut tell: io::PipeWriter) -> Result<(), InitError> {
    io::Write::write_all(&mut tell, &[1]).map_err(InitError::step("forwarder"))
}

/// The command's streams end when the command does, not when this process does.
fn leave_streams() -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

fn serve(listener: &TcpListener, socket: &Path) {
    let open = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming() {
        let Ok(client) = client else { return };
        // Dropped beyond the bound: a refused connection is an answer, one that hangs is none.
        if open.load(Ordering::Relaxed) >= MOST {
            continue;
        }
        let (socket, place) = (socket.to_owned(), Place::take(&open));
        let _ = thread::Builder::new().stack_size(STACK).spawn(move || {
            // A broken connection is seen by both of its ends.
            let _ = pass(&client, &socket);
            drop(place);
        });
    }
}

/// One of the places for connections.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Copies both ways until both have ended. How long a connection may idle is the proxy's to say.
fn pass(client: &TcpStream, socket: &Path) -> io::Result<()> {
    let proxy = UnixStream::connect(socket)?;
    let (from, to) = (client.try_clone()?, proxy.try_clone()?);
    let up = thread::Builder::new().stack_size(STACK).spawn(move || {
        let done = io::copy(&mut &from, &mut &to);
        // The other end may be gone.
        let _ = to.shutdown(Shutdown::Write);
        done
    })?;
    let down = io::copy(&mut &proxy, &mut &*client);
    let _ = client.shutdown(Shutdown::Write);
    if down.is_err() {
        let _ = proxy.shutdown(Shutdown::Both);
    }
    // A panic there has been told on its own.
    let _ = up.join();
    Ok(())
}
