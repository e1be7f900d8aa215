//! Rules for the folders that a command changes to: `Cd(path)`.

use std::path::Path;
use std::sync::Arc;

use crate::policy::Behaviour;

use super::command::{Command, Simple, Word};
use super::decide::Judge;
use super::exec::paths_of;
use super::level::{Finding, Level};
use super::locate::path_of;
use super::rule::{Matcher, Rule};
use super::wrapper::{base_name, layers};

impl Judge<'_> {
    /// The rules that deny or ask about the folder.
    pub(super) fn by_folder(&self, part: &Simple, command: &Command) -> Finding {
        let texts = part.texts();
        let mut found = Finding::free();
        for layer in layers(&texts) {
            let words = &part.words[layer.start..layer.start + layer.words.len()];
            let Some(operands) = folders(words) else { continue };
            for behaviour in [Behaviour::Deny, Behaviour::Ask] {
                let (level, does) = match behaviour {
                    Behaviour::Deny => (Level::Deny, "denies changing to"),
                    _ => (Level::Bound, "asks about changing to"),
                };
                for word in operands.clone() {
                    found = found.and(self.folder_against(behaviour, level, does, word, part, command));
                }
                if operands.clone().next().is_none()
                    && let Some(rule) = self.cd_rule(behaviour, &self.place.home)
                {
                    found = found.and(
                        Finding::new(level, format!("the rule `{rule}` {does} the home folder")).by(rule),
                    );
                }
            }
        }
        found
    }

    fn folder_against(
        &self,
        behaviour: Behaviour,
        level: Level,
        does: &str,
        word: &Word,
        part: &Simple,
        command: &Command,
    ) -> Finding {
        let Some(path) = path_of(word, part, self.place) else {
            let any = self.rules.of(behaviour).find(|(_, matcher)| matches!(matcher, Matcher::Cd(_)));
            return any.map_or_else(Finding::free, |(rule, _)| {
                let reason = format!("`{}` may be a folder that the rule `{rule}` is about", word.text());
                Finding::new(Level::Bound, reason).by(rule)
            });
        };
        let uses = paths_of(&path, command);
        let hit = [&uses.typed, &uses.resolved]
            .into_iter()
            .find_map(|path| Some((path, self.cd_rule(behaviour, path)?)));
        hit.map_or_else(Finding::free, |(path, rule)| {
            Finding::new(level, format!("the rule `{rule}` {does} {}", path.display())).by(rule)
        })
    }

    /// The rule that allows a plain `cd` to a folder, both as it is written and where it leads.
    pub(super) fn folder_rule(&self, part: &Simple, command: &Command) -> Option<&Arc<Rule>> {
        if !part.is_static() || !part.assignments.is_empty() || part.words.first()?.text() != "cd" {
            return None;
        }
        let mut operands = folders(&part.words)?;
        let (word, None) = (operands.next()?, operands.next()) else { return None };
        if word.glob {
            return None;
        }
        let uses = paths_of(&path_of(word, part, self.place)?, command);
        self.cd_rule(Behaviour::Allow, &uses.typed).and(self.cd_rule(Behaviour::Allow, &uses.resolved))
    }

    fn cd_rule(&self, behaviour: Behaviour, path: &Path) -> Option<&Arc<Rule>> {
        let covers = |matcher: &Matcher| match matcher {
            Matcher::Cd(pattern) => pattern.covers(path, self.place, self.rules.folds()),
            _ => false,
        };
        self.rules.of(behaviour).find(|(_, matcher)| covers(matcher)).map(|(rule, _)| rule)
    }
}

/// The operands of a command that changes the folder.
fn folders(words: &[Word]) -> Option<impl Iterator<Item = &Word> + Clone> {
    let (program, rest) = words.split_first()?;
    let changes = matches!(base_name(program.text()), "cd" | "chdir" | "pushd");
    changes.then(|| rest.iter().filter(|word| !word.text().starts_with('-') && !word.text().is_empty()))
}
