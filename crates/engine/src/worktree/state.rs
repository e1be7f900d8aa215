//! What is in a worktree. What git can't tell, or not in time, counts as unsaved work.

use std::path::Path;
use std::time::Duration;

use troupe_core::worktree::Worktree;

use super::record::Known;
use crate::git::{Git, GitError};
use crate::load::git::Checkout;
use crate::load::{Env, Places};

/// How long one look may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Most names of changed files that are told.
const NAMED: usize = 3;
/// Most files whose sizes are added up.
const COUNTED: usize = 300_000;

/// What is in a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing that is not somewhere else too.
    Clean,
    /// Work that would be lost.
    Work {
        /// In words.
        words: String,
        /// Files with changes.
        files: usize,
        /// Commits that no other ref has.
        commits: usize,
    },
    /// It can't be told; why.
    Unknown(String),
    /// Its folder is not there.
    Gone,
}

impl State {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Clean => "nothing unsaved".to_owned(),
            Self::Work { words, .. } => words.clone(),
            Self::Unknown(why) => format!("it is not known what is in it: {why}"),
            Self::Gone => "its folder is gone".to_owned(),
        }
    }

    /// The same in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Work { .. } => "work",
            Self::Unknown(_) => "unknown",
            Self::Gone => "gone",
        }
    }
}

/// Git in a worktree.
///
/// # Errors
/// Why it is not there, or not the worktree that it was.
pub(super) fn git_in(tree: &Worktree, env: &Env) -> Result<Git, String> {
    let places = Places::of(&Env { cwd: tree.path.clone(), ..env.clone() });
    let checkout = places.checkout.as_ref().ok_or("it is no checkout of git any more")?;
    let real = |path: &Path| path.canonicalize().ok();
    if real(&checkout.root) != real(&tree.path) {
        return Err("it is no checkout of its own any more".to_owned());
    }
    let common = real(&checkout.common_dir());
    let ours = Checkout::around(&tree.checkout).and_then(|main| real(&main.common_dir()));
    if common.is_none() || common != ours {
        return Err("it belongs to another repository by now".to_owned());
    }
    Git::of(&places, env).map_err(|error| error.to_string())
}

/// Looks. Blocks.
pub(super) fn look(known: &Known, env: &Env) -> State {
    let tree = &known.tree;
    if !tree.path.exists() {
        return State::Gone;
    }
    let git = match git_in(tree, env) {
        Ok(git) => git,
        Err(why) => return State::Unknown(why),
    };
    if let Some(under_way) = under_way(&tree.path) {
        return State::Work { words: format!("{under_way} is under way"), files: 1, commits: 0 };
    }
    if has_submodules(&tree.path) {
        return State::Unknown("it has submodules with files in them".to_owned());
    }
    let unknown = |error: GitError| State::Unknown(error.to_string());
    let files = match changed(&git, known) {
        Ok(files) => files,
        Err(error) => return unknown(error),
    };
    let commits = match commits(&git, tree) {
        Ok(commits) => commits,
        Err(error) => return unknown(error),
    };
    if files.is_empty() && commits == 0 {
        return State::Clean;
    }
    let mut words = Vec::new();
    if !files.is_empty() {
        let more =
            if files.len() > NAMED { format!(" and {} more", files.len() - NAMED) } else { String::new() };
        let named: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
        words.push(format!("changes that are not committed: {}{more}", named.join(", ")));
    }
    if commits > 0 {
        let many = if commits == 1 { "commit" } else { "commits" };
        words.push(format!("{commits} {many} that no other branch has"));
    }
    State::Work { words: words.join("; "), files: files.len(), commits }
}

/// The files that differ from the last commit, new ones included; not the links that we made.
fn changed(git: &Git, known: &Known) -> Result<Vec<String>, GitError> {
    let said =
        git.run(&["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"], LIMIT)?;
    let lines = said.split(|byte| *byte == 0).filter(|line| line.len() > 3);
    let names = lines.map(|line| String::from_utf8_lossy(&line[3..]).into_owned());
    let is_ours = |name: &String| known.links.contains(Path::new(name.trim_end_matches('/')));
    Ok(names.filter(|name| !is_ours(name)).collect())
}

/// How many commits would be on no branch without this one's.
fn commits(git: &Git, tree: &Worktree) -> Result<usize, GitError> {
    let base = format!("^{}", tree.base);
    let exclude = format!("--exclude={}", tree.branch);
    let branch = format!("refs/heads/{}", tree.branch);
    let has_branch = git.run(&["rev-parse", "--verify", "--quiet", &branch], LIMIT).is_ok();
    let mut words = vec!["rev-list", "--count", "HEAD", &base];
    words.extend(has_branch.then_some(branch.as_str()));
    words.extend(["--not", &exclude, "--branches", "--remotes", "--tags"]);
    let said = git.run(&words, LIMIT)?;
    String::from_utf8_lossy(&said).trim().parse().map_err(|_| GitError::Unclear)
}

/// How many commits its branch has past its base; none where there is no such branch.
pub(super) fn ahead(git: &Git, tree: &Worktree) -> Option<usize> {
    let range = format!("{}..refs/heads/{}", tree.base, tree.branch);
    let said = git.run(&["rev-list", "--count", &range], LIMIT).ok()?;
    String::from_utf8_lossy(&said).trim().parse().ok()
}

/// The bytes of all files below a folder.
pub(super) fn size(folder: &Path) -> Option<u64> {
    let (mut bytes, mut entries, mut next) = (0_u64, 0_usize, vec![folder.to_owned()]);
    while let Some(folder) = next.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            entries += 1;
            if entries > COUNTED {
                return None;
            }
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                next.push(entry.path());
            } else {
                bytes += about.len();
            }
        }
    }
    Some(bytes)
}

/// What of git's is half done there.
fn under_way(tree: &Path) -> Option<&'static str> {
    const MARKS: &[(&str, &str)] = &[
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("BISECT_LOG", "a bisection"),
    ];
    let checkout = Checkout::around(tree)?;
    MARKS.iter().find(|(mark, _)| checkout.git_dir().join(mark).exists()).map(|(_, what)| *what)
}

/// Whether a submodule has files: git's own look leaves them out.
fn has_submodules(tree: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(tree.join(".gitmodules")) else { return false };
    let paths = text.lines().filter_map(|line| line.trim().strip_prefix("path")?.trim().strip_prefix('='));
    paths
        .map(str::trim)
        .any(|path| std::fs::read_dir(tree.join(path)).is_ok_and(|mut entries| entries.next().is_some()))
}
