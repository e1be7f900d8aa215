//! When a run is over: the state that it tells, what it waits for and how long, and its last words.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use troupe_core::ids::AgentId;
use troupe_core::input::{Input, Prompt};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::visible::visible_lines;
use troupe_engine::session::Undone;

use super::driver::Driver;
use super::questions::Asking;
use super::writer::Closed;
use super::{Exit, Output, Signal, StateEvents};
use crate::frames::{self, State};
use crate::line;

/// How soon it is looked again whether an end on its way has come through.
const TELLING_POLL: Duration = Duration::from_millis(50);
/// What shells in the background get once nothing else is to be done.
const GRACE: Duration = Duration::from_secs(5);
/// How long a signal waits for the turn to end.
const HALT: Duration = Duration::from_secs(5);
/// How long the session may take to close.
const CLOSE: Duration = Duration::from_secs(10);

impl Driver {
    pub(super) async fn enter(&mut self, state: State) -> Result<(), Exit> {
        if self.options.states == StateEvents::Off || self.state == Some(state) {
            return Ok(());
        }
        self.state = Some(state);
        let host_only = self.options.states == StateEvents::Sdk;
        let frame = frames::state_changed(self.engine.id().as_str(), state, host_only);
        self.frame(&frame).await
    }

    pub(super) fn is_busy(&self) -> bool {
        self.projection.in_turn() || !self.queue.unread().is_empty()
    }

    pub(super) fn host_owes(&self) -> bool {
        matches!(&self.asking, Asking::Host { open, .. } if !open.is_empty())
    }

    /// Whether a further turn is owed, by what waits or by what was just heard of.
    pub(super) fn owes_a_turn(&self) -> bool {
        self.is_busy() || !self.queue.is_empty() || (self.halted.is_none() && self.is_called())
    }

    /// Whether a notice waits for the main agent, or may come at once.
    fn is_called(&self) -> bool {
        self.linger.is_some_and(|until| Instant::now() < until)
            || self.engine.is_telling()
            || !self.engine.waiting(&AgentId::main()).is_empty()
    }

    /// Whether members have something to do, as far as is known.
    fn members_at_work(&self) -> bool {
        self.mail_waits || self.engine.members_at_work()
    }

    /// When something is due though nothing comes.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let background = (!self.input_open && !self.owes_a_turn()).then(|| self.patience()).flatten();
        let linger = self.linger.filter(|until| *until > now);
        // Nothing tells of an end that has come through: it is looked for.
        let linger = linger
            .or_else(|| (self.engine.is_telling() || self.members_at_work()).then(|| now + TELLING_POLL));
        let leaving = self.leaving.map(|(_, until)| until);
        [background, linger, leaving].into_iter().flatten().min()
    }

    /// Until when what works in the background is waited for.
    pub(super) fn patience(&self) -> Option<Instant> {
        let tasks = &self.projection.tasks;
        // Nobody would hear what an agent found after the main agent's end.
        let works = tasks.has_background_agent() || self.members_at_work();
        if works && self.halted.is_none() {
            self.options.agents_ceiling.map(|ceiling| self.quiet_since + ceiling)
        } else {
            tasks.has_background().then(|| self.quiet_since + GRACE)
        }
    }

    /// Does what can be done now; the exit when the run is over.
    pub(super) async fn settle(&mut self) -> Result<Option<Exit>, Exit> {
        if let Some((exit, until)) = self.leaving
            && (!self.is_busy() || Instant::now() >= until)
        {
            self.abandon().await?;
            return Ok(Some(exit));
        }
        if self.held.is_some()
            && !self.projection.tasks.has_background()
            && (self.input_open || self.owes_a_turn())
        {
            self.release(&[]).await?;
        }
        while self.leaving.is_none()
            && !self.is_busy()
            && let Some(prompt) = self.queue.pop()
        {
            self.deliver(prompt).await?;
        }
        if self.host_owes() {
            self.enter(State::RequiresAction).await?;
        } else if self.projection.in_turn() || self.state == Some(State::RequiresAction) {
            self.enter(State::Running).await?;
        } else if self.state.is_some()
            && self.held.is_none()
            && !self.owes_a_turn()
            && !self.projection.tasks.has_background_agent()
        {
            self.enter(State::Idle).await?;
        }
        if self.input_open || self.owes_a_turn() {
            return Ok(None);
        }
        if self.projection.tasks.has_background() {
            if self.patience().is_none_or(|until| Instant::now() < until) {
                return Ok(None);
            }
            self.abandon().await?;
        } else if self.halted.is_none() {
            self.mail_waits = self.engine.mail_waits().await;
            // Looked at in this order: what was handed over meanwhile is a member's work, or waits for the main agent.
            let works = self.members_at_work() || self.owes_a_turn();
            if works && self.patience().is_none_or(|until| Instant::now() < until) {
                return Ok(None);
            }
        }
        self.leave_team().await?;
        Ok(Some(self.verdict()))
    }

    /// Hands a prompt to the agent.
    pub(super) async fn deliver(&mut self, prompt: Prompt) -> Result<(), Exit> {
        let id = prompt.id.clone();
        if let Some(end) = self.halted.clone() {
            return self.refuse(&id, EndReason::Store, why(&end)).await;
        }
        self.queue.sent(&id);
        if let Err(error) = self.send(Input::Prompt(prompt)).await {
            self.queue.read(&id);
            self.refuse(&id, EndReason::Store, &error).await?;
        }
        Ok(())
    }

    /// The main agent ended for good: its turn is over, and all that it has not read is refused.
    pub(super) async fn halt(&mut self, end: &Arc<Envelope>) -> Result<(), Exit> {
        if self.halted.is_some() {
            return Ok(());
        }
        self.halted = Some(Arc::clone(end));
        let in_turn = self.projection.halt(end, self.now);
        self.flush().await?;
        if !in_turn && self.queue.is_empty() {
            // No result will say so.
            self.tell(why(end));
        }
        for id in self.queue.unread() {
            // What is refused must not be read after all, by this process or by one that resumes.
            self.take_back(&id).await;
            self.queue.read(&id);
            self.refuse(&id, EndReason::Store, why(end)).await?;
        }
        Ok(())
    }

    pub(super) async fn release(&mut self, unfinished: &[Value]) -> Result<(), Exit> {
        match self.held.take() {
            Some(held) => self.result(&held, unfinished).await,
            None => Ok(()),
        }
    }

    /// Gives up what still works in the background, and says so: in frames, in the result if it can still be
    /// said there, and in the exit.
    pub(super) async fn abandon(&mut self) -> Result<(), Exit> {
        let (unfinished, due) = self.projection.tasks.abandon(self.now);
        self.unfinished += unfinished.len();
        for task in &unfinished {
            let of = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
            let (id, title) = (of("task_id"), of("description"));
            self.tell(&format!("task {id} was ended before it was done: {title}"));
        }
        self.pay(due).await?;
        self.release(&unfinished).await
    }

    /// Says what of the session's team is not done: nobody goes on with it.
    async fn leave_team(&mut self) -> Result<(), Exit> {
        let undone = self.engine.undone().await;
        self.unfinished += undone.len();
        for Undone { id, description, why } in &undone {
            self.tell(&format!("{id} {why}: {}", visible_lines(description)));
        }
        let listed = |one: &Undone| json!({"task_id": one.id, "description": one.description, "status": "stopped", "error": one.why});
        let listed: Vec<Value> = undone.iter().map(listed).collect();
        self.release(&listed).await
    }

    /// The exit of a run that came to its own end.
    pub(super) fn verdict(&self) -> Exit {
        if self.last_failed() || self.halted.is_some() {
            Exit::Error
        } else if self.unfinished > 0 {
            Exit::Unfinished
        } else {
            Exit::Success
        }
    }

    fn last_failed(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last["is_error"] == true)
    }

    /// A signal came; none when no more can.
    pub(super) async fn signal(&mut self, signal: Option<Signal>) -> Result<(), Exit> {
        let Some(signal) = signal else {
            self.signals_open = false;
            return Ok(());
        };
        if let Some((exit, _)) = self.leaving {
            return Err(exit);
        }
        self.leaving = Some((signal.exit(), Instant::now() + HALT));
        self.input_open = false;
        self.interrupt(true).await
    }

    /// No more input comes.
    pub(super) async fn input_ended(&mut self) -> Result<(), Exit> {
        self.input_open = false;
        self.muted = self.last_failed() && !self.is_busy() && self.queue.is_empty();
        self.let_agents_go_on().await;
        self.host_left().await
    }

    /// Writes what is still owed, and ends everything.
    pub(super) async fn finish(mut self, exit: Exit) -> Exit {
        let mut exit = exit;
        if exit != Exit::OutputClosed
            && let Some(last) = self.last.take()
            && let Err(early) = self.last_words(&last).await
        {
            exit = early;
        }
        if let Err(Closed(fault)) = self.writer.finish().await
            && !matches!(exit, Exit::Interrupted | Exit::Terminated)
        {
            exit = Exit::OutputClosed;
            if let Some(fault) = fault {
                exit = Exit::Error;
                (self.tell)(&format!("troupe: failed to write the output: {fault}\n"));
            }
        }
        for left in self.engine.close(CLOSE).await {
            (self.tell)(&format!("troupe: {}\n", visible_lines(&left)));
        }
        exit
    }

    pub(super) async fn last_words(&mut self, last: &Value) -> Result<(), Exit> {
        match self.options.output {
            Output::StreamJson => Ok(()),
            Output::Json => self.write(line::line(last)).await,
            Output::Text => {
                for error in last["errors"].as_array().map(Vec::as_slice).unwrap_or_default() {
                    self.tell(error.as_str().unwrap_or_default());
                }
                match last["result"].as_str() {
                    Some(text) if !text.is_empty() => self.write(text.to_owned()).await,
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Why the agent ended, in words.
fn why(end: &Envelope) -> &str {
    end.error.as_deref().unwrap_or("the main agent has ended")
}
