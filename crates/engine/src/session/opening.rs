//! What is known of a session when it is opened.

use troupe_core::ids::EntryId;
use troupe_core::outcome::Envelope;

use super::Session;

impl Session {
    /// What people should know about how it was opened.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether it was there before.
    pub fn is_resumed(&self) -> bool {
        self.opened.resumed
    }

    /// Whether its transcript leaves something to do without a new prompt.
    pub fn is_pending(&self) -> bool {
        self.opened.pending
    }

    /// Whether a member of the team that a resumed session leads had something to do when it was opened.
    pub fn has_members_to_go_on(&self) -> bool {
        self.opened.members
    }

    /// How the last run of a resumed session ended, when nothing is pending.
    pub fn last_end(&self) -> Option<&Envelope> {
        self.opened.last_end.as_ref()
    }

    /// The last entry of the main agent's transcript before it began to work: the first to listen hears of all
    /// that came after it, even when the work was done before anyone listened.
    pub fn history_end(&self) -> Option<&EntryId> {
        self.opened.before.as_ref()
    }
}
