//! Programs in the languages of `sed` and `awk`: whether they can run a program or write a file.

use super::readonly::is_long;

/// What an editor of files in place adds to the name of the copy that it keeps, empty for none; none when it
/// does not edit in place. Of `perl`, `ruby` and `yq` the letters are read widely.
pub(super) fn in_place<'w>(program: &str, rest: &[&'w str]) -> Option<&'w str> {
    let values = if matches!(program, "sed" | "gsed") { "efl" } else { "eE" };
    let mut found = None;
    for word in rest.iter().take_while(|word| **word != "--") {
        let ending = if is_long(word, &["in-place", "inplace"]) {
            Some(word.split_once('=').map_or("", |(_, ending)| ending))
        } else {
            let bundle = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')).unwrap_or_default();
            let end = bundle.find(|c| values.contains(c)).unwrap_or(bundle.len());
            bundle[..end].find('i').map(|at| &bundle[at + 1..])
        };
        // The last ending counts; one that leads elsewhere is never passed over.
        if ending.is_some() && !found.is_some_and(leads_elsewhere) {
            found = ending;
        }
    }
    found
}

/// Whether the copy does not lie beside the file under a longer name.
fn leads_elsewhere(ending: &str) -> bool {
    ending.contains(['/', '*'])
}

/// Why a use of `sed` asks: its script is not among the few forms known to be harmless.
pub(super) fn sed_hazard(rest: &[&str]) -> Option<String> {
    if in_place("sed", rest).is_some_and(leads_elsewhere) {
        return Some("the copy that sed keeps may replace another file".to_owned());
    }
    let unknown = || Some("the script of sed may write a file or run a program".to_owned());
    let mut scripts: Vec<&str> = Vec::new();
    let mut operands: Vec<&str> = Vec::new();
    let mut words = rest.iter().copied();
    let mut options = true;
    while let Some(word) = words.next() {
        if !options || !word.starts_with('-') || word == "-" {
            operands.push(word);
        } else if word == "--" {
            options = false;
        } else if word.starts_with("--") {
            if is_long(word, &["expression"]) {
                scripts.push(word.split_once('=').map(|(_, script)| script).or_else(|| words.next())?);
            } else if !is_long(
                word,
                &[
                    "quiet",
                    "silent",
                    "regexp-extended",
                    "in-place",
                    "null-data",
                    "separate",
                    "debug",
                    "posix",
                    "sandbox",
                    "unbuffered",
                ],
            ) {
                return unknown();
            }
        } else {
            let bundle = &word[1..];
            for (at, letter) in bundle.char_indices() {
                match letter {
                    'n' | 'E' | 'r' | 's' | 'u' | 'z' => {}
                    // What follows is the ending of the copy that is kept.
                    'i' => break,
                    'e' => {
                        let rest = &bundle[at + 1..];
                        match if rest.is_empty() { words.next() } else { Some(rest) } {
                            Some(script) => scripts.push(script),
                            None => return unknown(),
                        }
                        break;
                    }
                    _ => return unknown(),
                }
            }
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    if scripts.iter().all(|script| is_plain_sed(script)) { None } else { unknown() }
}

/// Whether each command of the script is one that only edits the stream.
fn is_plain_sed(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return true;
        }
        let Some(after) = after_address(rest) else { return false };
        let Some(command) = after.chars().next() else { return false };
        let after = &after[command.len_utf8()..];
        rest = match command {
            'p' | 'P' | 'd' | 'D' | 'q' | 'Q' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l' | '{' => {
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                if !after.is_empty() && !after.starts_with([' ', ';', '\n', '}']) && command != '{' {
                    return false;
                }
                after
            }
            's' | 'y' => {
                let Some(after) = after_substitution(after) else { return false };
                after
            }
            'a' | 'i' | 'c' => after_text(after),
            _ => return false,
        };
    }
}

/// What follows the text of `a`, `i` or `c`: it goes on as long as its lines end in a backslash.
fn after_text(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\\' => escaped = !escaped,
            '\n' if !escaped => return &text[at..],
            _ => escaped = false,
        }
    }
    ""
}

/// What follows the addresses in front of a command.
fn after_address(mut rest: &str) -> Option<&str> {
    for _ in 0..2 {
        rest = if let Some(pattern) = rest.strip_prefix('/') {
            after_delimited(pattern, '/')?.trim_start_matches(['I', 'M'])
        } else if let Some(after) = rest.strip_prefix('$') {
            after
        } else {
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~' || c == '+')
        };
        rest = rest.trim_start_matches(' ');
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start_matches(' '),
            None => break,
        }
    }
    Some(rest.trim_start_matches(['!', ' ']))
}

/// What follows `s/a/b/flags`, if the flags are harmless.
fn after_substitution(text: &str) -> Option<&str> {
    let delimiter =
        text.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '\\')?;
    let rest = after_delimited(&text[delimiter.len_utf8()..], delimiter)?;
    let rest = after_delimited(rest, delimiter)?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiImM".contains(c));
    (rest.is_empty() || rest.starts_with([';', ' ', '\n', '}'])).then_some(rest)
}

fn after_delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter {
            return text.get(at + c.len_utf8()..);
        }
    }
    None
}

/// Why a use of `awk` asks.
pub(super) fn awk_hazard(rest: &[&str]) -> Option<String> {
    let mut words = rest.iter().copied();
    let mut program = None;
    while let Some(word) = words.next() {
        match word {
            "-F" | "-v" => {
                words.next();
            }
            "--" => {
                program = words.next();
                break;
            }
            word if word.starts_with("-F") || word.starts_with("-v") => {}
            word if word.starts_with('-') => {
                return Some("an option of awk may load or run another program".into());
            }
            word => {
                program = Some(word);
                break;
            }
        }
    }
    let risky = |text: &str| {
        ["system", "getline", "|", ">", "@", "close", "fflush", "ENVIRON", "PROCINFO", "/inet"]
            .iter()
            .any(|sign| text.contains(sign))
    };
    // A comparison is fine; a `>` after print opens a file. Both look alike here, so both ask.
    program.filter(|text| risky(text)).map(|_| "the program of awk may write a file or run a program".into())
}

#[cfg(test)]
mod tests {
    use super::{awk_hazard, sed_hazard};

    #[test]
    fn scripts_of_sed() {
        for plain in ["s/a/b/g", "1,3p", "/x/d", "s|a/e|b/w|", "$!N", "2q", "/a/,/b/s/c/d/2"] {
            assert_eq!(sed_hazard(&["-n", plain, "f"]), None, "{plain}");
        }
        for risky in [
            "s/a/b/e",
            "s/a/b/w out",
            "1e id",
            "w ../x",
            "r /etc/passwd",
            "s/a/b/ge",
            "/x/w f",
            "e",
            "1!e id",
        ] {
            assert!(sed_hazard(&[risky, "f"]).is_some(), "{risky}");
        }
        assert!(sed_hazard(&["-f", "script", "f"]).is_some());
        assert!(sed_hazard(&["-e", "p", "-e", "e id", "f"]).is_some());
    }

    #[test]
    fn programs_of_awk() {
        assert_eq!(awk_hazard(&["-F", ":", "{print $1}", "f"]), None);
        for risky in ["BEGIN{system(\"id\")}", "BEGIN{\"id\"|getline}", "{print > \"x\"}"] {
            assert!(awk_hazard(&[risky]).is_some(), "{risky}");
        }
        assert!(awk_hazard(&["-f", "x.awk"]).is_some());
    }
}
