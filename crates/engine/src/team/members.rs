//! Who is in a team: a journal of changes, folded, with the ecosystem's `config.json` as a view beside it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};
use troupe_core::team::{Change, Team};

use super::TeamError;
use crate::store::private;

/// How often a change is tried again when others were quicker.
const TRIES: usize = 8;

/// The membership of a team.
pub struct Membership {
    journal: Arc<dyn Journal>,
    key: Key,
    view: PathBuf,
    folded: Mutex<Folded>,
}

#[derive(Clone, Default)]
struct Folded {
    at: Seq,
    team: Option<Team>,
}

impl Membership {
    pub(crate) fn new(journal: Arc<dyn Journal>, key: Key, view: PathBuf) -> Self {
        Self { journal, key, view, folded: Mutex::default() }
    }

    /// The team as it is now; none where there is none. A `config.json` of another program, without a journal of
    /// ours, is a team.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub async fn load(&self) -> Result<Option<Team>, TeamError> {
        let folded = self.fold().await?;
        Ok(folded.team.or_else(|| if folded.at == 0 { self.adopted() } else { None }))
    }

    /// Decides on the team as it is and records what comes of it; decides again when somebody else was quicker.
    ///
    /// # Errors
    /// What `decide` says, or that the journal refused.
    pub async fn change<E: From<TeamError>>(
        &self,
        decide: impl Fn(Option<&Team>) -> Result<Vec<Change>, E>,
    ) -> Result<Option<Team>, E> {
        for _ in 0..TRIES {
            let folded = self.fold().await?;
            let adopted = if folded.at == 0 && folded.team.is_none() { self.adopted() } else { None };
            let now = folded.team.as_ref().or(adopted.as_ref());
            let mut changes = decide(now)?;
            if changes.is_empty() {
                return Ok(now.cloned());
            }
            if let Some(team) = adopted {
                changes.insert(0, Change::Made { team: Box::new(team) });
            }
            let record = Record(changes.iter().filter_map(object).collect());
            match self.journal.append(&self.key, Some(folded.at), record).await {
                Ok(_) => {
                    let team = self.fold().await?.team;
                    self.show(team.as_ref());
                    return Ok(team);
                }
                Err(JournalError::Conflict { .. }) => {}
                Err(error) => return Err(TeamError::from(error).into()),
            }
        }
        Err(TeamError::Contended { what: format!("the membership in {}", self.view.display()) }.into())
    }

    async fn fold(&self) -> Result<Folded, TeamError> {
        let mut folded = self.folded.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        for found in self.journal.read(&self.key, folded.at).await? {
            let Found::Record(seq, Record(lines)) = found else { continue };
            folded.at = seq;
            for change in lines.into_iter().filter_map(change) {
                match (&mut folded.team, change) {
                    (None, Change::Made { team }) => folded.team = Some(*team),
                    (Some(team), change) => team.apply(change),
                    (None, _) => {}
                }
            }
        }
        let mut known = self.folded.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if known.at < folded.at {
            *known = folded.clone();
        }
        Ok(folded)
    }

    /// What another program's file says.
    fn adopted(&self) -> Option<Team> {
        let text = std::fs::read(&self.view).ok()?;
        let mut team: Team = serde_json::from_slice(&text).ok()?;
        if team.name.is_empty() {
            team.name = self.view.parent()?.file_name()?.to_str()?.to_owned();
        }
        Some(team)
    }

    /// Brings the view up to date. It is for other programs, so a failure is told and no more.
    fn show(&self, team: Option<&Team>) {
        let Some(team) = team else { return };
        let shown = serde_json::to_vec_pretty(team).map_err(std::io::Error::other);
        if let Err(error) = shown.and_then(|bytes| private::write(&self.view, &bytes)) {
            tracing::warn!(file = %self.view.display(), %error, "a team's view was not written");
        }
    }
}

fn object(change: &Change) -> Option<Map<String, Value>> {
    match serde_json::to_value(change) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

fn change(line: Map<String, Value>) -> Option<Change> {
    serde_json::from_value(Value::Object(line)).ok()
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
