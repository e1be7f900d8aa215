//! The state of a checkout as the main agent is told of it: what has changed, and the last commits. It is gathered
//! beside the rest of a start, and left out where it takes too long.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use troupe_core::prompt::GitStatus;

use crate::load::{Env, Places};

use super::run::{Git, GitError};

/// How long git may take.
const LIMIT: Duration = Duration::from_millis(300);
/// How long its end is waited for beyond that: a kill takes a moment.
const PATIENCE: Duration = Duration::from_millis(500);
/// Most changes that are told.
const CHANGES: usize = 20;
/// Commits that are told.
const COMMITS: &str = "-5";
/// Most characters of a name or a subject.
const CHARS: usize = 120;

const STATUS: &[&str] = &["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames"];
const LOG: &[&str] = &["log", COMMITS, "--format=%s", "--no-show-signature"];

/// A status that comes, once. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Gathering(watch::Receiver<Option<GitStatus>>);

impl Gathering {
    /// Begins, on a thread of its own that ends with git. None without a checkout.
    pub fn start(places: &Places, env: &Env) -> Option<Self> {
        places.checkout.as_ref()?;
        let git = Git::of(places, env);
        let (tell, told) = watch::channel(None);
        let work = move || {
            let status = git.and_then(|git| gather(&git)).unwrap_or_else(|error| {
                tracing::debug!(%error, "the git status is left out");
                GitStatus::LeftOut(match error {
                    GitError::TimedOut { .. } => "it takes too long here".to_owned(),
                    error => clean(&error.to_string()),
                })
            });
            // Nobody may want it any more.
            let _ = tell.send(Some(status));
        };
        std::thread::Builder::new().name("git".into()).spawn(work).ok()?;
        Some(Self(told))
    }

    /// The status, once it is there; none when it does not come in time.
    pub async fn get(&self) -> Option<GitStatus> {
        let mut told = self.0.clone();
        let status = timeout(LIMIT + PATIENCE, told.wait_for(Option::is_some)).await.ok()?.ok()?;
        status.clone()
    }
}

fn gather(git: &Git) -> Result<GitStatus, GitError> {
    let (status, log) = std::thread::scope(|scope| {
        let log = scope.spawn(|| git.run(LOG, LIMIT));
        (git.run(STATUS, LIMIT), log.join())
    });
    let status = status?;
    // A repository without a commit has no log.
    let log = log.ok().and_then(Result::ok).unwrap_or_default();
    let changes: Vec<String> = changes(&status).collect();
    let more = changes.len().saturating_sub(CHANGES);
    Ok(GitStatus::Told {
        changes: changes.into_iter().take(CHANGES).collect(),
        more,
        commits: String::from_utf8_lossy(&log).lines().map(clean).collect(),
    })
}

/// `XY path` a change.
fn changes(status: &[u8]) -> impl Iterator<Item = String> {
    let entries = status.split(|byte| *byte == 0).filter(|entry| entry.len() > 3);
    entries.map(|entry| clean(&String::from_utf8_lossy(entry)))
}

/// A text of the repository's on one line, cut.
fn clean(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(CHARS)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if shown.chars().count() < text.chars().count() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
