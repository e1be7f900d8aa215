//! One call of git: without a shell, with an environment of its own, for a bounded time, and with what a
//! repository could make it run turned off.
//!
//! The person's own configuration (`~/.gitconfig`, the system's) holds: it says which files are ignored and which
//! folders are safe, and its programs are the person's.

use std::ffi::OsStr;
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::load::trust::filters;
use crate::load::{Env, Places};

/// What goes over the configuration of every repository.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "sequence.editor=false",
    "core.sshCommand=false",
    "core.askPass=",
    "core.gitProxy=",
    "core.alternateRefsCommand=",
    "credential.helper=",
    "diff.external=",
    "interactive.diffFilter=",
    "gpg.program=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "safe.bareRepository=explicit",
];

/// The same said in the environment.
const VARIABLES: &[(&str, &str)] = &[
    // No index is written, so that nothing of the person's is held up.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // A list of the protocols that may be used; it goes before a repository's own word on each.
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("LC_ALL", "C"),
];

/// What git gets of the person's environment. Not `GIT_*`: it may name another repository.
const PASSED: &[&str] = &["HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR"];

/// What a command gets so that it runs no program for differences, and no git in a submodule, whose
/// configuration is another.
const GUARDS: &[(&str, &[&str])] = &[
    ("status", &["--ignore-submodules=all"]),
    ("diff", PLAIN_DIFF),
    ("log", PLAIN_DIFF),
    ("show", PLAIN_DIFF),
];
const PLAIN_DIFF: &[&str] = &["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"];

/// Most bytes of output.
const OUTPUT: usize = 4 << 20;
/// Most bytes of what it says on the side.
const COMPLAINT: usize = 64 << 10;
/// How often a process is looked at that has closed its output and not ended.
const LOOK: Duration = Duration::from_millis(1);

/// A call that needs more than arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'a> {
    /// The sub-command and what it gets.
    pub(crate) arguments: &'a [&'a str],
    /// Settings besides.
    pub(crate) settings: &'a [&'a str],
    /// Variables besides.
    pub(crate) variables: &'a [(&'a str, &'a OsStr)],
    /// What it reads.
    pub(crate) input: Option<&'a [u8]>,
    /// Most bytes of output, where that is not the usual.
    pub(crate) output: Option<usize>,
    /// An exit code that is an answer and no fault.
    pub(crate) allowed: Option<i32>,
}

/// Git in one checkout.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    root: PathBuf,
    variables: Vec<(String, String)>,
    filters: Vec<String>,
}

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no checkout.
    #[error("this folder is in no git checkout")]
    NoCheckout,
    /// The repository's configuration can't be read, so what it would run can't be turned off.
    #[error("git's configuration in this repository can't be understood")]
    Unclear,
    /// Git is not installed.
    #[error("git is not installed")]
    Missing,
    /// It ended with an error.
    #[error("git {command}: {status}: {complaint}")]
    Failed {
        /// The sub-command.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last line of what it said.
        complaint: String,
    },
    /// It took too long, and was killed.
    #[error("git {command} took longer than {} ms", limit.as_millis())]
    TimedOut {
        /// The sub-command.
        command: String,
        /// The limit.
        limit: Duration,
    },
    /// It said too much, and was killed.
    #[error("git {command} printed more than {most} bytes")]
    TooMuch {
        /// The sub-command.
        command: String,
        /// The limit.
        most: usize,
    },
    /// The system refused.
    #[error("run git: {0}")]
    Io(#[source] io::Error),
}

impl Git {
    /// Git in the checkout around the working folder.
    ///
    /// # Errors
    /// [`GitError::NoCheckout`], [`GitError::Unclear`].
    pub fn of(places: &Places, env: &Env) -> Result<Self, GitError> {
        let checkout = places.checkout.as_ref().ok_or(GitError::NoCheckout)?;
        let filters = filters(places, env.home.as_deref()).ok_or(GitError::Unclear)?;
        // Such a name would be read as another setting.
        if filters.iter().any(|name| name.contains(['=', '\n', '\0'])) {
            return Err(GitError::Unclear);
        }
        let passed =
            PASSED.iter().filter_map(|name| Some(((*name).to_owned(), env.vars.get(*name)?.clone())));
        let mut variables: Vec<(String, String)> = passed.collect();
        // A relative folder in it would lie in the repository.
        let path = env.vars.get("PATH").map(String::as_str).unwrap_or_default();
        let path: Vec<&str> = path.split(':').filter(|folder| folder.starts_with('/')).collect();
        variables.push(("PATH".to_owned(), path.join(":")));
        variables.extend(VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let above = checkout.root.parent().map(|above| above.to_string_lossy().into_owned());
        variables.extend(above.map(|above| ("GIT_CEILING_DIRECTORIES".to_owned(), above)));
        // What the configuration calls its files could be any folder.
        variables.push(("GIT_WORK_TREE".to_owned(), checkout.root.to_string_lossy().into_owned()));
        Ok(Self { program: "git".into(), root: checkout.root.clone(), variables, filters })
    }

    /// The root of the checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Runs a sub-command with its arguments and gives what it prints. Blocks, for at most `limit` and the time of
    /// a kill.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn run(&self, arguments: &[&str], limit: Duration) -> Result<Vec<u8>, GitError> {
        self.call(&Call { arguments, ..Call::default() }, limit)
    }

    /// The same for a call that needs more than arguments.
    ///
    /// # Errors
    /// [`GitError`].
    pub(crate) fn call(&self, call: &Call<'_>, limit: Duration) -> Result<Vec<u8>, GitError> {
        let name = call.arguments.first().copied().unwrap_or_default().to_owned();
        let deadline = Instant::now() + limit;
        let mut running = Running(self.command(call).spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Io(error),
        })?);
        if let Some(mut pipe) = running.0.stdin.take() {
            let input = call.input.unwrap_or_default().to_vec();
            // It ends when git has read all, or is gone.
            std::thread::spawn(move || {
                // Git says itself what it lacks.
                let _ = pipe.write_all(&input);
            });
        }
        let (tell, told) = mpsc::channel();
        let (out, err) = (running.0.stdout.take(), running.0.stderr.take());
        let read = |pipe: Option<Box<dyn Read + Send>>, most: usize, is_output: bool| {
            let tell = tell.clone();
            // It ends when the pipe does, and that is closed by the end of the process group at the latest.
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                if let Some(pipe) = pipe {
                    // A pipe that breaks gives what came before.
                    let _ = pipe.take(most as u64 + 1).read_to_end(&mut bytes);
                }
                // Nobody listens once the limit is over.
                let _ = tell.send((is_output, bytes));
            });
        };
        let most = call.output.unwrap_or(OUTPUT);
        read(out.map(|pipe| Box::new(pipe) as _), most, true);
        read(err.map(|pipe| Box::new(pipe) as _), COMPLAINT, false);
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let late = || GitError::TimedOut { command: name.clone(), limit };
        for _ in 0..2 {
            let left = deadline.saturating_duration_since(Instant::now());
            match told.recv_timeout(left).map_err(|_| late())? {
                (true, bytes) if bytes.len() > most => return Err(GitError::TooMuch { command: name, most }),
                (true, bytes) => output = bytes,
                (false, bytes) => complaint = bytes,
            }
        }
        loop {
            match running.0.try_wait().map_err(GitError::Io)? {
                Some(status) if status.success() => return Ok(output),
                Some(status) if call.allowed.is_some_and(|code| status.code() == Some(code)) => {
                    return Ok(output);
                }
                Some(status) => {
                    let complaint = String::from_utf8_lossy(&complaint);
                    let last =
                        complaint.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                    return Err(GitError::Failed {
                        command: name,
                        status,
                        complaint: last.trim().to_owned(),
                    });
                }
                None if Instant::now() >= deadline => return Err(late()),
                None => std::thread::park_timeout(LOOK),
            }
        }
    }

    fn command(&self, call: &Call<'_>) -> Command {
        let arguments = call.arguments;
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .envs(call.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.root)
            .stdin(if call.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for setting in call.settings {
            command.args(["-c", setting]);
        }
        for filter in &self.filters {
            for part in ["clean=", "smudge=", "process=", "required=false"] {
                command.arg("-c").arg(format!("filter.{filter}.{part}"));
            }
        }
        if let Some((name, rest)) = arguments.split_first() {
            let guards = GUARDS.iter().filter(|(guarded, _)| guarded == name).flat_map(|(_, guards)| *guards);
            command.arg(name).args(guards).args(rest);
        }
        command
    }
}

/// A process and all that it started; killed and reaped when it is given up.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // It may have ended just now.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        // A killed process ends soon, and must not stay as a zombie.
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
