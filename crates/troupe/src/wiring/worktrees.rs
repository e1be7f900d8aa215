//! The worktrees of the repository that a session works in, with what settings say of new ones.

use std::path::{Path, PathBuf};

use troupe_engine::load::{Env, Places, Settings};
use troupe_engine::worktree::{Setup, Worktrees};

use crate::fault::warn;

/// The value of `worktree.baseRef` with which they begin from the remote's default branch.
const FRESH: &str = "fresh";

/// Those of the repository around the working folder; none without one.
pub(crate) fn open(places: &Places, env: &Env, settings: &Settings, home: &Path) -> Option<Worktrees> {
    places.checkout.as_ref()?;
    let env = Env { cwd: places.cwd.clone(), ..env.clone() };
    let opened = Worktrees::open(&env, home, setup(settings));
    opened.map_err(|error| warn(format_args!("there are no worktrees in this session: {error}"))).ok()
}

/// What new ones get.
pub(crate) fn setup(settings: &Settings) -> Setup {
    let texts = |key: &str| -> Vec<String> {
        let items = settings.items(&["worktree", key]).into_iter();
        items.filter_map(|item| item.value.as_str().map(str::to_owned)).collect()
    };
    let base = settings.value(&["worktree", "baseRef"]);
    Setup {
        links: texts("symlinkDirectories").into_iter().map(PathBuf::from).collect(),
        sparse: texts("sparsePaths"),
        from_remote: base.is_some_and(|base| base.as_str() == Some(FRESH)),
    }
}
