//! Messages between the agents of a session: durable in the receiver's inbox before the sender hears of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use troupe_core::entry::Header;
use troupe_core::event::Phase;
use troupe_core::ids::{AgentId, JobId};
use troupe_core::mail::{Correspondent, Delivery, LONGEST, Mail, MailError, Receipt, leaves_session};
use troupe_core::team::Kind;

use super::spawn::{ResumeError, Resumed, Wake, resume};
use super::team::{Via, route};
use super::{Shared, peers};
use crate::inbox::InboxError;

/// How long an agent that is ending may take until it is taken up again.
const RETIRE: Duration = Duration::from_secs(20);
/// Tries to reach an agent that ends or begins at the same time.
const TRIES: usize = 3;

/// Sends a message.
pub(super) async fn send(shared: &Arc<Shared>, mut mail: Mail) -> Result<Receipt, MailError> {
    if mail.kind == Kind::Text && (mail.text.trim().is_empty() || mail.text.len() > LONGEST) {
        return Err(MailError::Length);
    }
    let from = shared.row(&mail.from).ok_or(MailError::Ending)?;
    if leaves_session(&mail.to) {
        return peers::send(shared, &mail).await;
    }
    let routed = match route(shared, &from.header, &mail).await {
        Ok(via) => via,
        Err(error) => return Err(peers::with_sessions(shared, error).await),
    };
    let to = match routed {
        Via::Posted(receipt) => return Ok(receipt),
        Via::Agent(to) => to,
    };
    mail.summary = Some(mail.brief());
    let name = shared.directory.known(&to).and_then(|known| known.header.name.clone());
    let prompt = mail.prompt(from.header.name.as_deref().unwrap_or(mail.from.as_str()));
    for _ in 0..TRIES {
        let delivery = if let Some(row) = shared.row(&to) {
            match row.inbox.send(prompt.clone()).await {
                Ok(()) => Delivery::Queued,
                Err(InboxError::Gone) => {
                    retired(shared, &to).await;
                    continue;
                }
                Err(error) => return Err(MailError::Refused(error.to_string())),
            }
        } else {
            let wake =
                Wake { owner: mail.from.clone(), call: Some(mail.call.clone()), prompt: prompt.clone() };
            match resume(shared, &to, wake, false).await {
                Ok(Resumed::Runs(run)) => Delivery::Resumed { job: JobId::new(to.as_str()), run },
                Ok(Resumed::HadRead) => Delivery::Read,
                Err(ResumeError::Alive(_)) => continue,
                Err(ResumeError::Ending) => return Err(MailError::Ending),
                Err(error) => return Err(MailError::Ended { id: to, why: error.to_string() }),
            }
        };
        return Ok(Receipt { to, name, delivery });
    }
    Err(MailError::Refused("the agent is just ending; try again".to_owned()))
}

/// Waits until the end of an agent that takes nothing any more is recorded.
pub(crate) async fn retired(shared: &Shared, agent: &AgentId) {
    if let Some(job) = shared.jobs.any(&JobId::new(agent.as_str()))
        && timeout(RETIRE, job.ended()).await.is_err()
    {
        tracing::warn!(%agent, "an agent did not end in time");
    }
}

/// The agents that one can write to, those at work first.
pub(super) fn correspondents(shared: &Shared, from: &Header) -> Vec<Correspondent> {
    let mut found: Vec<Correspondent> = shared
        .directory
        .reachable(from)
        .into_iter()
        .map(|header| Correspondent {
            id: header.agent.clone(),
            name: header.name.clone(),
            definition: header.definition.clone(),
            state: shared.row(&header.agent).map_or("ended", |row| state(row.phase())),
            description: header.description.clone(),
        })
        .collect();
    found.sort_by_key(|agent| agent.state == "ended");
    found
}

fn state(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle(_) => "idle",
        Phase::Paused => "paused",
        Phase::Waiting | Phase::Asking => "waiting",
        Phase::Sampling | Phase::Calling | Phase::Compacting => "running",
        Phase::Overloaded => "waiting for the model's server",
        Phase::Stalled => "stalled",
        Phase::Ended => "ended",
    }
}
