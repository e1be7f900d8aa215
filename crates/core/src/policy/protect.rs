//! Table: files that decide what runs later. Writing them asks, whatever the rules say.

use std::path::Path;

use crate::ports::tool::Place;

use super::path::fold;

/// Folders whose content is protected.
const FOLDERS: &[&str] = &[
    ".git",
    ".troupe",
    ".claude",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".yarn",
    ".mvn",
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    ".docker",
    ".jj",
    ".hg",
    ".svn",
    ".cursor",
    ".zed",
    ".direnv",
    ".githooks",
    "git~1",
    "troupe~1",
    "claude~1",
];

/// Files that are protected by name.
const FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".gitattributes",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarnrc.yaml",
    ".pypirc",
    ".netrc",
    ".mcp.json",
    ".claude.json",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    "gradle-wrapper.properties",
    "maven-wrapper.properties",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".tmux.conf",
    ".pythonrc",
    ".xprofile",
    ".xinitrc",
    ".curlrc",
    ".wgetrc",
    "authorized_keys",
];

/// Folders below `.config` that are protected.
const CONFIG: &[&str] = &["git", "fish", "autostart", "systemd", "troupe", "nvim", "environment.d"];

/// Names, in lower case, of what decides what runs later: for walls around commands.
#[derive(Clone, Copy, Debug)]
pub struct ProtectedNames {
    /// Folders.
    pub folders: &'static [&'static str],
    /// Files.
    pub files: &'static [&'static str],
    /// What lies below `.config`.
    pub config: &'static [&'static str],
}

/// The tables above.
pub const PROTECTED: ProtectedNames = ProtectedNames { folders: FOLDERS, files: FILES, config: CONFIG };

/// Whether a path is protected. Names below the roots count from their root: a workspace may lie in a
/// worktree of another.
pub(super) fn is_protected(path: &Path, place: &Place) -> bool {
    let root =
        place.roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count());
    let below = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
    let folded = fold(&below.to_string_lossy());
    let names: Vec<&str> = folded.split('/').filter(|name| !name.is_empty()).collect();
    let names = match &names[..] {
        [".troupe" | ".claude", "worktrees", _, rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let config = names.windows(2).any(|pair| pair[0] == ".config" && CONFIG.contains(&pair[1]));
    config
        || names.iter().any(|name| FOLDERS.contains(name))
        || names.last().is_some_and(|name| FILES.contains(name))
}

/// Whether a path is a repository's own folder or below it.
pub(super) fn is_repository(path: &Path) -> bool {
    path.components()
        .any(|part| matches!(fold(&part.as_os_str().to_string_lossy()).as_str(), ".git" | "git~1"))
}
