//! The [stage](troupe_testkit::process::Stage) with this program on it.

use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub(crate) use troupe_testkit::process::Ended;

/// The place to start the program in.
pub(crate) struct Stage(troupe_testkit::process::Stage);

impl Deref for Stage {
    type Target = troupe_testkit::process::Stage;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self(troupe_testkit::process::Stage::new(env!("CARGO_BIN_EXE_troupe")))
    }

    /// The program; what it writes can be read.
    pub(crate) fn troupe(&self) -> Command {
        piped(self.command())
    }

    /// Another program in the same surroundings.
    pub(crate) fn program(&self, program: &Path) -> Command {
        piped(self.command_of(program))
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
}

fn piped(mut command: Command) -> Command {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
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
