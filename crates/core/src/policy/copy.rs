//! Where a copy or a move lands when its destination turns out to be a folder. Whether it is one can't be
//! told from the words, so both readings are judged.

use super::command::Word;
use super::readonly::is_long;

/// The names below the destination under which each source may land. `into` are the folders that options
/// name; `files` are the operands.
pub(super) fn landings(name: &str, rest: &[Word], files: &[&Word], into: &[Word]) -> Vec<Word> {
    if !matches!(name, "cp" | "mv" | "ln" | "install" | "rsync" | "scp") {
        return Vec::new();
    }
    let whole = copies_folders(name, rest);
    let here = Word::plain(".");
    let (last, sources) = match files {
        // `ln x` makes a link of that name in the current folder.
        [only] if name == "ln" && into.is_empty() => (Some(&here), vec![*only]),
        [before @ .., last] => (Some(*last), if into.is_empty() { before.to_vec() } else { files.to_vec() }),
        [] => (None, Vec::new()),
    };
    let mut found = Vec::new();
    // More than one such option is an error, or a misreading: then nothing is known.
    let unsure = whole || into.len() > 1;
    for folder in into.first().into_iter().chain(last) {
        found.extend(sources.iter().filter_map(|source| below(folder, source, unsure)));
        if whole {
            found.push(Word { glob: true, ..folder.clone() });
        }
    }
    found
}

/// Whether whole folders are copied, into folders that may be there already and hold links.
fn copies_folders(name: &str, rest: &[Word]) -> bool {
    matches!(name, "cp" | "scp") && has(rest, "rRa", &["recursive", "archive", "parents"])
}

/// Whether an option is among the letters or the long names.
pub(super) fn has(rest: &[Word], letters: &str, names: &[&str]) -> bool {
    rest.iter().any(|word| match word.text().strip_prefix('-') {
        Some(long) if long.starts_with('-') => is_long(word.text(), names),
        Some(bundle) => bundle.contains(|c| letters.contains(c)),
        None => false,
    })
}

fn below(folder: &Word, source: &Word, unsure: bool) -> Option<Word> {
    let source_text = source.value.as_deref()?.trim_end_matches('/');
    let base = source_text.rsplit('/').next().unwrap_or_default();
    if matches!(base, "" | "." | ".." | "~") {
        return None;
    }
    let join = |text: &str| format!("{}/{base}", text.trim_end_matches('/'));
    let glob = unsure || folder.glob || source.glob;
    Some(Word { raw: join(&folder.raw), value: folder.value.as_deref().map(join), home: folder.home, glob })
}
