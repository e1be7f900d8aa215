//! When the process has no file handle left (F018): most come back within moments, as commands and connections end,
//! so an append waits for one; and what is told names the limit.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// How long an append waits for a handle.
const LIMIT: Duration = Duration::from_secs(10);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Opens, and waits for a handle where there is none.
pub(super) async fn patiently<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let end = tokio::time::Instant::now() + LIMIT;
    loop {
        match open() {
            Err(error) if is_exhausted(&error) && tokio::time::Instant::now() < end => {
                tokio::time::sleep(PAUSE).await;
            }
            other => return other.map_err(named),
        }
    }
}

fn is_exhausted(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|errno| code == Some(errno.raw_os_error()))
}

fn named(error: io::Error) -> io::Error {
    if !is_exhausted(&error) {
        return error;
    }
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or_else(|| "none is set".to_owned(), |limit| limit.to_string());
    io::Error::other(format!("{error}: the limit of open files is {limit} (ulimit -n)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F018
    #[tokio::test(start_paused = true)]
    async fn a_handle_is_waited_for_and_past_the_wait_the_limit_is_named() {
        let mut left = 3;
        let late = patiently(|| {
            left -= 1;
            if left > 0 { Err(io::Error::from(Errno::MFILE)) } else { Ok(left) }
        });
        assert!(late.await.is_ok());
        let never = patiently::<()>(|| Err(io::Error::from(Errno::MFILE))).await;
        assert!(never.is_err_and(|error| error.to_string().contains("limit of open files is ")));
        let other = patiently::<()>(|| Err(io::Error::from(Errno::ACCESS))).await;
        assert!(other.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied));
    }
}
