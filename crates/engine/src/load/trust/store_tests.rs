//! Tests of the store.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::load::env::Env;
use crate::load::places::Places;

struct World {
    _folder: tempfile::TempDir,
    base: PathBuf,
    places: Places,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let env = Env { vars: [].into(), cwd: base.clone(), home: Some(base.clone()) };
        Self { _folder: folder, places: Places::of(&env), base }
    }

    fn store(&self) -> TrustStore {
        TrustStore::at(&self.base.join("home"))
    }

    fn item(&self, kind: TrustKind, value: &str) -> TrustItem {
        TrustItem::new(kind, &self.base.join("file"), &self.places, "name", value, value.as_bytes())
    }
}

// proves: X13
#[test]
fn what_changed_waits_and_what_is_unchanged_does_not() {
    let world = World::new();
    let (store, here) = (world.store(), world.base.as_path());
    let items = [world.item(TrustKind::Settings, "a"), world.item(TrustKind::Git, "b")];
    assert_eq!(store.seen(here).unwrap(), Seen::NOTHING);
    store.trust(here, &items).unwrap();
    let seen = store.seen(here).unwrap();
    assert!(items.iter().all(|item| seen.covers(item)));
    assert!(!seen.covers(&world.item(TrustKind::Settings, "a2")), "another value");
    assert!(!seen.covers(&world.item(TrustKind::Git, "a")), "another kind");
    assert_eq!(store.seen(Path::new("/elsewhere")).unwrap(), Seen::NOTHING, "another project");
    let mode = fs::metadata(here.join("home/trust.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    store.revoke(here).unwrap();
    assert_eq!(store.seen(here).unwrap(), Seen::NOTHING);
}

// proves: X13
#[test]
fn a_damaged_store_trusts_nothing_and_is_kept_aside() {
    let world = World::new();
    let (store, here) = (world.store(), world.base.as_path());
    let file = here.join("home/trust.json");
    fs::create_dir_all(here.join("home")).unwrap();
    for damage in ["{\"version\": 1, \"proj", "[]", "{}", "{\"version\":1,\"projects\":{\"/x\":[]}}", "\u{0}"]
    {
        fs::write(&file, damage).unwrap();
        match store.seen(here) {
            Err(StoreFault::Damaged { aside: Some(aside), .. }) => {
                assert_eq!(fs::read_to_string(aside).unwrap(), damage);
            }
            other => panic!("{damage}: {other:?}"),
        }
        assert_eq!(store.seen(here).unwrap(), Seen::NOTHING, "told once");
        // A word that is given while it is damaged is kept all the same.
        fs::write(&file, damage).unwrap();
        let item = world.item(TrustKind::Git, "b");
        store.trust(here, std::slice::from_ref(&item)).unwrap();
        assert!(store.seen(here).unwrap().covers(&item));
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_store_of_a_later_version_is_left_as_it_is() {
    let world = World::new();
    let (store, here) = (world.store(), world.base.as_path());
    let file = here.join("home/trust.json");
    fs::create_dir_all(here.join("home")).unwrap();
    fs::write(&file, "{\"version\": 2}").unwrap();
    assert!(matches!(store.seen(here), Err(StoreFault::TooNew { found: 2, .. })));
    assert!(matches!(
        store.trust(here, &[world.item(TrustKind::Git, "b")]),
        Err(StoreFault::TooNew { found: 2, .. })
    ));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"version\": 2}");
}

// proves: X13
#[test]
fn worktrees_of_a_repository_share_what_was_trusted() {
    let world = World::new();
    let (main, tree) = (world.base.join("main"), world.base.join("tree"));
    let entry = main.join(".git/worktrees/tree");
    fs::create_dir_all(&entry).unwrap();
    fs::create_dir_all(&tree).unwrap();
    for (file, text) in [
        (main.join(".git/HEAD"), "ref: refs/heads/main\n".to_owned()),
        (entry.join("HEAD"), "ref: refs/heads/x\n".to_owned()),
        (entry.join("commondir"), "../..\n".to_owned()),
        (entry.join("gitdir"), format!("{}\n", tree.join(".git").display())),
        (tree.join(".git"), format!("gitdir: {}\n", entry.display())),
    ] {
        fs::write(file, text).unwrap();
    }
    let item = |root: &Path, name: &str| {
        let places = Places::of(&Env { vars: [].into(), cwd: root.to_owned(), home: None });
        let item = TrustItem::new(TrustKind::Settings, &root.join(name), &places, "n", "v", b"v");
        (places.trusted_root().to_owned(), item)
    };
    let (root, of_main) = item(&main, "settings.json");
    world.store().trust(&root, &[of_main]).unwrap();
    let (root, of_tree) = item(&tree, "settings.json");
    let seen = world.store().seen(&root).unwrap();
    assert!(seen.covers(&of_tree));
    assert!(!seen.covers(&item(&tree, "other.json").1), "another file is another thing");
}

// proves: X13
#[test]
fn writers_at_the_same_time_lose_nothing() {
    let world = World::new();
    let items: Vec<TrustItem> =
        (0..40).map(|n| world.item(TrustKind::Settings, &format!("value {n}"))).collect();
    std::thread::scope(|scope| {
        for mine in items.chunks(5) {
            let store = world.store();
            let here = world.base.as_path();
            scope.spawn(move || {
                for item in mine {
                    store.trust(here, std::slice::from_ref(item)).unwrap();
                }
            });
        }
    });
    let seen = world.store().seen(&world.base).unwrap();
    assert!(items.iter().all(|item| seen.covers(item)));
}

// proves: X13
#[test]
fn a_lock_that_can_not_be_had_is_named_itself() {
    let world = World::new();
    let lock = world.base.join("home/trust.lock");
    fs::create_dir_all(&lock).unwrap();
    let fault = world.store().trust(&world.base, &[world.item(TrustKind::Git, "b")]).unwrap_err();
    assert!(matches!(&fault, StoreFault::Io { path, .. } if *path == lock), "{fault}");
}
