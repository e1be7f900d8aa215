//! What is left of an agent that a call waited for when the program died: where its transcript lies, and what
//! it had said by then.

use std::path::PathBuf;

use troupe_core::entry::Body;
use troupe_core::ids::{AgentId, CallId};
use troupe_core::policy::Mode;
use troupe_core::state::AgentState;
use troupe_core::transcript::Transcript;

use crate::store::load;
use crate::supervisor::Shared;

/// Most characters of its last words that are told.
const WORDS: usize = 20_000;

/// The agent that a call of this transcript started, in words for its owner; none where it had no task yet.
pub(super) async fn agent_of(
    shared: &Shared,
    owner: &AgentId,
    transcript: &Transcript,
    call: &CallId,
) -> Option<String> {
    // By the record of the call, or, where that names none, by the agent's own header.
    let recorded = transcript.started_job(call).map(|job| AgentId::new(job.as_str()));
    let agent = recorded.or_else(|| shared.directory.of_call(owner, call))?;
    shared.directory.known(&agent)?;
    let file = shared.paths.transcript_file(&agent);
    let state = AgentState::new(PathBuf::new(), Mode::Default, String::new(), String::new());
    let loaded = load(&*shared.parts.journal, &shared.paths.transcript(&agent), state).await;
    let said = match loaded {
        Ok(None) => return None,
        Ok(Some(loaded)) if !has_task(&loaded.transcript) => return None,
        Ok(Some(loaded)) => loaded.transcript.final_text(),
        Err(_) => String::new(),
    };
    let cut: String = said.chars().take(WORDS).collect();
    let words = if cut.trim().is_empty() {
        "it had said nothing yet".to_owned()
    } else {
        format!("the last that it said:\n{cut}")
    };
    Some(format!("It had started agent {agent}, whose transcript is {}; {words}", file.display()))
}

fn has_task(transcript: &Transcript) -> bool {
    transcript.entries().iter().any(|entry| matches!(entry.body, Body::User { starts_turn: true, .. }))
}
