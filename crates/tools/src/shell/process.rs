//! One shell process, its process group and its output pipe: how it starts and how it is signalled. When
//! it is ended is decided in [`super::run`].

use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use troupe_sandbox::proxy::End;

use super::sandbox::{self, Inside};
use super::sweep;

/// Longest command, in bytes: the system takes at most 128 KiB for one argument (Linux, `MAX_ARG_STRLEN`).
pub(super) const COMMAND_MOST: usize = 128 * 1024 - 1;
/// How long a guard that ends a forgotten group may block.
const DROP_LIMIT: Duration = Duration::from_millis(50);

/// What a process is started from.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) command: String,
    pub(super) cwd: PathBuf,
    /// Becomes `BASH_ENV`: a script that the shell sources before the command.
    pub(super) prologue: Option<PathBuf>,
    /// Git settings that the environment holds already (`GIT_CONFIG_COUNT`).
    pub(super) git_settings: usize,
    /// The sandbox around it, if there is one.
    pub(super) sandbox: Option<sandbox::Plan>,
}

/// Settings that every git of a command gets: no program that watches files, and no repository that lies bare
/// among the files of another.
const GIT: [(&str, &str); 2] = [("core.fsmonitor", "false"), ("safe.bareRepository", "explicit")];

/// Why no process was started.
#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    /// The folder is not there.
    #[error("working directory gone: {}", .0.display())]
    FolderGone(PathBuf),
    /// The shell is not there.
    #[error("there is no `{}` to run the command", .0.display())]
    NoShell(PathBuf),
    /// The sandbox can't be put up.
    #[error("{0}")]
    NoSandbox(String),
    /// Anything else.
    #[error("the command could not be started: {0}{limit}", limit = limit_of(.0))]
    Io(io::Error),
}

/// The limit that was hit, where the error is one of too many open files or processes (F018).
fn limit_of(error: &io::Error) -> String {
    let code = error.raw_os_error();
    let is = |errno: rustix::io::Errno| code == Some(errno.raw_os_error());
    let named = |resource, what: &str| {
        let limit = rustix::process::getrlimit(resource).current;
        limit.map_or_else(String::new, |limit| format!("; the limit of {what} is {limit}"))
    };
    if is(rustix::io::Errno::MFILE) {
        named(rustix::process::Resource::Nofile, "open files (ulimit -n)")
    } else if is(rustix::io::Errno::AGAIN) {
        named(rustix::process::Resource::Nproc, "processes (ulimit -u)")
    } else {
        String::new()
    }
}

/// A started shell.
pub(super) struct Process {
    pub(super) child: Child,
    pub(super) group: Group,
    pub(super) output: pipe::Receiver,
    /// To be kept until all of it has ended.
    pub(super) inside: Option<Inside>,
}

/// The processes of one job. Dropped before [`Group::release`], it kills them.
pub(super) struct Group {
    pid: Pid,
    mark: String,
    held: bool,
    /// The end of the walls around it, if there are some.
    end: Option<End>,
}

/// A mark that no other job on this machine has, also not of another process of this program. It says who made
/// it: see [`Maker`].
pub(super) fn mark(job: &str) -> String {
    static NONCE: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
    // One job's processes may still be ending when another session of this program has a job of the same name.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let session = session();
    format!("{job}.{}.{session}.{:x}-{count:x}", std::process::id(), *NONCE)
}

/// The session of processes that this program is in; 0 if its leader is outside of our space of numbers.
#[cfg(target_os = "linux")]
fn session() -> i32 {
    super::stat::Stat::own().map_or(-1, |stat| stat.session)
}

/// Only Linux shows the marks of other processes.
#[cfg(not(target_os = "linux"))]
fn session() -> i32 {
    -1
}

/// The program that made a mark, as the mark tells it.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Maker {
    /// Its process.
    pub(super) pid: i32,
    /// The session of processes that it was in; 0 for one that is led from outside.
    pub(super) session: i32,
}

#[cfg(target_os = "linux")]
impl Maker {
    /// Reads it; none if the mark is none of ours.
    pub(super) fn of(mark: &str) -> Option<Self> {
        let mut parts = mark.rsplit('.').skip(1);
        let session = parts.next()?.parse().ok().filter(|session| *session >= 0)?;
        let pid = parts.next()?.parse().ok().filter(|pid| *pid > 0)?;
        parts.next().map(|_| Self { pid, session })
    }
}

impl Launch {
    /// Starts the shell, its processes marked (see [`sweep::MARK`]), in a process group of its own, with nothing to read and one pipe for all it writes,
    /// so that the order of its output is kept.
    pub(super) fn start(mut self, mark: &str) -> Result<Process, LaunchError> {
        if !self.cwd.is_dir() {
            return Err(LaunchError::FolderGone(self.cwd.clone()));
        }
        let (reader, writer) = io::pipe().map_err(LaunchError::Io)?;
        let output = pipe::Receiver::from_owned_fd(reader.into()).map_err(LaunchError::Io)?;
        let args = [OsString::from("-c"), OsString::from(&self.command)];
        let inside = match self.sandbox.take() {
            Some(plan) => Some(plan.build(&self.program, &args).map_err(LaunchError::NoSandbox)?),
            None => None,
        };
        let mut command = if let Some(inside) = &inside {
            // It leads a group of its own.
            Command::from(inside.command())
        } else {
            let mut command = Command::new(&self.program);
            command.args(&args).process_group(0);
            command
        };
        command
            .current_dir(&self.cwd)
            .env("CLAUDECODE", "1")
            .env("TROUPE", "1")
            .env(sweep::MARK, mark)
            // `$PWD` of the harness may name the same folder through another link.
            .env("PWD", &self.cwd)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(LaunchError::Io)?)
            .stderr(writer)
            .kill_on_drop(true);
        // Reading a repository must not run what its config names.
        for (n, (key, value)) in GIT.iter().enumerate() {
            let n = self.git_settings + n;
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        command.env("GIT_CONFIG_COUNT", (self.git_settings + GIT.len()).to_string());
        match &self.prologue {
            Some(path) => command.env("BASH_ENV", OsString::from(path)),
            None => &mut command,
        };
        // The writing ends close with `command`, so that the pipe ends when the processes do.
        let child = match &inside {
            Some(_) => spawn_for_good(command).map_err(LaunchError::Io)?,
            None => command.spawn().map_err(|error| self.explain(error))?,
        };
        let mut group = Group::of(&child, mark).map_err(LaunchError::Io)?;
        group.end = inside.as_ref().and_then(Inside::end);
        Ok(Process { child, group, output, inside })
    }

    fn explain(&self, error: io::Error) -> LaunchError {
        match error.kind() {
            // The same error tells of a folder that went away and of a shell that is not there.
            io::ErrorKind::NotFound if !self.cwd.is_dir() => LaunchError::FolderGone(self.cwd.clone()),
            io::ErrorKind::NotFound => LaunchError::NoShell(self.program.clone()),
            _ => LaunchError::Io(error),
        }
    }
}

/// Spawns what dies with the thread that spawns it, on one that lasts.
fn spawn_for_good(mut command: Command) -> io::Result<Child> {
    let runtime = tokio::runtime::Handle::current();
    troupe_sandbox::parent::spawn(move || {
        let _entered = runtime.enter();
        command.spawn()
    })
}

impl Group {
    /// The group that `child`, not yet waited for, leads.
    pub(super) fn of(child: &Child, mark: &str) -> io::Result<Self> {
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the new process has no id"))?;
        Ok(Self { pid, mark: mark.to_owned(), held: true, end: None })
    }

    /// Waits until the walls around it have ended, and with them all its processes. `false` at once: there are
    /// none, or nothing tells of their end.
    pub(super) async fn walls_end(&self) -> bool {
        match &self.end {
            Some(end) => end.wait().await,
            None => false,
        }
    }

    /// Whether a process of the group is alive. Cheap when none is.
    pub(super) fn is_alive(&self) -> bool {
        sweep::is_group_alive(self.pid)
    }

    /// Asks every process of the job to end, stopped ones too, also outside of the group.
    pub(super) async fn terminate(&self) {
        self.send(Signal::TERM);
        let group = self.pid;
        self.sweep(move |mark| sweep::terminate_strays(mark, group)).await;
        // A stopped process takes the signal only when it goes on.
        self.send(Signal::CONT);
    }

    /// Kills every process of the job, also outside of the group.
    pub(super) async fn kill(&self) -> bool {
        self.send(Signal::KILL);
        self.sweep(sweep::kill).await
    }

    /// Whether a process bears the mark, in the group or outside.
    pub(super) async fn has_marked(&self) -> bool {
        self.sweep(|mark| !sweep::marked(mark).is_empty()).await
    }

    /// Lets go of a group that has ended.
    pub(super) fn release(&mut self) {
        self.held = false;
    }

    fn send(&self, signal: Signal) {
        // It fails when nobody is left, which is what is wanted.
        let _ = kill_process_group(self.pid, signal);
    }

    async fn sweep<T: Default + Send + 'static>(&self, work: impl FnOnce(&str) -> T + Send + 'static) -> T {
        let mark = self.mark.clone();
        // It fails only when the runtime ends; the guard's own sweep follows then.
        tokio::task::spawn_blocking(move || work(&mark)).await.unwrap_or_default()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        self.send(Signal::KILL);
        let start = Instant::now();
        while sweep::kill_once(&self.mark) > 0 && start.elapsed() < DROP_LIMIT {}
    }
}
