//! What of a request follows from the agent's model: its id, and the fields that ask for an effort.

use serde_json::Value;
use troupe_core::alias::{FOLLOWS_MODE, in_mode};
use troupe_core::entry::{Body, Setting};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ports::model::ModelInfo;

use super::actor::{Actor, Halt};

impl Actor {
    /// The model's name as it holds in the agent's mode.
    pub(super) fn model_now(&self) -> &str {
        let state = self.transcript().state();
        in_mode(&state.model, state.mode)
    }

    /// Records it where a change of mode changed the model: the reasoning before is sealed for the other one.
    pub(super) async fn follow_mode(&mut self) -> Result<(), Halt> {
        let named = self.transcript().state().model.clone();
        let follows = named.trim().eq_ignore_ascii_case(FOLLOWS_MODE);
        if follows && self.transcript().replies() > 0 && self.model_now() != self.info_of() {
            self.record(Body::Set(Setting::Model(named))).await?;
        }
        Ok(())
    }

    /// The fields that every request of this agent carries. An effort that the model doesn't know is left out, and
    /// told once.
    pub(super) fn extra(&self, info: &ModelInfo) -> Vec<(String, Value)> {
        let mut extra = info.extra.clone();
        let Some(effort) = self.transcript().state().effort else { return extra };
        if let Some((_, field)) = info.efforts.iter().find(|(known, _)| *known == effort) {
            extra.push(field.clone());
            return extra;
        }
        let known: Vec<&str> = info.efforts.iter().map(|(known, _)| known.as_str()).collect();
        let known = if known.is_empty() { "no levels".to_owned() } else { known.join(", ") };
        let told = format!("the effort {} is left out: the model {} knows {known}", effort.as_str(), info.id);
        if self.shared.is_new(&told) {
            self.say(EventKind::Notice(Notice::Warning(told)));
        }
        extra
    }
}
