//! An agent that is rebuilt from its transcript: one whose run was cut, or one that is to run again.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_core::block::text_of;
use troupe_core::budget::Left;
use troupe_core::def::{AgentDef, Filter};
use troupe_core::entry::{Body, Header, Setting};
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_core::pool::{Life, Standing};
use troupe_core::state::AgentState;
use troupe_core::transcript::Transcript;
use troupe_core::turn::{Step, next_step};

use super::books::{Books, account_of};
use super::fork::{definition_of, gone};
use super::mode;
use super::record::{one, specs, starts_of, writer};
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::store::{Rendered, Restored, StoreError, load};
use crate::supervisor::{Row, Shared, worktrees};

/// Why an agent can't be rebuilt.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReopenError {
    /// There is no transcript, or nothing in it that says what the agent is to do.
    #[error("agent {0} has no transcript to go on from")]
    Nothing(AgentId),
    /// It can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Rebuilds an agent below another; it has the same id, and goes on where its transcript stands. It is in no registry
/// yet: [`super::launch`] sets it to work. The inbox of one that the person stopped is marked so.
pub(super) async fn reopen(
    shared: &Arc<Shared>,
    agent: &AgentId,
    books: &Books,
) -> Result<Actor, ReopenError> {
    let nothing = AgentState::new(PathBuf::new(), Mode::Default, String::new(), String::new());
    let journal = Arc::clone(&shared.parts.journal);
    let restored = load(&*journal, &shared.paths.transcript(agent), nothing).await?;
    let restored = restored.ok_or_else(|| ReopenError::Nothing(agent.clone()))?;
    let Restored { transcript, seq, told, .. } = restored;
    let header = transcript.header().cloned();
    let Some((header, job)) = header.zip(first_prompt(&transcript)) else {
        return Err(ReopenError::Nothing(agent.clone()));
    };
    let state = Arc::clone(transcript.state());
    let kept = Rendered::load(&shared.paths.prompts(), &state.prompt);
    let def = definition(shared, &header, kept.as_ref());
    let starts = starts_of(shared, &header, &def);
    let life = Life::of(&header);
    let most_depth = shared.config.ceilings.depth;
    let pool = shared.pool(&def, &Standing { life, depth: header.depth, most_depth, mode: state.mode });
    let rendered = kept.unwrap_or_else(|| Rendered {
        system: one(&def.prompt),
        tools: specs(shared, (&def, &starts), &pool),
    });
    let above = header.parent.as_ref().and_then(|parent| shared.row(parent));
    let above = above.or_else(|| shared.row(&AgentId::main()));
    let account = account_of(shared, &header, def.limits);
    account.begin(above.as_ref().and_then(|row| row.account.deadline()));
    let drain = Inbox::open(Arc::clone(&shared.parts.journal), shared.paths.inbox(&header.agent));
    drain.restore(&transcript, &told.notices).await.map_err(StoreError::from)?;
    if drain.inbox.is_stopped().await.map_err(StoreError::from)? {
        drain.inbox.mark_stopped();
    }
    let writer = writer(shared, &header).resume(transcript, seq, told);
    super::child::link_output(shared, &header.agent);
    worktrees::taken_up(shared, &header).await;
    let row =
        Row::new(Arc::clone(&header), Arc::clone(&drain.inbox), account, job, starts, Arc::clone(&state));
    let mut actor =
        Actor::new(Arc::clone(shared), Arc::clone(&def), Arc::new(row), drain, writer, rendered, pool);
    actor.complete_opening().await?;
    // A mode that lets more pass than it would get now is not carried over.
    let now = mode::below(shared, above.as_ref(), &def);
    let mode = if state.mode.lets_pass_more_than(now) { now } else { state.mode };
    if mode != state.mode {
        actor.record(Body::Set(Setting::Mode(mode))).await?;
    }
    if next_step(actor.transcript(), &Left::UNLIMITED) == Step::Done {
        return Ok(actor);
    }
    actor.restore_run(|from| books.totals(from).get(agent).copied().unwrap_or_default());
    Ok(actor)
}

/// What it was to do at first.
fn first_prompt(transcript: &Transcript) -> Option<String> {
    transcript.entries().iter().find_map(|entry| match &entry.body {
        Body::User { blocks, starts_turn: true, .. } => Some(text_of(blocks)),
        _ => None,
    })
}

/// Its definition, or, when that is gone, what its own records say of it.
fn definition(shared: &Shared, header: &Header, kept: Option<&Rendered>) -> Arc<AgentDef> {
    if let Some(def) = definition_of(shared, header) {
        return def;
    }
    let names = kept.map(|kept| kept.tools.iter().map(|tool| tool.name.to_string()).collect());
    let gone = gone(header);
    Arc::new(AgentDef {
        prompt: kept.map(|kept| text_of(&kept.system)).unwrap_or_default(),
        tools: Filter { only: Some(names.unwrap_or_default()), ..gone.tools },
        ..gone
    })
}
