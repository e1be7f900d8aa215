//! What a frontend does with one agent among others: what waits for it, and taking it up again.

use troupe_core::entry::Header;
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::Prompt;

use super::{Member, ResumeError, SendError, Session};
use crate::inbox::InboxError;
use crate::supervisor::mail;
use crate::supervisor::spawn::{self, Resumed};

/// Tries to reach an agent that ends or begins at the same time.
const TRIES: usize = 3;
/// Most agents that an error lists.
const LISTED: usize = 20;

/// No agent below the main one is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent `{word}` at work; there are: {}", if .there.is_empty() { "none".to_owned() } else { .there.join(", ") })]
pub struct NotAtWork {
    /// What was asked for.
    pub word: String,
    /// The agents at work, as `id`, or `id (name)`.
    pub there: Vec<String>,
}

/// How words reached an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steered {
    /// It is at work, and reads them at its next safe point.
    Queued,
    /// It had ended, and goes on with them in the background.
    Resumed,
    /// They had come before: it answered them, and has ended since. Nothing runs.
    Read,
}

/// Why words did not reach an agent.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// There is none.
    #[error(transparent)]
    NotAtWork(#[from] NotAtWork),
    /// It did not take them.
    #[error(transparent)]
    Send(#[from] SendError),
    /// It has ended, and can't be taken up again.
    #[error(transparent)]
    Resume(#[from] ResumeError),
}

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
    pub async fn resume_agent(&self, agent: &AgentId, prompt: Prompt) -> Result<Steered, ResumeError> {
        spawn::resume_by_person(&self.shared, agent, prompt).await.map(|resumed| match resumed {
            Resumed::Runs(_) => Steered::Resumed,
            Resumed::HadRead => Steered::Read,
        })
    }

    /// The agent below the main one that a word means: its id, or the name of one that is at work, the newest of
    /// several.
    ///
    /// # Errors
    /// When none at work is meant.
    pub fn agent_at_work(&self, word: &str) -> Result<AgentId, NotAtWork> {
        let roster = self.roster();
        let below = || roster.iter().map(|member| &*member.header).filter(|header| !header.agent.is_main());
        let by_id = below().find(|header| header.agent.as_str() == word);
        let named = || self.shared.directory.bearer(word);
        let by_name = || named().filter(|id| below().any(|header| header.agent == *id));
        by_id
            .map(|header| header.agent.clone())
            .or_else(by_name)
            .ok_or_else(|| NotAtWork { word: word.to_owned(), there: listed(&roster) })
    }

    /// Says something to an agent below the main one, named as above: one that is at work reads it at its next safe
    /// point, and one that has ended, named by its id, is taken up again.
    ///
    /// # Errors
    /// See [`SteerError`]; the words are nowhere then.
    pub async fn steer(&self, word: &str, prompt: Prompt) -> Result<Steered, SteerError> {
        let ended = AgentId::new(word);
        for _ in 0..TRIES {
            let agent = match self.agent_at_work(word) {
                Ok(agent) => agent,
                Err(error) if ended.is_main() || self.shared.directory.known(&ended).is_none() => {
                    return Err(error.into());
                }
                Err(_) => {
                    mail::retired(&self.shared, &ended).await;
                    match self.resume_agent(&ended, prompt.clone()).await {
                        Ok(steered) => return Ok(steered),
                        Err(ResumeError::Alive(_)) => continue,
                        Err(error) => return Err(error.into()),
                    }
                }
            };
            match self.prompt(&agent, prompt.clone()).await {
                Ok(()) => return Ok(Steered::Queued),
                // It takes nothing any more; once its end is recorded it can be taken up again.
                Err(SendError::Unknown(_) | SendError::Inbox(InboxError::Gone)) => {
                    mail::retired(&self.shared, &agent).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(ResumeError::Busy(ended).into())
    }
}

fn listed(roster: &[Member]) -> Vec<String> {
    let line = |header: &Header| match &header.name {
        Some(name) => format!("{} ({name})", header.agent),
        None => header.agent.to_string(),
    };
    let below: Vec<&Header> =
        roster.iter().map(|member| &*member.header).filter(|header| !header.agent.is_main()).collect();
    let mut lines: Vec<String> = below.iter().take(LISTED).map(|header| line(header)).collect();
    if below.len() > LISTED {
        lines.push(format!("{} more", below.len() - LISTED));
    }
    lines
}
