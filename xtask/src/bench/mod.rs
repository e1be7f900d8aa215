//! Benchmarks; each suite is a variant of [`Suite`] and a module of its own.

mod micro;
mod suite;

pub(crate) use suite::{Suite, run};
