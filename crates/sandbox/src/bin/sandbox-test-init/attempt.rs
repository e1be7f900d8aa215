//! Calls that a sandbox may refuse, one a run.

#![expect(clippy::print_stdout, reason = "it is run by tests, for what it says")]
#![expect(unsafe_code, reason = "the calls are made as an attacker would")]

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Makes the attempt and prints "done" or "refused: …".
pub(crate) fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = args.filter_map(|word| word.into_string().ok()).collect();
    match attempt(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(said) => println!("done{said}"),
        Err(error) => println!("refused: {error}"),
    }
    ExitCode::SUCCESS
}

fn attempt(words: &[&str]) -> io::Result<String> {
    let silent = |()| String::new();
    match words {
        ["unix", path] => UnixStream::connect(path).map(|_| String::new()),
        ["abstract", name] => {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?).map(|_| String::new())
        }
        // One end of a pair, connected to something else.
        ["unix-datagram", path] => UnixDatagram::pair()?.0.connect(path).map(silent),
        ["pair"] => UnixStream::pair().map(|_| String::new()),
        ["tcp", address] => {
            let mut said = String::new();
            TcpStream::connect(address)?.read_to_string(&mut said)?;
            Ok(format!(" {said}"))
        }
        // The proxy's address as it is announced; each side ends its half first once.
        ["half", which, proxy] => {
            let address = proxy.strip_prefix("http://").ok_or_else(|| io::Error::other("no address"))?;
            let (mut stream, mut said) = (TcpStream::connect(address)?, String::new());
            stream.write_all(b"a")?;
            if *which == "client" {
                stream.shutdown(Shutdown::Write)?;
            }
            stream.read_to_string(&mut said)?;
            if *which == "proxy" {
                stream.write_all(b"b")?;
            }
            Ok(format!(" {said}"))
        }
        ["udp", address] => UdpSocket::bind("0.0.0.0:0")?.send_to(b"hello", address).map(|_| String::new()),
        ["socket", family, kind, protocol] => socket(number(family)?, number(kind)?, number(protocol)?),
        ["kill", pid] => result(
            // SAFETY: no memory is involved.
            unsafe { libc::kill(number(pid)?, 0) }.into(),
        ),
        ["ptrace", pid] => result(
            // SAFETY: attaches only; no address is passed.
            unsafe { libc::ptrace(libc::PTRACE_SEIZE, number(pid)?, 0, 0) },
        ),
        ["unshare-user"] => result(
            // SAFETY: the program has one thread.
            unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into(),
        ),
        ["clone-user"] => {
            let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
            // SAFETY: like fork; the child ends at once.
            match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
                0 => std::process::exit(0),
                pid => result(pid),
            }
        }
        ["call", call] => result(
            // SAFETY: all arguments are zero, which no call takes for an address to write to.
            unsafe { libc::syscall(number(call)?.into(), 0, 0, 0, 0, 0, 0) },
        ),
        ["set-id", how, path, mode] => set_id(how, path, number(mode)?),
        ["type", fd] => result(
            // SAFETY: the request reads one byte.
            unsafe { libc::ioctl(number(fd)?, libc::TIOCSTI, c"x".as_ptr()) }.into(),
        ),
        ["terminal", program, args @ ..] => terminal(program, args),
        ["open-files"] => {
            let mut names: Vec<String> = std::fs::read_dir("/proc/self/fd")?
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            // The last one is that of the list.
            names.pop();
            Ok(format!(" {}", names.join(" ")))
        }
        _ => Err(io::Error::other("no such attempt")),
    }
}

/// Gives a file a mode: the one that is there, or a new one beside it.
fn set_id(how: &str, path: &str, mode: i32) -> io::Result<String> {
    let text = |path: String| std::ffi::CString::new(path).map_err(io::Error::other);
    let (there, new, at) = (text(path.to_owned())?, text(format!("{path}.{how}"))?, libc::AT_FDCWD);
    let file = std::fs::File::open(path)?;
    let (fd, create) = (file.as_raw_fd(), libc::O_CREAT | libc::O_WRONLY);
    // As `open_how`: flags, mode, how to resolve.
    let open_how = [create.unsigned_abs().into(), u64::from(mode.unsigned_abs()), 0];
    // SAFETY: all addresses are of texts and of an array that outlive the call, and the kernel only reads.
    result(unsafe {
        match how {
            #[cfg(target_arch = "x86_64")]
            "chmod" => libc::syscall(libc::SYS_chmod, there.as_ptr(), mode),
            "fchmod" => libc::syscall(libc::SYS_fchmod, fd, mode),
            "fchmodat" => libc::syscall(libc::SYS_fchmodat, at, there.as_ptr(), mode),
            "fchmodat2" => libc::syscall(452, at, there.as_ptr(), mode, 0),
            #[cfg(target_arch = "x86_64")]
            "mknod" => libc::syscall(libc::SYS_mknod, new.as_ptr(), mode | 0o100_000, 0),
            "mknodat" => libc::syscall(libc::SYS_mknodat, at, new.as_ptr(), mode | 0o100_000, 0),
            #[cfg(target_arch = "x86_64")]
            "creat" => libc::syscall(libc::SYS_creat, new.as_ptr(), mode),
            #[cfg(target_arch = "x86_64")]
            "open" => libc::syscall(libc::SYS_open, new.as_ptr(), create, mode),
            "openat" => libc::syscall(libc::SYS_openat, at, new.as_ptr(), create, mode),
            "openat-unnamed" => {
                let flags = libc::O_TMPFILE | libc::O_WRONLY;
                libc::syscall(libc::SYS_openat, at, c".".as_ptr(), flags, mode)
            }
            "openat-only" => libc::syscall(libc::SYS_openat, at, there.as_ptr(), libc::O_RDONLY, mode),
            "openat2" => libc::syscall(libc::SYS_openat2, at, new.as_ptr(), open_how.as_ptr(), 24),
            _ => return Err(io::Error::other("no such call")),
        }
    })
}

/// Runs a program in a terminal of its own, as the child of the one that leads the session there.
fn terminal(program: &str, args: &[&str]) -> io::Result<String> {
    let (mut person, mut program_side) = (-1, -1);
    let null = std::ptr::null_mut();
    // SAFETY: the two numbers are this function's, and the rest may be absent.
    result(
        unsafe { libc::openpty(&raw mut person, &raw mut program_side, null, null.cast(), null.cast()) }
            .into(),
    )?;
    // SAFETY: both were just opened, and nobody else has them.
    let (_person, stdin) = unsafe { (OwnedFd::from_raw_fd(person), OwnedFd::from_raw_fd(program_side)) };
    let mut leader = Command::new("/bin/sh");
    leader.args(["-c", "\"$@\"; true", "sh", program]).args(args).stdin(stdin);
    // SAFETY: only system calls.
    unsafe {
        leader.pre_exec(|| {
            rustix::process::setsid()?;
            result(libc::ioctl(0, libc::TIOCSCTTY, 0).into()).map(drop)
        });
    }
    leader.status().map(|_| String::new())
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<String> {
    // SAFETY: makes a socket, which ends with the program.
    result(unsafe { libc::socket(family, kind, protocol) }.into())
}

fn number(word: &str) -> io::Result<i32> {
    word.parse().map_err(io::Error::other)
}

fn result(code: i64) -> io::Result<String> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(String::new()) }
}
