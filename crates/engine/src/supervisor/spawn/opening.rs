//! The beginning of a transcript.

use troupe_core::block::Block;
use troupe_core::entry::{Body, Origin};

use super::record::one;
use crate::agent::Actor;
use crate::store::StoreError;

impl Actor {
    /// Writes the environment, unless it is there: a crash may have come just before it.
    pub(super) async fn complete_opening(&mut self) -> Result<(), StoreError> {
        let is_context = |body: &Body| matches!(body, Body::User { from: Origin::System, .. });
        if self.transcript().entries().iter().any(|entry| is_context(&entry.body)) {
            return Ok(());
        }
        // A fork has its parent's environment before it.
        let context = match self.fork_rules() {
            Some(rules) => rules,
            None => self.environment().await,
        };
        let context =
            Body::User { blocks: one(&context), from: Origin::System, cause: None, starts_turn: false };
        self.record(context).await?;
        Ok(())
    }

    /// Writes the beginning of a new transcript: header, environment, and the prompt of a child.
    pub(crate) async fn open(&mut self, prompt: &[Block]) -> Result<(), StoreError> {
        let header = (*self.row().header).clone();
        self.record(Body::Opened(Box::new(header))).await?;
        self.complete_opening().await?;
        if !prompt.is_empty() {
            let from = self.row().header.parent.clone().map_or(Origin::Human, Origin::Agent);
            let blocks = prompt.to_vec().into();
            self.record(Body::User { blocks, from, cause: None, starts_turn: true }).await?;
        }
        Ok(())
    }
}
