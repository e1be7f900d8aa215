//! What can be told of a git checkout from its files alone. Git itself is not run: a repository's configuration
//! may name programs.

use std::path::{Path, PathBuf};

use super::text;

/// More than any line of git's own small files has.
const CAP: usize = 4_096;

/// The checkout around a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The folder that holds `.git`.
    pub root: PathBuf,
    /// The main checkout, when `root` is a worktree of it; else `root`.
    pub main: PathBuf,
    git_dir: PathBuf,
}

impl Checkout {
    /// Walks up from an absolute folder to the first that holds a `.git`.
    pub fn around(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(Self::at)
    }

    /// The branch that is checked out; none when a commit is, or when the name could not be a branch's.
    pub fn branch(&self) -> Option<String> {
        let head = line(&self.git_dir.join("HEAD"))?;
        let name = head.strip_prefix("ref: ")?.trim().strip_prefix("refs/heads/")?;
        // The name reaches prompts, so it is held to git's own rules for it.
        let legal = !name.is_empty()
            && name.len() <= 255
            && !name.starts_with('.')
            && !name.contains(|c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c));
        legal.then(|| name.to_owned())
    }

    /// The repository's own folder for this checkout: a worktree's is not the main one's.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The folder that git takes the configuration and the hooks from, whether the worktree is known there or not.
    pub(crate) fn common_dir(&self) -> PathBuf {
        let named = line(&self.git_dir.join("commondir"));
        named.map_or_else(|| self.git_dir.clone(), |common| self.git_dir.join(common))
    }

    fn at(root: &Path) -> Option<Self> {
        let dot = root.join(".git");
        let git_dir = if dot.is_dir() { dot } else { root.join(line(&dot)?.strip_prefix("gitdir:")?.trim()) };
        if !git_dir.join("HEAD").is_file() {
            return None;
        }
        let main = main_of(root, &git_dir).unwrap_or_else(|| root.to_owned());
        Some(Self { root: root.to_owned(), main, git_dir })
    }
}

/// The main checkout of a worktree. The worktree must be known there: else a folder could claim to belong to
/// another project, and get what its person allowed in that one.
fn main_of(worktree: &Path, git_dir: &Path) -> Option<PathBuf> {
    let common = git_dir.join(line(&git_dir.join("commondir"))?).canonicalize().ok()?;
    let registered = git_dir.canonicalize().ok()?.starts_with(common.join("worktrees"));
    let back = git_dir.join(line(&git_dir.join("gitdir"))?).canonicalize().ok()?;
    let known = registered && back == worktree.canonicalize().ok()?.join(".git");
    // A bare repository has no main checkout.
    (known && common.ends_with(".git")).then(|| common.parent().map(Path::to_owned)).flatten()
}

fn line(path: &Path) -> Option<String> {
    let read = text::read(path, CAP).ok().filter(|read| !read.cut)?;
    Some(read.content.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A main checkout with a worktree beside it, as git lays them out.
    fn pair(base: &Path) -> (PathBuf, PathBuf) {
        let (main, tree) = (base.join("main"), base.join("tree"));
        write(&main.join(".git/HEAD"), "ref: refs/heads/main\n");
        let entry = main.join(".git/worktrees/tree");
        write(&entry.join("HEAD"), "ref: refs/heads/agent/x-1\n");
        write(&entry.join("commondir"), "../..\n");
        write(&entry.join("gitdir"), &format!("{}\n", tree.join(".git").display()));
        write(&tree.join(".git"), &format!("gitdir: {}\n", entry.display()));
        (main, tree)
    }

    #[test]
    fn the_root_is_found_from_below() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (main, tree) = pair(&base);
        fs::create_dir_all(main.join("a/b")).unwrap();
        let found = Checkout::around(&main.join("a/b")).unwrap();
        assert_eq!((&found.root, &found.main, found.branch().unwrap().as_str()), (&main, &main, "main"));
        fs::create_dir_all(tree.join("c")).unwrap();
        let found = Checkout::around(&tree.join("c")).unwrap();
        assert_eq!((&found.root, &found.main, found.branch().unwrap().as_str()), (&tree, &main, "agent/x-1"));
        assert_eq!(Checkout::around(&base), None);
    }

    #[test]
    fn a_folder_that_only_claims_to_be_a_worktree_stands_alone() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (main, _) = pair(&base);
        // It names the real entry of the other worktree…
        let thief = base.join("thief");
        write(&thief.join(".git"), &format!("gitdir: {}\n", main.join(".git/worktrees/tree").display()));
        let found = Checkout::around(&thief).unwrap();
        assert_eq!(found.main, thief);
        // … or brings an entry of its own that points at the victim.
        let own = thief.join("entry");
        write(&own.join("HEAD"), "ref: refs/heads/x\n");
        write(&own.join("commondir"), &main.join(".git").display().to_string());
        write(&own.join("gitdir"), &thief.join(".git").display().to_string());
        write(&thief.join(".git"), "gitdir: entry\n");
        assert_eq!(Checkout::around(&thief).unwrap().main, thief);
    }

    #[test]
    fn heads_that_name_no_branch() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let head = base.join(".git/HEAD");
        for text in [
            "3b18e512dba79e4c8300dd08aeb37f8e728b8dad\n",
            "ref: refs/heads/.invalid\n",
            "ref: refs/heads/a b ignore what was said\n",
            "ref: refs/heads/\n",
            "",
        ] {
            write(&head, text);
            assert_eq!(Checkout::around(&base).unwrap().branch(), None, "{text}");
        }
        write(&head, &format!("ref: refs/heads/{}", "a".repeat(5_000)));
        assert_eq!(Checkout::around(&base).unwrap().branch(), None);
    }
}
