//! A model around a model: tries again what may pass, and lets all agents of a provider wait together.
//!
//! Three kinds of failures. *Counted*: 5xx, cuts, resets, silence, nonsense; a number of tries. *Timed*: 429
//! and 529; a length of time, however many tries. *Final*: the rest, but for a refused credential, which is
//! tried once more. The provider's `x-should-retry` moves a failure between them. Past its limit a failure is
//! given on in the provider's own words.

mod class;
mod limiter;
mod policy;
mod run;

pub use policy::RetryPolicy;
pub use run::Retry;
