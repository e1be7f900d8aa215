//! Providers of models behind [`troupe_core::ports::model::Model`]: the Anthropic wire, and the scripted model.
//!
//! [`providers::open`] makes a model of a configuration. [`anthropic`] speaks the Messages API and tries once,
//! [`retry`] tries again, [`script`] plays replies that are written down. [`sse`] reads streams of events,
//! [`catalog`] knows models by name, [`aliases`] adds the person's own, [`detect`] looks for local servers.
//!
//! This crate knows no engine, no tool and no frontend, and reads no environment: what it needs comes in a
//! configuration (the system's proxy variables are read by the HTTP client itself).

pub mod aliases;
pub mod anthropic;
pub mod catalog;
pub mod detect;
pub mod providers;
pub mod retry;
pub mod script;
pub mod sse;

pub use aliases::Aliased;
pub use anthropic::{http_client, install_crypto};
pub use catalog::DEFAULT_MODEL;
pub use providers::{Config, Provider, open};
pub use retry::{Retry, RetryPolicy};
pub use script::{ScriptError, ScriptModel};

#[cfg(test)]
mod conform;
#[cfg(test)]
mod test_requests;
#[cfg(test)]
mod test_server;
