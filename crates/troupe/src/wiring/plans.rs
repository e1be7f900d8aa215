//! Where plans go.

use std::path::{Component, Path, PathBuf};

use troupe_engine::load::settings::Valued;

use crate::fault::warn;

/// The folder of plans: what the settings say, else one below the state folder. A repository may name a folder of
/// its own, and no other: plans are written there without a question.
pub(super) fn folder(set: Option<&Valued<PathBuf>>, cwd: &Path, state: &Path) -> PathBuf {
    let usual = state.join("plans");
    let Some(set) = set else { return usual };
    if set.origin.layer.is_of_repository() && !is_below(&real(&set.value), cwd) {
        warn(format_args!(
            "plansDirectory: a repository may not choose {}, which is outside of the working folder; plans go to {}",
            set.value.display(),
            usual.display()
        ));
        return usual;
    }
    set.value.clone()
}

/// What `..` would lead to below a folder that is not there yet can't be known.
fn is_below(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && path.components().all(|part| part != Component::ParentDir)
}

/// Where the path leads, links followed as far as it is there.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|there| Some((there, there.canonicalize().ok()?)));
    let Some((there, base)) = there else { return path.to_owned() };
    path.strip_prefix(there).map_or_else(|_| path.to_owned(), |rest| base.join(rest))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::sync::Arc;

    use troupe_engine::load::settings::{Layer, Origin, Source};

    use super::*;

    #[test]
    fn a_repository_keeps_plans_to_itself() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (cwd, state) = (root.join("work"), root.join("state"));
        std::fs::create_dir(&cwd).unwrap();
        std::os::unix::fs::symlink(&root, cwd.join("out")).unwrap();
        let set = |value: PathBuf, layer| {
            let origin = Origin { layer, source: Source::Inline, base: cwd.clone() };
            folder(Some(&Valued { value, origin: Arc::new(origin) }), &cwd, &state)
        };
        assert_eq!(folder(None, &cwd, &state), state.join("plans"));
        assert_eq!(set(cwd.join("docs/plans"), Layer::Project), cwd.join("docs/plans"));
        for outside in [root.join("x"), cwd.join("../x"), cwd.join("new/../../x"), cwd.join("out/x")] {
            assert_eq!(set(outside.clone(), Layer::Project), state.join("plans"), "{}", outside.display());
            assert_eq!(set(outside.clone(), Layer::User), outside);
        }
    }
}
