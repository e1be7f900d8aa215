//! What of a repository may not be written: whatever git runs, or that tells it where to look for it. Read from the
//! files, without git: its own configuration could run something.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::Policy;

/// The name of a repository in its work tree.
pub(crate) const NAME: &str = ".git";
/// Most of a file that is read, in bytes.
const FILE_MOST: u64 = 256 << 10;

/// Carves out of the work tree at `root` what git goes by. A work tree whose repository lies elsewhere gets that one
/// to write, if it says itself that the work tree is its own.
pub(crate) fn carve_out(root: &Path, policy: &mut Policy) {
    let dot = root.join(NAME);
    match dot.symlink_metadata() {
        Ok(found) if found.is_dir() => repository(&dot, Some(root), policy),
        Ok(found) if found.is_file() => {
            policy.read_only.push(dot.clone());
            if let Some(folder) = pointer(&dot, "gitdir:") {
                linked(&dot, &folder, policy);
                submodule(root, &folder, policy);
            }
        }
        // Absent, or a link, which can't be held; nobody may make another.
        _ => policy.read_only.push(dot),
    }
}

/// The read-only part of a repository. It is written otherwise: objects, refs, the index.
fn repository(folder: &Path, root: Option<&Path>, policy: &mut Policy) {
    // `commondir` leads to another folder with another `config`.
    let parts = ["hooks", "config", "config.worktree", "commondir", "info/attributes"];
    policy.read_only.extend(parts.iter().map(|part| folder.join(part)));
    // Repositories of their own, each with all of this. Whole, since their number and names are free.
    let inner = ["modules", "worktrees"].map(|part| folder.join(part));
    policy.read_only.extend(inner.into_iter().filter(|part| part.is_dir()));
    let hooks = setting(&folder.join("config"), "hookspath").map(PathBuf::from);
    // A path by way of the home or of a parent leads out of the work tree.
    let plain =
        |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(name) if name != "~"));
    if let (Some(hooks), Some(root)) = (hooks.filter(plain), root) {
        policy.read_only.push(root.join(hooks));
    }
}

/// A linked worktree: objects and refs lie in the shared repository, index and `HEAD` in a folder there.
fn linked(dot: &Path, folder: &Path, policy: &mut Policy) {
    let Some(shared) = pointer(&folder.join("commondir"), "") else { return };
    let known = folder.parent() == Some(&shared.join("worktrees"))
        && pointer(&folder.join("gitdir"), "").is_some_and(|back| same(&back, dot))
        && is_repository(&shared);
    if !known {
        return;
    }
    policy.writable.push(shared.clone());
    repository(&shared, shared.parent(), policy);
    // What the main work tree stands on is no business of this one.
    let others = ["HEAD", "index"].map(|part| shared.join(part));
    policy.read_only.extend(others.into_iter().filter(|part| part.exists()));
    policy.writable.push(folder.to_owned());
    policy.read_only.extend(["commondir", "gitdir", "config.worktree"].map(|part| folder.join(part)));
}

/// A submodule: its repository lies in the one around it.
fn submodule(root: &Path, folder: &Path, policy: &mut Policy) {
    let Some(back) = setting(&folder.join("config"), "worktree") else { return };
    if is_repository(folder) && same(&folder.join(back), root) {
        policy.writable.push(folder.to_owned());
        repository(folder, Some(root), policy);
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

/// The last value of a key in a configuration file, whatever its section: taken too widely, it carves out too much.
fn setting(file: &Path, key: &str) -> Option<String> {
    let text = read(file)?;
    let mut values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        // A section's head may stand on the same line.
        let name = name.rsplit(']').next()?.trim();
        name.eq_ignore_ascii_case(key).then(|| value.trim().trim_matches('"').to_owned())
    });
    values.next_back().filter(|value| !value.is_empty())
}

fn read(file: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(file).ok()?.take(FILE_MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}
