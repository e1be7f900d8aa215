//! Programs that carry whole folders away, and the archives that they make.

use super::command::{Simple, Word};
use super::copy::has;
use super::readonly::is_long;
use super::target::tail;
use super::wrapper::{base_name, layers};

/// Operands of programs that carry whole folders away: what lies below is read too.
pub(super) fn trees(part: &Simple) -> Vec<&Word> {
    let texts = part.texts();
    let mut found = Vec::new();
    for layer in layers(&texts) {
        let words = &part.words[layer.start..layer.start + layer.words.len()];
        let Some((program, rest)) = words.split_first() else { continue };
        let carries = match base_name(program.text()) {
            "tar" | "bsdtar" | "gtar" => tar_makes(rest),
            "zip" => has(rest, "rR", &["recurse-paths", "recurse-patterns"]),
            "cp" | "scp" | "rsync" => has(rest, "rRa", &["recursive", "archive"]),
            _ => false,
        };
        if carries {
            found.extend(rest.iter().filter(|word| !word.text().starts_with('-')));
        }
    }
    found
}

/// Whether `tar` makes or extends an archive.
pub(super) fn tar_makes(rest: &[Word]) -> bool {
    let old = rest.first().filter(|w| !w.text().starts_with('-'));
    let is_mode = |text: &str| text.contains(['c', 'r', 'u', 'A']);
    old.is_some_and(|w| is_mode(w.text()))
        || rest.iter().any(|w| match w.text().strip_prefix("--") {
            Some(_) => is_long(w.text(), &["create", "append", "update", "concatenate", "delete"]),
            None => w.text().strip_prefix('-').is_some_and(is_mode),
        })
}

/// Whether `tar` takes files out of an archive into the folder where it runs.
pub(super) fn tar_takes_out(rest: &[Word]) -> bool {
    let old = rest.first().filter(|w| !w.text().starts_with('-'));
    let takes = old.is_some_and(|w| w.text().contains('x')) || has(rest, "x", &["extract", "get"]);
    takes && !has(rest, "CO", &["directory", "one-top-level", "to-stdout"])
}

/// The archive that `tar` makes.
pub(super) fn tar_archive(rest: &[Word]) -> Option<Word> {
    let old = rest.first().filter(|w| !w.text().starts_with('-'));
    if !tar_makes(rest) {
        return None;
    }
    if old.is_some_and(|w| w.text().contains('f')) {
        return rest.get(1).cloned();
    }
    for (at, word) in rest.iter().enumerate() {
        let text = word.text();
        if is_long(text, &["file"]) {
            return text.find('=').map(|eq| tail(word, eq + 1)).or_else(|| rest.get(at + 1).cloned());
        }
        if let Some(f) = text.strip_prefix('-').filter(|o| !o.starts_with('-')).and_then(|o| o.find('f')) {
            let value = f + 2;
            return if value < text.len() { Some(tail(word, value)) } else { rest.get(at + 1).cloned() };
        }
    }
    None
}
