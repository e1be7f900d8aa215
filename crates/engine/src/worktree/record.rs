//! What is known of a repository's worktrees: a journal that several processes append to. A worktree that git knows and the
//! record does not is somebody else's, and never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use troupe_core::ids::{AgentId, SessionId};
use troupe_core::ports::journal::{Record, Seq};
use troupe_core::team::Owner;
use troupe_core::worktree::Worktree;

use crate::team::fold::State;
use crate::team::process;

/// A line of the record, by the field `event`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Event {
    /// It is about to be made.
    Made {
        /// It.
        tree: Worktree,
        /// Milliseconds since 1970.
        at: i64,
    },
    /// It is complete: until then nobody works in it.
    Ready {
        /// Its name.
        name: String,
        /// Folders that are links to the main checkout's.
        links: BTreeSet<PathBuf>,
    },
    /// An agent uses it.
    Entered {
        /// Its name.
        name: String,
        /// Who.
        user: User,
    },
    /// It does so no more.
    Left {
        /// Its name.
        name: String,
        /// Who.
        user: User,
    },
    /// What was in it hangs on this ref.
    Rescued {
        /// Its name.
        name: String,
        /// The ref.
        reference: String,
    },
    /// It is gone.
    Removed {
        /// Its name.
        name: String,
    },
}

/// Who works in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The session.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// The process, as long as it lives; none where it can't be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Owner>,
}

impl User {
    /// An agent of this process.
    #[must_use]
    pub fn here(session: SessionId, agent: AgentId) -> Self {
        Self { session, agent, process: process::own() }
    }

    /// Whether its process is there. One of which nothing is known counts as there.
    pub fn lives(&self) -> bool {
        self.process.as_ref().is_none_or(process::is_alive)
    }

    fn is(&self, other: &Self) -> bool {
        (&self.session, &self.agent) == (&other.session, &other.agent)
    }
}

/// What the record says of one worktree.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// It.
    pub tree: Worktree,
    /// When it was made, in milliseconds since 1970.
    pub made: i64,
    /// Whether it was ever complete.
    pub ready: bool,
    /// Folders that are links.
    pub links: BTreeSet<PathBuf>,
    /// Who uses it.
    pub users: Vec<User>,
}

/// All that are not removed, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Book(pub(super) BTreeMap<String, Known>);

impl State for Book {
    fn take(&mut self, _seq: Seq, Record(lines): Record) {
        for line in lines {
            // A record of a later version is passed over, and kept.
            if let Ok(event) = Event::deserialize(Value::Object(line)) {
                self.apply(event);
            }
        }
    }
}

impl Book {
    fn apply(&mut self, event: Event) {
        let mut with = |name: &str, change: &dyn Fn(&mut Known)| {
            if let Some(known) = self.0.get_mut(name) {
                change(known);
            }
        };
        match event {
            Event::Made { tree, at } => {
                let known = Known { made: at, ready: false, links: BTreeSet::new(), users: Vec::new(), tree };
                self.0.insert(known.tree.name.clone(), known);
            }
            Event::Ready { name, links } => with(&name, &|known| {
                known.ready = true;
                known.links.clone_from(&links);
            }),
            Event::Entered { name, user } => with(&name, &|known| {
                known.users.retain(|one| !one.is(&user));
                known.users.push(user.clone());
            }),
            Event::Left { name, user } => with(&name, &|known| known.users.retain(|one| !one.is(&user))),
            Event::Rescued { .. } => {}
            Event::Removed { name } => {
                self.0.remove(&name);
            }
        }
    }
}

/// A record of these events.
pub(super) fn record(events: &[Event]) -> Record {
    let line = |event: &Event| match serde_json::to_value(event) {
        Ok(Value::Object(line)) => Some(line),
        _ => None::<Map<String, Value>>,
    };
    Record(events.iter().filter_map(line).collect())
}
