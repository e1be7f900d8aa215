//! What a fork inherits, read from its parent's transcript: the fork's own file only names the point.

use troupe_core::entry::Header;
use troupe_core::fork::Inherited;
use troupe_core::ids::AgentId;
use troupe_core::ports::journal::{Journal, Key};
use troupe_core::state::AgentState;
use troupe_core::transcript::Transcript;

use super::paths::beside;
use super::transcripts::{StoreError, read};

/// Why a fork can't be rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// The parent's transcript is not there.
    #[error("{fork} was forked off {of}, whose transcript is gone: it can't go on")]
    NoParent {
        /// The fork.
        fork: AgentId,
        /// Its parent.
        of: AgentId,
    },
    /// The parent's transcript lacks the reply that forked.
    #[error("{fork} was forked off a reply of {of} that is missing in its transcript: it can't go on")]
    NoReply {
        /// The fork.
        fork: AgentId,
        /// Its parent.
        of: AgentId,
    },
}

/// What the fork of this header and key inherits.
pub(super) async fn inherited(
    journal: &dyn Journal,
    key: &Key,
    header: &Header,
) -> Result<Inherited, StoreError> {
    let fork = header.agent.clone();
    let Some(point) = &header.fork else { return Err(ForkError::NoReply { of: fork.clone(), fork }.into()) };
    let of = point.of.clone();
    let parent = match beside(key, &of) {
        Some(parent) => read(journal, &parent).await?,
        None => None,
    };
    let Some((parent, _)) = parent else { return Err(ForkError::NoParent { fork, of }.into()) };
    let first = AgentState::new(header.cwd.clone(), header.mode, header.model.clone(), header.prompt.clone());
    let mut transcript = Transcript::new(first);
    for entry in parent.entries {
        let is_last = entry.id == point.at;
        transcript.push(entry);
        if is_last {
            break;
        }
    }
    Inherited::of(&transcript, &point.at).ok_or_else(|| ForkError::NoReply { fork, of }.into())
}
