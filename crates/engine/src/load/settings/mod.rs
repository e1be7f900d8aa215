//! Settings: files in layers → one value with origins → a small struct for each consumer. And the writer that
//! saves an answer "always".
//!
//! The way: [`layer`] says which files there are, `document` reads one, `schema` drops what has the wrong type,
//! `guard` drops what a repository may not say, `merge` puts the rest over one another, [`view`] is what
//! consumers see.

pub mod layer;
pub mod view;
pub mod write;

mod document;
mod guard;
mod kept;
mod limits;
mod merge;
mod positions;
mod sandbox;
mod schema;

pub use document::SettingsFault;
pub(crate) use guard::item as trust_item;
pub use kept::Kept;
pub use layer::{CommandLine, Layer, Origin, Source, Sources, UnknownSource, own_paths};
pub use limits::LimitSettings;
pub use sandbox::{FilesystemSettings, NetworkSettings, SandboxSettings};
pub use view::{Entry, ModelSettings, PermissionSettings, RuleText, SessionSettings, Settings, Valued};
pub use write::{WriteFault, add_rule, save};

#[cfg(test)]
mod sandbox_tests;
#[cfg(test)]
mod settings_tests;
