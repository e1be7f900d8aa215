//! The options of a command, in whatever way they are written.

/// Letters and names that mean the same in most programs.
const SAME: &[(char, &str)] = &[
    ('r', "recursive"),
    ('R', "recursive"),
    ('f', "force"),
    ('i', "interactive"),
    ('v', "verbose"),
    ('q', "quiet"),
    ('a', "all"),
    ('d', "delete"),
    ('D', "delete"),
    ('n', "dry-run"),
    ('o', "output"),
    ('m', "message"),
    ('u', "set-upstream"),
    ('x', "exec"),
    ('e', "expression"),
    ('i', "in-place"),
    ('p', "parents"),
    ('g', "global"),
    ('X', "request"),
    ('d', "data"),
];

/// Options of `git` before its sub-command that take the next word.
const GIT_VALUES: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--super-prefix",
    "--attr-source",
];

/// The options and operands of one command.
#[derive(Clone, Debug, Default)]
pub(super) struct Options<'a> {
    /// Single letters, bundles taken apart.
    short: Vec<char>,
    /// Long names with their values, as written.
    long: Vec<&'a str>,
    /// Each option as a whole word, for programs with long options behind one dash.
    whole: Vec<&'a str>,
    /// Whether there is a `--`.
    marked: bool,
    /// The other words, program left out.
    pub(super) operands: Vec<&'a str>,
    /// Those that follow an option and may be its value, as places in `operands`.
    maybe_values: Vec<usize>,
    /// Those that are values of global options.
    global_values: Vec<usize>,
}

impl<'a> Options<'a> {
    pub(super) fn of(words: &[&'a str]) -> Self {
        let mut options = Self::default();
        let git = words.first() == Some(&"git");
        let mut after_option = false;
        let mut only_operands = false;
        let mut before = "";
        // `tar xf a` is `tar -xf a`.
        let bundled = matches!(words.first(), Some(&("tar" | "bsdtar" | "gtar")))
            && words.get(1).is_some_and(|w| !w.starts_with('-'));
        if bundled {
            options.short.extend(words[1].chars());
        }
        for word in words.iter().skip(if bundled { 2 } else { 1 }).copied() {
            if options.operands.is_empty() && word.starts_with('+') && words[0] == "cargo" {
                // The toolchain.
            } else if only_operands || !word.starts_with('-') || word == "-" {
                if after_option {
                    options.maybe_values.push(options.operands.len());
                    if git
                        && options.operands.len() == options.global_values.len()
                        && GIT_VALUES.contains(&before)
                    {
                        options.global_values.push(options.operands.len());
                    }
                }
                options.operands.push(word);
                after_option = false;
            } else if word == "--" {
                only_operands = true;
                options.marked = true;
                after_option = false;
            } else {
                options.whole.push(word);
                match word.strip_prefix("--") {
                    Some(long) => options.long.push(long),
                    None => options.short.extend(word[1..].chars()),
                }
                after_option = !word.contains('=');
            }
            before = word;
        }
        options
    }

    /// How many options there are; for comparing wholes.
    pub(super) fn count(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// Whether each option here is among those of `other`.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let whole_words = self.whole.iter().filter(|w| !w.starts_with("--"));
        let dashes = whole_words.clone().all(|w| other.whole.contains(w));
        let letters = self.short.iter().all(|letter| other.has_letter(*letter));
        (dashes || letters)
            && (other.marked || !self.marked)
            && self.long.iter().all(|name| other.has_long(name))
    }

    fn has_letter(&self, letter: char) -> bool {
        let named = |name: &str| SAME.iter().any(|(c, long)| *c == letter && abbreviates(name, long));
        self.short.contains(&letter)
            || self.long.iter().any(|name| named(name))
            || (matches!(letter, 'r' | 'R') && self.short.iter().any(|given| matches!(given, 'r' | 'R')))
    }

    fn has_long(&self, wanted: &str) -> bool {
        let name = wanted.split('=').next().unwrap_or(wanted);
        let valued = name.len() < wanted.len();
        self.long.iter().any(|given| {
            let value_fits = || super::wildcard::Wildcard::new(wanted).matches(given);
            if valued { value_fits() } else { value_fits() || abbreviates(given, name) }
        }) || (!valued && SAME.iter().any(|(c, long)| *long == name && self.short.contains(c)))
    }

    /// The operands, with and without values of options. `loose` leaves out those that only may be values.
    pub(super) fn readings(&self, loose: bool) -> Vec<Vec<&'a str>> {
        let without = |values: &[usize]| -> Vec<&'a str> {
            let kept = self.operands.iter().enumerate().filter(|(at, _)| !values.contains(at));
            kept.map(|(_, word)| *word).collect()
        };
        let mut readings = vec![self.operands.clone(), without(&self.global_values)];
        if loose {
            readings.push(without(&self.maybe_values));
        }
        readings
    }
}

/// Whether `given`, perhaps with a value, is `name` or short for it.
pub(super) fn abbreviates(given: &str, name: &str) -> bool {
    let given = given.split('=').next().unwrap_or(given);
    !given.is_empty() && name.starts_with(given)
}

/// The value that `word`, perhaps with the one behind it, gives to `option`, and how many words that takes.
pub(super) fn value_of<'a>(option: &str, word: &'a str, next: Option<&'a str>) -> Option<(&'a str, usize)> {
    let letter =
        option.strip_prefix('-').filter(|rest| rest.chars().count() == 1).and_then(|l| l.chars().next());
    let is_name = |name: &str| match (letter, option.strip_prefix("--")) {
        (Some(letter), _) => SAME.iter().any(|(c, long)| *c == letter && abbreviates(name, long)),
        (None, Some(own)) => abbreviates(name, own),
        (None, None) => false,
    };
    if let Some(long) = word.strip_prefix("--") {
        if !is_name(long) {
            return None;
        }
        return long.split_once('=').map(|(_, value)| (value, 1)).or_else(|| Some((next?, 2)));
    }
    let letter = letter.or_else(|| {
        let own = option.strip_prefix("--")?;
        SAME.iter().find(|(_, long)| *long == own).map(|(c, _)| *c)
    })?;
    let value = word.strip_prefix('-')?.split_once(letter)?.1;
    if value.is_empty() { Some((next?, 2)) } else { Some((value, 1)) }
}
