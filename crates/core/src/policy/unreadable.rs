//! The files that may not be read, for tools that look through whole folders.

use std::path::Path;

use crate::policy::{Behaviour, Rules};
use crate::ports::tool::Place;

use super::rule::Matcher;

/// The rules that deny reading, in one place. What a search finds is held against it, since only the folder in
/// which it begins was judged.
#[derive(Clone, Debug, Default)]
pub struct Unreadable {
    rules: Rules,
    place: Option<Place>,
}

impl Unreadable {
    /// Takes the rules that deny reading.
    pub fn new(rules: &Rules, place: &Place) -> Self {
        let mut rules = rules.clone();
        rules.retain(|rule| rule.behaviour == Behaviour::Deny && matches!(rule.matcher(), Matcher::Read(_)));
        Self { rules, place: Some(place.clone()) }
    }

    /// Whether an absolute path, or a folder above it, is denied.
    pub fn covers(&self, path: &Path) -> bool {
        let Some(place) = &self.place else { return false };
        self.rules.of(Behaviour::Deny).any(
            |(_, matcher)| matches!(matcher, Matcher::Read(pattern) if pattern.covers(path, place, self.rules.folds())),
        )
    }

    /// Whether nothing is denied.
    pub fn is_empty(&self) -> bool {
        self.rules.of(Behaviour::Deny).next().is_none()
    }
}
