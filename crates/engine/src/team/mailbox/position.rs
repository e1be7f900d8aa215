//! How far the reader of a mailbox is, in a small file beside it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::store::private;
use crate::team::TeamError;

/// How far a reader is.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    /// What stands in the transcript, or was handled. An array file says that of each entry itself.
    pub(super) read: u64,
    /// The id of the message there, which tells whether the number is still its own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    /// What the reader took. More than `read` while it works.
    pub(super) taken: u64,
    /// The ids of what was taken and not read, where a mailbox has no numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ids: Vec<String>,
}

impl Position {
    /// The position in a file; the beginning where there is none that can be read, which repeats and loses nothing.
    pub(super) fn load(file: &Path) -> Self {
        let bytes = std::fs::read(file).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(super) fn store(&self, file: &Path) -> Result<(), TeamError> {
        let bytes = serde_json::to_vec(self).map_err(|error| TeamError::io("write", file)(error.into()))?;
        private::write(file, &bytes).map_err(TeamError::io("write", file))
    }
}
