//! Names of worktrees, of which their folders and branches are made (W1).

use std::path::Path;

/// Most bytes of a name.
const LONGEST: usize = 64;

/// A name that is fit for a folder and a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    text: String,
    /// What its branch begins with.
    prefix: &'static str,
}

/// Why a text is no name of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no name of a worktree: it has 1 to {LONGEST} letters, digits, `.`, `_`, `-`, with `/` between parts; no part begins with `.` or `-`, holds `..`, or ends in `.` or `.lock`"
)]
pub struct BadName(pub String);

impl Name {
    /// A name that somebody gives.
    ///
    /// # Errors
    /// [`BadName`].
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let fits = |part: &str| {
            !part.is_empty()
                && !part.starts_with(['.', '-'])
                && !part.ends_with('.')
                && Path::new(part).extension().is_none_or(|end| !end.eq_ignore_ascii_case("lock"))
                && !part.contains("..")
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        };
        if text.len() > LONGEST || !text.split('/').all(fits) {
            return Err(BadName(text.to_owned()));
        }
        Ok(Self { text: text.to_owned(), prefix: "worktree-" })
    }

    /// The name of an agent's worktree: its id, as far as it fits.
    #[must_use]
    pub fn of_agent(id: &str) -> Self {
        let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
        let text: String = id.chars().map(fit).take(LONGEST).collect();
        let text = text.trim_start_matches('-').to_owned();
        Self { text: if text.is_empty() { "agent".to_owned() } else { text }, prefix: "agent-" }
    }

    /// The same with a number behind it, for when it is taken.
    #[must_use]
    pub(super) fn numbered(&self, number: usize) -> Self {
        if number < 2 {
            return self.clone();
        }
        Self { text: format!("{}-{number}", self.text), prefix: self.prefix }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its folder's name: one folder, whatever parts it has.
    pub fn folder(&self) -> String {
        self.text.replace('/', "+")
    }

    /// Its branch.
    pub fn branch(&self) -> String {
        format!("{}{}", self.prefix, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: W1
    #[test]
    fn a_name_is_fit_for_a_folder_and_a_branch() {
        for good in ["a", "fix-1", "feature/x.y_z", "A.b", &"x".repeat(64)] {
            assert!(Name::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            ".a",
            "-a",
            "a/.b",
            "a/-b",
            "a..b",
            "..",
            "a b",
            "ä",
            "a\\b",
            "a~",
            "a.lock",
            "a.",
            &"x".repeat(65),
        ] {
            assert_eq!(Name::parse(bad), Err(BadName(bad.to_owned())), "{bad}");
        }
        let names = |name: Option<Name>| name.map(|name| (name.folder(), name.branch()));
        let parts = |folder: &str, branch: &str| Some((folder.to_owned(), branch.to_owned()));
        assert_eq!(names(Name::parse("a/b").ok()), parts("a+b", "worktree-a/b"));
        assert_eq!(names(Some(Name::of_agent("ann@blue"))), parts("ann-blue", "agent-ann-blue"));
        assert_eq!(names(Some(Name::of_agent("a1").numbered(2))), parts("a1-2", "agent-a1-2"));
    }
}
