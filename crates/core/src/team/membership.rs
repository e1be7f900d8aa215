//! A team as the changes of its membership add up to it (T2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{LEAD, lead_id};
use crate::color::Color;

/// A team. Its shape is that of `config.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Team {
    /// Its name, which is the name of its folder.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// The lead's id.
    pub lead_agent_id: String,
    /// The session that leads it.
    pub lead_session_id: String,
    /// Panes that are out of sight.
    pub hidden_pane_ids: Vec<String>,
    /// What every member may write to.
    pub team_allowed_paths: Vec<AllowedPath>,
    /// Who is in it, the lead first.
    pub members: Vec<Member>,
    /// Whether mailboxes are arrays, as other programs have them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub array_mail: bool,
    /// How those who left went, as it follows their names; known from the journal alone.
    #[serde(skip)]
    pub left: BTreeMap<String, String>,
    /// What other programs put there.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A path that every member may write to (S5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllowedPath {
    /// The path.
    pub path: String,
    /// The tool that may.
    pub tool_name: String,
    /// Who allowed it.
    #[serde(default)]
    pub added_by: String,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub added_at: u64,
}

/// Where a member runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    /// A task of the lead's process.
    #[default]
    InProcess,
    /// A pane of tmux.
    Tmux,
    /// A pane of iTerm2.
    Iterm2,
    /// Another machine.
    Remote,
}

/// A process that can be found again: its number is given to others in time, its number and start are not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The process.
    pub pid: u32,
    /// When it started, as the system counts it.
    pub start: u64,
}

/// A member's pane, with what another process needs to find it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PaneAt {
    /// Its id, which is never given again: `%N` in tmux.
    pub id: String,
    /// The server of tmux: a socket's path, or a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// The session that it was opened in.
    pub session: String,
    /// The window.
    pub window: String,
    /// The process that it was opened with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Owner>,
    /// The lead's pane, where it was opened beside that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

/// One in a team.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Member {
    /// `NAME@TEAM`.
    pub agent_id: String,
    /// The name in the team.
    pub name: String,
    /// The definition's name; the lead's is `team-lead`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much it thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// What it was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Its colour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
    /// Whether it plans first (S6).
    pub plan_mode_required: bool,
    /// When it joined, in milliseconds since 1970.
    pub joined_at: u64,
    /// Its pane; `in-process` for a task of the lead's process; empty for the lead.
    pub tmux_pane_id: String,
    /// More about its pane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane: Option<PaneAt>,
    /// The folder that it works in.
    pub cwd: String,
    /// Its worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<String>,
    /// Its session, where it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What it hears of: `task:{id}`, `member:{name}`.
    pub subscriptions: Vec<String>,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<BackendKind>,
    /// `false` is idle; absent is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// Its permission mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The process that runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Owner>,
    /// What other programs put there.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The field of a member that is to end, whatever process runs it then: it has agreed to, or the person stopped it.
pub const LEAVES: &str = "leaves";

impl Member {
    /// Whether it ends as soon as it can: nobody writes to it any more.
    pub fn leaves(&self) -> bool {
        self.other.get(LEAVES) == Some(&Value::Bool(true))
    }
}

/// One record of the membership's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// The team was made, or taken over as it was found.
    Made {
        /// All of it.
        team: Box<Team>,
    },
    /// Somebody joined, or is another than before under the same name.
    Joined {
        /// Who.
        member: Box<Member>,
    },
    /// Fields of a member changed.
    Altered {
        /// The member.
        name: String,
        /// The fields by their names in `config.json`; null takes one away.
        fields: Map<String, Value>,
    },
    /// Somebody left.
    Left {
        /// Who.
        name: String,
        /// How, for people, as it follows the name: `was shut down`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Fields of the team changed, its members aside.
    Set {
        /// The fields by their names in `config.json`; null takes one away.
        fields: Map<String, Value>,
    },
}

impl Team {
    /// A team with its lead and nobody else.
    pub fn new(name: &str, description: Option<String>, session: &str, lead: Member, now_ms: u64) -> Self {
        Self {
            name: name.to_owned(),
            description,
            created_at: now_ms,
            lead_agent_id: lead_id(name),
            lead_session_id: session.to_owned(),
            members: vec![Member {
                agent_id: lead_id(name),
                name: LEAD.to_owned(),
                agent_type: Some(LEAD.to_owned()),
                joined_at: now_ms,
                ..lead
            }],
            ..Self::default()
        }
    }

    /// The team after a change. One that speaks of somebody who is not there changes nothing: it was overtaken.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Made { team } => *self = *team,
            Change::Joined { member } => {
                self.left.remove(&member.name);
                match self.members.iter_mut().find(|old| old.name == member.name) {
                    Some(old) => *old = *member,
                    None => self.members.push(*member),
                }
            }
            Change::Altered { name, fields } => {
                if let Some(member) = self.members.iter_mut().find(|member| member.name == name)
                    && let Some(altered) = overlaid(member, fields, &["name", "agentId"])
                {
                    *member = altered;
                }
            }
            Change::Left { name, reason } => {
                self.members.retain(|member| member.name != name);
                self.left.extend(reason.map(|reason| (name, reason)));
            }
            Change::Set { fields } => {
                if let Some(altered) = overlaid(self, fields, &["name", "members"]) {
                    let left = std::mem::take(&mut self.left);
                    *self = Self { left, ..altered };
                }
            }
        }
    }

    /// A member by its name, whatever the case, or by its id.
    pub fn member(&self, name: &str) -> Option<&Member> {
        let exact = self.members.iter().find(|member| member.name == name || member.agent_id == name);
        exact.or_else(|| self.members.iter().find(|member| member.name.eq_ignore_ascii_case(name)))
    }

    /// The names in the team, the lead's first.
    pub fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }

    /// Whether this is the lead's name or id.
    pub fn is_lead(&self, name: &str) -> bool {
        name == LEAD || name == self.lead_agent_id
    }
}

/// `of` with `fields` in place of its own, `fixed` ones aside; none when a field has a wrong type.
fn overlaid<T: Serialize + serde::de::DeserializeOwned>(
    of: &T,
    fields: Map<String, Value>,
    fixed: &[&str],
) -> Option<T> {
    let Value::Object(mut object) = serde_json::to_value(of).ok()? else { return None };
    for (key, value) in fields.into_iter().filter(|(key, _)| !fixed.contains(&key.as_str())) {
        if value.is_null() {
            object.shift_remove(&key);
        } else {
            object.insert(key, value);
        }
    }
    serde_json::from_value(Value::Object(object)).ok()
}

#[cfg(test)]
#[path = "membership_tests.rs"]
mod tests;
