//! What of a repository's content waits for a person's word, and the words that were given (X13).
//!
//! [`TrustItem`] is one thing that waits, [`store`] keeps what was trusted, `git` finds what git's own settings in
//! a repository would run. Trust holds for the content that was seen: what changes waits again, alone.

mod git;
mod item;
pub mod store;

pub(crate) use git::filters;
pub use git::items as git_items;
pub use item::{Digest, Seen, TrustItem, TrustKind};
pub use store::{StoreFault, TrustStore};

use std::path::Path;

use serde_json::Value;
use troupe_core::policy::{Behaviour, Update};

use super::places::Places;
use super::settings::trust_item;

/// What of a repository's content may take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// All of it: who starts the run vouches for the folder.
    Trusted,
    /// What the person has seen and trusted.
    Only(Seen),
}

impl Trust {
    /// Nothing of it.
    pub const UNTRUSTED: Self = Self::Only(Seen::NOTHING);

    /// The same and these.
    #[must_use]
    pub fn with(self, items: &[TrustItem]) -> Self {
        match self {
            Self::Trusted => Self::Trusted,
            Self::Only(seen) => Self::Only(seen.with(items)),
        }
    }

    /// Whether an item may take effect.
    pub fn covers(&self, item: &TrustItem) -> bool {
        match self {
            Self::Trusted => true,
            Self::Only(seen) => seen.covers(item),
        }
    }
}

/// What an answer "always" adds to a settings file of the repository: it is the person's own word, and waits for
/// no other.
pub fn answered(file: &Path, places: &Places, update: &Update) -> Vec<TrustItem> {
    let items = |key: &str, values: &[String]| {
        values.iter().map(|value| trust_item(file, places, key, &Value::from(value.as_str()))).collect()
    };
    match update {
        Update::AddRules { rules, behaviour: Behaviour::Allow, destination: _ }
        | Update::ReplaceRules { rules, behaviour: Behaviour::Allow, destination: _ } => {
            items("permissions.allow", rules)
        }
        // These hold without trust, or take something away.
        Update::AddRules { .. }
        | Update::ReplaceRules { .. }
        | Update::RemoveRules { .. }
        | Update::RemoveDirectories { .. } => Vec::new(),
        Update::AddDirectories { directories, destination: _ } => {
            items("permissions.additionalDirectories", directories)
        }
        Update::SetMode { mode, destination: _ } => {
            items("permissions.defaultMode", &[mode.as_str().to_owned()])
        }
    }
}
