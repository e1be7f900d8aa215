//! Walks a tree on all cores. What every search leaves out stands here; what one leaves out beyond that, its
//! caller sets on the builder.

use std::ffi::OsStr;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder, WalkState};
use troupe_core::policy::Unreadable;

use super::halt::Halt;

/// Folders (or files, in a linked worktree) of version control.
const VCS: &[&str] = &[".git", ".hg", ".svn", ".bzr", ".jj", ".sl", "CVS"];

/// Folders whose `worktrees` hold other agents' copies of the same tree.
const WORKTREE_OWNERS: &[&str] = &[".troupe", ".claude"];

/// A builder that sees everything below `root`, hidden files too, but version control, worktrees of agents, and
/// what may not be read. `root` itself is never left out.
pub(super) fn builder(root: &Path, ignore_files: bool, unreadable: Unreadable) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let start = root.to_path_buf();
    let real = root.canonicalize().unwrap_or_else(|_| start.clone());
    builder.standard_filters(ignore_files).hidden(false).filter_entry(move |entry| {
        entry.depth() == 0 || !(is_left_out(entry) || is_unreadable(entry, &unreadable, &start, &real))
    });
    if ignore_files {
        builder.add_custom_ignore_filename(".rgignore");
    }
    builder
}

fn is_left_out(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    if name == "worktrees" {
        let owner = entry.path().parent().and_then(Path::file_name);
        return owner.is_some_and(|owner| is_one_of(owner, WORKTREE_OWNERS));
    }
    is_one_of(name, VCS)
}

/// Whether a rule denies reading it, by its path below `start`, below where that really is, or by where it leads.
fn is_unreadable(entry: &DirEntry, unreadable: &Unreadable, start: &Path, real: &Path) -> bool {
    let path = entry.path();
    if unreadable.is_empty() {
        return false;
    }
    let below = || path.strip_prefix(start).is_ok_and(|rest| unreadable.covers(&real.join(rest)));
    let leads = || entry.path_is_symlink() && path.canonicalize().is_ok_and(|end| unreadable.covers(&end));
    unreadable.covers(path) || (start != real && below()) || leads()
}

fn is_one_of(name: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|known| name == *known)
}

/// Hands each entry to a visitor, one visitor a thread, until all are seen or `halt` is set. Entries that can't
/// be read go to `unread`.
pub(super) fn each<'s, V>(
    builder: &WalkBuilder,
    halt: &'s Halt,
    unread: impl Fn() + Sync + Copy + Send + 's,
    visitor: impl Fn() -> V,
) where
    V: FnMut(DirEntry) + Send + 's,
{
    builder.build_parallel().run(|| {
        let mut visit = visitor();
        Box::new(move |entry| {
            if halt.is_set() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) => visit(entry),
                Err(_) => unread(),
            }
            WalkState::Continue
        })
    });
}
