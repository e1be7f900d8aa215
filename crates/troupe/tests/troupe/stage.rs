//! A place to start the program in: home, working folder and temporary folder, none of which is the person's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The place.
pub(crate) struct Stage {
    folder: TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The program, with an environment that holds nothing of the person's.
    pub(crate) fn troupe(&self) -> Command {
        self.program(env!("CARGO_BIN_EXE_troupe").as_ref())
    }

    /// Another program in the same surroundings.
    #[expect(
        clippy::disallowed_methods,
        reason = "the programs that a run starts are where this machine has them"
    )]
    pub(crate) fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The program with a script for a model.
    pub(crate) fn scripted(&self, script: &str) -> Command {
        let path = self.write("model.script", script);
        let mut command = self.troupe();
        command.arg("--model").arg(format!("script:{}", path.display()));
        command
    }

    /// Runs it with these arguments and a script.
    pub(crate) fn play(&self, script: &str, arguments: &[&str]) -> Ended {
        end(self.scripted(script).args(arguments))
    }

    /// Makes a named pipe.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, rustix::fs::Mode::RWXU, 0).unwrap();
        path
    }
}

/// Runs a command to its end.
pub(crate) fn end(command: &mut Command) -> Ended {
    ended(command.output().unwrap())
}

/// Reads an end.
pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ended {
    /// It went well and said nothing on the side.
    #[track_caller]
    pub(crate) fn clean(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        &self.out
    }

    /// It failed with this code, and said so.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for words in words {
            assert!(self.err.contains(words), "no {words:?} in {self:?}");
        }
    }
}
