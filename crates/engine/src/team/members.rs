//! Who is in a team: a journal of changes, folded, with the ecosystem's `config.json` as a view beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::ports::journal::{Journal, Key, Record, Seq};
use troupe_core::team::{Change, Team};

use super::TeamError;
use super::fold::{At, Folded, State};
use crate::store::private;

/// The membership of a team.
pub struct Membership {
    view: PathBuf,
    folded: Folded<Kept>,
}

#[derive(Clone, Default)]
struct Kept {
    team: Option<Team>,
}

impl State for Kept {
    fn take(&mut self, _: Seq, Record(lines): Record) {
        for change in lines.into_iter().filter_map(change) {
            match (&mut self.team, change) {
                (None, Change::Made { team }) => self.team = Some(*team),
                (Some(team), change) => team.apply(change),
                (None, _) => {}
            }
        }
    }
}

impl Membership {
    pub(crate) fn new(journal: Arc<dyn Journal>, key: Key, view: PathBuf) -> Self {
        Self { view, folded: Folded::new(journal, key) }
    }

    /// The team as it is now; none where there is none. A `config.json` of another program, without a journal of
    /// ours, is a team.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub async fn load(&self) -> Result<Option<Team>, TeamError> {
        let at = self.folded.now().await?;
        Ok(at.state.team.clone().or_else(|| self.adopted(&at)))
    }

    /// Decides on the team as it is and records what comes of it; decides again when somebody else was quicker.
    ///
    /// # Errors
    /// What `decide` says, or that the journal refused.
    pub async fn change<E: From<TeamError>>(
        &self,
        decide: impl Fn(Option<&Team>) -> Result<Vec<Change>, E>,
    ) -> Result<Option<Team>, E> {
        let what = format!("the membership in {}", self.view.display());
        let (now, seq) = self.folded.change(&what, |at| self.decided(at, &decide)).await?;
        if seq.is_none() {
            return Ok(now);
        }
        self.show().await;
        Ok(self.folded.now().await?.state.team.clone())
    }

    /// What is to be recorded, with the team before it.
    fn decided<E>(
        &self,
        at: &At<Kept>,
        decide: impl Fn(Option<&Team>) -> Result<Vec<Change>, E>,
    ) -> Result<(Option<Record>, Option<Team>), E> {
        let adopted = self.adopted(at);
        let now = at.state.team.as_ref().or(adopted.as_ref());
        let changes = decide(now)?;
        let before = now.cloned();
        if changes.is_empty() {
            return Ok((None, before));
        }
        let first = adopted.map(|team| Change::Made { team: Box::new(team) });
        Ok((Some(Record(first.iter().chain(&changes).filter_map(object).collect())), before))
    }

    /// What another program's file says, where there is no journal of ours.
    fn adopted(&self, at: &At<Kept>) -> Option<Team> {
        if at.seq > 0 {
            return None;
        }
        let text = std::fs::read(&self.view).ok()?;
        let mut team: Team = serde_json::from_slice(&text).ok()?;
        if team.name.is_empty() {
            self.view.parent()?.file_name()?.to_str()?.clone_into(&mut team.name);
        }
        // Mail is read and written there as its program has it.
        team.array_mail |= self.view.parent().is_some_and(|folder| has_arrays(&folder.join("inboxes")));
        Some(team)
    }

    /// Brings the view up to date. It is for other programs, so a failure is told and no more.
    async fn show(&self) {
        let mut written = None;
        let write = |kept: &Kept| {
            if kept.team.is_none() || written == kept.team {
                return false;
            }
            let shown = serde_json::to_vec_pretty(&kept.team).map_err(std::io::Error::other);
            // The view of a team that was removed just now would be taken for a team of another program.
            if let Err(error) = shown.and_then(|bytes| private::write_there(&self.view, &bytes)) {
                tracing::warn!(file = %self.view.display(), %error, "a team's view was not written");
                return false;
            }
            written.clone_from(&kept.team);
            true
        };
        self.folded.show(write).await;
    }
}

/// Whether the mailboxes of a folder are arrays.
fn has_arrays(inboxes: &Path) -> bool {
    let entries = std::fs::read_dir(inboxes).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| name.strip_suffix(".json").is_some_and(|name| !name.ends_with(".position")))
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
