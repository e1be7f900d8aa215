//! The log of a session's decisions: a line for each call that was judged, beside the transcript. It is for
//! people who ask later why something was done; nothing in troupe reads it to decide.
//!
//! What is kept of an input is short: the beginning of a command, paths, a host. Contents of files are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use troupe_core::access::Access;
use troupe_core::ids::{AgentId, CallId};
use troupe_core::policy::{Decision, Mode, Rule};
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record};
use troupe_core::time::Time;

use super::paths::SessionPaths;
use super::transcripts::StoreError;
use crate::clock::iso;

/// Most bytes of a command or a path.
const TEXT: usize = 500;
/// Most bytes of a reason.
const REASON: usize = 1000;
/// Most things that are named of a call.
const THINGS: usize = 8;

/// A judged call, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// When it was settled.
    pub at: Time,
    /// Whose call.
    pub agent: AgentId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What was judged: the command, the paths, the host. Cut to a size.
    pub judged: Vec<String>,
    /// The agent's mode.
    pub mode: Mode,
    /// What rules and mode say.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// The rule that decided.
    pub rule: Option<Arc<Rule>>,
    /// What became of the call.
    pub outcome: Settled,
    /// Who settled it.
    pub by: By,
    /// How long it was waited for an answer, in milliseconds; none where nobody was asked.
    pub waited_ms: Option<u64>,
    /// Whether whoever answered had changed the input.
    pub changed: bool,
}

/// What became of a judged call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was made.
    Allowed,
    /// It was refused.
    Denied,
    /// The question was withdrawn before it was answered.
    Withdrawn,
}

/// Who settled a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Rules and mode.
    Policy,
    /// A person at the terminal.
    Person,
    /// The program that drives the run.
    Host,
    /// The classifier of mode `auto`.
    Classifier,
    /// A gatekeeper.
    Gatekeeper,
    /// Nobody: there was none to ask, or none answered.
    Nobody,
}

impl Settled {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl By {
    fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Person => "person",
            Self::Host => "host",
            Self::Classifier => "classifier",
            Self::Gatekeeper => "gatekeeper",
            Self::Nobody => "nobody",
        }
    }
}

/// What is kept of what a call would touch.
pub fn short_form(access: &[Access]) -> Vec<String> {
    let mut things: Vec<String> = Vec::new();
    for access in access {
        let thing = match access {
            Access::Exec(command) => cut(&command.text, TEXT),
            Access::Read(path) | Access::Write(path) => cut(&path.typed.to_string_lossy(), TEXT),
            Access::Fetch { host } => cut(host, TEXT),
            Access::Spawn { agent } => cut(agent, TEXT),
            Access::Send { to } => cut(to, TEXT),
            Access::Own | Access::Person | Access::Unknown => continue,
        };
        if things.len() == THINGS {
            things.push("…".to_owned());
            break;
        }
        things.push(thing);
    }
    things
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… [{} bytes]", &text[..end], text.len())
}

impl Decided {
    fn line(&self, session: &str) -> Map<String, Value> {
        let mut line = Map::new();
        let mut put = |key: &str, value: Value| {
            line.insert(key.to_owned(), value);
        };
        put("type", "decision".into());
        put("sessionId", session.into());
        put("timestamp", iso(self.at).into());
        if !self.agent.is_main() {
            put("agentId", self.agent.as_str().into());
        }
        put("call", json!(self.call));
        put("tool", cut(&self.tool, TEXT).into());
        put("judged", json!(self.judged));
        put("mode", self.mode.as_str().into());
        put("decision", self.decision.as_str().into());
        put("reason", cut(&self.reason, REASON).into());
        if let Some(rule) = &self.rule {
            let mut value = rule.to_value();
            value["rule"] = cut(&rule.text, TEXT).into();
            put("rule", value);
        }
        put("outcome", self.outcome.as_str().into());
        put("by", self.by.as_str().into());
        if let Some(waited) = self.waited_ms {
            put("waitedMs", waited.into());
        }
        if self.changed {
            put("changed", true.into());
        }
        line
    }
}

/// Where a session's decisions are written.
pub struct DecisionLog {
    journal: Arc<dyn Journal>,
    key: Key,
    session: String,
    /// All agents of the session write here.
    turn: Mutex<()>,
    has_failed: AtomicBool,
}

impl DecisionLog {
    /// The log of a session.
    pub fn new(journal: Arc<dyn Journal>, paths: &SessionPaths) -> Self {
        Self {
            journal,
            key: paths.decisions(),
            session: paths.session().as_str().to_owned(),
            turn: Mutex::new(()),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Writes a line. The first failure is given back, to be told; the call goes on without.
    pub async fn write(&self, decided: &Decided) -> Option<JournalError> {
        let record = Record(vec![decided.line(&self.session)]);
        let _turn = self.turn.lock().await;
        let error = self.journal.append(&self.key, None, record).await.err()?;
        (!self.has_failed.swap(true, Ordering::Relaxed)).then_some(error)
    }
}

/// The lines of a session's log, the oldest first. Lines that can't be read are left out.
///
/// # Errors
/// When the journal can't be read.
pub async fn decisions(
    journal: &dyn Journal,
    paths: &SessionPaths,
) -> Result<Vec<Map<String, Value>>, StoreError> {
    let found = journal.read(&paths.decisions(), 0).await?;
    let lines = found.into_iter().filter_map(|found| match found {
        Found::Record(_, Record(lines)) => lines.into_iter().next(),
        Found::Foreign(_) | Found::Damaged(_) | Found::Repaired(_) => None,
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: S7
    #[test]
    fn what_is_kept_of_a_call_has_a_size() {
        let command = |text: String| {
            Access::Exec(Box::new(troupe_core::policy::Command { text, ..Default::default() }))
        };
        let kept = short_form(&[command("é".repeat(400))]);
        assert!(
            kept[0].starts_with('é') && kept[0].len() < 530 && kept[0].ends_with("[800 bytes]"),
            "{kept:?}"
        );
        let many: Vec<Access> = (0..20).map(|n| command(n.to_string())).collect();
        assert_eq!(short_form(&many).len(), THINGS + 1);
        assert_eq!(short_form(&[Access::Own, Access::Unknown]), [""; 0]);
    }
}
