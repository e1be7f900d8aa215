//! What of a repository may not be written: whatever git runs, or that tells it where to look for it. Read from the
//! files, without git: its own configuration could run something.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::Policy;

mod config;

use config::settings;

/// The name of a repository in its work tree.
pub(crate) const NAME: &str = ".git";
/// Most of a file that is read, in bytes.
const FILE_MOST: u64 = 256 << 10;
/// How many files a configuration may consist of.
const INCLUDED_MOST: usize = 64;

/// What a person's own configuration says to git in each repository.
#[derive(Debug)]
pub(crate) struct Person<'a> {
    home: Option<&'a Path>,
    /// Folders of hooks, as they are written.
    hooks: Vec<String>,
}

impl<'a> Person<'a> {
    /// Reads it; what it includes is held.
    pub(crate) fn read(home: Option<&'a Path>, policy: &mut Policy) -> Self {
        let own =
            home.into_iter().flat_map(|home| [".gitconfig", ".config/git/config"].map(|at| home.join(at)));
        let files: Vec<_> = own.chain([PathBuf::from("/etc/gitconfig")]).collect();
        let mut person = Self { home, hooks: Vec::new() };
        person.hooks = person.follow(files, policy);
        person
    }

    /// Holds what these files include. The folders of hooks in all of them, as they are written.
    fn follow(&self, mut files: Vec<PathBuf>, policy: &mut Policy) -> Vec<String> {
        let (mut seen, mut hooks) = (Vec::new(), Vec::new());
        while let Some(file) = files.pop() {
            if seen.contains(&file) {
                continue;
            }
            if seen.len() == INCLUDED_MOST {
                policy.incomplete = true;
                break;
            }
            let text = read(&file).unwrap_or_default();
            policy.incomplete |= file.metadata().is_ok_and(|found| found.len() > FILE_MOST);
            for setting in settings(&text) {
                match (setting.section.as_str(), setting.key.as_str()) {
                    ("include" | "includeif", "path") => {
                        let base = file.parent().unwrap_or(&file);
                        let Some(path) = self.path(&setting.value, base) else {
                            policy.incomplete = true;
                            continue;
                        };
                        // Nothing can stand in for a file that is not there: git fails at an empty folder.
                        if path.exists() {
                            policy.read_only.push(path.clone());
                        } else {
                            policy.incomplete |= policy.writable.iter().any(|root| path.starts_with(root));
                        }
                        files.push(path);
                    }
                    (_, "hookspath") if !setting.value.is_empty() => hooks.push(setting.value),
                    _ => {}
                }
            }
            seen.push(file);
        }
        hooks
    }

    /// Holds the folders of hooks that the configuration of a repository names, for the work trees it may be used in.
    fn hold_hooks(&self, config: &Path, trees: &[&Path], policy: &mut Policy) {
        let files = ["config", "config.worktree"].map(|name| config.join(name)).into();
        let hooks = self.follow(files, policy);
        for (value, tree) in
            hooks.iter().chain(&self.hooks).flat_map(|value| trees.iter().map(move |tree| (value, tree)))
        {
            match self.path(value, tree) {
                // All of a workspace can't be read-only.
                Some(path) if !policy.writable.iter().any(|root| root.starts_with(&path)) => {
                    policy.read_only.push(path);
                }
                _ => policy.incomplete = true,
            }
        }
    }

    /// The path that a setting names. None: it is in another person's home.
    fn path(&self, value: &str, base: &Path) -> Option<PathBuf> {
        let path = match value.strip_prefix('~') {
            Some(rest) => match rest.strip_prefix('/') {
                Some(below) => self.home?.join(below.trim_start_matches('/')),
                None if rest.is_empty() => self.home?.to_owned(),
                None => return None,
            },
            None => base.join(value),
        };
        let mut plain = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::Normal(name) => plain.push(name),
                // Of what a link leads to.
                Component::ParentDir => {
                    plain = plain.canonicalize().unwrap_or(plain);
                    plain.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(plain)
    }
}

/// Carves out of the work tree at `root` what git goes by. A work tree whose repository lies elsewhere gets that one
/// to write, if it says itself that the work tree is its own.
pub(crate) fn carve_out(root: &Path, person: &Person<'_>, policy: &mut Policy) {
    let dot = root.join(NAME);
    match dot.symlink_metadata() {
        Ok(found) if found.is_dir() => repository(&dot, &[root], person, policy),
        Ok(found) if found.is_file() => {
            policy.read_only.push(dot.clone());
            if let Some(folder) = pointer(&dot, "gitdir:") {
                linked(root, &folder, person, policy);
                submodule(root, &folder, person, policy);
            }
        }
        // Absent, or a link, which can't be held; nobody may make another.
        _ => policy.read_only.push(dot),
    }
}

/// The read-only part of a repository. It is written otherwise: objects, refs, the index.
fn repository(folder: &Path, trees: &[&Path], person: &Person<'_>, policy: &mut Policy) {
    // `commondir` leads to another folder with another `config`. Modules and worktrees are repositories of their
    // own, each with all of this: they are held whole, since their number and names are free.
    let parts =
        ["hooks", "config", "config.worktree", "commondir", "info/attributes", "modules", "worktrees"];
    policy.read_only.extend(parts.iter().map(|part| folder.join(part)));
    person.hold_hooks(folder, trees, policy);
}

/// A linked worktree: objects and refs lie in the shared repository, index and `HEAD` in a folder there.
fn linked(tree: &Path, folder: &Path, person: &Person<'_>, policy: &mut Policy) {
    let Some(shared) = pointer(&folder.join("commondir"), "") else { return };
    let known = folder.parent() == Some(&shared.join("worktrees"))
        && pointer(&folder.join("gitdir"), "").is_some_and(|back| same(&back, &tree.join(NAME)))
        && is_repository(&shared);
    if !known {
        return;
    }
    policy.writable.push(shared.clone());
    let trees: Vec<_> = [Some(tree), shared.parent()].into_iter().flatten().collect();
    repository(&shared, &trees, person, policy);
    person.hold_hooks(folder, &[tree], policy);
    // What the main work tree stands on is no business of this one.
    let others = ["HEAD", "index"].map(|part| shared.join(part));
    policy.read_only.extend(others.into_iter().filter(|part| part.exists()));
    policy.writable.push(folder.to_owned());
    policy.read_only.extend(["commondir", "gitdir", "config.worktree"].map(|part| folder.join(part)));
}

/// A submodule: its repository lies in the one around it.
fn submodule(root: &Path, folder: &Path, person: &Person<'_>, policy: &mut Policy) {
    let text = read(&folder.join("config")).unwrap_or_default();
    let back = settings(&text).into_iter().rev().find(|setting| setting.key == "worktree");
    let Some(back) = back.map(|setting| setting.value) else { return };
    if is_repository(folder) && same(&folder.join(back), root) {
        policy.writable.push(folder.to_owned());
        repository(folder, &[root], person, policy);
    }
}

fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("config").is_file() && folder.join("objects").is_dir()
}

/// The path that a file of git's holds after `label`, relative to the file.
fn pointer(file: &Path, label: &str) -> Option<PathBuf> {
    let text = read(file)?;
    let path = text.lines().next()?.strip_prefix(label)?.trim();
    if path.is_empty() {
        return None;
    }
    file.parent()?.join(path).canonicalize().ok()
}

/// A file's text, as far as it is read; what is no text in it is replaced.
fn read(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    // A pipe would be waited for.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    File::open(file).ok()?.take(FILE_MOST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}
