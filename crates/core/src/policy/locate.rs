//! Which path a word of a command names.

use std::path::{Component, Path, PathBuf};

use crate::ports::tool::Place;

use super::command::{Folder, Simple, Word};
use super::path::{absolute, clean};

/// The path that `text` names in the folder of a command; none when the folder is unknown.
pub(super) fn path_of_text(text: &str, home: bool, part: &Simple, place: &Place) -> Option<PathBuf> {
    Some(clean(&spelled(text, home, part, place)?))
}

/// The path of a word, in the folder of its command; none when that is unknown.
pub(super) fn path_of(word: &Word, part: &Simple, place: &Place) -> Option<PathBuf> {
    path_of_text(word.value.as_deref()?, word.home, part, place)
}

/// The same with each `..` as it was written: behind a link it leads elsewhere than the text says.
fn spelled(text: &str, home: bool, part: &Simple, place: &Place) -> Option<PathBuf> {
    if home && text.starts_with('~') {
        let below = text.trim_start_matches('~').trim_start_matches('/');
        return Some(place.home.join(below));
    }
    if text.starts_with('/') {
        return own_process(text, part, place).or_else(|| Some(PathBuf::from(text)));
    }
    Some(folder_of(part, place)?.join(text))
}

/// `/proc/self/cwd/x` is `x`, and `/proc/self/root/x` is `/x`; of other processes it is taken to be the same.
fn own_process(text: &str, part: &Simple, place: &Place) -> Option<PathBuf> {
    let path = clean(Path::new(text));
    let mut rest = path.strip_prefix("/proc").ok()?.components();
    rest.next()?;
    let mut which = rest.next()?;
    if which.as_os_str() == "task" {
        rest.next()?;
        which = rest.next()?;
    }
    match which.as_os_str().to_str()? {
        "root" => {
            let inner = Path::new("/").join(rest.as_path());
            // `/proc/self/root/proc/self/root/…`
            Some(own_process(&inner.to_string_lossy(), part, place).unwrap_or(inner))
        }
        "cwd" => Some(folder_of(part, place)?.join(rest.as_path())),
        _ => None,
    }
}

/// The folder that a command runs in, if it is known.
pub(super) fn folder_of(part: &Simple, place: &Place) -> Option<PathBuf> {
    let Folder::Known(steps) = &part.folder else { return None };
    Some(steps.iter().fold(place.cwd.clone(), |folder, step| absolute(step, &folder, &place.home)))
}

/// The paths in a command that leave a folder by `..`, as they were written.
pub(super) fn climbing(part: &Simple, place: &Place) -> Vec<PathBuf> {
    let targets = part.redirects.iter().map(|redirect| &redirect.target);
    let words =
        part.words.iter().skip(1).chain(targets).filter_map(|word| Some((word.value.as_deref()?, word.home)));
    let with_values = words.flat_map(|(text, home)| {
        let value = text.split_once('=').map(|(_, value)| (value, false));
        [Some((text, home)), value].into_iter().flatten()
    });
    let paths = with_values.filter_map(|(text, home)| spelled(text, home, part, place));
    paths.filter(|path| climbs(path)).collect()
}

/// Whether a `..` follows a name.
fn climbs(path: &Path) -> bool {
    let mut named = false;
    path.components().any(|part| {
        let climbs = named && part == Component::ParentDir;
        named |= matches!(part, Component::Normal(_));
        climbs
    })
}
