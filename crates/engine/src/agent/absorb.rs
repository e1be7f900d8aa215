//! Safe points: what waits in the inbox becomes entries.

use std::sync::Arc;

use troupe_core::block::Block;
use troupe_core::budget::Left;
use troupe_core::def::Source;
use troupe_core::entry::{Body, Origin, Setting};
use troupe_core::event::Phase;
use troupe_core::outcome::EndReason;
use troupe_core::turn::{Step, next_step};

use super::actor::{Actor, CompactWish, Halt};
use super::hold::Held;
use crate::inbox::Control;
use crate::store::StoreError;
use crate::supervisor::spawn::meant;

impl Actor {
    /// Takes the content that may be read now. Calls that are open come first: what they tell need not be told again,
    /// and what is urgent has them let go.
    pub(super) async fn absorb(&mut self) -> Result<(), Halt> {
        if self.drain.is_empty() || !self.transcript().open_calls().is_empty() {
            return Ok(());
        }
        if self.reads_no_more(&self.left()).is_some() {
            return Ok(());
        }
        // Nobody may take an agent for idle that has just taken what waited and has not recorded it yet.
        self.row.set_phase(Phase::Sampling);
        let step = next_step(self.transcript(), &self.left());
        let in_turn = !matches!(step, Step::Yield(_) | Step::Done | Step::Wait);
        // A run that is over is closed before what can wait begins the next one; an agent of one run has no next one.
        let closes_first = self.run.is_some() && self.row.header.resident;
        for prompt in self.drain.take(in_turn || closes_first) {
            let begins = prompt.starts_turn && !in_turn;
            if prompt.starts_turn && self.held == Some(Held::Interrupted) {
                self.held = None;
            }
            let mut initial = self.initial_prompt(&prompt.from).map(Block::text);
            if let Source::Project(_) | Source::Plugin { .. } = self.def.source
                && let Some(words) = initial.take()
            {
                // A repository's words are not the person's, to whom the classifier listens.
                let from = Origin::System;
                self.record(Body::User { blocks: [words].into(), from, cause: None, starts_turn: false })
                    .await?;
            }
            let read = prompt.id.clone();
            let body = Body::User {
                blocks: initial.into_iter().chain(prompt.blocks).collect(),
                from: prompt.from,
                cause: Some(prompt.id),
                starts_turn: prompt.starts_turn,
            };
            // One that was read before begins nothing.
            if self.record(body).await?.is_some() && begins {
                self.begin_run();
                self.say_active().await;
            }
            self.say_read(&read);
        }
        Ok(())
    }

    /// The limit for which an agent of one run reads nothing more: no request would follow. What waits stays where it is,
    /// for a later run, and the end says how much that was.
    pub(super) fn reads_no_more(&self, left: &Left) -> Option<EndReason> {
        left.reached().filter(|_| !self.row.header.resident)
    }

    /// Whether something waits that it has not read. Mail that a process before had read, and died before it was marked, comes
    /// again and begins nothing.
    pub(crate) fn has_unread(&self) -> bool {
        self.drain.inbox.list().iter().any(|prompt| !self.transcript().has_read(&prompt.id))
    }

    /// Whether something waits that begins a turn and could be read now.
    pub(super) fn is_asked(&self) -> bool {
        self.transcript().open_calls().is_empty()
            && self.drain.inbox.list().iter().any(|prompt| prompt.starts_turn)
    }

    /// What a main agent's definition puts before the person's first prompt.
    fn initial_prompt(&self, from: &Origin) -> Option<String> {
        let initial =
            self.def.initial_prompt.as_ref().filter(|_| *from == Origin::Human && self.me().is_main())?;
        let is_persons = |body: &Body| matches!(body, Body::User { from: Origin::Human, .. });
        let first = !self.transcript().entries().iter().any(|entry| is_persons(&entry.body));
        first.then(|| initial.clone())
    }

    /// Takes control that has come, without waiting.
    pub(super) async fn take_control(&mut self) -> Result<(), Halt> {
        while let Ok(control) = self.drain.control.try_recv() {
            self.control(control).await?;
        }
        Ok(())
    }

    /// Does what control asks for at a moment when nothing is under way. An interrupt has nothing to end
    /// then, unless the turn would go on.
    pub(super) async fn control(&mut self, control: Control) -> Result<(), Halt> {
        match control {
            Control::Interrupt => {
                let step = next_step(self.transcript(), &self.left());
                // A resident agent is at rest between its runs; one of a single run is at work from its first moment on,
                // also while it waits for what it started.
                let rests = self.row.header.resident && self.run.is_none();
                if !matches!(step, Step::Yield(_) | Step::Done) && !rests {
                    self.interrupt().await?;
                }
            }
            Control::Pause => self.held = Some(Held::Paused),
            Control::Continue => self.held = None,
            Control::Set(setting) => self.set(setting).await?,
            Control::Compact(wish) => self.compact_wish = Some(CompactWish(wish)),
            Control::Shutdown => self.token.cancel(),
        }
        Ok(())
    }

    /// Does what control asks for while a stream or calls are under way; `true` when they are to end.
    pub(super) async fn control_in_turn(&mut self, control: Control) -> Result<bool, Halt> {
        match control {
            Control::Interrupt => {
                self.interrupt().await?;
                Ok(true)
            }
            other => {
                self.control(other).await?;
                Ok(self.token.is_cancelled())
            }
        }
    }

    async fn set(&mut self, setting: Setting) -> Result<(), StoreError> {
        let state = Arc::clone(self.transcript().state());
        let setting = match setting {
            Setting::Model(name) => Setting::Model(meant(&self.shared, &name, &state.model).await),
            other => other,
        };
        let same = match &setting {
            Setting::Mode(mode) => *mode == state.mode,
            Setting::Model(model) => *model == state.model,
            Setting::Prompt(prompt) => *prompt == state.prompt,
            Setting::Effort(effort) => *effort == state.effort,
        };
        if !same {
            self.record(Body::Set(setting)).await?;
        }
        Ok(())
    }
}
