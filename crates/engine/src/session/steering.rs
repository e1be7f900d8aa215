//! What a frontend does with one agent among others: what waits for it, and taking it up again.

use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::Prompt;

use super::{ResumeError, SendError, Session};
use crate::supervisor::spawn;

impl Session {
    /// What waits for an agent, in the order in which it will be read; also for one that has ended in this process.
    pub fn waiting(&self, agent: &AgentId) -> Vec<Prompt> {
        self.shared.inbox(agent).map(|inbox| inbox.list()).unwrap_or_default()
    }

    /// Takes back an input that was not read yet; whether it was there.
    ///
    /// # Errors
    /// When that could not be made durable.
    pub async fn withdraw(&self, agent: &AgentId, input: &InputId) -> Result<bool, SendError> {
        let inbox = self.shared.inbox(agent).ok_or_else(|| SendError::Unknown(agent.clone()))?;
        Ok(inbox.withdraw(input).await?)
    }

    /// Takes an agent up again that has ended, whoever stopped it: with all that it knows, in the background, for
    /// the agent that started it.
    ///
    /// # Errors
    /// See [`ResumeError`]; the prompt was not taken then.
    pub async fn resume_agent(&self, agent: &AgentId, prompt: Prompt) -> Result<(), ResumeError> {
        spawn::resume_by_person(&self.shared, agent, prompt).await
    }
}
