//! Newtypes for every id, so that one can't stand where another belongs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text of an id.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            /// The id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }
    };
}

id_type! {
    /// An agent: short, opaque, unique in its session, fit for a file name. The main agent's is `main`.
    AgentId
}
id_type! {
    /// A tool call, as the model named it (`tool_use.id`).
    CallId
}
id_type! {
    /// An entry of a transcript; a UUID, since readers of the ecosystem expect one.
    EntryId
}
id_type! {
    /// A running shell or agent with output and an end.
    JobId
}
id_type! {
    /// A question to a human.
    QuestionId
}
id_type! {
    /// A prompt, mail or notice in an inbox; a second one with the same id is dropped.
    InputId
}
id_type! {
    /// A session: a UUID; names its transcript file.
    SessionId
}
id_type! {
    /// A reply of a provider (`msg_…`).
    MessageId
}

impl AgentId {
    /// The main agent's id.
    pub fn main() -> Self {
        Self::new("main")
    }

    /// Whether this is the main agent.
    pub fn is_main(&self) -> bool {
        self.as_str() == "main"
    }
}
