//! Whether a part of a shell command is allowed: it is of the read-only set, or the mode or a rule lets it pass.

use std::path::Path;
use std::sync::Arc;

use crate::access::PathUse;
use crate::policy::{Behaviour, Mode};

use super::command::{Command, Origin, RedirectKind, Simple, Word};
use super::decide::Judge;
use super::exec::{paths_of, raw, short};
use super::hazard::{hazard, is_plain_timeout};
use super::level::{Finding, Level};
use super::locate::path_of;
use super::message::is_text_where_unknown;
use super::pattern::{Grip, Spelling};
use super::readonly;
use super::rule::{Matcher, Rule};
use super::target::{Deed, Target, targets};
use super::variable::assigns_harmlessly;

impl Judge<'_> {
    /// Whether a part is allowed: of the read-only set, by the mode, or by a rule.
    pub(super) fn by_allowance(&self, part: &Simple, command: &Command) -> Finding {
        match part.origin {
            // Whoever runs the text asks, or has a rule for the very text.
            Origin::Text => return Finding::free(),
            Origin::Substitution => {
                return Finding::new(
                    Level::Ask,
                    format!("`{}` runs in a substitution", short(&raw(&part.words))),
                );
            }
            Origin::Line => {}
        }
        let redirects = self.by_redirects(part, command);
        if part.words.is_empty() {
            let harmless = assigns_harmlessly(part);
            return redirects.and(if harmless {
                Finding::free()
            } else {
                Finding::new(Level::Ask, "it sets a variable that may change what runs")
            });
        }
        let inside = |word: &Word| self.reads_inside(word, part, command);
        if readonly::needs_no_rule(part, inside) {
            return redirects;
        }
        if let Some(rule) = self.folder_rule(part, command) {
            return redirects.and(Finding::free().by(rule));
        }
        if self.edits_scratch(part, command) {
            return redirects;
        }
        if self.accepts_edit(part, command) {
            return redirects.and(Finding { writes: true, ..Finding::new(Level::Allowed, "") });
        }
        redirects.and(self.by_allow_rule(part, command))
    }

    fn by_allow_rule(&self, part: &Simple, command: &Command) -> Finding {
        let writes = targets(part, self.place).iter().any(|target| target.deed != Deed::Read);
        let ask = |reason: String| Finding { writes, ..Finding::new(Level::Ask, reason) };
        let shown = short(&raw(&part.words)).to_owned();
        let Some((grip, skipped, rule)) = self.grip(part) else {
            return ask(format!("nothing allows `{shown}`"));
        };
        let allowed = || Finding { writes, ..Finding::new(Level::Allowed, "") }.by(rule);
        if grip == Grip::Exact && skipped == 0 && part.assignments.is_empty() {
            return allowed();
        }
        if !is_text_where_unknown(&part.words[skipped..]) {
            return ask(format!("`{shown}` has words that only the shell knows"));
        }
        if !assigns_harmlessly(part) {
            return ask(format!("`{shown}` sets a variable that may change what runs"));
        }
        let named = match grip {
            Grip::Words(named) => named,
            Grip::Exact => part.words.len() - skipped,
        };
        if let Some(why) = hazard(part, skipped, named) {
            return ask(why);
        }
        let program = part.words.get(skipped).map_or("", Word::text);
        if !readonly::takes_any_name(program)
            && part.words.iter().any(|w| w.glob && w.raw.starts_with(['*', '?', '[']))
        {
            return ask(format!("a file name may be taken for an option of `{program}`"));
        }
        for target in targets(part, self.place).iter().filter(|target| target.deed != Deed::Read) {
            let found = self.by_write(target, command);
            if found.level > Level::Allowed {
                return found;
            }
        }
        allowed()
    }

    /// The best hold that a rule which allows has on a part, and how many words of plain wrappers and
    /// assignments it passes over.
    fn grip(&self, part: &Simple) -> Option<(Grip, usize, &Arc<Rule>)> {
        let mut skip = 0;
        let texts = part.texts();
        loop {
            let words = &part.words[skip..];
            let spelling = Spelling { raw: raw(words), words: texts[skip..].to_vec() };
            let dynamic = part.words.get(skip).is_none_or(|word| word.value.is_none() || word.glob);
            let best = self
                .rules
                .of(Behaviour::Allow)
                .filter_map(|(rule, matcher)| match matcher {
                    Matcher::Command(pattern) => Some((pattern.allows(&spelling)?, rule)),
                    _ => None,
                })
                .filter(|(grip, _)| *grip == Grip::Exact || !dynamic)
                .max_by_key(|(grip, _)| *grip);
            if let Some((grip, rule)) = best {
                return Some((grip, skip, rule));
            }
            skip += match &texts[skip..] {
                ["nohup", _, ..] => 1,
                words if is_plain_timeout(words) => 2,
                _ => return None,
            };
        }
    }

    /// A write that a rule for the program covers: literal, inside, not protected.
    fn by_write(&self, target: &Target, command: &Command) -> Finding {
        let ask = |reason: String| Finding { writes: true, ..Finding::new(Level::Ask, reason) };
        let Some(path) = &target.path else {
            return ask(format!("what `{}` writes can't be known", target.text));
        };
        if target.glob {
            return ask(format!("`{}` may stand for any file", target.text));
        }
        let uses = paths_of(path, command);
        if target.apart {
            return self.file(target.deed, &uses);
        }
        for path in [&uses.typed, &uses.resolved] {
            if !self.is_inside(path) && self.rule_for(Behaviour::Allow, target.deed, path).is_none() {
                return ask(format!("{} is outside the workspace", path.display()));
            }
        }
        Finding::new(Level::Allowed, "")
    }

    fn by_redirects(&self, part: &Simple, command: &Command) -> Finding {
        let mut found = Finding::free();
        for redirect in &part.redirects {
            let unknown = redirect.target.value.is_none();
            match redirect.kind {
                RedirectKind::Copy => {}
                // Only backslashes made it unknown.
                RedirectKind::Text if !redirect.target.raw.contains(['$', '`']) => {}
                RedirectKind::Text | RedirectKind::Read | RedirectKind::Write if unknown => {
                    found = found.and(Finding::new(
                        Level::Ask,
                        format!("`{}` is only known to the shell", short(&redirect.target.raw)),
                    ));
                }
                RedirectKind::Text | RedirectKind::Read | RedirectKind::Write => {}
            }
        }
        for target in targets(part, self.place).iter().filter(|target| target.apart) {
            found = found.and(match &target.path {
                Some(path) if !target.glob => self.file(target.deed, &paths_of(path, command)),
                _ => Finding::new(Level::Ask, format!("`{}` is only known to the shell", target.text)),
            });
        }
        found
    }

    fn reads_inside(&self, word: &Word, part: &Simple, command: &Command) -> bool {
        let Some(path) = path_of(word, part, self.place) else { return false };
        if word.glob {
            return self.finds_inside(&path, command);
        }
        let uses = paths_of(&path, command);
        self.file(Deed::Read, &uses).level <= Level::Allowed
    }

    /// Whether what a wildcard finds lies inside: it stands in the last name alone, its folder lies inside, and
    /// somebody has seen that no link there leads out. A line that changes something could make such a link first.
    fn finds_inside(&self, pattern: &Path, command: &Command) -> bool {
        let Some(folder) = pattern.parent() else { return false };
        let plain = !folder.to_string_lossy().contains(['*', '?', '[', '{']);
        let links = || command.links.iter().filter(|(link, _)| link.parent() == Some(folder));
        plain
            && command.looked_into.contains(folder)
            && command.is_read_only()
            && self.file(Deed::Read, &paths_of(folder, command)).level <= Level::Allowed
            && links()
                .all(|(_, end)| self.file(Deed::Read, &PathUse::new(end.clone())).level <= Level::Allowed)
    }

    /// In acceptEdits and auto: a plain change of files inside the workspace.
    fn accepts_edit(&self, part: &Simple, command: &Command) -> bool {
        matches!(self.mode, Mode::AcceptEdits) && self.is_plain_edit(part, command)
    }

    pub(super) fn is_plain_edit(&self, part: &Simple, command: &Command) -> bool {
        const EDITORS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];
        let program = part.words.first().map_or("", Word::text);
        let edits = EDITORS.contains(&program)
            && part.is_static()
            && part.assignments.is_empty()
            && hazard(part, 0, 1).is_none();
        edits && {
            let targets = targets(part, self.place);
            !targets.is_empty()
                && targets.iter().all(|target| match &target.path {
                    Some(path) if !target.glob => {
                        self.file(target.deed, &paths_of(path, command)).level <= Level::Allowed
                    }
                    _ => false,
                })
        }
    }
}
