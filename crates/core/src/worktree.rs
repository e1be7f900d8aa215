//! A worktree as an agent knows it: where it works, and what became of it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;

/// The worktree that an agent was started in. Recorded as it was made, so that what came since can be told from what
/// was there (W1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Its name in its repository.
    pub name: String,
    /// Its folder.
    #[serde(with = "crate::path_text")]
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit that it began from.
    pub base: String,
    /// The checkout that it was made beside; another one of the same repository.
    #[serde(with = "crate::path_text")]
    pub checkout: PathBuf,
    /// The agent that it was made for, and with whose end it goes. Those below it may work in it too.
    pub owner: AgentId,
}

/// A worktree that an agent entered by a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// It.
    pub tree: Worktree,
    /// The folder that it came from.
    #[serde(with = "crate::path_text")]
    pub from: PathBuf,
}

/// A worktree that its agent left behind, since there is work in it (W3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its folder.
    #[serde(with = "crate::path_text")]
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// What is in it, or why that is not known.
    pub holds: String,
}

/// What an agent is told of its worktree.
const BRIEF: &str = include_str!("prompt/worktree.md");

impl Worktree {
    /// What an agent is told that works here, with what is to be known of the worktree.
    pub fn brief(&self, notes: &[String]) -> String {
        let mut text = BRIEF.trim_end().replace("{path}", &self.path.display().to_string());
        text = text
            .replace("{branch}", &self.branch)
            .replace("{checkout}", &self.checkout.display().to_string());
        text = text.replace("{base}", self.base.get(..12).unwrap_or(&self.base));
        for note in notes {
            text.push_str("\n- ");
            text.push_str(note);
        }
        text
    }

    /// The file of the worktree that stands where another checkout has `path`.
    pub fn counterpart(&self, path: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.path) {
            return None;
        }
        let below = path.strip_prefix(&self.checkout).ok()?;
        // A path into another worktree of this checkout.
        let mut parts = below.iter();
        let rest = match (parts.next(), parts.next(), parts.next()) {
            (Some(own), Some(trees), Some(_))
                if (own == ".troupe" || own == ".claude") && trees == "worktrees" =>
            {
                parts.as_path()
            }
            _ => below,
        };
        Some(self.path.join(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: X8, C10
    #[test]
    fn a_path_of_another_checkout_has_its_counterpart_in_the_worktree() {
        let tree = Worktree {
            name: "a1".into(),
            path: "/w/.troupe/worktrees/a1".into(),
            branch: "agent-a1".into(),
            base: "c".into(),
            checkout: "/w".into(),
            owner: AgentId::new("a1"),
        };
        let counterpart = |path: &str| tree.counterpart(Path::new(path));
        assert_eq!(counterpart("/w/src/x"), Some("/w/.troupe/worktrees/a1/src/x".into()));
        assert_eq!(counterpart("/w"), Some("/w/.troupe/worktrees/a1".into()));
        assert_eq!(
            counterpart("/w/.troupe/worktrees/a2/src/x"),
            Some("/w/.troupe/worktrees/a1/src/x".into())
        );
        assert_eq!(
            counterpart("/w/.troupe/settings.json"),
            Some("/w/.troupe/worktrees/a1/.troupe/settings.json".into())
        );
        assert_eq!(counterpart("/w/.troupe/worktrees/a1/src/x"), None);
        assert_eq!(counterpart("/elsewhere"), None);
    }
}
