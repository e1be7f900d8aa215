//! Tests of snapshots, with real repositories.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::super::test_world::World;
use super::*;

impl World {
    /// With an empty repository.
    fn with_repository() -> Self {
        let world = Self::new();
        world.setup(&["init", "-q", "-b", "main"]);
        world
    }

    fn put(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        self.file(Path::new("repo").join(name), bytes)
    }

    fn camera(&self, remembered: Option<PathBuf>) -> Camera {
        Camera::new(&self.git(), remembered).unwrap()
    }

    /// What a tree holds, by name: mode and content.
    fn tree(&self, tree: &str) -> BTreeMap<Vec<u8>, (String, Vec<u8>)> {
        let listed = self.setup(&["ls-tree", "-r", "-z", tree]);
        let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let read = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'\t').unwrap();
            let head = String::from_utf8(entry[..at].to_vec()).unwrap();
            let mut words = head.split(' ');
            let (mode, kind, id) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            let bytes =
                if kind == "blob" { self.setup(&["cat-file", "blob", id]) } else { id.as_bytes().to_vec() };
            (entry[at + 1..].to_vec(), (mode.to_owned(), bytes))
        };
        entries.map(read).collect()
    }

    /// All that a look must not change.
    fn outside(&self) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let index = fs::read(self.base.join("repo/.git/index")).unwrap_or_default();
        (
            index,
            self.setup(&["for-each-ref", "refs/heads", "refs/stash"]),
            self.setup(&["status", "--porcelain"]),
        )
    }
}

// proves: W3
#[test]
fn each_file_is_kept_byte_for_byte_whatever_is_configured() {
    let world = World::with_repository();
    world.setup(&["config", "core.autocrlf", "true"]);
    world.setup(&["config", "filter.lfs.clean", "false"]);
    world.put(".gitattributes", "*.txt text eol=crlf\n*.big filter=lfs\n*.id ident\n");
    world.put(".git/info/attributes", "*.dat text\n");
    world.put(".gitignore", "*.o\nkept\n");
    world.put(".git/info/exclude", "private\n");
    world.put("kept", "tracked and ignored\n");
    world.put("old.txt", "one\ntwo\n");
    world.setup(&["add", "-f", "kept", "old.txt", ".gitattributes", ".gitignore"]);
    world.setup(&["commit", "-qm", "First"]);
    let odd = std::ffi::OsString::from_vec(b"n\xffme\nwith \"quotes\"".to_vec());
    let files: Vec<(&[u8], &[u8])> = vec![
        (b"kept", b"tracked, ignored and changed\n"),
        (b"old.txt", b"mixed\r\nends\nhere\r\n"),
        (b"new.txt", b"\r\n\n\r"),
        (b"a.big", b"\0\x01\xff binary"),
        (b"a.id", b"$Id$\n"),
        (b"a.dat", b"x\r\ny\n"),
        (b"deep/er/empty", b""),
        (odd.as_bytes(), b"odd"),
    ];
    for (name, bytes) in &files {
        world.put(OsStr::from_bytes(name), bytes);
    }
    let program = world.put("run.sh", "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../nowhere", world.base.join("repo/link")).unwrap();
    for ignored in ["a.o", "private"] {
        world.put(ignored, "not kept");
    }
    let before = world.outside();
    let remembered = world.base.join("index");
    for round in 0..3 {
        let camera = world.camera((round > 0).then(|| remembered.clone()));
        let snapshot = camera.take("for a test").unwrap();
        let mut wanted: BTreeMap<Vec<u8>, (String, Vec<u8>)> = files
            .iter()
            .map(|(name, bytes)| (name.to_vec(), ("100644".to_owned(), bytes.to_vec())))
            .collect();
        wanted.insert(b"run.sh".to_vec(), ("100755".into(), b"#!/bin/sh\n".to_vec()));
        wanted.insert(b"link".to_vec(), ("120000".into(), b"../nowhere".to_vec()));
        for name in [".gitattributes", ".gitignore"] {
            let bytes = fs::read(world.base.join("repo").join(name)).unwrap();
            wanted.insert(name.into(), ("100644".into(), bytes));
        }
        assert_eq!(world.tree(&snapshot.tree), wanted, "round {round}");
        assert_eq!(snapshot.missing, Vec::<String>::new());
        assert_eq!(world.outside(), before);
        let parents = world.setup(&["rev-parse", &format!("{}^@", snapshot.commit)]);
        assert!(parents.starts_with(snapshot.head.unwrap().as_bytes()));
    }
    // What changes between two looks without a change of its length is seen.
    world.put("a.dat", "z\r\ny\n");
    let snapshot = world.camera(Some(remembered)).take("again").unwrap();
    assert_eq!(world.tree(&snapshot.tree)[&b"a.dat"[..]].1, b"z\r\ny\n");
}

// proves: W3
#[test]
fn what_is_staged_is_kept_beside_what_lies_there() {
    let world = World::with_repository();
    world.put("a", "committed");
    world.setup(&["add", "a"]);
    world.setup(&["commit", "-qm", "First"]);
    world.put("a", "staged");
    world.put("gone", "staged and removed");
    world.setup(&["add", "-A"]);
    world.put("a", "unstaged");
    fs::remove_file(world.base.join("repo/gone")).unwrap();
    let snapshot = world.camera(None).take("for a test").unwrap();
    assert_eq!(world.tree(&snapshot.tree)[&b"a"[..]].1, b"unstaged");
    assert!(!world.tree(&snapshot.tree).contains_key(&b"gone"[..]));
    let index = world.tree(&format!("{}^2", snapshot.commit));
    assert_eq!((&*index[&b"a"[..]].1, &*index[&b"gone"[..]].1), (&b"staged"[..], &b"staged and removed"[..]));
}

// proves: W3
#[test]
fn each_side_of_a_conflict_is_kept() {
    let world = World::with_repository();
    world.put("a", "base");
    world.setup(&["add", "a"]);
    world.setup(&["commit", "-qm", "First"]);
    world.setup(&["checkout", "-qb", "other"]);
    world.put("a", "theirs");
    world.setup(&["commit", "-qam", "Theirs"]);
    world.setup(&["checkout", "-q", "main"]);
    world.put("a", "ours");
    world.setup(&["commit", "-qam", "Ours"]);
    assert!(!world.try_setup(&["merge", "other"]).0);
    let snapshot = world.camera(None).take("for a test").unwrap();
    let index = world.tree(&snapshot.index);
    let side = |n: char| String::from_utf8(index[format!("a~{n}").as_bytes()].1.clone()).unwrap();
    assert_eq!([side('1'), side('2'), side('3')], ["base", "ours", "theirs"]);
    assert!(world.tree(&snapshot.tree)[&b"a"[..]].1.starts_with(b"<<<<<<<"));
}

// proves: W5
#[test]
fn a_repository_without_a_commit_and_one_in_another_are_kept_as_far_as_they_can_be() {
    let world = World::with_repository();
    world.put("a", "one");
    let snapshot = world.camera(None).take("for a test").unwrap();
    assert_eq!((snapshot.head, &*world.tree(&snapshot.tree)[&b"a"[..]].1), (None, &b"one"[..]));
    world.setup(&["init", "-q", "inner"]);
    world.put("inner/file", "in a repository without a commit");
    let snapshot = world.camera(None).take("for a test").unwrap();
    assert!(world.tree(&snapshot.tree).contains_key(&b"a"[..]));
    assert_eq!(snapshot.missing.len(), 1, "it is said: {:?}", snapshot.missing);
    let camera = world.camera(None);
    camera.name(&snapshot.commit, "refs/troupe/test/1").unwrap();
    assert!(camera.name(&snapshot.commit, "refs/troupe/test/1").is_err(), "no ref is moved");
    assert_eq!(camera.tree("refs/troupe/test/1").unwrap(), snapshot.tree);
}
