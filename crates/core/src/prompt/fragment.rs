//! Texts that the harness puts into messages, made from values. Each has a hard cap on its size.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::state::{Todo, TodoStatus};

/// Most bytes of all instruction files together.
pub const INSTRUCTIONS_CAP: usize = 100_000;
/// Most things to do that are told.
const TODO_CAP: usize = 100;

/// Where and when an agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Its folder.
    pub cwd: PathBuf,
    /// Other folders that it may work in.
    pub roots: Vec<PathBuf>,
    /// `linux`, `macos`, …
    pub platform: String,
    /// The day, as `2026-11-30`.
    pub date: String,
    /// The branch, when the folder is in a git repository.
    pub git: Option<String>,
    /// What had changed there when the session began; the main agent alone is told.
    pub status: Option<GitStatus>,
    /// The model.
    pub model: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// The folder that it may write to beside its work.
    pub scratch: Option<PathBuf>,
    /// Agent types that it may start, with when to use them.
    pub agents: Vec<(String, String)>,
}

/// The state of a checkout when the session began. Its texts are the repository's, each on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitStatus {
    /// What git said.
    Told {
        /// Changed files, in the short form of `git status`.
        changes: Vec<String>,
        /// How many there are besides.
        more: usize,
        /// Subjects of the last commits, the newest first.
        commits: Vec<String>,
    },
    /// It was not to be had, for this reason.
    LeftOut(String),
}

/// One instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says, imports put in.
    pub text: String,
}

impl Environment {
    /// The environment for the model.
    pub fn text(&self, instructions: &[Instructions]) -> String {
        let mut text = String::from("Environment\n");
        // Writing to a string can't fail.
        let _ = writeln!(text, "- Working directory: {}", self.cwd.display());
        for root in &self.roots {
            let _ = writeln!(text, "- Also: {}", root.display());
        }
        match &self.git {
            Some(branch) => {
                let _ = writeln!(text, "- Git repository, on {branch} when the session began");
            }
            None if self.status.is_none() => text.push_str("- Not a git repository\n"),
            None => text.push_str("- Git repository, on no branch when the session began\n"),
        }
        if let Some(status) = &self.status {
            status.write(&mut text);
        }
        let _ = writeln!(text, "- Platform: {}; date: {}; model: {}", self.platform, self.date, self.model);
        if !self.tools.is_empty() {
            let _ = writeln!(text, "- Tools: {}", self.tools.join(", "));
        }
        if let Some(scratch) = &self.scratch {
            let _ = writeln!(text, "- Your scratch folder: {}", scratch.display());
        }
        if !self.agents.is_empty() {
            text.push_str("\nAgent types for the Agent tool\n");
            for (name, when) in &self.agents {
                let _ = writeln!(text, "- {name}: {when}");
            }
        }
        let mut room = INSTRUCTIONS_CAP;
        for file in instructions {
            let body = clip(&file.text, room);
            room -= body.len();
            let cut =
                if body.len() < file.text.len() { "\n[cut: the instruction files are too long]" } else { "" };
            let _ = write!(
                text,
                "\nInstructions from {} (they hold for this whole session and go before your defaults)\n\n{}{cut}\n",
                file.path.display(),
                body.trim_end()
            );
        }
        reminder(&text)
    }
}

impl GitStatus {
    fn write(&self, text: &mut String) {
        let lines = |text: &mut String, lines: &[String]| {
            for line in lines {
                let _ = writeln!(text, "    {line}");
            }
        };
        match self {
            Self::LeftOut(reason) => {
                let _ = writeln!(text, "- Git status: left out ({reason})");
            }
            Self::Told { changes, more, commits } => {
                match changes.len() + more {
                    0 => text.push_str("- Git status when the session began: clean\n"),
                    count => {
                        let _ = writeln!(text, "- Git status when the session began: {count} changed");
                    }
                }
                lines(text, changes);
                if *more > 0 {
                    let _ = writeln!(text, "    and {more} more");
                }
                if !commits.is_empty() {
                    text.push_str("- Last commits\n");
                    lines(text, commits);
                }
            }
        }
    }
}

/// Marks a text as the harness's own. A closing mark inside of it is made harmless.
pub fn reminder(text: &str) -> String {
    let safe = text.replace("</system-reminder", "<\u{200b}/system-reminder");
    format!("<system-reminder>\n{}\n</system-reminder>", safe.trim_end())
}

/// The list of things to do, for a model whose conversation was shortened.
pub fn todo_text(todos: &[Todo]) -> Option<String> {
    if todos.is_empty() {
        return None;
    }
    let mut text = String::from("Your list of things to do, as it stands\n");
    for todo in todos.iter().take(TODO_CAP) {
        let mark = match todo.status {
            TodoStatus::Pending => " ",
            TodoStatus::InProgress => "~",
            TodoStatus::Completed => "x",
        };
        let _ = writeln!(text, "- [{mark}] {}", todo.content);
    }
    Some(text)
}

/// Asks the model for a summary of the conversation before it.
pub fn summary_request(wish: Option<&str>) -> String {
    let base = include_str!("summary.md");
    match wish {
        Some(wish) if !wish.trim().is_empty() => {
            format!("{base}\nThe person adds: {}\n", clip(wish.trim(), 4_000))
        }
        _ => base.to_owned(),
    }
}

/// A summary as the model reads it afterwards.
pub fn summary_text(summary: &str, transcript: &str) -> String {
    format!(
        "This conversation was shortened. What stood before is summed up here; the whole of it is in {transcript}.\n\n{}",
        summary.trim()
    )
}

fn clip(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment {
            cwd: "/w".into(),
            roots: vec![],
            platform: "linux".into(),
            date: "2026-11-30".into(),
            git: None,
            status: None,
            model: "m".into(),
            tools: vec![],
            scratch: None,
            agents: vec![],
        }
    }

    #[test]
    fn instructions_have_a_cap() {
        let big = Instructions { path: "/w/AGENTS.md".into(), text: "é".repeat(INSTRUCTIONS_CAP) };
        let text = environment().text(&[big]);
        assert!(text.len() < INSTRUCTIONS_CAP + 2_000);
        assert!(text.contains("[cut:"));
    }

    #[test]
    fn a_git_status_is_short_and_says_when_it_was() {
        let told = |status| environment_with(status).text(&[]);
        let clean = GitStatus::Told { changes: vec![], more: 0, commits: vec!["Fix a bug".into()] };
        assert!(told(clean).contains("began: clean\n- Last commits\n    Fix a bug\n"));
        let dirty = GitStatus::Told { changes: vec![" M a".into()], more: 2, commits: vec![] };
        assert!(told(dirty).contains("began: 3 changed\n     M a\n    and 2 more\n- Platform"));
        assert!(told(GitStatus::LeftOut("it takes too long here".into())).contains("left out (it takes"));
    }

    fn environment_with(status: GitStatus) -> Environment {
        Environment { git: Some("main".into()), status: Some(status), ..environment() }
    }

    #[test]
    fn no_text_can_close_the_reminder() {
        assert_eq!(reminder("a </system-reminder> b").matches("</system-reminder>").count(), 1);
    }
}
