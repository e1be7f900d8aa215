//! The built binary as a process: a place to start it in, what it costs, how it is ended from outside, and
//! what outlives it. Everything here is looked at from outside of the program, and every wait has a limit.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The longest wait for one process or one state, in a debug build on a busy machine.
pub const LIMIT: Duration = Duration::from_mins(1);

/// The environment variable that every process of a stage has, with the stage's own value.
pub const MARK: &str = "TROUPE_TEST_RUN";

/// The pause between two looks at what tells nobody of its changes, such as `/proc`.
const PAUSE: Duration = Duration::from_micros(300);

/// Looks until there is something.
///
/// # Panics
/// When there is nothing within `limit`.
pub fn poll<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        pause(PAUSE);
    }
}

/// Lets a moment pass, so that a signal comes at another one.
pub fn pause(time: Duration) {
    let start = Instant::now();
    // Parking may end early, for no reason.
    while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}

/// Where a program is started: home, working folder and temporary folder of its own. Dropped, it kills what
/// is left of what was started in it.
pub struct Stage {
    folder: TempDir,
    program: PathBuf,
    mark: String,
    runs: std::cell::Cell<usize>,
}

impl Stage {
    /// A stage for this program.
    ///
    /// # Panics
    /// When the folders can't be made.
    pub fn new(program: impl AsRef<Path>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["home", "work", "tmp", "written"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let mark = folder.path().display().to_string();
        Self { folder, program: program.as_ref().to_owned(), mark, runs: std::cell::Cell::default() }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with its folders.
    ///
    /// # Panics
    /// When it can't.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a name in the stage")).expect("its folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Reads a file; empty when it isn't there.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The folder with the project's sessions, if there is one yet.
    pub fn sessions(&self) -> Option<PathBuf> {
        let projects = std::fs::read_dir(self.path("home/.troupe/projects")).ok()?;
        projects.flatten().map(|entry| entry.path()).next()
    }

    /// Starts the program with the script in `model.script` and these arguments. Everything is allowed, and
    /// nothing comes from stdin.
    ///
    /// # Panics
    /// When it can't be started.
    pub fn start(&self, arguments: &[&str]) -> Run {
        self.start_as(&self.program, arguments)
    }

    /// The program in these surroundings, with an environment that holds nothing of the person's, and nothing on
    /// stdin.
    pub fn command(&self) -> Command {
        self.command_of(&self.program)
    }

    /// As [`Self::command`], with another program.
    #[expect(
        clippy::disallowed_methods,
        reason = "the programs that a run starts are where this machine has them"
    )]
    pub fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env(MARK, &self.mark)
            .stdin(Stdio::null());
        command
    }

    /// As [`Self::start`], with another program that starts it.
    ///
    /// # Panics
    /// When it can't be started.
    pub fn start_as(&self, program: &Path, arguments: &[&str]) -> Run {
        let number = self.runs.replace(self.runs.get() + 1);
        let out = self.path(&format!("written/{number}.out"));
        let err = self.path(&format!("written/{number}.err"));
        let file = |path: &Path| File::create(path).expect("a file for the output");
        let child = self
            .command_of(program)
            .args(["--model", &format!("script:{}", self.path("model.script").display())])
            .args(["--permission-mode", "bypassPermissions"])
            .args(arguments)
            // Root may skip permissions only where the whole machine is the sandbox.
            .env("IS_SANDBOX", "1")
            .stdout(file(&out))
            .stderr(file(&err))
            .spawn()
            .expect("the program starts");
        Run { child, out, err, ended: None }
    }

    /// Processes of this stage that are alive, by id.
    ///
    /// # Panics
    /// When `/proc` can't be read.
    pub fn survivors(&self) -> Vec<u32> {
        self.marked().expect("/proc")
    }

    fn marked(&self) -> std::io::Result<Vec<u32>> {
        let wanted = format!("{MARK}={}", self.mark);
        let marked = |pid: &u32| {
            // One that waits to be reaped has no environment any more.
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        };
        let names = std::fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
        Ok(names.filter_map(|name| name.to_str()?.parse().ok()).filter(marked).collect())
    }

    /// Waits until no process of this stage is alive.
    ///
    /// # Panics
    /// When one still is after `limit`.
    pub fn is_deserted(&self, limit: Duration) {
        poll("no process is left", limit, || self.survivors().is_empty().then_some(()));
    }

    /// A gate that a command can wait at.
    ///
    /// # Panics
    /// When the pipe can't be made.
    pub fn gate(&self, name: &str) -> Gate {
        Gate { path: self.pipe(name) }
    }

    /// Makes a named pipe.
    ///
    /// # Panics
    /// When it can't.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).expect("a named pipe");
        path
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Without `/proc` nobody looks, and nothing is left in a run that ended.
        for pid in self.marked().unwrap_or_default() {
            send(pid, Signal::KILL);
        }
    }
}

/// A place in a script where a command waits until the test has looked around: a named pipe.
pub struct Gate {
    path: PathBuf,
}

/// A gate with a command before it; dropped, the command goes on.
pub struct Reached {
    _writer: File,
}

impl Gate {
    /// The command that waits.
    pub fn command(&self) -> String {
        format!("read -r _ < {}", self.path.display())
    }

    /// Waits until a command waits here.
    ///
    /// # Panics
    /// When none does within `limit`.
    pub fn reached(&self, limit: Duration) -> Reached {
        let mut options = OpenOptions::new();
        // Without a reader this fails at once, in place of blocking.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("a flag of the system");
        let options = options.write(true).custom_flags(flags);
        let writer = poll("a command waits at the gate", limit, || options.open(&self.path).ok());
        Reached { _writer: writer }
    }
}

/// A started program. Dropped, it is killed.
pub struct Run {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    ended: Option<ExitStatus>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to stdout.
    pub out: String,
    /// What it wrote to stderr.
    pub err: String,
}

impl Run {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    ///
    /// # Panics
    /// When it can't be waited for.
    pub fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("the program can be waited for");
        }
        self.ended.is_some()
    }

    /// Kills it, as `kill -9` does: it can do nothing about it.
    ///
    /// # Panics
    /// When it can't be waited for.
    pub fn kill(mut self) {
        // It fails when the program has ended already, which is what is wanted.
        let _ = self.child.kill();
        self.ended = Some(self.child.wait().expect("a killed program ends"));
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it has not ended within `limit`.
    pub fn end(mut self, limit: Duration) -> Ended {
        poll("the program ends", limit, || self.has_ended().then_some(()));
        let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        Ended {
            code: self.ended.and_then(|status| status.code()),
            out: text(&self.out),
            err: text(&self.err),
        }
    }

    /// What it costs now.
    ///
    /// # Panics
    /// When it is not alive.
    pub fn figures(&self) -> Figures {
        Figures::of(self.pid()).expect("the program is alive")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Ended {
    /// What it wrote, when it went well and said nothing on the side.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn clean(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        &self.out
    }

    /// It failed with this code, and said so.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn says(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for words in words {
            assert!(self.err.contains(words), "no {words:?} in {self:?}");
        }
    }
}

/// What a process costs, as the system counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Memory in use, in kB (`VmRSS`).
    pub rss_kb: u64,
    /// The most that was in use at once, in kB (`VmHWM`).
    pub peak_kb: u64,
    /// Threads.
    pub threads: u64,
    /// Open file descriptors.
    pub fds: usize,
}

impl Figures {
    /// Those of a process; none when it is not alive.
    pub fn of(pid: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            line?.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            rss_kb: number("VmRSS")?,
            peak_kb: number("VmHWM")?,
            threads: number("Threads")?,
            fds: std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
        })
    }
}

fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It fails when the process has ended already.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_outlives_a_run_is_seen_and_ended_with_the_stage() {
        let stage = Stage::new("/bin/sh");
        let run = Run {
            child: Command::new("/bin/sh")
                .args(["-c", "sleep 600 & echo at work; wait"])
                .env(MARK, &stage.mark)
                .stdout(File::create(stage.path("written/x")).expect("a file"))
                .spawn()
                .expect("a shell"),
            out: stage.path("written/x"),
            err: stage.path("written/y"),
            ended: None,
        };
        poll("it works", LIMIT, || (stage.survivors().len() == 2).then_some(()));
        assert!(run.figures().fds >= 3);
        run.kill();
        // One that is just becoming another program shows no environment for a moment.
        let left = poll("its child is still there", LIMIT, || {
            Some(stage.survivors()).filter(|left| left.len() == 1)
        });
        drop(stage);
        poll("the child is gone", LIMIT, || Figures::of(left[0]).is_none().then_some(()));
    }
}
