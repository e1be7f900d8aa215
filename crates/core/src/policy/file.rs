//! Judges one file that is read or written.

use std::path::Path;
use std::sync::Arc;

use crate::access::PathUse;
use crate::policy::{Behaviour, Mode};

use super::decide::Judge;
use super::level::{Finding, Level};
use super::path::fold;
use super::protect::is_protected;
use super::rule::{Matcher, Rule};
use super::target::Deed;

impl Judge<'_> {
    /// Both the path as it was given and where it leads: either denied is denied, allowed needs both.
    pub(super) fn file(&self, deed: Deed, path: &PathUse) -> Finding {
        let typed = self.path(deed, &path.typed);
        if path.resolved == path.typed { typed } else { typed.and(self.path(deed, &path.resolved)) }
    }

    fn path(&self, deed: Deed, path: &Path) -> Finding {
        let shown = path.display().to_string();
        let writes = deed != Deed::Read;
        let found = |level, reason: String| Finding {
            path: Some(shown.clone()),
            writes,
            ..Finding::new(level, reason)
        };
        if let Some(rule) = self.rule_for(Behaviour::Deny, deed, path) {
            return found(Level::Deny, format!("the rule `{rule}` denies {shown}")).by(rule);
        }
        if let Some(rule) = self.rule_for(Behaviour::Ask, deed, path) {
            return found(Level::Bound, format!("the rule `{rule}` asks about {shown}")).by(rule);
        }
        if self.place.scratch.iter().any(|own| path.starts_with(own)) {
            return found(Level::Free, String::new()).harmless();
        }
        let beyond = self.beyond(deed, path);
        if beyond.level == Level::Deny {
            return beyond;
        }
        if writes && (is_protected(path, self.place) || self.rules.is_own(path)) {
            return found(Level::Hard, format!("{shown} decides what runs later"));
        }
        if self.is_inside(path) && (!writes || matches!(self.mode, Mode::AcceptEdits | Mode::Auto)) {
            return found(if writes { Level::Allowed } else { Level::Free }, String::new());
        }
        if let Some(rule) = self.rule_for(Behaviour::Allow, deed, path) {
            return found(if writes { Level::Allowed } else { Level::Free }, String::new()).by(rule);
        }
        let reason = match (writes, self.is_inside(path)) {
            (true, true) => format!("nothing allows changing {shown}"),
            (true, false) => format!("{shown} is outside the workspace"),
            (false, _) => format!("{shown} is outside the workspace; nothing allows reading it"),
        };
        found(Level::Ask, reason)
    }

    /// The rule of one behaviour that covers a path. Denied reading forbids writing; allowed editing allows
    /// reading.
    pub(super) fn rule_for(&self, behaviour: Behaviour, deed: Deed, path: &Path) -> Option<&Arc<Rule>> {
        let covers = |matcher: &Matcher| match (matcher, deed) {
            (Matcher::Read(pattern), Deed::Read) => pattern.covers(path, self.place, self.rules.folds()),
            (Matcher::Read(pattern), _) => {
                behaviour == Behaviour::Deny && pattern.covers(path, self.place, self.rules.folds())
            }
            (Matcher::Edit(pattern), Deed::Write | Deed::Remove) => {
                pattern.covers(path, self.place, self.rules.folds())
            }
            (Matcher::Edit(pattern), Deed::Read) => {
                behaviour == Behaviour::Allow && pattern.covers(path, self.place, self.rules.folds())
            }
            (Matcher::Every(name), Deed::Write | Deed::Remove) => {
                behaviour == Behaviour::Allow && name.is_literal() && name.matches("Edit")
            }
            _ => false,
        };
        self.rules.of(behaviour).find(|(_, matcher)| covers(matcher)).map(|(rule, _)| rule)
    }

    /// Whether a path is one of the folders to work in, or below one.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        self.place.roots.iter().any(|root| {
            path.starts_with(root)
                || (self.rules.folds()
                    && Path::new(&fold(&path.to_string_lossy())).starts_with(fold(&root.to_string_lossy())))
        })
    }
}
