//! Transcripts on disk: their layout, the lease on a session, the list of sessions.

pub(crate) mod agent_log;
mod blobs;
mod decisions;
pub(crate) mod digest;
mod index;
mod inherit;
mod jsonl;
mod lease;
pub(crate) mod ledger;
pub(crate) mod outputs;
mod paths;
pub(crate) mod private;
mod told;
mod transcripts;

pub use blobs::Rendered;
pub use decisions::{By, Decided, DecisionLog, Settled, decisions, short_form};
pub use index::{Listed, latest, list};
pub use inherit::ForkError;
pub use jsonl::{Codec, Loaded, line_id};
pub use lease::{Lease, LeaseError};
pub use paths::SessionPaths;
pub use told::Told;
pub(crate) use told::end_in;
pub use transcripts::{Restored, StoreError, Writer, load, load_own};
