//! What is left of an agent that a call waited for when the program died: where its transcript lies, and what
//! it had said by then.

use std::path::PathBuf;

use serde_json::Value;
use troupe_core::ids::{AgentId, CallId};
use troupe_core::policy::Mode;
use troupe_core::state::AgentState;

use crate::store::load;
use crate::supervisor::Shared;

/// Most characters of its last words that are told.
const WORDS: usize = 20_000;

/// The agent that `call` started, in words for its owner.
pub(super) async fn agent_of(shared: &Shared, call: &CallId) -> Option<String> {
    let agent = started_by(shared, call)?;
    let file = shared.paths.transcript_file(&agent);
    let state = AgentState::new(PathBuf::new(), Mode::Default, String::new(), String::new());
    let loaded = load(&*shared.parts.journal, &shared.paths.transcript(&agent), state).await;
    let said = loaded.ok().flatten().map(|loaded| loaded.transcript.final_text()).unwrap_or_default();
    let cut: String = said.chars().take(WORDS).collect();
    let words = if cut.trim().is_empty() {
        "it had said nothing yet".to_owned()
    } else {
        format!("the last that it said:\n{cut}")
    };
    Some(format!("It had started agent {agent}, whose transcript is {}; {words}", file.display()))
}

fn started_by(shared: &Shared, call: &CallId) -> Option<AgentId> {
    let folder = std::fs::read_dir(shared.paths.folder().join("subagents")).ok()?;
    folder.flatten().find_map(|file| {
        let name = file.file_name();
        let agent = name.to_str()?.strip_prefix("agent-")?.strip_suffix(".meta.json")?.to_owned();
        let meta: Value = serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()?;
        (meta.get("toolUseId")?.as_str()? == call.as_str()).then(|| AgentId::new(agent))
    })
}
