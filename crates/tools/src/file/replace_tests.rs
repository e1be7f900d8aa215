//! What a replaced file keeps, and what a failed write leaves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;

use super::*;

fn never() -> CancellationToken {
    CancellationToken::new()
}

fn write(path: &Path, bytes: &[u8]) -> Result<Metadata, WriteFault> {
    let content = fs::read(path).ok();
    let meta = fs::symlink_metadata(path).ok();
    let before = meta.as_ref().map(|meta| Before::new(meta, content.as_deref()));
    replace(path, bytes, before, &never())
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn mode_and_hard_links_stay_and_nothing_is_left_beside() {
    let dir = tempfile::tempdir().unwrap();
    let (file, other) = (dir.path().join("f"), dir.path().join("g"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o751)).unwrap();
    write(&file, b"new").unwrap();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o751);
    fs::hard_link(&file, &other).unwrap();
    write(&file, b"n").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"n");
    assert_eq!(names(dir.path()), ["f", "g"]);
}

#[test]
fn a_new_file_gets_its_folders_and_the_usual_mode() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a/b/f");
    write(&file, b"new").unwrap();
    let made = File::create(dir.path().join("a/b/usual")).unwrap().metadata().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().mode(), made.mode());
}

#[test]
fn links_are_followed_to_their_file_even_if_it_is_not_there_yet() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("sub")).unwrap();
    symlink("two", path("one")).unwrap();
    symlink("sub/file", path("two")).unwrap();
    assert_eq!(target(&path("one")).unwrap(), path("sub/file"));
    write(&target(&path("one")).unwrap(), b"x").unwrap();
    assert!(fs::symlink_metadata(path("one")).unwrap().is_symlink());
    assert_eq!(fs::read(path("one")).unwrap(), b"x");
    symlink("loop", path("loop")).unwrap();
    assert!(target(&path("loop")).unwrap_err().to_string().contains("symbolic links"));
}

// proves: X11
#[test]
fn a_write_on_another_state_than_was_looked_at_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "one").unwrap();
    let meta = fs::metadata(&file).unwrap();
    fs::write(&file, "another").unwrap();
    let before = Before::new(&meta, Some(b"one"));
    assert!(matches!(replace(&file, b"mine", Some(before), &never()), Err(WriteFault::Changed(_))));
    assert!(matches!(replace(&file, b"mine", None, &never()), Err(WriteFault::Changed(_))));
    assert_eq!(fs::read(&file).unwrap(), b"another");
    assert_eq!(names(dir.path()), ["f"]);
}

#[test]
fn a_cancelled_write_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    let cancel = never();
    cancel.cancel();
    assert!(matches!(replace(&file, b"x", None, &cancel), Err(WriteFault::Cancelled)));
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn an_error_names_path_and_cause() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "").unwrap();
    let below = dir.path().join("f/g");
    let long = dir.path().join("x".repeat(300));
    for (path, cause) in [(&below, "Not a directory"), (&long, "File name too long")] {
        let error = match target(path) {
            Ok(target) => write(&target, b"x").unwrap_err(),
            Err(fault) => fault,
        }
        .to_string();
        assert!(error.contains(cause) && error.contains(dir.path().to_str().unwrap()), "{error}");
    }
}

#[test]
fn overwriting_in_place_shortens_and_lengthens() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "some text").unwrap();
    in_place(&file, b"x", Some(b"some text")).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"x");
    in_place(&file, b"longer again", Some(b"x")).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"longer again");
}
