//! Files and environment → values. Nothing here decides, asks or runs anything; protocols and the layout of
//! transcripts are elsewhere.
//!
//! Everything is a function of an explicit [`Env`] and of the files it leads to. Only [`Env::from_process`]
//! looks at this process, and no `.env` file of a project is ever read.

pub mod agents;
pub mod env;
pub mod flags;
mod front_matter;
pub mod git;
mod git_config;
pub mod instructions;
pub mod places;
pub mod project_key;
pub mod reload;
mod replace;
pub mod rule_paths;
pub mod rules;
pub mod settings;
mod signature;
mod text;
pub mod trust;
pub mod unused;
pub mod variables;
pub mod whence;

pub use agents::{AgentFiles, AgentSources};
pub use env::{BadValue, Env, EnvError, Found};
pub use flags::{Flag, Flags};
pub use instructions::{Loaded, Notice, Wanted};
pub use places::{Places, SettingsFile};
pub use reload::{Reread, RuleFiles, RuleSources};
pub use rules::{LoadedRules, RuleFlags};
pub use settings::{CommandLine, Settings, SettingsFault, Sources};
pub use trust::{Trust, TrustItem, TrustStore};
pub use whence::{Value, Whence};
