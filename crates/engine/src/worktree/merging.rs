//! Merging branches of worktrees, one after the other: each is merged beside all checkouts, tested there, and only then the
//! branch of the main checkout moves. So that is never in the middle of a merge (W6).

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::making::LAYING;
use super::record::Known;
use super::state::{State, look};
use super::{Inner, WorktreeError, wait_for};
use crate::git::{Git, GitError};

/// How often a test is looked at that runs.
const LOOK: Duration = Duration::from_millis(20);
/// Most bytes of a test's last words.
const TAIL: usize = 2_000;
/// Who a merge is by where git knows nobody's name.
const BY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "troupe"),
    ("GIT_AUTHOR_EMAIL", "troupe@localhost"),
    ("GIT_COMMITTER_NAME", "troupe"),
    ("GIT_COMMITTER_EMAIL", "troupe@localhost"),
];

/// A command that a merge has to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// It, for a shell.
    pub command: String,
    /// How long it may take.
    pub limit: Duration,
}

/// What became of one branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in, by this commit.
    Merged(String),
    /// It is in already.
    Nothing,
    /// These files are changed on both sides; nothing has changed.
    Conflict(Vec<String>),
    /// The test did not pass; how, and its last words. Nothing has changed.
    Failed(String),
    /// It was not tried; why.
    Waits(String),
}

/// Merges one into the branch of the main checkout. Blocks, under the repository's lock.
pub(super) fn merge(inner: &Inner, known: &Known, test: Option<&Test>) -> Result<Outcome, WorktreeError> {
    let (git, tree) = (&inner.git, &known.tree);
    match look(known, &inner.env) {
        State::Work { files, .. } if files > 0 => {
            return Ok(Outcome::Waits("it has changes that are not committed".to_owned()));
        }
        State::Unknown(why) => return Ok(Outcome::Waits(format!("it is not known what is in it: {why}"))),
        State::Work { .. } | State::Clean | State::Gone => {}
    }
    let word = |words: &[&str]| {
        let said = git.run(words, LAYING)?;
        Ok::<_, GitError>(String::from_utf8_lossy(&said).trim().to_owned())
    };
    let Ok(target) = word(&["symbolic-ref", "--quiet", "HEAD"]) else {
        return Ok(Outcome::Waits("the main checkout is on no branch".to_owned()));
    };
    let dirty = git.run(&["status", "--porcelain=v1", "--untracked-files=no"], LAYING)?;
    if !dirty.is_empty() {
        return Ok(Outcome::Waits("the main checkout has changes that are not committed".to_owned()));
    }
    let branch = format!("refs/heads/{}", tree.branch);
    let (old, tip) = (word(&["rev-parse", "HEAD"])?, word(&["rev-parse", "--verify", "--quiet", &branch])?);
    if word(&["rev-list", "--count", &format!("{old}..{tip}")])? == "0" {
        return Ok(Outcome::Nothing);
    }
    let merged = match merged_tree(git, &old, &tip)? {
        Ok(merged) => merged,
        Err(files) => return Ok(Outcome::Conflict(files)),
    };
    let message = format!("Merge branch '{}'", tree.branch);
    let commit = commit(git, &["commit-tree", &merged, "-p", &old, "-p", &tip, "-m", &message])?;
    if let Some(test) = test
        && let Some(failed) = tried(inner, &commit, test)?
    {
        return Ok(Outcome::Failed(failed));
    }
    // Forwards alone, and only from where it began: whoever moved the branch meanwhile is not undone.
    if word(&["rev-parse", &target])? != old {
        return Ok(Outcome::Waits("the main checkout has moved meanwhile; merge again".to_owned()));
    }
    match git.run(&["merge", "--ff-only", "--quiet", &commit], LAYING) {
        Ok(_) => Ok(Outcome::Merged(commit)),
        Err(error) => Ok(Outcome::Waits(format!("the main checkout would not move: {error}"))),
    }
}

/// The tree of both sides together, or the files that are in each other's way.
fn merged_tree(git: &Git, one: &str, other: &str) -> Result<Result<String, Vec<String>>, GitError> {
    let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one, other];
    let said =
        git.call(&crate::git::Call { arguments: &words, allowed: Some(1), ..Default::default() }, LAYING)?;
    let mut parts = said.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let tree =
        parts.next().map(|tree| String::from_utf8_lossy(tree).trim().to_owned()).ok_or(GitError::Unclear)?;
    let files: Vec<String> = parts.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(if files.is_empty() { Ok(tree) } else { Err(files) })
}

fn commit(git: &Git, words: &[&str]) -> Result<String, GitError> {
    let said = git.run(words, LAYING).or_else(|_| {
        let variables: Vec<_> =
            BY.iter().map(|(name, value)| (*name, std::ffi::OsStr::new(*value))).collect();
        git.call(&crate::git::Call { arguments: words, variables: &variables, ..Default::default() }, LAYING)
    })?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// Runs the test on a commit, in a checkout that goes afterwards; how it failed, if it did.
fn tried(inner: &Inner, commit: &str, test: &Test) -> Result<Option<String>, WorktreeError> {
    let path = inner.folder.join(format!("merge-{}", commit.get(..12).unwrap_or(commit)));
    let words = path.to_string_lossy();
    {
        let _turn = wait_for(&inner.lock)?;
        inner.git.run(&["worktree", "add", "--quiet", "--detach", &words, commit], LAYING)?;
    }
    // Others may make worktrees meanwhile.
    let ended = run(&path, test);
    let _turn = wait_for(&inner.lock)?;
    // Only a checkout of ours, of a commit that git has.
    let removed = inner.git.run(&["worktree", "remove", "--force", &words], LAYING);
    let ended = ended.map_err(|source| WorktreeError::Io { path: path.clone(), source })?;
    removed?;
    Ok(ended)
}

fn run(folder: &Path, test: &Test) -> std::io::Result<Option<String>> {
    let said = tempfile::NamedTempFile::new()?;
    // Both write behind what is there.
    let open = || File::options().append(true).open(said.path());
    let (out, err) = (open()?, open()?);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &test.command]).current_dir(folder).stdin(Stdio::null()).stdout(out).stderr(err);
    let mut child = command.process_group(0).spawn()?;
    let until = Instant::now() + test.limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() >= until {
            if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // It may have ended just now.
                let _ = kill_process_group(pid, Signal::KILL);
            }
            child.wait()?;
            break None;
        }
        std::thread::park_timeout(LOOK);
    };
    let how = match status {
        Some(status) if status.success() => return Ok(None),
        Some(status) => status.to_string(),
        None => format!("it took longer than {} s", test.limit.as_secs()),
    };
    let text = String::from_utf8_lossy(&std::fs::read(said.path())?).into_owned();
    let from = text.len().saturating_sub(TAIL);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    Ok(Some(format!("{how}\n{}", text[from..].trim_end())))
}
