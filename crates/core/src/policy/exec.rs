//! Judges a shell command: deny and ask rules on every part in any spelling, then what must be asked
//! whatever the rules say, then whether each part is [allowed](super::allowance).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::PathUse;
use crate::policy::{Behaviour, GitTrust};

use super::archive::trees;
use super::command::{Command, Simple, Word};
use super::decide::Judge;
use super::explain::Notes;
use super::git;
use super::level::{Finding, Level};
use super::locate::{path_of, path_of_text};
use super::path::pattern_fits;
use super::pattern::Spelling;
use super::protect::{is_protected, is_repository};
use super::rule::{Matcher, Rule};
use super::target::{Deed, Target, targets};
use super::unfold::braces;
use super::wrapper::{MAX_LAYERS, base_name, layers};

impl Judge<'_> {
    /// Judges a whole line.
    pub(super) fn command(&self, command: &Command, notes: &mut Notes) -> Finding {
        let mut found = self.by_rule(&whole(command));
        let is_single = command.parts.len() == 1;
        if !is_single {
            notes.add_against(&command.text, &found);
        }
        let first = notes.len();
        let changes = self.by_changes(command);
        for (part, change) in command.parts.iter().zip(&changes) {
            let mut strict =
                self.by_rules(part).and(self.by_folder(part, command)).and(self.by_targets(part, command));
            strict = strict.and(self.by_repository(part));
            if change.level > Level::Ask {
                strict = strict.and(change.clone());
            }
            notes.add_part(part, &strict);
            if is_single {
                notes.join(first, &found);
            }
            found = found.and(strict);
        }
        if let Some(doubt) = &command.doubt {
            let doubt = Finding::new(Level::Hard, format!("the command can't be judged: {doubt}"));
            notes.add_against(&command.text, &doubt);
            found = found.and(doubt);
        }
        if command.parts.is_empty() {
            let empty = Finding::new(Level::Ask, "the command has no part that could be judged");
            notes.add_against(&command.text, &empty);
            return found.and(empty);
        }
        if let Some(rule) = self.line_rule(command) {
            let allowed = Finding::new(Level::Allowed, "").by(rule);
            for at in 0..command.parts.len() {
                notes.join(first + at, &allowed);
            }
            return found.and(allowed);
        }
        for (at, part) in command.parts.iter().enumerate() {
            let allowance = self.by_allowance(part, command).and(changes[at].clone());
            notes.join(first + at, &allowance);
            found = found.and(allowance);
        }
        found
    }

    /// The rule that names the very line.
    fn line_rule(&self, command: &Command) -> Option<&Arc<Rule>> {
        let names = |matcher: &Matcher| matches!(matcher, Matcher::Command(pattern) if pattern.is_exactly(&command.text));
        self.rules.of(Behaviour::Allow).find(|(_, matcher)| names(matcher)).map(|(rule, _)| rule)
    }

    /// The rules that deny or ask, on a part and all that it wraps.
    fn by_rules(&self, part: &Simple) -> Finding {
        let texts = part.texts();
        let mut found = Finding::free();
        let layers = layers(&texts);
        if layers.len() == MAX_LAYERS {
            found = Finding::new(Level::Hard, "it wraps too many commands in each other");
        }
        for layer in layers {
            let words = &part.words[layer.start..layer.start + layer.words.len()];
            found = found.and(self.by_rule(&Spelling { raw: raw(words), words: layer.words.to_vec() }));
        }
        found
    }

    /// What git runs by the settings and hooks of a repository that nobody trusts; no rule opens it.
    fn by_repository(&self, part: &Simple) -> Finding {
        let texts = part.texts();
        let uses = layers(&texts)
            .into_iter()
            .filter(|layer| layer.words.first().is_some_and(|w| base_name(w) == "git"));
        let mut found = Finding::free();
        for layer in uses {
            let what = match self.rules.git() {
                GitTrust::None => "settings",
                GitTrust::Readers if !git::reads(layer.words) => "hooks",
                _ => continue,
            };
            let reason = format!("the {what} of this repository are not trusted");
            found = found.and(Finding::new(Level::Hard, reason));
        }
        found
    }

    fn by_rule(&self, spelling: &Spelling<'_>) -> Finding {
        let home = self.place.home.to_string_lossy();
        let hit = |behaviour| {
            self.rules
                .of(behaviour)
                .find(|(_, matcher)| matches!(matcher, Matcher::Command(pattern) if pattern.catches(spelling, &home)))
                .map(|(rule, _)| rule)
        };
        if let Some(rule) = hit(Behaviour::Deny) {
            return Finding::new(Level::Deny, format!("the rule `{rule}` denies `{}`", short(&spelling.raw)))
                .by(rule);
        }
        match hit(Behaviour::Ask) {
            Some(rule) => {
                Finding::new(Level::Bound, format!("the rule `{rule}` asks about `{}`", short(&spelling.raw)))
                    .by(rule)
            }
            None => Finding::free(),
        }
    }

    /// What speaks against the files that a part names, whatever allows the part.
    fn by_targets(&self, part: &Simple, command: &Command) -> Finding {
        let mut found = Finding::free();
        for target in targets(part, self.place) {
            found = found.and(self.by_target(&target, command));
            found = found.and(self.by_bounds(&target, command));
        }
        found = found.and(self.by_read_bound(part, command));
        for word in part.words.iter().skip(1) {
            found = found.and(self.by_operand(word, part, command));
        }
        for word in trees(part) {
            found = found.and(self.by_tree(word, part, command));
        }
        found
    }

    fn by_target(&self, target: &Target, command: &Command) -> Finding {
        let shown = &target.text;
        if target.deed == Deed::Read && target.glob {
            let linked = target.path.as_deref().map(|path| self.by_links(path, command));
            return self.by_glob(shown).and(linked.unwrap_or_else(Finding::free));
        }
        let Some(path) = &target.path else {
            return match target.deed {
                Deed::Remove => {
                    // `$X/*` may be the root.
                    let level = if shown.contains('/') { Level::Bound } else { Level::Hard };
                    let reason = format!("what `{shown}` removes can't be known before it runs");
                    Finding { writes: true, ..Finding::new(level, reason) }
                }
                Deed::Write => Finding {
                    writes: true,
                    ..Finding::new(Level::Ask, format!("what `{shown}` writes can't be known before it runs"))
                },
                Deed::Read => Finding::free(),
            };
        };
        let uses = paths_of(path, command);
        let mut found = Finding::free();
        for path in [&uses.typed, &uses.resolved] {
            if let Some(rule) = self.rule_for(Behaviour::Deny, target.deed, path) {
                let reason = format!("the rule `{rule}` denies {}", path.display());
                found = found.and(Finding::new(Level::Deny, reason).by(rule));
            }
            if let Some(rule) = self.rule_for(Behaviour::Ask, target.deed, path) {
                let reason = format!("the rule `{rule}` asks about {}", path.display());
                found = found.and(Finding::new(Level::Bound, reason).by(rule));
            }
            match target.deed {
                Deed::Read => {}
                Deed::Write | Deed::Remove => found = found.and(self.by_danger(target, path)),
            }
        }
        found
    }

    /// What no rule opens: files that decide what runs, and removals that lose too much.
    fn by_danger(&self, target: &Target, path: &Path) -> Finding {
        if self.place.scratch.iter().any(|own| path.starts_with(own)) {
            return Finding::free();
        }
        let shown = path.display();
        let found = |level, reason: String| Finding {
            path: Some(shown.to_string()),
            writes: true,
            ..Finding::new(level, reason)
        };
        if target.deed == Deed::Remove {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            // A name of nothing but wildcards may be any name.
            let whole_folder = target.glob && !name.contains(|c: char| c.is_alphanumeric() || c == '_');
            let lost = if whole_folder { path.parent().unwrap_or(path) } else { path };
            if self.is_critical(lost) || is_repository(path) || (target.glob && may_be_repository(&name)) {
                return found(Level::Bound, format!("it removes or moves {shown}"));
            }
            if !self.is_inside(path) {
                return found(Level::Hard, format!("it removes or moves {shown}, outside the workspace"));
            }
        }
        if is_protected(path, self.place) || self.rules.is_own(path) {
            return found(Level::Hard, format!("{shown} decides what runs later"));
        }
        Finding::free()
    }

    /// The root, its children, the home folder, the workspace, the current folder, and what is above them.
    fn is_critical(&self, path: &Path) -> bool {
        let kept = self.place.roots.iter().chain([&self.place.home, &self.place.cwd]);
        path.components().count() <= 2 || kept.into_iter().any(|kept| kept.starts_with(path))
    }

    /// Words of any program against the rules that deny reading: the file may be read, so nothing allows it.
    fn by_operand(&self, word: &Word, part: &Simple, command: &Command) -> Finding {
        if matches!(part.words.first().map(Word::text), Some("echo" | "printf"))
            || word.text().starts_with("--") && !word.text().contains('=')
        {
            return Finding::free();
        }
        let text = word.text();
        let after_key = text.rfind(['=', ':', '@']).map(|at| &text[at + 1..]);
        // `-fx`: the value of a letter.
        let glued = text.strip_prefix('-').filter(|_| !text.starts_with("--")).and_then(|rest| rest.get(1..));
        for text in [Some(text), after_key, glued].into_iter().flatten().filter(|text| !text.is_empty()) {
            let Some(path) = path_of_text(text, word.home, part, self.place) else { continue };
            let uses = paths_of(&path, command);
            for path in [&uses.typed, &uses.resolved] {
                if let Some(rule) = self.rule_for(Behaviour::Deny, Deed::Read, path) {
                    return Finding::new(
                        Level::Bound,
                        format!("it names {}, which the rule `{rule}` denies", path.display()),
                    )
                    .by(rule);
                }
            }
        }
        let unfolded = word.value.is_none().then(|| braces(&word.raw)).flatten();
        match unfolded {
            Some(pattern) => self.by_glob(&pattern),
            None if word.glob => {
                let path = path_of_text(text, word.home, part, self.place);
                let linked = path.map(|path| self.by_links(&path, command));
                self.by_glob(text).and(linked.unwrap_or_else(Finding::free))
            }
            None => Finding::free(),
        }
    }

    /// A folder that is carried away whole, with a file below it that may not be read.
    fn by_tree(&self, word: &Word, part: &Simple, command: &Command) -> Finding {
        let Some(path) = path_of(word, part, self.place) else { return Finding::free() };
        let uses = paths_of(&path, command);
        let hit = self.rules.of(Behaviour::Deny).find(|(_, matcher)| match matcher {
            Matcher::Read(pattern) => {
                [&uses.typed, &uses.resolved].into_iter().any(|path| pattern.may_lie_below(path, self.place))
            }
            _ => false,
        });
        match hit {
            Some((rule, _)) => Finding::new(
                Level::Bound,
                format!("below `{}` may lie what the rule `{rule}` denies", word.text()),
            )
            .by(rule),
            None => Finding::free(),
        }
    }

    /// A wildcard that stands for a link to a file which may not be read, as far as somebody has looked.
    fn by_links(&self, pattern: &Path, command: &Command) -> Finding {
        let name = pattern.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let fits = |link: &Path| {
            link.parent() == pattern.parent()
                && link.file_name().is_some_and(|own| pattern_fits(&name, &own.to_string_lossy()))
        };
        let mut found = Finding::free();
        for (link, real) in command.links.iter().filter(|(link, real)| link != real && fits(link)) {
            if let Some(rule) = self.rule_for(Behaviour::Deny, Deed::Read, real) {
                let reason =
                    format!("`{name}` may stand for {}, which the rule `{rule}` denies", link.display());
                found = found.and(Finding::new(Level::Bound, reason));
            }
        }
        found
    }

    /// A wildcard that could stand for a file which may not be read.
    fn by_glob(&self, text: &str) -> Finding {
        let hit = self
            .rules
            .of(Behaviour::Deny)
            .find(|(_, matcher)| matches!(matcher, Matcher::Read(pattern) if pattern.may_meet(text)));
        match hit {
            Some((rule, _)) => {
                Finding::new(Level::Bound, format!("`{text}` may stand for what the rule `{rule}` denies"))
                    .by(rule)
            }
            None => Finding::free(),
        }
    }
}

/// Whether a wildcard may stand for the repository's own folder, or for the folder above.
fn may_be_repository(pattern: &str) -> bool {
    let hidden = pattern.starts_with(['.', '[']);
    hidden && [".git", ".."].iter().any(|name| pattern_fits(pattern, name))
}

/// A path with where it leads, as far as somebody has looked.
pub(super) fn paths_of(path: &Path, command: &Command) -> PathUse {
    let typed: PathBuf = path.to_path_buf();
    let resolved = command.links.get(path).cloned().unwrap_or_else(|| typed.clone());
    PathUse { typed, resolved }
}

fn whole(command: &Command) -> Spelling<'_> {
    Spelling { raw: command.text.trim().to_owned(), words: vec![command.text.trim()] }
}

pub(super) fn raw(words: &[Word]) -> String {
    words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

/// The first line of a text, for a reason.
pub(super) fn short(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.char_indices().nth(120).map_or(line, |(at, _)| &line[..at])
}
