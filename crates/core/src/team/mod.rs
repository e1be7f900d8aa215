//! Teams: who is in one, what its members write to each other. Pure; the engine keeps the journals.
//! See `docs/design/teams.md`.

mod membership;
mod message;
mod name;
mod words;

pub use membership::{AllowedPath, BackendKind, Change, LEAVES, Member, Owner, PaneAt, Team};
pub use message::{Handler, Kind, Message, lenient};
pub use name::{LEAD, PERSON, free, lead_id, member_id, slug, split};
pub use words::{member_prompt, words};
