//! Which paths a simple command touches. (Being written.)

use std::path::PathBuf;

use super::Simple;
use crate::ports::tool::Place;

/// Paths that the simple command names.
pub(super) fn paths(_part: &Simple, _place: &Place) -> Vec<PathBuf> {
    Vec::new()
}
