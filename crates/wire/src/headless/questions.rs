//! Questions of the session, put to whoever answers, and taken back when nobody need answer any more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use troupe_core::ids::QuestionId;
use troupe_core::input::Input;
use troupe_core::policy::{Answer, Asker, Question};

use super::Exit;
use super::driver::Driver;
use super::reader::Answers;
use crate::ask::Desk;
use crate::control::{self, Asked};
use crate::frames::{self, State};

/// Most requests that are remembered after they were taken back.
const CLOSED: usize = 64;

/// Who is asked, and what is open there.
pub(super) enum Asking {
    Nobody,
    Host {
        open: BTreeMap<String, Asked>,
        number: u64,
        /// Requests that were taken back last: an answer to one is late, not wrong.
        closed: VecDeque<String>,
    },
    Terminal(Desk),
}

impl Asking {
    pub(super) fn host() -> Self {
        Self::Host { open: BTreeMap::new(), number: 0, closed: VecDeque::new() }
    }

    pub(super) fn terminal() -> Self {
        Self::Terminal(Desk::default())
    }

    pub(super) fn has(&self, id: &QuestionId) -> bool {
        match self {
            Self::Nobody => false,
            Self::Host { open, .. } => open.values().any(|asked| asked.question.id == *id),
            Self::Terminal(desk) => desk.questions().any(|question| question.id == *id),
        }
    }

    pub(super) fn open(&self) -> Vec<QuestionId> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Host { open, .. } => open.values().map(|asked| asked.question.id.clone()).collect(),
            Self::Terminal(desk) => desk.questions().map(|question| question.id.clone()).collect(),
        }
    }
}

impl Driver {
    pub(super) async fn ask(&mut self, question: Arc<Question>) -> Result<(), Exit> {
        let open = self.engine.questions().iter().any(|open| open.id == question.id);
        if !open || self.asking.has(&question.id) {
            return Ok(());
        }
        match &mut self.asking {
            Asking::Nobody => {
                let message = "Nobody can be asked in this run.".to_owned();
                self.give(&question, Input::Unanswered(question.id.clone(), message)).await;
                Ok(())
            }
            Asking::Host { open, number, .. } => {
                *number += 1;
                let id = format!("ask_{number}_{}", &frames::new_uuid()[..8]);
                let (frame, asked) = control::request(&id, question);
                open.insert(id, asked);
                self.enter(State::RequiresAction).await?;
                self.frame(&frame).await
            }
            Asking::Terminal(desk) => {
                desk.open(question);
                Ok(())
            }
        }
    }

    pub(super) async fn withdraw(&mut self, id: &QuestionId) -> Result<(), Exit> {
        match &mut self.asking {
            Asking::Nobody => Ok(()),
            Asking::Host { open, closed, .. } => {
                let found = open.iter().find(|(_, asked)| asked.question.id == *id);
                let Some(request) = found.map(|(request, _)| request.clone()) else { return Ok(()) };
                open.remove(&request);
                closed.push_back(request.clone());
                if closed.len() > CLOSED {
                    closed.pop_front();
                }
                self.frame(&control::withdrawal(&request)).await
            }
            Asking::Terminal(desk) => {
                if desk.close(id) {
                    (self.tell)("\n(no answer is needed any more)\n");
                }
                Ok(())
            }
        }
    }

    /// Hands an answer on.
    pub(super) async fn answer(&mut self, question: &Question, answer: Answer) {
        self.give(question, Input::Answer(question.id.clone(), answer)).await;
    }

    async fn give(&mut self, question: &Question, answer: Input) {
        if self.send(answer).await.is_err() {
            // It was closed in the meantime.
            let Asker { address, .. } = &question.asker;
            self.tell(&format!(
                "an answer to {address} on {} came too late and changed nothing",
                question.tool
            ));
        }
    }

    /// Whoever answered has left: what is open is denied, and what comes too.
    pub(super) async fn nobody_answers(&mut self, open: Vec<Arc<Question>>) {
        self.asking = Asking::Nobody;
        for question in open {
            let message = "Nobody can be asked any more.".to_owned();
            self.give(&question, Input::Unanswered(question.id.clone(), message)).await;
        }
    }

    /// A host whose input has ended can't answer.
    pub(super) async fn host_left(&mut self) -> Result<(), Exit> {
        let Asking::Host { open, .. } = &mut self.asking else { return Ok(()) };
        let open = std::mem::take(open);
        self.nobody_answers(open.values().map(|asked| Arc::clone(&asked.question)).collect()).await;
        // It may read on, and need not show what it can't answer.
        for request in open.keys() {
            self.frame(&control::withdrawal(request)).await?;
        }
        Ok(())
    }

    /// Whether a person is to answer something; puts the question if it is not on the screen.
    pub(super) fn puts_a_question(&mut self, terminal: Option<&mut Answers>) -> bool {
        let (Asking::Terminal(desk), Some(terminal)) = (&mut self.asking, terminal) else { return false };
        if let Some(question) = desk.show() {
            // Keys that were pressed for something else must not answer it.
            terminal.forget();
            (self.tell)(&crate::ask::prompt(&question, desk.given()));
        }
        desk.current().is_some()
    }
}
