//! The order in which questions are put: one at a time, in the order in which they were asked.

use std::collections::VecDeque;
use std::sync::Arc;

use troupe_core::ids::QuestionId;
use troupe_core::policy::Question;

/// Questions that wait for a person.
#[derive(Default)]
pub(crate) struct Desk {
    queue: VecDeque<Arc<Question>>,
    /// The question that is on the screen.
    shown: Option<QuestionId>,
    /// What was answered of it, where it holds several.
    given: Vec<String>,
}

impl Desk {
    /// Adds a question, unless it is there.
    pub(crate) fn open(&mut self, question: Arc<Question>) {
        if self.queue.iter().all(|there| there.id != question.id) {
            self.queue.push_back(question);
        }
    }

    /// Drops a question that nobody need answer any more; whether it was on the screen.
    pub(crate) fn close(&mut self, id: &QuestionId) -> bool {
        if self.queue.front().is_some_and(|first| first.id == *id) {
            self.given.clear();
        }
        self.queue.retain(|question| question.id != *id);
        self.shown.take_if(|shown| shown == id).is_some()
    }

    /// The question to be put now, if it is not on the screen yet.
    pub(crate) fn show(&mut self) -> Option<Arc<Question>> {
        let first = self.queue.front()?;
        if self.shown.as_ref() == Some(&first.id) {
            return None;
        }
        self.shown = Some(first.id.clone());
        Some(Arc::clone(first))
    }

    /// The question on the screen: what a line answers.
    pub(crate) fn current(&self) -> Option<Arc<Question>> {
        let first = self.queue.front()?;
        (self.shown.as_ref() == Some(&first.id)).then(|| Arc::clone(first))
    }

    /// What was answered of the question on the screen.
    pub(crate) fn given(&self) -> &[String] {
        &self.given
    }

    /// Takes the answer to one of several; the next one is put.
    pub(crate) fn give(&mut self, answer: String) {
        self.given.push(answer);
        self.again();
    }

    /// Puts the question on the screen again.
    pub(crate) fn again(&mut self) {
        self.shown = None;
    }

    /// Questions that are open.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &Arc<Question>> {
        self.queue.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(id: &str) -> Arc<Question> {
        Arc::new(Question {
            id: id.into(),
            agent: "main".into(),
            asker: troupe_core::policy::Asker::default(),
            call: id.into(),
            tool: "Bash".into(),
            input: json!({}),
            title: String::new(),
            reason: String::new(),
            reason_kind: troupe_core::policy::ReasonKind::Other,
            blocked_path: None,
            suggestions: Vec::new(),
            alternatives: Vec::new(),
            hard: false,
            interactive: false,
        })
    }

    // proves: S2
    #[test]
    fn one_at_a_time_in_order_without_those_taken_back() {
        let mut desk = Desk::default();
        for id in ["a", "b", "c", "a"] {
            desk.open(question(id));
        }
        assert_eq!(desk.show().map(|question| question.id.clone()), Some("a".into()));
        assert!(desk.show().is_none(), "it is on the screen");
        assert!(!desk.close(&"b".into()), "it was not");
        assert!(desk.close(&"a".into()));
        assert!(desk.current().is_none(), "a line now answers nothing");
        assert_eq!(desk.show().map(|question| question.id.clone()), Some("c".into()));
        assert_eq!(desk.current().map(|question| question.id.clone()), Some("c".into()));
        desk.give("x".into());
        assert!(desk.show().is_some(), "its next part");
        desk.close(&"b".into());
        assert_eq!(desk.given(), ["x"]);
        desk.open(question("d"));
        desk.close(&"c".into());
        assert!(desk.given().is_empty(), "what was answered of another question is no answer to this one");
        desk.show();
        desk.again();
        assert!(desk.show().is_some());
    }
}
