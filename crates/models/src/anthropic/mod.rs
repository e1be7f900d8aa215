//! The Anthropic Messages API, first-party or spoken by a local server.
//!
//! [`body`] writes the request and [`marks`] says where its cache marks stand; `http` sends it with what
//! [`auth`] proves it with; `reply` reads the answer's bytes under the limits on silence, and `decode` turns
//! its events into deltas; `failure` reads answers that are none. [`provider`] puts them together.

pub mod auth;
pub mod body;
mod decode;
mod failure;
mod http;
pub mod marks;
mod names;
pub mod provider;
mod reply;

pub use auth::{Auth, HELPER_TTL, KeyHelper};
pub(crate) use failure::of_answer;
pub(crate) use http::LazyClient;
pub use http::{http_client, install_crypto};
pub use provider::{Anthropic, BASE_URL, Config, VERSION};
pub use reply::{IdleLimits, deltas_of};
