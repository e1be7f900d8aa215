//! What of a team's files can't be read, for people. It is told and never fatal: each reader passes over it.

use troupe_core::ports::journal::{Found, Key};

use super::{TeamError, TeamPlace};

/// Most characters of a line that are told.
const SHOWN: usize = 120;
/// Most lines of a file that are told.
const LINES: usize = 50;

impl TeamPlace {
    /// The lines of a mailbox that can't be read, and where files of it were set aside.
    ///
    /// # Errors
    /// When it can't be opened.
    pub async fn damaged_mail(&self, name: &str) -> Result<Vec<String>, TeamError> {
        let mut told = self.damaged(&format!("teams/{}/inboxes/{name}", self.name)).await?;
        told.extend(self.set_aside(name));
        Ok(told)
    }

    /// The lines of the membership that can't be read.
    ///
    /// # Errors
    /// When it can't be opened.
    pub async fn damaged_members(&self) -> Result<Vec<String>, TeamError> {
        self.damaged(&format!("teams/{}/members", self.name)).await
    }

    async fn damaged(&self, journal: &str) -> Result<Vec<String>, TeamError> {
        let key = Key::new(journal).ok_or_else(|| TeamError::Name(journal.to_owned()))?;
        let mut lines = Vec::new();
        for found in self.journal.read(&key, 0).await? {
            match found {
                Found::Record(..) => {}
                Found::Damaged(start) | Found::Repaired(start) => lines.push(start),
                Found::Foreign(line) => lines.push(serde_json::Value::Object(line).to_string()),
            }
        }
        let more = lines.len().saturating_sub(LINES);
        lines.truncate(LINES);
        let mut told: Vec<String> = lines.iter().map(|line| line.chars().take(SHOWN).collect()).collect();
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        Ok(told)
    }

    /// Whole files that were no mailbox.
    fn set_aside(&self, name: &str) -> Vec<String> {
        let start = format!("{name}.json.damaged-");
        let files = std::fs::read_dir(self.folder.join("inboxes")).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut told: Vec<String> = names.filter(|file| file.starts_with(&start)).take(LINES).collect();
        told.sort();
        told
    }
}
