//! Programs of the machine: looked for, and installed when that is asked for.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Result, bail};

use super::needs::{PROGRAMS, Program, Source};
use crate::{environment, process};

/// Makes sure that every program is there. Without `install` it only says what is missing.
pub(super) fn ensure(install: bool) -> Result<()> {
    let missing = missing(|name| environment::program(name).is_some());
    if missing.is_empty() {
        println!("set-up: all {} programs are there", PROGRAMS.len());
        return Ok(());
    }
    if !install {
        let lines: Vec<String> =
            missing.iter().map(|program| format!("  {} ({})", program.name, program.used_by)).collect();
        bail!("missing:\n{}\n`cargo xtask test --install` installs what is missing", lines.join("\n"));
    }
    for mut command in commands(&missing)? {
        process::run(&mut command)?;
    }
    let still: Vec<&str> = missing
        .iter()
        .filter(|program| environment::program(program.name).is_none())
        .map(|program| program.name)
        .collect();
    if !still.is_empty() {
        bail!("installed, and still not on the path: {}", still.join(", "));
    }
    let names: Vec<&str> = missing.iter().map(|program| program.name).collect();
    println!("set-up: installed {}", names.join(", "));
    Ok(())
}

fn missing(is_there: impl Fn(&str) -> bool) -> Vec<&'static Program> {
    PROGRAMS.iter().filter(|program| !is_there(program.name)).collect()
}

/// The commands that install them, system packages in one.
fn commands(missing: &[&Program]) -> Result<Vec<Command>> {
    let sources: BTreeSet<Source> = missing.iter().map(|program| program.from).collect();
    let mut packages = Vec::new();
    let mut commands = Vec::new();
    for source in sources {
        match source {
            Source::Apt(package) => packages.push(package),
            Source::Rustup(component) => commands.push(command("rustup", &["component", "add", component])),
            Source::Cargo(name) => commands.push(command("cargo", &["install", name, "--locked"])),
        }
    }
    if packages.is_empty() {
        return Ok(commands);
    }
    if environment::program("apt-get").is_none() {
        bail!("there is no apt-get here; install by hand what Debian calls {}", packages.join(", "));
    }
    let install = [&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat();
    Ok([apt(&["update"]), apt(&install)].into_iter().chain(commands).collect())
}

/// Runs as root where `sudo` is needed and there.
fn apt(arguments: &[&str]) -> Command {
    let quiet = "DEBIAN_FRONTEND=noninteractive";
    if environment::program("sudo").is_some() {
        command("sudo", &[&["env", quiet, "apt-get"], arguments].concat())
    } else {
        command("env", &[&[quiet, "apt-get"], arguments].concat())
    }
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn lines(missing: &[&Program]) -> Vec<String> {
        let words = |command: &Command| {
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        commands(missing).unwrap().iter().map(words).collect()
    }

    #[test]
    fn what_is_there_is_not_missing() {
        assert!(missing(|_| true).is_empty());
        let names: Vec<&str> = missing(|name| name != "tmux").iter().map(|program| program.name).collect();
        assert_eq!(names, ["tmux"]);
    }

    #[test]
    fn each_source_has_its_installer() {
        let missing = missing(|name| !matches!(name, "cargo-nextest" | "cargo-clippy"));
        assert_eq!(lines(&missing), ["component add clippy", "install cargo-nextest --locked"]);
    }

    #[test]
    fn system_packages_come_in_one_go() {
        if environment::program("apt-get").is_none() {
            return;
        }
        let lines = lines(&missing(|name| !matches!(name, "tmux" | "pdftotext")));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].ends_with("install --yes --no-install-recommends poppler-utils tmux"), "{lines:?}");
    }
}
