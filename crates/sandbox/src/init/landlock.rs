//! Landlock: writes only below the given paths, no signals to processes outside, no abstract sockets of theirs.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};

use crate::Wall;

/// The oldest kernel that is good for a wall alone: without `Truncate`, a file outside could be emptied.
const LEAST: ABI = ABI::V3;

/// Folders that belong to the sandbox behind bubblewrap.
pub(super) const INSIDE: &[&str] = &["/dev", "/proc", "/run", "/tmp", "/var/tmp"];
/// Devices that programs write to, where the machine's own are seen.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

#[derive(Debug, thiserror::Error)]
pub(super) enum LandlockError {
    #[error("{0}")]
    Ruleset(#[from] RulesetError),
    #[error("{}: {}", .0.display(), .1)]
    Path(PathBuf, landlock::PathFdError),
    #[error("the kernel does not enforce it")]
    NotEnforced,
}

/// Restricts this process and those that it starts. Behind bubblewrap it is the second wall and the kernel may
/// lack it; alone it must hold.
pub(super) fn restrict(wall: Wall, writable: &[PathBuf]) -> Result<(), LandlockError> {
    let alone = wall == Wall::Landlock;
    let level = if alone { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
    let ruleset = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_write(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(ABI::V6))?;
    let mut ruleset = ruleset.create()?;
    for path in writable {
        ruleset = allow(ruleset, path)?;
    }
    for path in if alone { DEVICES } else { INSIDE } {
        ruleset = allow(ruleset, Path::new(path))?;
    }
    let status = ruleset.restrict_self()?;
    match status.ruleset {
        RulesetStatus::NotEnforced if alone => Err(LandlockError::NotEnforced),
        _ => Ok(()),
    }
}

fn allow(ruleset: RulesetCreated, path: &Path) -> Result<RulesetCreated, LandlockError> {
    let all = AccessFs::from_write(LEAST);
    let file: BitFlags<AccessFs> = make_bitflags!(AccessFs::{WriteFile | Truncate});
    // What is not there needs no rule: nothing is allowed by its absence.
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(ruleset) };
    let access = if metadata.is_dir() { all } else { file };
    let open = PathFd::new(path).map_err(|error| LandlockError::Path(path.to_owned(), error))?;
    Ok(ruleset.add_rule(PathBeneath::new(open, access))?)
}
