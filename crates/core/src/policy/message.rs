//! Words that only the shell knows and that are nothing but text all the same: what `echo` prints, what a commit
//! says. Neither an option nor a file can come of them.

use super::command::Word;

/// Whether each word of a command that is not known is such a text. The first of the words is the program.
pub(super) fn is_text_where_unknown(words: &[Word]) -> bool {
    let unknown = words.iter().enumerate().filter(|(_, word)| word.value.is_none());
    unknown.into_iter().all(|(at, word)| is_quoted(&word.raw) && is_printed(words, at))
}

/// Whether the word at `at` is printed or kept, whatever it says.
fn is_printed(words: &[Word], at: usize) -> bool {
    let text = |at: usize| words.get(at).and_then(|word| word.value.as_deref()).unwrap_or_default();
    match text(0) {
        "echo" => at > 0,
        // The form is known, so that it is no option.
        "printf" => at > 1 && !text(1).starts_with('-') && !text(1).is_empty(),
        "git" => {
            matches!(text(1), "commit" | "tag" | "stash" | "notes" | "merge")
                && matches!(text(at - 1), "-m" | "-am" | "--message")
        }
        _ => false,
    }
}

/// Whether a word is one string in double quotes, with variables and nothing that runs in it.
fn is_quoted(raw: &str) -> bool {
    let Some(inner) = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) else { return false };
    if inner.contains(['`', '"', '\\']) {
        return false;
    }
    inner.split('$').skip(1).all(|rest| {
        let braced = rest.strip_prefix('{');
        let name = braced.unwrap_or(rest);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        end > 0 && (braced.is_none() && !name[end..].starts_with('[') || name[end..].starts_with('}'))
    })
}

#[cfg(test)]
mod tests {
    use super::is_quoted;

    // proves: S7
    #[test]
    fn a_text_with_variables_runs_nothing() {
        for text in ["\"$x\"", "\"a ${x} b$y.\"", "\"plain\""] {
            assert!(is_quoted(text), "{text}");
        }
        for other in [
            "$x",
            "\"$(id)\"",
            "\"`id`\"",
            "\"${x:-$(id)}\"",
            "\"${x@P}\"",
            "\"$@\"",
            "\"$x\"$y",
            "\"${a[i]}\"",
            "'$x'",
        ] {
            assert!(!is_quoted(other), "{other}");
        }
    }
}
