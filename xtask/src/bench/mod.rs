//! Benchmarks; each suite is a variant of [`Suite`] and a module of its own.

mod agents;
mod bare;
mod connection;
mod cost;
mod mail;
mod micro;
mod mock;
mod recording;
mod suite;

pub(crate) use suite::{Suite, run};
