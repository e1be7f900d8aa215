//! One task, in the shape of the ecosystem's files (K1).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A task's number on its list, from 1; never given twice. In JSON a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TaskId {
    type Err = std::num::ParseIntError;

    /// A number, also as `#7`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        text.strip_prefix('#').unwrap_or(text).parse().map(Self)
    }
}

impl Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(input)?;
        let id = value.as_u64().map(Self).or_else(|| value.as_str()?.parse().ok());
        id.ok_or_else(|| serde::de::Error::custom(format_args!("{value} is no number of a task")))
    }
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun; with an owner, it waits for that one.
    #[default]
    Pending,
    /// Its owner is at it.
    InProgress,
    /// Done.
    Completed,
    /// Off the list.
    Deleted,
}

impl Status {
    /// The word of the tools.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }
}

/// A task. What it blocks follows from what others are blocked by, and is no field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// What is to be done, in a line.
    pub subject: String,
    /// All that there is to it.
    #[serde(default)]
    pub description: String,
    /// The same while it is done: "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// How far it is.
    #[serde(default)]
    pub status: Status,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What has to be done first.
    #[serde(default)]
    pub blocked_by: BTreeSet<TaskId>,
    /// What whoever uses the list puts there.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Counts its changes, from 1; 0 for one that another program made.
    #[serde(default)]
    pub rev: u64,
    /// What the harness did to it last: that it was given back, that a blocker is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What other programs put there.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Task {
    /// Whether somebody else than `who` has it, or is to do it.
    pub fn is_of_another(&self, who: &str) -> bool {
        self.status != Status::Completed && self.owner.as_deref().is_some_and(|owner| owner != who)
    }
}
