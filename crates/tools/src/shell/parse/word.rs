//! One word of a command line: what it stands for once the shell has taken the quotes away.

use std::collections::BTreeMap;

use tree_sitter::Node;
use troupe_core::policy::Word;

/// Reads the word at `start..end`, made of `nodes`. The error holds a word whose text and tree disagree.
pub(super) fn word_of(text: &str, start: usize, end: usize, nodes: &[Node<'_>]) -> Result<Word, Word> {
    let raw = text.get(start..end).unwrap_or_default();
    let mut expansions = BTreeMap::new();
    for node in nodes {
        collect_expansions(*node, start, &mut expansions, 0);
    }
    let mut reader =
        Reader { raw, expansions, value: String::new(), known: true, home: false, glob: false, agrees: true };
    reader.read();
    let word = Word {
        raw: raw.to_owned(),
        value: reader.known.then_some(reader.value),
        home: reader.home,
        glob: reader.glob,
    };
    if reader.agrees { Ok(word) } else { Err(Word { value: None, ..word }) }
}

/// The outermost expansions, as ranges in the word.
fn collect_expansions(node: Node<'_>, base: usize, found: &mut BTreeMap<usize, usize>, depth: usize) {
    const KINDS: [&str; 6] = [
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "array",
    ];
    if KINDS.contains(&node.kind()) {
        found.insert(node.start_byte().saturating_sub(base), node.end_byte().saturating_sub(base));
    } else if depth < 100 {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            collect_expansions(child, base, found, depth + 1);
        }
    }
}

struct Reader<'a> {
    raw: &'a str,
    expansions: BTreeMap<usize, usize>,
    value: String,
    known: bool,
    home: bool,
    glob: bool,
    agrees: bool,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut at = 0;
        if let Some(rest) = self.raw.strip_prefix('~') {
            if rest.is_empty() || rest.starts_with('/') {
                self.home = true;
            } else {
                self.known = false;
            }
        }
        let mut quoted = false;
        while let Some(c) = self.raw[at..].chars().next() {
            if let Some(end) = self.expansion_at(at) {
                at = end;
                continue;
            }
            at += c.len_utf8();
            match c {
                '"' => quoted = !quoted,
                '\\' => at = self.escape(at, quoted),
                '\'' if !quoted => at = self.literal(at),
                '$' if !quoted && self.raw[at..].starts_with('\'') => at = self.ansi_c(at + 1),
                '$' if !quoted && self.raw[at..].starts_with('"') => {}
                '$' if starts_expansion(&self.raw[at..]) => {
                    self.known = false;
                    self.value.push(c);
                }
                '`' => self.known = false,
                '*' | '?' if !quoted => {
                    self.glob = true;
                    self.value.push(c);
                }
                '[' if !quoted => {
                    self.glob |= self.raw[at..].contains(']');
                    self.value.push(c);
                }
                '{' if !quoted => {
                    let rest = &self.raw[at..];
                    let inside = rest.find('}').map_or("", |end| &rest[..end]);
                    if inside.contains(',') || inside.contains("..") || inside.contains('{') {
                        self.known = false;
                    }
                    self.value.push(c);
                }
                ' ' | '\t' | '\n' | ';' | '|' | '&' if !quoted && self.raw.len() > 2 => {
                    self.agrees = false;
                    self.value.push(c);
                }
                _ => self.value.push(c),
            }
        }
        self.agrees &= !quoted;
    }

    /// Passes an expansion that starts here: the home folder and numbers of the shell are known enough.
    fn expansion_at(&mut self, at: usize) -> Option<usize> {
        let end = *self.expansions.get(&at).filter(|end| **end > at)?;
        match self.raw.get(at..end)? {
            "$HOME" | "${HOME}" => {
                self.home = true;
                self.value.push('~');
            }
            number @ ("$?" | "$#" | "$$" | "$!") => self.value.push_str(number),
            _ => self.known = false,
        }
        Some(end)
    }

    fn escape(&mut self, at: usize, quoted: bool) -> usize {
        let Some(next) = self.raw[at..].chars().next() else { return at };
        if quoted && !matches!(next, '$' | '`' | '"' | '\\') {
            self.value.push('\\');
        }
        self.value.push(next);
        at + next.len_utf8()
    }

    fn literal(&mut self, at: usize) -> usize {
        let Some(len) = self.raw[at..].find('\'') else {
            self.agrees = false;
            return self.raw.len();
        };
        self.value.push_str(&self.raw[at..at + len]);
        at + len + 1
    }

    /// `$'…'` from after its first quote.
    fn ansi_c(&mut self, mut at: usize) -> usize {
        while let Some(c) = self.raw[at..].chars().next() {
            at += c.len_utf8();
            match c {
                '\'' => return at,
                '\\' => at = self.ansi_c_escape(at),
                _ => self.value.push(c),
            }
        }
        self.agrees = false;
        at
    }

    fn ansi_c_escape(&mut self, at: usize) -> usize {
        let Some(c) = self.raw[at..].chars().next() else { return at };
        let after = at + c.len_utf8();
        let (radix, most, from) = match c {
            'x' => (16, 2, after),
            'u' => (16, 4, after),
            'U' => (16, 8, after),
            '0'..='7' => (8, 3, at),
            _ => {
                let plain = match c {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'e' | 'E' => '\u{1b}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    '\\' | '\'' | '"' | '?' => c,
                    _ => {
                        self.known = false;
                        c
                    }
                };
                self.value.push(plain);
                return after;
            }
        };
        let digits: String = self.raw[from..].chars().take(most).take_while(|d| d.is_digit(radix)).collect();
        match u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32) {
            Some(decoded) => self.value.push(decoded),
            None => self.known = false,
        }
        from + digits.len()
    }
}

/// Whether what follows a `$` makes it an expansion.
fn starts_expansion(rest: &str) -> bool {
    rest.chars().next().is_some_and(|c| c.is_alphanumeric() || "_{([@*#?!$-".contains(c))
}
