//! Time and fresh ids, so that tests can fix both.

use crate::time::Time;

/// A source of stamps and ids.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Time;
    /// A fresh UUID in its text form.
    fn uuid(&self) -> String;
}
