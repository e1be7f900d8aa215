//! Mode `auto`: a model judges what a person would be asked. Whatever is not a clear answer in time asks the
//! person, and so does everything once it has denied too much.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use troupe_core::CancellationToken;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::classify::{Case, DECIDE, Ruling, SYSTEM, case_text, decide_tool, ruling};
use troupe_core::event::{EventKind, Notice};
use troupe_core::policy::{Asking, Mode};
use troupe_core::ports::model::{Message, Request, Role};

use super::actor::Actor;
use super::gate::Ready;
use super::inquiry::{self, Answer};

/// The name under which a script holds its replies.
const CLASSIFIER: &str = "classifier";
/// How long it may take, tries after failures among it.
const LIMIT: Duration = Duration::from_secs(20);
/// Most tokens of its reply.
const MAX_OUTPUT: u32 = 1_000;
/// Denials in a row, and in all, after which the person is asked.
const MOST_IN_A_ROW: u32 = 3;
const MOST: u32 = 20;

/// What it has denied in this session, children's calls among it: no agent gets a new count by starting others.
#[derive(Debug, Default)]
pub(crate) struct Denials(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    in_a_row: u32,
    in_all: u32,
    over: bool,
}

impl Denials {
    /// Whether it has denied too much to be asked on.
    fn are_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).over
    }

    /// Counts a clear ruling; `true` when this one was the last.
    fn count(&self, denied: bool) -> bool {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !denied {
            count.in_a_row = 0;
            return false;
        }
        count.in_a_row += 1;
        count.in_all += 1;
        let was = count.over;
        count.over |= count.in_a_row >= MOST_IN_A_ROW || count.in_all >= MOST;
        count.over && !was
    }
}

/// What came of judging one call.
pub(super) struct Ruled {
    pub(super) ruling: Ruling,
    /// What it was judged on.
    pub(super) access: Vec<Access>,
    answer: Box<Answer>,
}

/// What an earlier ruling leaves to be done about a call that is to be asked about.
pub(super) enum Course {
    /// It may start.
    Start,
    /// It is to be judged first.
    Classify(Box<Request>),
    /// The person is to be asked.
    Ask,
}

impl Actor {
    /// The course of a call that mode `auto`, or another, would ask about.
    pub(super) fn course(&self, ready: &Ready, earlier: Option<&Ruled>, asking: &mut Asking) -> Course {
        if self.mode() != Mode::Auto || asking.hard {
            return Course::Ask;
        }
        match earlier.filter(|ruled| ruled.access == ready.access).map(|ruled| &ruled.ruling) {
            Some(Ruling::Allow) => return Course::Start,
            Some(Ruling::Ask(why) | Ruling::Deny(why)) => {
                asking.reason = format!("{}; the classifier: {why}", asking.reason);
                return Course::Ask;
            }
            None => {}
        }
        let left = self.left();
        if self.shared.denials.are_over() || left.tokens_spent || left.cost_spent || left.time_over {
            return Course::Ask;
        }
        if let Some(request) = self.inquiry(ready, asking) {
            return Course::Classify(Box::new(request));
        }
        asking.reason = format!("{}; the call is too long for the classifier", asking.reason);
        Course::Ask
    }

    fn inquiry(&self, ready: &Ready, asking: &Asking) -> Option<Request> {
        let (place, rules) = (self.place(), self.shared.rules(self.def.allowed.as_deref()));
        let case = Case {
            transcript: self.transcript(),
            tool: &ready.tool.spec().name,
            input: &ready.input,
            reason: &asking.reason,
            place: &place,
            rules: &rules,
        };
        let text = case_text(&case)?;
        let info = self.shared.parts.model.info(&self.classifier_model());
        Some(Request {
            agent: self.me().clone(),
            definition: CLASSIFIER.to_owned(),
            // Each call is judged for itself.
            replies: 0,
            model: info.id,
            max_tokens: info.max_output.min(MAX_OUTPUT),
            system: Arc::from([Block::text(SYSTEM.trim_end())]),
            tools: Arc::from([decide_tool()]),
            messages: vec![Message { role: Role::User, groups: vec![Arc::from([Block::text(text)])] }],
            // The model's own fields are left out: reasoning and a call that it has to make exclude each other.
            extra: vec![("tool_choice".to_owned(), json!({"type": "tool", "name": DECIDE}))],
        })
    }

    fn classifier_model(&self) -> String {
        let small = self.shared.config.small_model.clone();
        small.unwrap_or_else(|| self.transcript().state().model.clone())
    }

    /// Judges a call, apart from the agent.
    pub(super) fn judging(
        &self,
        request: Request,
        access: Vec<Access>,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Ruled> + Send + use<> {
        let (model, clock) = (Arc::clone(&self.shared.parts.model), Arc::clone(&self.shared.parts.clock));
        let info = model.info(&self.classifier_model());
        let cancel = cancel.child_token();
        async move {
            let answer = inquiry::ask(model, clock, info, request, LIMIT, cancel).await;
            let unclear = || Ruling::Ask("its answer could not be understood".to_owned());
            let ruling = match &answer.reply {
                Ok(reply) => ruling(reply).unwrap_or_else(unclear),
                Err(why) => Ruling::Ask(why.clone()),
            };
            Ruled { ruling, access, answer: Box::new(answer) }
        }
    }

    /// Books what judging a call cost.
    pub(super) async fn book_ruling(&self, ruled: &mut Ruled) {
        ruled.answer.book(&self.shared, self.me(), &self.row.account, CLASSIFIER).await;
    }

    /// Counts a ruling; what a person may want to know of it is told.
    pub(super) fn count_ruling(&self, ruling: &Ruling) {
        let over = match ruling {
            Ruling::Allow => self.shared.denials.count(false),
            Ruling::Deny(_) => self.shared.denials.count(true),
            Ruling::Ask(_) => false,
        };
        if over {
            let text = "the classifier of mode auto has denied so much that it is not asked any more in this session: \
                        what needs leave is asked about";
            self.say(EventKind::Notice(Notice::Warning(text.to_owned())));
        }
    }
}

/// What the model is told of a call that the classifier denied.
pub(super) fn denial(why: &str) -> String {
    format!(
        "The classifier of mode auto denied this call: {why} Don't try the same by another way; go on without it, or say what you need."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: S1
    #[test]
    fn three_in_a_row_or_twenty_in_all_are_too_many() {
        let denials = Denials::default();
        let mut last = 0;
        for n in 1..=MOST {
            assert!(!denials.are_over(), "after {last}");
            last = n;
            assert_eq!(denials.count(true), n == MOST);
            denials.count(false);
        }
        assert!(denials.are_over() && !denials.count(true), "it is told once");

        let denials = Denials::default();
        assert_eq!(
            [true, true, false, true, true, true].map(|denied| denials.count(denied)),
            [false, false, false, false, false, true]
        );
        denials.count(false);
        assert!(denials.are_over(), "for the rest of the session");
    }
}
