//! Which folders hold definitions, and whose they are.

use std::path::{Path, PathBuf};

use troupe_core::policy::Mode;

use crate::load::places::{OURS, Places, THEIRS};
use crate::load::settings::Sources;
use crate::load::trust::Trust;

/// What is read, and what of it may take effect.
#[derive(Clone, Debug)]
pub struct AgentSources {
    /// Where files lie.
    pub places: Places,
    /// The layers that count (`--setting-sources`).
    pub sources: Sources,
    /// What of the repository may take effect.
    pub trust: Trust,
    /// The session's mode: what a project's definition may loosen it to waits for trust.
    pub mode: Mode,
    /// The plugins in force: name, and folder with an `agents/`.
    pub plugins: Vec<(String, PathBuf)>,
    /// Folders that `--add-dir` names.
    pub added: Vec<PathBuf>,
    /// Whether files are passed over: only what is built in and what flags give (D12).
    pub bare: bool,
}

/// Whose a folder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A plugin's, of this name.
    Plugin(String),
    /// The person's.
    User,
    /// The project's.
    Project,
    /// The organisation's.
    Managed,
}

/// A folder to search, with those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) whose: Whose,
}

/// All folders, the weakest first. Those that aren't there are listed too.
pub(super) fn all(from: &AgentSources) -> Vec<Folder> {
    if from.bare {
        return Vec::new();
    }
    let of = |whose: Whose| move |path: PathBuf| Folder { path, whose: whose.clone() };
    let plugins = from
        .plugins
        .iter()
        .map(|(name, folder)| Folder { path: folder.join("agents"), whose: Whose::Plugin(name.clone()) });
    let users = users(&from.places).into_iter().filter(|_| from.sources.user).map(of(Whose::User));
    let managed = from.places.managed.iter().flat_map(|folder| {
        [folder.join(THEIRS).join("agents"), folder.join("agents")].map(of(Whose::Managed))
    });
    plugins.chain(users).chain(project(from)).chain(managed).collect()
}

/// The project's folders, the weakest first: from the checkout's root down to the working folder, the closest last;
/// in one folder ours after the ecosystem's. Folders that a flag adds come before them all.
pub(super) fn project(from: &AgentSources) -> Vec<Folder> {
    if from.bare || !from.sources.project {
        return Vec::new();
    }
    let places = &from.places;
    let root = places.project_root();
    let mut chain: Vec<&Path> =
        places.cwd.ancestors().take_while(|folder| folder.starts_with(root)).collect();
    chain.reverse();
    // Started in the home folder, the project's folder is the person's own.
    let users: Vec<PathBuf> = users(places).iter().map(|path| resolved(path)).collect();
    let mut seen = users;
    let mut folders = Vec::new();
    for folder in from.added.iter().map(PathBuf::as_path).chain(chain) {
        for path in [THEIRS, OURS].map(|name| folder.join(name).join("agents")) {
            let real = resolved(&path);
            if !seen.contains(&real) {
                seen.push(real);
                folders.push(Folder { path, whose: Whose::Project });
            }
        }
    }
    folders
}

fn users(places: &Places) -> Vec<PathBuf> {
    places.user_layers().into_iter().map(|folder| folder.join("agents")).collect()
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
