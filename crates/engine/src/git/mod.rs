//! The harness's own calls of git. What a repository's configuration names is not run by them, trusted or not:
//! see [`Git`].

mod run;
pub mod snapshot;
mod status;
#[cfg(test)]
pub(crate) mod test_world;

pub(crate) use run::Call;
pub use run::{Git, GitError};
pub use snapshot::{Camera, Snapshot};
pub use status::Gathering;
