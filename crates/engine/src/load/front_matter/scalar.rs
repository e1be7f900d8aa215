//! Single values: quoted texts, plain ones, comments.

use serde_json::{Number, Value};

/// A quoted text at the beginning of `text`, and where what follows it begins; none without an end.
pub(super) fn quoted(text: &str) -> Option<(String, usize)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let end = 1 + close(&text[1..], quote)?;
    Some((unquote(&text[1..end], quote), end + 1))
}

/// Where a quoted text ends, from behind its opening quote.
pub(super) fn close(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote == '"' => {
                chars.next();
            }
            '\'' if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
            }
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// What stands between quotes.
pub(super) fn unquote(text: &str, quote: char) -> String {
    if quote == '\'' {
        return text.replace("''", "'");
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    let mut high = None;
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let plain = match rest.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('e') => '\u{1b}',
            Some('0') => '\0',
            Some(c @ ('"' | '\\' | '/' | ' ')) => c,
            Some(c @ ('x' | 'u' | 'U')) => {
                let digits = match c {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let code = rest.as_str().get(..digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                let Some(code) = code else {
                    out.extend(['\\', c]);
                    continue;
                };
                rest = rest.as_str()[digits..].chars();
                // JSON writes a character beyond the first plane as two halves.
                match (high.take(), code) {
                    (_, 0xD800..=0xDBFF) => {
                        high = Some(code - 0xD800);
                        continue;
                    }
                    (Some(high), 0xDC00..=0xDFFF) => {
                        char::from_u32(0x1_0000 + (high << 10) + (code - 0xDC00)).unwrap_or('\u{fffd}')
                    }
                    _ => char::from_u32(code).unwrap_or('\u{fffd}'),
                }
            }
            // No escape of YAML's: it was meant as it stands there.
            Some(other) => {
                out.extend(['\\', other]);
                continue;
            }
            None => '\\',
        };
        out.push(plain);
    }
    out
}

/// A text without the comment at its end.
pub(super) fn uncommented(text: &str) -> &str {
    let is_comment = |(at, _): &(usize, &str)| *at == 0 || text[..*at].ends_with([' ', '\t']);
    let end = text.match_indices('#').find(is_comment).map_or(text.len(), |(at, _)| at);
    text[..end].trim_end()
}

/// What a plain text is: nothing, yes or no, a number that is written as numbers are, else text.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let whole = text.parse::<i64>().ok().map(Number::from);
    let number = whole.or_else(|| {
        let digits = text.contains('.') && !text.contains(|c: char| c.is_ascii_alphabetic());
        text.parse::<f64>().ok().filter(|_| digits).and_then(Number::from_f64)
    });
    // `007` and `1.10` are no numbers to whoever wrote them.
    match number {
        Some(number) if number.to_string() == text => Value::Number(number),
        _ => Value::String(text.to_owned()),
    }
}
