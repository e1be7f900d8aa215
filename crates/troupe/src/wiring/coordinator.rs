//! Coordinator mode: whether the session is a coordinator's, and what that changes.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::Value;
use troupe_core::coordinator;
use troupe_core::def::AgentDef;
use troupe_engine::Start;
use troupe_engine::load::{Flag, Flags, Whence};
use troupe_engine::store::SessionPaths;

use super::state::State;
use crate::args::Run;
use crate::fault::{Fault, warn};

/// Bytes of a transcript in which its header stands.
const HEAD: u64 = 64 * 1024;

/// Settles whether this run coordinates. A session keeps what it was begun as.
///
/// # Errors
/// When a flag asks for what the session is not.
pub(super) fn settle(run: &Run, flags: &mut Flags, start: &Start, state: &State) -> Result<(), Fault> {
    let flag = Flag::CoordinatorMode;
    match start {
        Start::New(_) if run.coordinator => flags.set(flag, true, Whence::CommandLine("--coordinator")),
        Start::New(_) => {}
        Start::Resume(id) => {
            let paths = SessionPaths::new(state.root.clone(), state.project.clone(), id.clone());
            let file = paths.transcript_file(&troupe_core::ids::AgentId::main());
            // One that can't be read is told when it is opened.
            let Some(definition) = definition_of(&file) else { return Ok(()) };
            let was = definition == coordinator::NAME;
            if run.coordinator && !was {
                return Err(Fault::usage(format_args!("session {id} was not begun as a coordinator's"))
                    .hint("leave out --coordinator, or start a new session"));
            }
            if was != flags.is_on(flag) && !run.coordinator {
                let what = if was { "goes on as" } else { "was not begun as, and does not become," };
                warn(format_args!("session {id} {what} a coordinator's"));
            }
            flags.set(flag, was, Whence::Session);
        }
    }
    Ok(())
}

/// The name of a coordinator's definition.
pub(super) const NAME: &str = coordinator::NAME;

/// The definition that a session which goes on was begun with; none where it is new, or can't be read.
pub(super) fn begun_as(start: &Start, state: &State) -> Option<String> {
    let Start::Resume(id) = start else { return None };
    let paths = SessionPaths::new(state.root.clone(), state.project.clone(), id.clone());
    definition_of(&paths.transcript_file(&troupe_core::ids::AgentId::main()))
}

/// The definition of a session's main agent.
fn definition_of(transcript: &Path) -> Option<String> {
    let head = BufReader::new(File::open(transcript).ok()?.take(HEAD));
    head.split(b'\n').map_while(Result::ok).find_map(|line| {
        let line: Value = serde_json::from_slice(&line).ok()?;
        Some(line.get("header")?.get("definition")?.as_str()?.to_owned())
    })
}

/// The built-in agents beside a coordinator: itself, and its workers.
pub(super) fn definitions() -> Vec<AgentDef> {
    vec![coordinator::definition(), coordinator::worker()]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    // proves: O2
    #[test]
    fn the_header_of_a_transcript_says_what_it_was_begun_as() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let of = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            definition_of(file.path())
        };
        let header =
            "{\"type\":\"troupe\",\"kind\":\"opened\",\"header\":{\"definition\":\"coordinator\"}}\n";
        assert_eq!(of(&format!("torn\n{{}}\n{header}")).as_deref(), Some("coordinator"));
        assert_eq!(of("{\"type\":\"user\",\"message\":{\"content\":\"x\"}}\n"), None);
    }
}
