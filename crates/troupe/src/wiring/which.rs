//! Which session a run is: a new one, or one that is on disk.

use troupe_core::ids::SessionId;
use troupe_engine::Start;
use troupe_engine::store::latest;
use uuid::Uuid;

use super::state::State;
use crate::args::SessionChoice;
use crate::fault::Fault;

/// Chooses the session.
///
/// # Errors
/// When the one that is asked for can't be.
pub(super) fn choose(choice: &SessionChoice, state: &State) -> Result<Start, Fault> {
    let old = choice.resume.is_some() || choice.continue_last;
    match (&choice.session_id, old) {
        (Some(_), true) => Err(Fault::usage(
            "--session-id names a new session, and --resume and --continue go on with an old one",
        )
        .hint("leave one of them out")),
        (Some(id), false) => match Uuid::try_parse(id) {
            Ok(id) => Ok(Start::New(SessionId::new(id.hyphenated().to_string()))),
            Err(_) => Err(Fault::usage(format_args!("--session-id={id}: it must be a UUID"))),
        },
        (None, false) => Ok(Start::New(SessionId::new(Uuid::new_v4().to_string()))),
        (None, true) => match choice.resume.iter().flatten().next().filter(|id| !id.is_empty()) {
            // Anything else can't be a session, and would be a path.
            Some(id) if Uuid::try_parse(id).is_ok() => Ok(Start::Resume(SessionId::new(id))),
            Some(id) => Err(unknown(id)),
            None => last(state),
        },
    }
}

/// There is no such session.
pub(crate) fn unknown(id: &str) -> Fault {
    Fault::failed(format_args!("there is no session {id} in this folder"))
        .hint("troupe sessions lists them; a session belongs to the folder that it was started in")
}

fn last(state: &State) -> Result<Start, Fault> {
    let found = latest(&state.root, &state.project)
        .map_err(|error| Fault::failed(format_args!("failed to list the sessions: {error}")))?;
    found.map(Start::Resume).ok_or_else(|| {
        Fault::failed("there is no session to go on with in this folder")
            .hint("start one: leave out --continue and --resume")
    })
}
