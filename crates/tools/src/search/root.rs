//! What there is at a path from which a search starts.

use std::path::Path;

/// What there is at a path that a search starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
}

/// Looks at a path; links are followed. What is neither file nor folder is refused: a pipe would block.
pub(super) fn kind(path: &Path) -> Result<Kind, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Kind::File),
        Ok(meta) if meta.is_dir() => Ok(Kind::Folder),
        Ok(_) => Err(format!("{} is neither a file nor a folder", path.display())),
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => {
            let there = path.ancestors().skip(1).find(|above| above.exists());
            let there = there.map(|above| format!("; {} exists", above.display())).unwrap_or_default();
            Err(format!("{} does not exist{there}", path.display()))
        }
        Err(fault) => Err(format!("{} can't be searched: {fault}", path.display())),
    }
}
