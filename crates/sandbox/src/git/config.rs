//! A configuration file of git's, as far as it names paths.

/// One setting, as git reads it: quotes, escapes and comments are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// In lower case, without what follows a dot or a quote.
    pub(super) section: String,
    /// In lower case.
    pub(super) key: String,
    pub(super) value: String,
}

/// All settings of a file in their order. What git would refuse is read as far as it goes: too much does no harm.
pub(super) fn settings(text: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return found };
        match first {
            '#' | ';' => rest = rest.split_once('\n').map_or("", |(_, next)| next),
            '[' => (section, rest) = head(&rest[1..]),
            _ => {
                let end = rest.find(['=', '\n', '#', ';']).unwrap_or(rest.len());
                let key = rest[..end].trim().to_lowercase();
                // Without a value it names nothing.
                let Some(after) = rest[end..].strip_prefix('=') else {
                    rest = rest[end..].split_once('\n').map_or("", |(_, next)| next);
                    continue;
                };
                let (value, next) = value(after);
                rest = next;
                found.push(Setting { section: section.clone(), key, value });
            }
        }
    }
}

/// The name of a section, and what follows its head.
fn head(text: &str) -> (String, &str) {
    let (mut quoted, mut escaped) = (false, false);
    let end = text.char_indices().find(|(_, letter)| {
        let ends = *letter == '\n' || *letter == ']' && !quoted;
        quoted ^= *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    let (inside, rest) = end.map_or((text, ""), |(at, _)| (&text[..at], &text[at + 1..]));
    let name = inside.trim_start().split(['.', '"', ' ', '\t']).next().unwrap_or_default();
    (name.to_lowercase(), rest)
}

/// A value, and the lines below it.
fn value(text: &str) -> (String, &str) {
    let mut value = String::new();
    // Blanks at the end count in quotes alone.
    let mut kept = 0;
    let mut quoted = false;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\n' => return (cut(value, kept), &text[at + 1..]),
            '#' | ';' if !quoted => {
                let rest = text[at..].split_once('\n').map_or("", |(_, next)| next);
                return (cut(value, kept), rest);
            }
            '"' => quoted = !quoted,
            '\\' => {
                match letters.next().map(|(_, letter)| letter) {
                    // The value goes on in the next line.
                    Some('\n') | None => {}
                    Some('\r') if text[at..].starts_with("\\\r\n") => {
                        letters.next();
                    }
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some(other) => value.push(other),
                }
                kept = value.len();
            }
            blank if blank.is_whitespace() && !quoted => {
                if !value.is_empty() {
                    value.push(blank);
                }
            }
            other => {
                value.push(other);
                kept = value.len();
            }
        }
        if quoted {
            kept = value.len();
        }
    }
    (cut(value, kept), "")
}

fn cut(mut value: String, kept: usize) -> String {
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: S7
    #[test]
    fn values_are_read_as_git_reads_them() {
        for (text, value) in [
            ("myhooks", "myhooks"),
            (" ./a b \t# c", "./a b"),
            ("myhooks;c", "myhooks"),
            ("\"a # b\" ; c", "a # b"),
            ("\"a \"b", "a b"),
            ("\"a \"", "a "),
            ("a\\\n  b", "a  b"),
            ("a\\\\b\\\"c", "a\\b\"c"),
            ("a\r", "a"),
            ("", ""),
        ] {
            let read = settings(&format!("# c\n[Core]\n\tother\n\thooksPath = {text}\n[x]y=z\n"));
            let read: Vec<_> =
                read.iter().map(|one| [one.section.as_str(), one.key.as_str(), one.value.as_str()]).collect();
            assert_eq!(read, [["core", "hookspath", value], ["x", "y", "z"]], "{text:?}");
        }
    }

    // proves: S7
    #[test]
    fn heads_of_sections() {
        for (head, section) in [
            ("[include]", "include"),
            ("[includeIf \"gitdir:~/a]\\\"b/\"]", "includeif"),
            ("[includeIf.x]", "includeif"),
            ("\u{feff}[ include ]", "include"),
        ] {
            let read = settings(&format!("{head} path = a"));
            assert_eq!(read.len(), 1, "{head}");
            assert_eq!((read[0].section.as_str(), read[0].value.as_str()), (section, "a"), "{head}");
        }
    }
}
