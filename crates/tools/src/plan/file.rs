//! The file of a plan: read for the person to see, written where they changed it.

use std::fs::Metadata;
use std::io::Read as _;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::file::open::open;
use crate::file::replace::{Before, replace};

/// Largest plan, in bytes. One that nobody would read to its end can't be approved.
pub(super) const LARGEST: usize = 64 * 1024;

/// The plan; `None` when there is none yet.
///
/// # Errors
/// What the model is told when the file can't be read.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    if own(path)?.is_none() {
        return Ok(None);
    }
    let folder = path.parent().unwrap_or(path);
    let (file, _) = open(path, folder).map_err(|fault| fault.to_string())?;
    let mut bytes = Vec::new();
    file.take(LARGEST as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("reading {} failed: {error}", path.display()))?;
    let plan = String::from_utf8_lossy(&bytes).into_owned();
    check(&plan)?;
    Ok(Some(plan).filter(|plan| !plan.trim().is_empty()))
}

/// Writes the plan, whole or not at all.
///
/// # Errors
/// What the model is told when it can't be written.
pub(super) fn write(path: &Path, plan: &str) -> Result<(), String> {
    check(plan)?;
    let there = own(path)?;
    let before = there.as_ref().map(|meta| Before::new(meta, None));
    replace(path, plan.as_bytes(), before, &CancellationToken::new())
        .map(drop)
        .map_err(|fault| fault.to_string())
}

/// # Errors
/// When the plan is too long.
pub(super) fn check(plan: &str) -> Result<(), String> {
    if plan.len() > LARGEST {
        return Err(format!(
            "a plan has at most {LARGEST} bytes: shorten it to what the person has to decide"
        ));
    }
    Ok(())
}

/// What is there. A link in its place is nobody's plan, and must not lead a write elsewhere.
fn own(path: &Path) -> Result<Option<Metadata>, String> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Some(meta)),
        Ok(_) => Err(format!("{} is not a plain file", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("looking at {} failed: {error}", path.display())),
    }
}
