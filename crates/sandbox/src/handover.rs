//! What the init gives to the program outside before it becomes the command: the listener where the command finds
//! the proxy, which lies in the command's own network and takes connections from there whoever holds it; and the
//! first process behind the walls, with which all others there end.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Most descriptors of a message.
const MOST: usize = 2;
#[cfg(target_os = "linux")]
const TAKING: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const TAKING: RecvFlags = RecvFlags::empty();

/// What was given.
#[derive(Debug)]
pub(crate) struct Handover {
    pub(crate) listener: TcpListener,
    /// The first process, where the system has a descriptor for one: readable when it has ended.
    pub(crate) first: Option<OwnedFd>,
}

/// Gives it to who listens on `socket`.
pub(crate) fn give(socket: &Path, listener: &TcpListener, first: Option<BorrowedFd<'_>>) -> io::Result<()> {
    send(UnixStream::connect(socket)?, listener, first)
}

/// Gives it by a connection.
pub(crate) fn send(
    stream: impl AsFd,
    listener: &TcpListener,
    first: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let given: Vec<BorrowedFd<'_>> = [listener.as_fd()].into_iter().chain(first).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&given));
    // A message of no bytes would be none.
    sendmsg(stream, &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Takes it from a connection.
pub(crate) fn take(stream: impl AsFd) -> io::Result<Handover> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, TAKING)?;
    let mut taken = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(taken) => Some(taken),
        _ => None,
    });
    let mut taken = taken.next().into_iter().flatten();
    let listener = taken.next().ok_or(io::ErrorKind::InvalidData)?;
    Ok(Handover { listener: TcpListener::from(listener), first: taken.next() })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::io::Write as _;
    use std::net::TcpStream;
    use std::os::unix::net::UnixListener;

    use super::*;

    // proves: S7
    #[test]
    fn what_is_given_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let outside = UnixListener::bind(&socket).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (mut end, first) = io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
        give(&socket, &listener, Some(first.as_fd())).unwrap();
        drop((listener, first));
        let taken = take(outside.accept().unwrap().0).unwrap();
        TcpStream::connect(address).unwrap();
        taken.listener.accept().unwrap();
        end.write_all(b"a").unwrap();
        let mut byte = [0];
        rustix::io::read(taken.first.unwrap(), &mut byte).unwrap();
        assert_eq!(byte, *b"a");
    }

    // proves: S7
    #[test]
    fn a_message_without_a_listener_is_an_error() {
        let (mut one, other) = UnixStream::pair().unwrap();
        one.write_all(b"a").unwrap();
        assert!(take(&other).is_err());
        drop(one);
        assert!(take(&other).is_err());
    }
}
