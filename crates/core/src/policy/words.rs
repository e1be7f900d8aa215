//! Splits the command of a rule into words, quotes removed: far simpler than a shell, and enough for rules.

/// The words, or none when a quote is left open.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => {
                            let next = chars.next()?;
                            if !matches!(next, '"' | '\\' | '$' | '`') {
                                word.push('\\');
                            }
                            word.push(next);
                        }
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => {
                let next = chars.next()?;
                let word = word.get_or_insert_default();
                // The star stays escaped: a wildcard reads these words.
                if next == '*' {
                    word.push('\\');
                }
                word.push(next);
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}
