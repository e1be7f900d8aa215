//! The seam to what watches calls and questions from outside, such as hooks: it may refuse, change or answer.

use std::path::PathBuf;

use serde_json::Value;

use crate::BoxFuture;
use crate::ids::{AgentId, CallId};
use crate::policy::{Answer, Asker, Mode, Question};

/// A call before it is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Gated {
    /// Whose it is.
    pub agent: AgentId,
    /// Whose it is, for people, with the type of the agent.
    pub asker: Asker,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its input; it has passed the schema.
    pub input: Value,
    /// Where it is made.
    pub cwd: PathBuf,
    /// The agent's mode.
    pub mode: Mode,
}

/// What is thought of a call, the strictest last: of several, that one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opinion {
    /// Nothing: rules and mode decide.
    #[default]
    None,
    /// It may be made, as if a rule allowed it.
    Allow,
    /// A person is to be asked, whatever allows it.
    Ask,
    /// Not now.
    Defer,
    /// No.
    Deny,
}

/// What becomes of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ruling {
    /// Whether it may be made.
    pub opinion: Opinion,
    /// Why; for the model where it is refused, for the person where it is asked.
    pub reason: Option<String>,
    /// The input to use; it is checked and judged like the model's own.
    pub input: Option<Value>,
    /// What the model is told beside the result.
    pub context: Option<String>,
}

impl Ruling {
    /// Both: the stricter opinion with its reason, the later input, all that the model is to be told.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        let stricter = later.opinion > self.opinion;
        let context = match (self.context, later.context) {
            (Some(first), Some(second)) => Some(format!("{first}\n{second}")),
            (first, second) => first.or(second),
        };
        Self {
            opinion: self.opinion.max(later.opinion),
            reason: if stricter {
                later.reason
            } else {
                self.reason.or(later.reason.filter(|_| later.opinion == self.opinion))
            },
            input: later.input.or(self.input),
            context,
        }
    }
}

/// A moment of a team that may be objected to (K3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A task is about to be put on the list.
    TaskCreated(Tasked),
    /// A task is about to be completed.
    TaskCompleted(Tasked),
    /// A member is about to be idle. An objection gives it something to do.
    TeammateIdle {
        /// The member.
        member: String,
        /// Its team.
        team: String,
    },
}

/// What of a task such a moment is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasked {
    /// The task's number.
    pub id: String,
    /// What it is.
    pub subject: String,
    /// What there is to it.
    pub description: String,
    /// Whose move it is.
    pub by: String,
    /// The team; none for a list of a session.
    pub team: Option<String>,
}

/// Why a gatekeeper gave no answer; for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GateFault(pub String);

/// What stands before calls and beside questions, of every agent.
///
/// Each call of it has a ceiling, after which it has failed. Dropping a future takes the request back.
pub trait Gatekeeper: Send + Sync {
    /// Before a call is judged, also one that starts an agent.
    ///
    /// # Errors
    /// [`GateFault`]: the call is then refused, unless [`Gatekeeper::is_gate`] says otherwise.
    fn before<'a>(&'a self, call: &'a Gated) -> BoxFuture<'a, Result<Ruling, GateFault>>;

    /// While a question is open, beside whoever is asked: the first answer counts, and the other is taken back.
    /// None leaves it to them.
    ///
    /// # Errors
    /// [`GateFault`]: it is told, and the others are left to answer.
    fn asked<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Option<Answer>, GateFault>>;

    /// At a moment of a team; an objection, in words for the model, keeps it from coming about.
    ///
    /// # Errors
    /// [`GateFault`]: as before a call.
    fn objects<'a>(&'a self, _moment: &'a Moment) -> BoxFuture<'a, Result<Option<String>, GateFault>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Whether a call is refused when [`Gatekeeper::before`] fails or takes too long.
    fn is_gate(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ruling(opinion: Opinion, reason: &str) -> Ruling {
        Ruling { opinion, reason: Some(reason.into()), ..Ruling::default() }
    }

    // proves: F186
    #[test]
    fn the_strictest_opinion_counts_in_any_order() {
        let all = [Opinion::None, Opinion::Allow, Opinion::Ask, Opinion::Defer, Opinion::Deny];
        for (n, strict) in all.into_iter().enumerate() {
            for mild in &all[..n] {
                for (a, b) in [(strict, *mild), (*mild, strict)] {
                    let both = ruling(a, if a == strict { "why" } else { "no" })
                        .and(ruling(b, if b == strict { "why" } else { "no" }));
                    assert_eq!((both.opinion, both.reason.as_deref()), (strict, Some("why")));
                }
            }
        }
    }

    #[test]
    fn inputs_and_contexts_add_up() {
        let first = Ruling { input: Some(json!(1)), context: Some("a".into()), ..Ruling::default() };
        let second = Ruling { input: Some(json!(2)), context: Some("b".into()), ..Ruling::default() };
        let both = first.clone().and(second);
        assert_eq!((both.input, both.context.as_deref()), (Some(json!(2)), Some("a\nb")));
        assert_eq!(first.clone().and(Ruling::default()).input, first.input);
    }
}
