//! Folders of agents' memory (Y1): where each lies, and what of it an agent is shown. Worktrees share those of a project.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use troupe_core::def::{AgentDef, MemoryScope};
use troupe_core::memory::{INDEX, told};

use crate::agent::resolve::real;
use crate::session::PlaceConfig;
use crate::store::private;

/// Most bytes of an index that are read; less is shown.
const MOST: u64 = 1 << 20;

/// The folder of an agent's memory; none for one without, and in sessions that keep none.
pub(crate) fn folder(place: &PlaceConfig, def: &AgentDef) -> Option<PathBuf> {
    let (scope, project) = (def.memory?, place.memory.as_ref()?);
    let fit = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = def.name.chars().map(fit).collect();
    (!name.is_empty()).then(|| match scope {
        MemoryScope::User => place.root.join("agent-memory").join(name),
        MemoryScope::Project => project.join(".troupe/agent-memory").join(name),
        MemoryScope::Local => project.join(".troupe/agent-memory-local").join(name),
    })
}

/// The folder under each of its names.
pub(crate) fn names(place: &PlaceConfig, def: &AgentDef) -> Vec<PathBuf> {
    let Some(folder) = folder(place, def) else { return Vec::new() };
    let mut names = vec![real(&folder), folder];
    names.dedup();
    names
}

/// Makes the folder and reads its index; what the agent is told of both.
///
/// # Errors
/// When it can't be made or read, or a link in it leads elsewhere: what is written there would land elsewhere.
pub(crate) fn open(place: &PlaceConfig, folder: &Path) -> io::Result<String> {
    let root = place.memory.as_deref().filter(|project| folder.starts_with(project)).unwrap_or(&place.root);
    private::folder(folder)?;
    let inside = real(folder).starts_with(real(root)) && folder.symlink_metadata()?.is_dir();
    if !inside {
        return Err(io::Error::other("it is a link, or lies behind one that leads elsewhere"));
    }
    let mut bytes = Vec::new();
    match File::open(folder.join(INDEX)) {
        Ok(file) => drop(file.take(MOST).read_to_end(&mut bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(told(&folder.display().to_string(), &String::from_utf8_lossy(&bytes)))
}
