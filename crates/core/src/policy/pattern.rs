//! The command pattern of a `Bash(…)` rule. Rules that deny or ask match widely, in any spelling; rules
//! that allow match what was written and little else.

use super::options::{Options, value_of};
use super::wildcard::Wildcard;
use super::words;
use super::wrapper::base_name;

/// What stands in the brackets of a `Bash` rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandPattern {
    /// Without a final ` *` or `:*`.
    stem: String,
    /// Words of the stem, quotes removed; none when a quote is left open.
    words: Option<Vec<String>>,
    /// The stem as a wildcard.
    wild: Wildcard,
    /// Whether more words may follow.
    open: bool,
}

/// How a rule that allows has matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grip {
    /// The first so many words stand in the rule.
    Words(usize),
    /// The very same text stands in the rule.
    Exact,
}

/// One command in the spelling that rules are compared with.
#[derive(Clone, Debug)]
pub(super) struct Spelling<'a> {
    /// As it was written.
    pub(super) raw: String,
    /// Words without quotes.
    pub(super) words: Vec<&'a str>,
}

impl CommandPattern {
    pub(super) fn new(text: &str) -> Self {
        let text = text.trim();
        let (stem, open) = if text == "*" {
            ("", true)
        } else if let Some(stem) = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            (stem.trim_end(), true)
        } else {
            (text, false)
        };
        Self { stem: stem.to_owned(), words: words::split(stem), wild: Wildcard::new(stem), open }
    }

    /// Whether it covers every command.
    pub(super) fn is_any(&self) -> bool {
        self.open && self.stem.is_empty()
    }

    /// Whether it is this text and nothing else.
    pub(super) fn is_exactly(&self, text: &str) -> bool {
        !self.open && self.wild.is_literal() && self.wild.matches(text.trim())
    }

    /// For rules that allow: how it covers the command, if it does.
    pub(super) fn allows(&self, command: &Spelling<'_>) -> Option<Grip> {
        if self.is_any() {
            return Some(Grip::Words(0));
        }
        let given = &command.words;
        if !self.wild.is_literal() {
            let mut tried = vec![command.raw.clone(), given.join(" ")];
            if self.open {
                // A bare stem is covered too; more text needs the boundary.
                tried.truncate(2);
                let fits = tried.iter().any(|text| self.wild.matches(text) || self.longer(text));
                return fits.then_some(Grip::Words(self.literal_words()));
            }
            return tried
                .iter()
                .any(|text| self.wild.matches(text))
                .then_some(Grip::Words(self.literal_words()));
        }
        if self.is_exactly(&command.raw) {
            return Some(if self.open { Grip::Words(given.len()) } else { Grip::Exact });
        }
        let own = self.literal()?;
        let starts = given.len() >= own.len() && own.iter().zip(given).all(|(own, given)| own == given);
        match (starts, self.open) {
            (true, true) => Some(Grip::Words(own.len())),
            (true, false) if given.len() == own.len() => Some(Grip::Exact),
            _ => None,
        }
    }

    /// For rules that deny or ask: whether it covers the command in any spelling.
    pub(super) fn catches(&self, command: &Spelling<'_>, home: &str) -> bool {
        if self.is_any() {
            return true;
        }
        let mut based = command.words.clone();
        if let Some(first) = based.first_mut() {
            *first = base_name(first);
        }
        let without_marks: Vec<&str> = based.iter().copied().filter(|word| *word != "--").collect();
        let texts = [command.raw.clone(), command.words.join(" "), based.join(" "), without_marks.join(" ")];
        for text in &texts {
            let spelled = [text.clone(), text.replace(home, "~"), text.replace('~', home)];
            if spelled.iter().any(|text| self.wild.matches(text) || (self.open && self.longer(text))) {
                return true;
            }
        }
        self.catches_words(&based, home)
    }

    /// Whether the text begins with the stem, and a word ends there.
    fn longer(&self, text: &str) -> bool {
        if self.wild.is_literal() {
            let stem = self.stem.replace("\\*", "*");
            return text.strip_prefix(&stem).is_some_and(|rest| rest.starts_with([' ', '\t', '\n']));
        }
        Wildcard::new(&format!("{} *", self.stem)).matches(text)
    }

    /// Options in any order and form, operands in theirs.
    fn catches_words(&self, given: &[&str], home: &str) -> bool {
        let Some(own) = &self.words else { return false };
        let glued =
            !self.open && own.last().is_some_and(|word| word.ends_with('*') && !word.ends_with("\\*"));
        let own: Vec<&str> =
            own.iter().map(|word| if glued { word.trim_end_matches('*') } else { word }).collect();
        let (Some(program), Some(given_program)) = (own.first(), given.first()) else { return false };
        if !Wildcard::new(base_name(program)).matches(given_program) || (own.len() == 1 && glued) {
            return false;
        }
        let open = self.open || glued;
        if covers_words(&own, given, open, home) {
            return true;
        }
        let (own, given) = without_values(&own, given);
        open && own.len() < self.words.as_ref().map_or(0, Vec::len) && covers_words(&own, &given, open, home)
    }

    fn literal(&self) -> Option<Vec<String>> {
        let own = self.words.as_ref()?;
        Some(own.iter().map(|word| word.replace("\\*", "*")).collect())
    }

    /// How many words at the start hold no star.
    fn literal_words(&self) -> usize {
        let words = self.words.as_deref().unwrap_or_default();
        words.iter().take_while(|word| Wildcard::new(word).is_literal()).count()
    }
}

/// Whether the options of a rule are all there, and its operands in their order.
fn covers_words(own: &[&str], given: &[&str], open: bool, home: &str) -> bool {
    let (ours, theirs) = (Options::of(own), Options::of(given));
    if !ours.is_within(&theirs) || (!open && ours.count() != theirs.count()) {
        return false;
    }
    let wanted = ours.operands.join(" ");
    let wild = Wildcard::new(&wanted);
    let longer = Wildcard::new(&format!("{wanted} *"));
    theirs.readings(open).iter().any(|operands| {
        let text = operands.join(" ");
        let texts = [text.replace(home, "~"), text];
        texts.iter().any(|text| wild.matches(text) || (open && (wanted.is_empty() || longer.matches(text))))
    })
}

/// Both without the options of the rule that have a value, where the command has them too: `-X POST`, `-XPOST`
/// and `--request=POST` are one.
fn without_values<'a>(own: &[&'a str], given: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let (mut ours, mut theirs) = (own.to_vec(), given.to_vec());
    let mut at = 1;
    while at + 1 < ours.len() {
        let (option, value) = (ours[at], Wildcard::new(ours[at + 1]));
        let is_option = option.starts_with('-') && !ours[at + 1].starts_with('-');
        let found = (1..theirs.len()).filter(|_| is_option).find_map(|place| {
            let next = theirs.get(place + 1).copied();
            value_of(option, theirs[place], next)
                .filter(|(text, _)| value.matches(text))
                .map(|(_, len)| (place, len))
        });
        if let Some((place, len)) = found {
            theirs.drain(place..place + len);
            ours.drain(at..at + 2);
        } else {
            at += 1;
        }
    }
    (ours, theirs)
}
