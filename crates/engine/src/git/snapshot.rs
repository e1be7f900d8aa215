//! The state of a checkout kept as a commit: its tree is the working tree, untracked files included; its parents are
//! `HEAD` and a commit of the index. The checkout, its index and its branches stay as they are.
//!
//! The working tree is read through a git folder of our own that shares the repository's objects alone. Nothing that the
//! repository configures has a say there, so that what is kept is byte for byte what lies on the disk.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::run::{Call, Git, GitError};

/// How long a step may take. A first look at a large checkout reads each of its files.
const LIMIT: Duration = Duration::from_mins(2);
/// Most bytes of a list of all files.
const LIST: usize = 256 << 20;
/// What the look at the working tree is told besides: names of files as they are, no conversions.
const RAW: &[&str] = &[
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "advice.addEmbeddedRepo=false",
    "core.sparseCheckout=false",
];
/// Who the commits are by: a snapshot is nobody's work, and needs nobody's name.
const BY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "troupe"),
    ("GIT_AUTHOR_EMAIL", "troupe@localhost"),
    ("GIT_COMMITTER_NAME", "troupe"),
    ("GIT_COMMITTER_EMAIL", "troupe@localhost"),
];
/// The folder of our refs. No fetch or push takes them along.
pub const REFS: &str = "refs/troupe/";
const GITLINK: &[u8] = b"160000";

/// A state that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit.
    pub commit: String,
    /// Its tree: the working tree.
    pub tree: String,
    /// The tree of the index.
    pub index: String,
    /// The commit that was checked out; none before the first.
    pub head: Option<String>,
    /// What could not be kept, in git's words.
    pub missing: Vec<String>,
}

/// A look at one checkout. It may keep what it learnt of the files, so that the next look reads only those that changed.
#[derive(Clone, Debug)]
pub struct Camera {
    git: Git,
    git_dir: PathBuf,
    objects: PathBuf,
    common: PathBuf,
    remembered: Option<PathBuf>,
}

impl Camera {
    /// For the checkout of `git`. `remembered`: a file in a private folder for what is learnt of the files.
    ///
    /// # Errors
    /// [`GitError`]: git does not know the checkout.
    pub fn new(git: &Git, remembered: Option<PathBuf>) -> Result<Self, GitError> {
        let said = git.run(
            &[
                "rev-parse",
                "--path-format=absolute",
                "--git-dir",
                "--git-common-dir",
                "--git-path",
                "objects",
            ],
            LIMIT,
        )?;
        let lines: Vec<PathBuf> = lines(&said).map(PathBuf::from).collect();
        let [git_dir, common, objects] = <[PathBuf; 3]>::try_from(lines).map_err(|_| GitError::Unclear)?;
        Ok(Self { git: git.clone(), git_dir, objects, common, remembered })
    }

    /// Keeps the state of the checkout; `message` says why, on one line.
    ///
    /// # Errors
    /// [`GitError`]: nothing was kept.
    pub fn take(&self, message: &str) -> Result<Snapshot, GitError> {
        let head = self.git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], LIMIT).ok();
        let head = head.map(|said| word(&said));
        let own = Own::new(self)?;
        let index = own.tree_of_index()?;
        let (tree, missing) = own.tree_of_files()?;
        let parents: Vec<&str> = head.as_deref().into_iter().collect();
        let staged = own.commit(&index, &parents, "index")?;
        let parents: Vec<&str> = parents.into_iter().chain([staged.as_str()]).collect();
        let commit = own.commit(&tree, &parents, message)?;
        Ok(Snapshot { commit, tree, index, head, missing })
    }

    /// Hangs a commit on a new ref.
    ///
    /// # Errors
    /// [`GitError`]: also when the ref is there already.
    pub fn name(&self, commit: &str, name: &str) -> Result<(), GitError> {
        let none = "0".repeat(commit.len());
        self.git.run(&["update-ref", name, commit, &none], LIMIT).map(drop)
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn tree(&self, commit: &str) -> Result<String, GitError> {
        let wanted = format!("{commit}^{{tree}}");
        Ok(word(&self.git.run(&["rev-parse", "--verify", "--quiet", &wanted], LIMIT)?))
    }

    /// The git folder of the checkout.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git folder that all its worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.common
    }
}

/// A git folder of our own: the repository's objects, and an index.
struct Own<'a> {
    of: &'a Camera,
    folder: TempDir,
    /// The tree without files, of which attributes are read.
    empty: String,
}

impl<'a> Own<'a> {
    fn new(of: &'a Camera) -> Result<Self, GitError> {
        let folder = TempDir::new().map_err(GitError::Io)?;
        let at = |name: &str| folder.path().join(name);
        let is_sha256 = of.git.run(&["rev-parse", "--show-object-format"], LIMIT)?.starts_with(b"sha256");
        let format = if is_sha256 {
            "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectFormat = sha256\n"
        } else {
            "[core]\nrepositoryformatversion = 0\n"
        };
        let made = fs::create_dir_all(at("refs"))
            .and_then(|()| fs::create_dir_all(at("info")))
            .and_then(|()| fs::write(at("HEAD"), "ref: refs/heads/none\n"))
            .and_then(|()| fs::write(at("config"), format));
        made.map_err(GitError::Io)?;
        // What is ignored is the checkout's own choice. It need not say anything.
        let _ = fs::copy(of.common.join("info/exclude"), at("info/exclude"));
        let mut own = Self { of, folder, empty: String::new() };
        own.empty = word(&own.run(&["hash-object", "-t", "tree", "-w", "--stdin"], Some(b""))?);
        Ok(own)
    }

    /// The index as a tree. Where a merge is under way, each side of a conflict is a file with its number behind its name.
    fn tree_of_index(&self) -> Result<String, GitError> {
        let copy = self.folder.path().join("staged");
        if fs::copy(self.of.git_dir.join("index"), &copy).is_err() {
            return Ok(self.empty.clone());
        }
        let of_copy = |arguments: &[&str], output| {
            let variables = [("GIT_INDEX_FILE", copy.as_os_str())];
            self.of.git.call(&Call { arguments, variables: &variables, output, ..Call::default() }, LIMIT)
        };
        if let Ok(tree) = of_copy(&["write-tree", "--missing-ok"], None) {
            return Ok(word(&tree));
        }
        let entries = of_copy(&["ls-files", "-z", "--stage"], Some(LIST))?;
        let mut input = Vec::new();
        for entry in entries.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let Some((at, name)) = entry.iter().position(|b| *b == b'\t').map(|at| entry.split_at(at)) else {
                continue;
            };
            let (head, stage) = at.split_at(at.len().saturating_sub(1));
            input.extend_from_slice(head);
            input.extend_from_slice(b"0");
            input.extend_from_slice(name);
            if stage != b"0" {
                input.push(b'~');
                input.extend_from_slice(stage);
            }
            input.push(0);
        }
        let index = self.folder.path().join("sides");
        self.with_index(&index, &["update-index", "-z", "--index-info"], Some(&input))?;
        Ok(word(&self.with_index(&index, &["write-tree", "--missing-ok"], None)?))
    }

    /// The working tree, and what of it could not be kept.
    fn tree_of_files(&self) -> Result<(String, Vec<String>), GitError> {
        let index = self.folder.path().join("index");
        let from = self.of.remembered.as_deref().filter(|file| file.is_file());
        let seeded = from.is_some_and(|from| copy_with_time(from, &index).is_ok());
        let kept = seeded.then(|| self.look(&index));
        let (tree, missing) = if let Some(Ok(kept)) = kept {
            kept
        } else {
            // What was remembered can be of no use any more, so all is read anew.
            let _ = fs::remove_file(&index);
            self.look(&index)?
        };
        if let Some(remembered) = &self.of.remembered {
            remember(&index, remembered);
        }
        Ok((tree, missing))
    }

    fn look(&self, index: &Path) -> Result<(String, Vec<String>), GitError> {
        // Tracked files count also where they would be ignored.
        let entries = self.of.git.call(
            &Call { arguments: &["ls-files", "-z", "--stage"], output: Some(LIST), ..Call::default() },
            LIMIT,
        )?;
        let (mut links, mut files) = (Vec::new(), Vec::new());
        for entry in entries.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            if entry.starts_with(GITLINK) {
                links.extend_from_slice(entry);
                links.push(0);
            } else if let Some(at) = entry.iter().position(|byte| *byte == b'\t') {
                files.extend_from_slice(&entry[at + 1..]);
                files.push(0);
            }
        }
        let list = ["update-index", "-z", "--add", "--remove", "--stdin"];
        self.with_index(index, &list, Some(&files))?;
        if !links.is_empty() {
            self.with_index(index, &["update-index", "-z", "--index-info"], Some(&links))?;
        }
        let variables = self.variables(index);
        let variables: Vec<(&str, &OsStr)> = variables.iter().map(|(name, value)| (*name, *value)).collect();
        let add = Call {
            arguments: &["add", "--all", "--ignore-errors", "--", "."],
            settings: RAW,
            variables: &variables,
            ..Call::default()
        };
        let missing = match self.of.git.call(&add, LIMIT) {
            Ok(_) => Vec::new(),
            // It has added all that it could.
            Err(GitError::Failed { complaint, .. }) => vec![complaint],
            Err(error) => return Err(error),
        };
        Ok((word(&self.with_index(index, &["write-tree"], None)?), missing))
    }

    fn commit(&self, tree: &str, parents: &[&str], message: &str) -> Result<String, GitError> {
        let mut arguments = vec!["commit-tree", tree, "-m", message];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        Ok(word(&self.run(&arguments, None)?))
    }

    fn run(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, GitError> {
        self.with_index(&self.folder.path().join("index"), arguments, input)
    }

    fn with_index(
        &self,
        index: &Path,
        arguments: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        let variables = self.variables(index);
        let call = Call { arguments, settings: RAW, variables: &variables, input, ..Call::default() };
        self.of.git.call(&call, LIMIT)
    }

    fn variables<'b>(&'b self, index: &'b Path) -> Vec<(&'b str, &'b OsStr)> {
        let mut variables = vec![
            ("GIT_DIR", self.folder.path().as_os_str()),
            ("GIT_OBJECT_DIRECTORY", self.of.objects.as_os_str()),
            ("GIT_INDEX_FILE", index.as_os_str()),
        ];
        variables.extend(BY.iter().map(|(name, value)| (*name, OsStr::new(*value))));
        // No attributes, so no conversions.
        if !self.empty.is_empty() {
            variables.push(("GIT_ATTR_SOURCE", OsStr::new(&self.empty)));
        }
        variables
    }
}

/// Keeps an index for the next look. The next one reads all anew where that fails.
fn remember(index: &Path, remembered: &Path) {
    let part = remembered.with_extension("part");
    if copy_with_time(index, &part).and_then(|()| fs::rename(&part, remembered)).is_err() {
        let _ = fs::remove_file(&part);
    }
}

/// Copies an index with its time: a file as young as its index is read again by git, since it may have changed unseen.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    let time = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(time)
}

fn word(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().to_owned()
}

fn lines(said: &[u8]) -> impl Iterator<Item = &OsStr> {
    use std::os::unix::ffi::OsStrExt as _;
    said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(OsStr::from_bytes)
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
