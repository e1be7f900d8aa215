//! A policy against the disk: which path is mounted how, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::seen::Seen;
use crate::{Hold, Policy, WrapError};

/// How a path is seen from inside. Of two for the same path, the later holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// As it is, not to be written.
    Shown,
    /// An empty folder of the command's own.
    Private,
    /// As it is, to be written.
    Writable,
    /// As [`Access::Shown`], below a writable folder.
    ReadOnly,
    /// Not at all.
    Hidden,
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    /// What is seen there, if not the path itself.
    pub(crate) source: Option<PathBuf>,
    /// A folder, and no file.
    pub(crate) folder: bool,
}

impl Mount {
    pub(crate) fn folder(path: impl Into<PathBuf>, access: Access) -> Self {
        Self { path: path.into(), access, source: None, folder: true }
    }
}

/// The mounts that `policy` needs over `base`, and what must be kept while they stand. Links that lead nowhere are
/// passed over: [`behind_links`] tells of them. `seen` is what was seen of the disk for `base`.
pub(crate) fn plan(
    policy: &Policy,
    base: Vec<Mount>,
    seen: &mut Seen,
) -> Result<(Vec<Mount>, Hold), WrapError> {
    let mut hold = Hold::default();
    let mut mounts = base;
    let writable = seen.existing(&policy.writable)?;
    for (paths, access) in [(&policy.shown, Access::Shown), (&policy.hidden, Access::Hidden)] {
        for path in seen.existing(paths)? {
            let folder = seen.is_folder(&path);
            mounts.push(Mount { path, access, source: None, folder });
        }
    }
    let mut held = BTreeSet::new();
    for path in &policy.read_only {
        let path = seen.resolve(path)?;
        let Some(there) = seen.first_missing(&path) else { continue };
        if !held.insert(there.clone()) || !writable.iter().any(|root| there.starts_with(root)) {
            continue;
        }
        if seen.is_absent(&there) && !hold.place(&there)? {
            continue;
        }
        let folder = there.is_dir();
        mounts.push(Mount { path: there, access: Access::ReadOnly, source: None, folder });
    }
    for path in writable {
        let folder = seen.is_folder(&path);
        mounts.push(Mount { path, access: Access::Writable, source: None, folder });
    }
    Ok((layers(mounts), hold))
}

/// The mounts that make a difference, shallow ones first, and those that keep a carve-out's parents from being
/// moved away.
pub(crate) fn layers(mounts: Vec<Mount>) -> Vec<Mount> {
    let mut by_path: BTreeMap<PathBuf, Mount> = BTreeMap::new();
    for mount in mounts {
        let stronger = |old: &Mount| {
            // Of two writable ones, a folder stands for itself before another stands in for it.
            (old.access, old.source.is_none()) >= (mount.access, mount.source.is_none())
        };
        if !by_path.get(&mount.path).is_some_and(stronger) {
            by_path.insert(mount.path.clone(), mount);
        }
    }
    let needed: BTreeMap<&Path, &Mount> = by_path
        .values()
        .filter(|mount| {
            let around = over(&by_path, mount.path.parent());
            mount.source.is_some() || around.is_none_or(|around| matters(mount.access, around))
        })
        .map(|mount| (mount.path.as_path(), mount))
        .collect();
    let mut all: Vec<Mount> = needed.values().map(|mount| (*mount).clone()).collect();
    for carved in needed.values().filter(|mount| mount.access == Access::ReadOnly) {
        for parent in carved.path.ancestors().skip(1) {
            // Below a folder that another stands in for, the folder itself is not to come into sight.
            let writable = |mount: &Mount| mount.access == Access::Writable && mount.source.is_none();
            let holds = over(&by_path, Some(parent)).is_some_and(writable);
            let inner = over(&by_path, parent.parent()).is_some_and(writable);
            if holds && inner && !all.iter().any(|mount| mount.path == parent) {
                all.push(Mount::folder(parent, Access::Writable));
            }
        }
    }
    all.sort_by_key(|mount| (mount.path.components().count(), mount.path.clone()));
    all
}

/// Whether a mount changes anything below another.
fn matters(access: Access, around: &Mount) -> bool {
    let elsewhere = around.source.is_some() || matches!(around.access, Access::Hidden | Access::Private);
    match access {
        Access::Writable => elsewhere || around.access != Access::Writable,
        Access::Private => around.access != Access::Private,
        Access::ReadOnly => !elsewhere && around.access == Access::Writable,
        Access::Shown => elsewhere,
        Access::Hidden => !elsewhere,
    }
}

/// The innermost mount that covers a path.
fn over<'a>(mounts: &'a BTreeMap<PathBuf, Mount>, path: Option<&Path>) -> Option<&'a Mount> {
    path?.ancestors().find_map(|parent| mounts.get(parent))
}

/// The read-only paths that are reached through a link below a writable folder: who replaces the link is past them.
pub(crate) fn behind_links(policy: &Policy) -> Vec<PathBuf> {
    let inside = |path: &Path| policy.writable.iter().any(|root| path != root && path.starts_with(root));
    let link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let loose = |path: &&PathBuf| path.ancestors().any(|parent| inside(parent) && link(parent));
    policy.read_only.iter().filter(loose).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(path: &str, access: Access) -> Mount {
        Mount { path: path.into(), access, source: None, folder: false }
    }

    fn shown(mounts: Vec<Mount>) -> Vec<String> {
        let all = layers(mounts);
        all.iter().map(|mount| format!("{:?} {}", mount.access, mount.path.display())).collect()
    }

    // proves: S7, X8
    #[test]
    fn the_more_specific_path_holds_whatever_the_order() {
        use Access::{Hidden, Private, ReadOnly, Shown, Writable};
        let mut mounts = vec![
            mount("/", Shown),
            mount("/tmp", Private),
            mount("/ws", Writable),
            mount("/ws/.git", Writable),
            mount("/ws/.git/hooks", ReadOnly),
            mount("/ws/.claude", ReadOnly),
            mount("/ws/.claude/settings.json", ReadOnly),
            mount("/ws/.claude/worktrees", Writable),
            mount("/home/.ssh", Hidden),
            mount("/home/.ssh/id", Hidden),
            mount("/home/.ssh/known_hosts", Shown),
            mount("/home/notes", Shown),
            mount("/elsewhere/.git", ReadOnly),
        ];
        let expected = [
            "Shown /",
            "Private /tmp",
            "Writable /ws",
            "Hidden /home/.ssh",
            "ReadOnly /ws/.claude",
            "Writable /ws/.git",
            "Shown /home/.ssh/known_hosts",
            "Writable /ws/.claude/worktrees",
            "ReadOnly /ws/.git/hooks",
        ];
        assert_eq!(shown(mounts.clone()), expected);
        mounts.reverse();
        assert_eq!(shown(mounts), expected);
    }

    // proves: X8
    #[test]
    fn what_lies_around_a_workspace_in_the_temporary_files_stays_out_of_sight() {
        use Access::{ReadOnly, Shown, Writable};
        let temp = Mount { source: Some("/private".into()), ..Mount::folder("/tmp", Writable) };
        let mounts =
            vec![mount("/", Shown), temp, mount("/tmp/a/ws", Writable), mount("/tmp/a/ws/.husky", ReadOnly)];
        assert_eq!(
            shown(mounts),
            ["Shown /", "Writable /tmp", "Writable /tmp/a/ws", "ReadOnly /tmp/a/ws/.husky"]
        );
    }

    // proves: S7
    #[test]
    fn the_parents_of_a_carve_out_are_mounts_too() {
        use Access::{ReadOnly, Shown, Writable};
        let mounts = vec![mount("/", Shown), mount("/ws", Writable), mount("/ws/a/b/.husky", ReadOnly)];
        assert_eq!(
            shown(mounts),
            ["Shown /", "Writable /ws", "Writable /ws/a", "Writable /ws/a/b", "ReadOnly /ws/a/b/.husky"]
        );
    }

    // proves: S7
    #[test]
    fn a_workspace_below_the_folder_for_temporary_files_is_seen() {
        use Access::{Shown, Writable};
        let temp = Mount { source: Some("/tmp/t".into()), ..mount("/tmp", Writable) };
        let mounts = vec![mount("/", Shown), temp, mount("/tmp/ws", Writable), mount("/tmp/bin/init", Shown)];
        assert_eq!(shown(mounts), ["Shown /", "Writable /tmp", "Writable /tmp/ws", "Shown /tmp/bin/init"]);
    }
}
