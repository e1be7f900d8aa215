//! A message from one agent to another: what is sent, what the sender hears, and how the receiver reads it.

use std::fmt::Write as _;

use crate::block::Block;
use crate::entry::Origin;
use crate::ids::{AgentId, CallId, InputId, JobId};
use crate::input::{Prompt, When};
use crate::team::Kind;
use crate::visible::{is_hidden, visible};

/// Most bytes of a text; what is longer belongs into a file.
pub const LONGEST: usize = 100_000;
/// Most characters of a summary.
const SUMMARY: usize = 120;
/// Most characters of a text that stand in for a summary.
const BRIEF: usize = 80;

/// Before the id of another session, where a message goes there.
pub const BRIDGE: &str = "bridge:";
/// Before the path of a socket, where a message goes there.
pub const UDS: &str = "uds:";

/// Whether an address is one of another session, or of another program.
pub fn leaves_session(to: &str) -> bool {
    to.starts_with(BRIDGE) || to.starts_with(UDS)
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Who sends it.
    pub from: AgentId,
    /// Whom it is to: a name, an id, `main` or `parent`.
    pub to: String,
    /// What it says.
    pub text: String,
    /// The same in 5–10 words.
    pub summary: Option<String>,
    /// What it is; all but text goes to members of a team alone.
    pub kind: Kind,
    /// The call that sends it. A second message of one call is the same message, and arrives once.
    pub call: CallId,
}

/// What became of a message. It is durable by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Who gets it.
    pub to: AgentId,
    /// The receiver's name, if it has one.
    pub name: Option<String>,
    /// When it is read.
    pub delivery: Delivery,
}

/// When a message is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The receiver is alive and reads it at its next safe point.
    Queued,
    /// The receiver had ended and goes on in the background with it.
    Resumed {
        /// The job that tells the sender of its end.
        job: JobId,
        /// Which of its runs this is, from 1.
        run: u32,
    },
    /// It lies in the mailbox of a member of the team.
    Posted,
    /// It lies in the mailboxes of all other members, whose names these are.
    ToAll(Vec<String>),
    /// The receiver read it before: the call was made again after a crash.
    Read,
}

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// Nobody is called so.
    #[error("there is no agent `{to}` you can write to; there are: {}", .known.join(", "))]
    Unknown {
        /// Whom it was to.
        to: String,
        /// Whom there is.
        known: Vec<String>,
    },
    /// The name belongs to another agent by now, which the sender can't write to.
    #[error("the name `{name}` was taken over by a newer agent; write to {id} by its id")]
    TakenOver {
        /// The name.
        name: String,
        /// The agent that had it.
        id: AgentId,
    },
    /// No session whose id begins so listens.
    #[error("there is no running session `{to}`; there are: {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    NotRunning {
        /// Whom it was to.
        to: String,
        /// The sessions that listen.
        known: Vec<String>,
    },
    /// The ids of several sessions begin so.
    #[error("`{to}` is the beginning of several: {}", .known.join(", "))]
    Several {
        /// Whom it was to.
        to: String,
        /// The sessions.
        known: Vec<String>,
    },
    /// It is to the sender.
    #[error("`{0}` is you")]
    Own(String),
    /// The receiver has ended and does not go on.
    #[error("agent {id} has ended and can't go on: {why}")]
    Ended {
        /// The receiver.
        id: AgentId,
        /// Why it does not go on.
        why: String,
    },
    /// It has no text, or too much of it.
    #[error("a message has 1 to {LONGEST} bytes of text; put what is longer into a file and send its path")]
    Length,
    /// There is no team to send it in.
    #[error("there is no team, so nothing can be sent to `{0}`")]
    NoTeam(String),
    /// A text to a member has no summary.
    #[error("a text to a member needs a `summary` of 5-10 words")]
    NoSummary,
    /// Too many messages to all.
    #[error("at most {most} messages a minute go to all; write to those whom it concerns")]
    TooOften {
        /// The limit.
        most: usize,
    },
    /// A protocol message that the sender can't send, or not to this one.
    #[error("{0}")]
    Kind(String),
    /// Too much waits for the receiver, or it could not be made durable.
    #[error("the message was not taken: {0}")]
    Refused(String),
    /// The session is ending.
    #[error("the session is ending")]
    Ending,
}

/// An agent that another can write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correspondent {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub definition: String,
    /// What it does now: `running`, `idle`, `waiting`, `paused`, `ended`.
    pub state: &'static str,
    /// What it was called for.
    pub description: String,
}

impl Mail {
    /// The id under which it arrives once.
    pub fn id(&self) -> InputId {
        InputId::new(format!("mail-{}-{}", self.from, self.call))
    }

    /// The call that sent the message of this id, if `from` sent it.
    pub fn call_of(id: &InputId, from: &AgentId) -> Option<CallId> {
        id.as_str().strip_prefix(&format!("mail-{from}-")).map(CallId::new)
    }

    /// Its summary, or the first words of its text.
    pub fn brief(&self) -> String {
        self.summary.clone().unwrap_or_else(|| {
            let line = self.text.split_whitespace().take(10).collect::<Vec<_>>().join(" ");
            let cut: String = line.chars().take(BRIEF).collect();
            if cut.len() < self.text.trim().len() { format!("{cut}…") } else { cut }
        })
    }

    /// As the receiver's inbox takes it; `from` is what the receiver knows the sender by.
    pub fn prompt(&self, from: &str) -> Prompt {
        Prompt {
            id: self.id(),
            blocks: vec![Block::text(wrap(from, None, self.summary.as_deref(), &self.text))],
            from: Origin::Agent(self.from.clone()),
            when: When::Next,
            starts_turn: true,
        }
    }
}

/// The text of a message in its tag (M7).
pub fn wrap(from: &str, color: Option<&str>, summary: Option<&str>, text: &str) -> String {
    let mut out = format!("<teammate-message from=\"{}\"", attribute(from));
    if let Some(color) = color.map(str::trim).filter(|color| !color.is_empty()) {
        // Writing to a string can't fail.
        let _ = write!(out, " color=\"{}\"", attribute(color));
    }
    if let Some(summary) = summary.map(str::trim).filter(|summary| !summary.is_empty()) {
        // Writing to a string can't fail.
        let _ = write!(out, " summary=\"{}\"", attribute(summary));
    }
    let _ = write!(out, ">\n{}\n</teammate-message>", defuse(text.trim()));
    out
}

fn attribute(text: &str) -> String {
    let cut: String = text.chars().take(SUMMARY).collect();
    visible(&cut).replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Beginnings of tags that are the harness's, a provider's or a turn's alone.
const TAGS: &[&str] = &[
    "teammate",
    "system",
    "task-",
    "user",
    "human",
    "assistant",
    "command-",
    "local-command",
    "bash-",
    "tool",
    "function",
    "antml",
    "invoke",
];
/// Words that begin a turn, where a line begins with one and a colon.
const SPEAKERS: &[&str] = &["human", "user", "assistant", "system"];

/// Keeps a text from closing its tag, and from posing as the system or the user. Other markup stays readable.
fn defuse(text: &str) -> String {
    let mut parts = text.split('<');
    let mut tame = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        tame.push_str(if opens_tag(part) { "&lt;" } else { "<" });
        tame.push_str(part);
    }
    let mut out = String::with_capacity(tame.len());
    for line in tame.split_inclusive(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}']) {
        let words = line.trim_start_matches(is_blank);
        out.push_str(&line[..line.len() - words.len()]);
        if speaks(words) {
            out.push('\\');
        }
        out.push_str(words);
    }
    out
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_hidden(c)
}

/// Letters only, without what is not seen and what can stand before a tag's name.
fn plain(text: &str, most: usize) -> String {
    text.chars().filter(|c| !is_blank(*c) && *c != '/').take(most).collect::<String>().to_ascii_lowercase()
}

fn opens_tag(after: &str) -> bool {
    let name = plain(after, 16);
    TAGS.iter().any(|tag| name.starts_with(tag))
}

fn speaks(words: &str) -> bool {
    let name = plain(words, 16);
    SPEAKERS.iter().any(|speaker| name.strip_prefix(speaker).is_some_and(|rest| rest.starts_with(':')))
}

#[cfg(test)]
#[path = "mail_tests.rs"]
mod tests;
