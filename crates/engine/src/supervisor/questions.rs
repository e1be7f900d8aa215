//! Questions that are open: each belongs to one call of one agent, and ends by an answer, by a gatekeeper, by
//! rules that decide by now, by its time limit, or with its asker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::QuestionId;
use troupe_core::policy::{Answer, Question};

use super::Shared;
use crate::session::SendError;
use crate::store::By;

/// How often the files are looked at while a question is open.
const LOOK: Duration = Duration::from_secs(1);

/// Open questions, in the order in which they were asked.
#[derive(Default)]
pub(crate) struct Questions(Mutex<Vec<Open>>);

struct Open {
    question: Arc<Question>,
    answer: oneshot::Sender<Answered>,
}

/// What came back on a question, and from whom.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) by: By,
}

impl Answered {
    /// A denial that nobody spoke.
    pub(crate) fn by_nobody(message: String) -> Self {
        Self { answer: Answer::Deny { message, interrupt: false }, by: By::Nobody }
    }
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, Vec<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, question: &Arc<Question>) -> oneshot::Receiver<Answered> {
        let (answer, answered) = oneshot::channel();
        self.lock().push(Open { question: Arc::clone(question), answer });
        answered
    }

    fn take(&self, id: &QuestionId) -> Option<Open> {
        let mut open = self.lock();
        let at = open.iter().position(|open| open.question.id == *id)?;
        Some(open.remove(at))
    }

    pub(crate) fn list(&self) -> Vec<Arc<Question>> {
        self.lock().iter().map(|open| Arc::clone(&open.question)).collect()
    }
}

impl Shared {
    /// Gives an answer to its asker.
    ///
    /// # Errors
    /// When none waits for it any more.
    pub(crate) fn answer(&self, id: QuestionId, answer: Answer, by: By) -> Result<(), SendError> {
        let open = self.questions.take(&id);
        match open.map(|open| open.answer.send(Answered { answer, by })) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(SendError::NoQuestion(id)),
        }
    }

    /// Puts a question to whoever answers; a denial where nobody does. `None` when `settled` finds, after
    /// something has changed, that it need not be asked any more.
    pub(crate) async fn ask(&self, question: Question, settled: impl Fn() -> bool) -> Option<Answered> {
        let question = Arc::new(question);
        if let Some(answer) = self.ask_as_member(&question, &settled).await {
            return answer;
        }
        let leave = &self.config.leave;
        let gatekeeper = self.by_gatekeeper(&question);
        tokio::pin!(gatekeeper);
        if !leave.asks {
            let answer = gatekeeper.await;
            return Some(answer.unwrap_or_else(|| Answered::by_nobody(no_one_to_ask(&question))));
        }
        let answered = self.questions.open(&question);
        tokio::pin!(answered);
        let _guard = Withdraw { shared: self, question: &question };
        let mut changes = self.standing.changes();
        self.bus.tell(&question.agent, EventKind::QuestionOpened(Arc::clone(&question)));
        if settled() {
            return None;
        }
        let limit = leave.question_limit;
        let expired = sleep(limit.unwrap_or_default());
        tokio::pin!(expired);
        let mut look = interval_at(Instant::now() + LOOK, LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut gatekeeper_left = false;
        loop {
            tokio::select! {
                biased;
                answer = &mut answered => {
                    return Some(answer.unwrap_or_else(|_| {
                        Answered::by_nobody("The question was withdrawn before it was answered.".to_owned())
                    }));
                }
                answer = &mut gatekeeper, if !gatekeeper_left => match answer {
                    Some(answer) => return Some(answer),
                    None => gatekeeper_left = true,
                },
                () = &mut expired, if limit.is_some() => {
                    let message = unanswered(&question, limit.unwrap_or_default());
                    return Some(Answered::by_nobody(message));
                }
                Ok(()) = changes.changed() => {
                    if settled() {
                        return None;
                    }
                }
                _ = look.tick(), if self.standing.is_live() => self.refresh(),
            }
        }
    }

    /// In a process that is a member of another's team the lead is asked, unless a gatekeeper here knows better; none
    /// elsewhere. The person who looks on sees that it is.
    async fn ask_as_member(
        &self,
        question: &Arc<Question>,
        settled: &impl Fn() -> bool,
    ) -> Option<Option<Answered>> {
        self.config.teams.member.as_ref()?;
        if let Some(answer) = self.by_gatekeeper(question).await {
            return Some(Some(answer));
        }
        self.bus.tell(&question.agent, EventKind::QuestionOpened(Arc::clone(question)));
        let answer = super::team::ask_lead(self, question, settled).await;
        self.bus.tell(&question.agent, EventKind::QuestionClosed(question.id.clone()));
        answer
    }

    /// The gatekeeper's answer, if there is one and it has one.
    async fn by_gatekeeper(&self, question: &Question) -> Option<Answered> {
        let gate = self.config.leave.gate.as_ref()?;
        let fault = match tokio::time::timeout(gate.ceiling, gate.keeper.asked(question)).await {
            Ok(Ok(answer)) => return answer.map(|answer| Answered { answer, by: By::Gatekeeper }),
            Ok(Err(fault)) => fault.to_string(),
            Err(_) => format!("it took longer than {} s", gate.ceiling.as_secs()),
        };
        let told = format!("a gatekeeper did not answer a question ({fault})");
        self.bus.tell(&question.agent, EventKind::Notice(Notice::Warning(told)));
        None
    }
}

/// What the model is told when a question can't be put to anybody.
fn no_one_to_ask(question: &Question) -> String {
    format!(
        "This call needs a person's leave ({}), and nobody can be asked in this run. Go on without it, or say what you need.",
        question.reason
    )
}

/// What it is told when nobody answered in time.
fn unanswered(question: &Question, limit: Duration) -> String {
    format!(
        "This call needs a person's leave ({}), and nobody answered within {} s, so it was denied. Go on without it, or say what you need.",
        question.reason,
        limit.as_secs_f32()
    )
}

/// Takes a question back when its asker stops waiting.
struct Withdraw<'a> {
    shared: &'a Shared,
    question: &'a Question,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.shared.questions.take(&self.question.id);
        self.shared.bus.tell(&self.question.agent, EventKind::QuestionClosed(self.question.id.clone()));
    }
}
