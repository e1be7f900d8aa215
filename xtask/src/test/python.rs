//! The Python packages of the tests, in an environment of their own: in the user's cache folder, so that all
//! checkouts share it and only the first one needs the network; else under the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::needs::PYTHON_REQUIREMENTS;
use crate::project::Project;
use crate::{environment, process};

/// Makes the environment, or takes the one made before from the same list; gives its interpreter.
pub(super) fn ensure(project: &Project) -> Result<PathBuf> {
    let list = project.root.join(PYTHON_REQUIREMENTS);
    let wanted =
        std::fs::read_to_string(&list).with_context(|| format!("failed to read {}", list.display()))?;
    let cache = environment::cache().unwrap_or_else(|| project.target.clone());
    // A list that changes gets an environment beside the old one, which another checkout may be using.
    let folder = cache.join("troupe-test-env").join(format!("py-{:016x}", digest(&wanted)));
    let interpreter = folder.join("bin").join("python");
    if is_made(&folder, &wanted) {
        println!("set-up: Python packages are there from before");
        return Ok(interpreter);
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("failed to remove the old {}", folder.display()))?;
    }
    // Without pip of its own: Debian ships `venv` without the wheel for it, and the machine's pip will do.
    process::run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&folder))?;
    process::run(
        Command::new("python3")
            .args(["-m", "pip", "--disable-pip-version-check", "--python"])
            .arg(&interpreter)
            .args(["install", "--quiet", "--requirement"])
            .arg(&list),
    )?;
    // Written last, so that what was cut short is made anew.
    std::fs::write(stamp(&folder), wanted).context("failed to note which Python packages are there")?;
    println!("set-up: Python packages are in {}", folder.display());
    Ok(interpreter)
}

/// FNV-1a: the same on every machine and with every compiler.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// True when a whole environment was made from that list.
fn is_made(folder: &Path, wanted: &str) -> bool {
    let runs = folder.join("bin").join("python").exists();
    runs && std::fs::read_to_string(stamp(folder)).is_ok_and(|made| made == wanted)
}

fn stamp(folder: &Path) -> PathBuf {
    folder.join("made-from.txt")
}
