//! The mounts as they came to be, against those that were meant: between the plan and the mounts, another command in
//! the same folder can put a link in the place of a folder.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Why the command must not run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Astray {
    #[error("{} can be written and should not", .0.display())]
    Writable(PathBuf),
    #[error("{} is not held", .0.display())]
    Loose(PathBuf),
    #[error("the list of mounts has a line that is not understood")]
    Unknown,
}

/// Checks a list of mounts (`/proc/self/mountinfo`): those that can be written lie below `writable`, and each of
/// `held` is one that can't. `seen` tells whether what is seen at a place can be written: a mount may lie under
/// another, or be of a person whose files nobody else may see.
pub(super) fn verify(
    list: &[u8],
    writable: &[&Path],
    held: &[PathBuf],
    seen: impl Fn(&Path) -> bool,
) -> Result<(), Astray> {
    let lines = list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mounts = lines.map(read).collect::<Option<Vec<_>>>().ok_or(Astray::Unknown)?;
    let free = |path: &Path| writable.iter().any(|root| path.starts_with(root));
    if let Some((path, _)) = mounts.iter().find(|(path, open)| *open && !free(path) && seen(path)) {
        return Err(Astray::Writable(path.clone()));
    }
    // Of several at one place, the last one lies above.
    let holds =
        |path: &PathBuf| mounts.iter().rev().find(|(at, _)| at == path).is_some_and(|(_, open)| !open);
    held.iter().find(|path| !holds(path)).map_or(Ok(()), |path| Err(Astray::Loose(path.clone())))
}

/// Whether what is seen at a place can be written, for [`verify`].
pub(super) fn can_be_written(path: &Path) -> bool {
    let flags = rustix::fs::statvfs(path).map(|found| found.f_flag);
    flags.is_ok_and(|flags| !flags.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// The place of a mount, and whether it can be written.
fn read(line: &[u8]) -> Option<(PathBuf, bool)> {
    let mut fields = line.split(|byte| *byte == b' ').skip(4);
    let path = unescape(fields.next()?)?;
    let open = fields.next()?.split(|byte| *byte == b',').any(|option| option == b"rw");
    Some((OsString::from_vec(path).into(), open))
}

/// Spaces and the like stand as three octal digits.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        if *first == b'\\' {
            let digits = std::str::from_utf8(after.get(..3)?).ok()?;
            plain.push(u8::from_str_radix(digits, 8).ok()?);
            rest = &after[3..];
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"1 0 8:1 / / ro,relatime - ext4 /dev/a rw\n\
        2 1 8:1 /ws /ws rw,relatime master:1 - ext4 /dev/a rw\n\
        3 2 8:1 /ws/a\\040b /ws/a\\040b ro,nosuid - ext4 /dev/a rw\n\
        4 1 0:5 / /tmp rw - tmpfs tmpfs rw\n";

    // proves: S7
    #[test]
    fn what_was_not_meant_is_found() {
        let (ws, tmp) = (Path::new("/ws"), Path::new("/tmp"));
        let held = [PathBuf::from("/ws/a b")];
        let verify =
            |list: &[u8], writable: &[&Path], held: &[PathBuf]| verify(list, writable, held, |_| true);
        assert_eq!(verify(LIST, &[ws, tmp], &held), Ok(()));
        assert_eq!(super::verify(LIST, &[ws], &held, |path| path != tmp), Ok(()), "it is not seen");
        assert_eq!(verify(LIST, &[ws], &held), Err(Astray::Writable(tmp.into())));
        assert_eq!(verify(LIST, &[ws, tmp], &["/ws/c".into()]), Err(Astray::Loose("/ws/c".into())));
        assert_eq!(verify(LIST, &[ws, tmp], &["/ws".into()]), Err(Astray::Loose("/ws".into())));
        let over = [LIST, b"5 3 8:1 / /ws/a\\040b rw - ext4 /dev/a rw\n"].concat();
        assert_eq!(verify(&over, &[ws, tmp], &held), Err(Astray::Loose("/ws/a b".into())));
        assert_eq!(verify(b"1 0 8:1 / /a\\9", &[ws], &[]), Err(Astray::Unknown));
    }
}
