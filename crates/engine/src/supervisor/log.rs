//! What the log of agents is told (B10): each end of a run, and each team that comes or goes. It is for people, and nobody
//! misses a line for long. Whoever the person configured gets what the file has taken, and of names only those that the
//! person, their organisation or the program chose.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use troupe_core::def::{AgentDef, ModelChoice, Source};
use troupe_core::ids::AgentId;
use troupe_core::outcome::Envelope;

use super::{Row, Shared};
use crate::export::LogLine;
use crate::store::agent_log;

/// How long a line may take.
const LIMIT: Duration = Duration::from_secs(5);

/// What happened to a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Team {
    Created,
    Deleted,
}

/// A run of an agent has ended.
pub(crate) async fn run_ended(shared: &Shared, row: &Row, envelope: &Envelope) {
    let header = &row.header;
    let catalogue = shared.catalogue();
    let def = catalogue.find(&header.definition);
    let run = agent_log::Run {
        header,
        envelope,
        extent: row.extent(),
        built_in: def.map(|def| def.source == Source::BuiltIn),
        at: shared.parts.clock.now(),
    };
    let own = def.filter(|def| !matches!(def.source, Source::Project(_) | Source::Plugin { .. }));
    let is_members = |id: &AgentId| id.as_str().contains('@');
    let others = [
        ("agentId", is_members(&header.agent)),
        ("parentAgentId", header.parent.as_ref().is_some_and(is_members)),
        ("agentType", own.is_none()),
        ("model", !is_known_model(shared, own.map(|def| &**def), &envelope.model)),
    ];
    let others: Vec<&str> = others.iter().filter(|(_, is)| *is).map(|(field, _)| *field).collect();
    write(shared, run.line(shared.paths.session()), &others).await;
}

/// A team that the main agent leads has come or gone.
pub(super) async fn team(shared: &Shared, what: Team, name: &str) {
    let event = match what {
        Team::Created => "team_created",
        Team::Deleted => "team_deleted",
    };
    let fields = [("team".to_owned(), json!(name))].into_iter().collect();
    let line =
        LogLine { event, session: shared.paths.session().clone(), at: shared.parts.clock.now(), fields };
    write(shared, line, &["team"]).await;
}

/// Whether a model's name is one of the catalogue's or the person's: a call may name any.
fn is_known_model(shared: &Shared, def: Option<&AgentDef>, id: &str) -> bool {
    let info = |name: &str| shared.parts.model.info(name);
    let config = &shared.config;
    // At the end of the session it may have left.
    let main = shared.row(&AgentId::main()).map(|row| row.state().model.clone());
    let main = main.or_else(|| config.model.clone()).unwrap_or_else(|| config.default_model.clone());
    let of_def = def.and_then(|def| match &def.model {
        ModelChoice::Named(name) => Some(name.as_str()),
        ModelChoice::Inherit => None,
    });
    let named =
        [Some(main.as_str()), config.subagent_model.as_deref(), config.models.subagent.as_deref(), of_def];
    info(id).price.is_some() || named.into_iter().flatten().any(|name| info(name).id == id)
}

/// Writes a line, then exports it without what others than the person named.
async fn write(shared: &Shared, line: LogLine, others: &[&str]) {
    match timeout(LIMIT, agent_log::write(&*shared.parts.journal, &shared.paths, &line)).await {
        Ok(Ok(())) => {
            if let Some(export) = &shared.parts.export {
                export(line.hashed(others));
            }
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, event = line.event, "a line is missing in the log of agents");
        }
        Err(_) => tracing::warn!(event = line.event, "writing the log of agents takes too long"),
    }
}
