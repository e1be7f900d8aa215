//! A workspace, a home and a place outside, on the disk; commands behind walls in it.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use troupe_sandbox::{Names, Policy, Sandbox, Wall, Walled, Workspace};

/// The program for `sandbox-init` and attempts.
const INIT: &str = env!("CARGO_BIN_EXE_sandbox-test-init");
/// An ordinary user.
const USER: u32 = 65534;
/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Folders that a sandbox replaces: a world in one of them has no outside.
const REPLACED: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev"];

pub(crate) const NAMES: Names<'static> = Names {
    folders: &[".git", ".troupe", ".claude", ".vscode", ".husky", ".cargo"],
    files: &[".bashrc", ".envrc", ".npmrc", ".mcp.json"],
    config: &["git", "fish"],
};

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) sandbox: Sandbox,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    /// Both streams.
    pub(crate) text: String,
}

/// A test under the user who runs it, and under an ordinary one.
macro_rules! as_root_and_as_user {
    ($(#[doc = $doc:literal])* fn $name:ident($world:ident: World on $wall:ident) $body:block) => {
        $(#[doc = $doc])*
        fn $name($world: $crate::world::World) {
            $body
        }

        mod $name {
            fn body() {
                super::$name($crate::world::World::new(troupe_sandbox::Wall::$wall));
            }

            #[test]
            fn as_root() {
                body();
            }

            #[test]
            fn as_user() {
                $crate::world::as_user(concat!(module_path!(), "::as_user"), body);
            }
        }
    };
}
pub(crate) use as_root_and_as_user;

/// Runs a test again as an ordinary user, when root runs it.
pub(crate) fn as_user(name: &str, body: fn()) {
    if !rustix::process::geteuid().is_root() {
        return body();
    }
    let dir = TempDir::new_in(place()).unwrap();
    chown(dir.path(), Some(USER), Some(USER)).unwrap();
    // The folder of the test may be closed to that user.
    let exe = dir.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    let (_, name) = name.split_once("::").unwrap();
    let out = Command::new("setpriv")
        .args([&format!("--reuid={USER}"), &format!("--regid={USER}"), "--clear-groups", "--"])
        .arg(exe)
        .args(["--exact", name, "--nocapture"])
        .env("HOME", dir.path())
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .output()
        .expect("these tests need setpriv (util-linux)");
    let text = String::from_utf8_lossy(&out.stdout);
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.contains("1 passed"), "as an ordinary user:\n{text}\n{errors}");
}

/// A folder to make worlds in, outside of those that a sandbox replaces.
fn place() -> PathBuf {
    let root = rustix::process::geteuid().is_root();
    let cwd = std::env::current_dir().unwrap();
    let candidates = if root { vec!["/var/lib".into(), "/opt".into()] } else { vec![cwd] };
    let candidates = [PathBuf::from(env!("CARGO_TARGET_TMPDIR"))].into_iter().chain(candidates);
    let outside = |path: &PathBuf| !REPLACED.iter().any(|folder| path.starts_with(folder));
    let open = |path: &PathBuf| {
        path.ancestors().all(|part| part.metadata().is_ok_and(|found| found.permissions().mode() & 1 == 1))
    };
    let writable = |path: &PathBuf| TempDir::new_in(path).is_ok();
    let mut fitting = candidates.filter(|path| outside(path) && (!root || open(path)) && writable(path));
    fitting.next().expect("a folder for these tests, not below /tmp")
}

impl World {
    pub(crate) fn new(wall: Wall) -> Self {
        let dir = TempDir::new_in(place()).unwrap();
        for folder in ["bin", "ws", "home/.ssh", "outside", "temp"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("home/.ssh/id"), "secret").unwrap();
        fs::write(dir.path().join("outside/file"), "outside").unwrap();
        let init = dir.path().join("bin/init");
        fs::copy(INIT, &init).unwrap();
        let sandbox = Sandbox::probe_wall(&init, wall);
        let sandbox = sandbox.unwrap_or_else(|error| panic!("these tests need a machine with it: {error}"));
        Self { dir, sandbox }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The standard policy of `ws`, and of more roots.
    pub(crate) fn policy_of(&self, roots: &[&str]) -> Policy {
        let roots: Vec<PathBuf> = roots.iter().map(|root| self.path(root)).collect();
        Policy::standard(&Workspace {
            roots: &roots,
            temp: Some(&self.path("temp")),
            home: Some(&self.path("home")),
            names: NAMES,
            ..Workspace::default()
        })
    }

    pub(crate) fn policy(&self) -> Policy {
        self.policy_of(&["ws"])
    }

    pub(crate) fn walled(&self, policy: &Policy, program: &str, args: &[&str]) -> Walled {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        self.sandbox.wrap(policy, Path::new(program), &args, &self.path("ws")).unwrap()
    }

    /// Runs a script in `ws`.
    pub(crate) fn sh_with(&self, policy: &Policy, script: &str) -> Outcome {
        let walled = self.walled(policy, "/bin/sh", &["-c", script]);
        let mut command = walled.command();
        command.current_dir(self.path("ws")).env("HOME", self.path("home"));
        for (key, value) in [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")] {
            command.env(key, value).env(key.replace("AUTHOR", "COMMITTER"), value);
        }
        finish(command)
    }

    pub(crate) fn sh(&self, script: &str) -> Outcome {
        self.sh_with(&self.policy(), script)
    }

    /// Makes an attempt behind the walls (see the helper program).
    pub(crate) fn attempt(&self, policy: &Policy, words: &[&str]) -> String {
        let program = self.path("bin/init");
        let walled = self.walled(policy, program.to_str().unwrap(), &[&["try"], words].concat());
        let mut command = walled.command();
        command.current_dir(self.path("ws"));
        finish(command).text
    }

    /// The same without walls: what the attempt is worth.
    pub(crate) fn attempt_outside(&self, words: &[&str]) -> String {
        let mut command = Command::new(self.path("bin/init"));
        command.arg("try").args(words);
        finish(command).text
    }

    /// A repository in `ws` with a commit.
    pub(crate) fn repository(&self) {
        self.outside("git init -q . && echo one > file && git add file && git commit -qm one");
    }

    /// Runs a script in `ws`, without walls.
    pub(crate) fn outside(&self, script: &str) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir(self.path("ws"));
        for key in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(key, "a@b");
        }
        let out = finish(command);
        assert!(out.status.success(), "{}", out.text);
        out.text
    }
}

/// Runs to the end, or kills at the limit.
pub(crate) fn finish(mut command: Command) -> Outcome {
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    let (done, over) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).unwrap();
        done.send(()).unwrap();
        text
    });
    let in_time = over.recv_timeout(LIMIT).is_ok();
    if !in_time {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let text = String::from_utf8_lossy(&reading.join().unwrap()).into_owned();
    assert!(in_time, "out of time: {text}");
    Outcome { status, text }
}
