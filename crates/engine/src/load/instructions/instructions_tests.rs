//! Tests of instruction files on disk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::load::env::Env;
use crate::load::places::Places;
use crate::load::settings::Sources;

struct World {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("home")).unwrap();
        fs::create_dir_all(base.join("repo/pkg")).unwrap();
        Self { _folder: folder, base }
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load_at(&self, cwd: &str, wanted: Wanted) -> Loaded {
        let home = self.base.join("home");
        let env = Env { vars: [].into(), cwd: self.base.join(cwd), home: Some(home.clone()) };
        let mut places = Places::of(&env);
        places.managed = vec![self.base.join("etc")];
        load(&places, Some(&home), wanted)
    }

    fn load(&self) -> Loaded {
        self.load_at("repo/pkg", Wanted::default())
    }

    /// Names below the base, of the files that were read.
    fn names(&self, loaded: &Loaded) -> Vec<String> {
        let relative = |path: &Path| path.strip_prefix(&self.base).unwrap_or(path).display().to_string();
        loaded.files.iter().map(|file| relative(&file.path)).collect()
    }
}

#[test]
fn the_order_is_from_the_most_general_down() {
    let world = World::new();
    let order = [
        "etc/CLAUDE.md",
        "home/.claude/CLAUDE.md",
        "home/.troupe/AGENTS.md",
        "repo/AGENTS.md",
        "repo/CLAUDE.md",
        "repo/.claude/CLAUDE.md",
        "repo/CLAUDE.local.md",
        "repo/pkg/AGENTS.md",
        "repo/pkg/.troupe/CLAUDE.md",
        "repo/pkg/CLAUDE.local.md",
    ];
    for path in order {
        world.file(path, path);
    }
    world.file("repo/other/CLAUDE.md", "not on the way");
    let loaded = world.load();
    assert_eq!(world.names(&loaded), order);
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
    let only = |sources| world.names(&world.load_at("repo/pkg", Wanted { sources, ..Wanted::default() }));
    assert_eq!(only(Sources::NONE), ["etc/CLAUDE.md"]);
    assert_eq!(only(Sources::parse("local").unwrap()), [order[0], order[6], order[9]]);
    assert_eq!(only(Sources::parse("user").unwrap()), order[..3]);
}

#[test]
fn a_file_counts_once() {
    let world = World::new();
    world.file("repo/AGENTS.md", "rules\n");
    world.file("repo/CLAUDE.md", "@AGENTS.md\n");
    world.file("repo/pkg/CLAUDE.md", "more\n\n@shared.md and @shared.md\n");
    world.file("repo/pkg/shared.md", "shared\n");
    std::os::unix::fs::symlink("../AGENTS.md", world.base.join("repo/pkg/AGENTS.md")).unwrap();
    // In the user's folder as the working folder, its files are still read once.
    world.file("home/.claude/CLAUDE.md", "mine");
    let loaded = world.load();
    assert_eq!(world.names(&loaded), ["home/.claude/CLAUDE.md", "repo/AGENTS.md", "repo/pkg/CLAUDE.md"]);
    assert_eq!(loaded.files[2].text.matches("shared\n").count(), 1, "{}", loaded.files[2].text);
    let at_home = world.load_at("home", Wanted::default());
    assert_eq!(world.names(&at_home), ["home/.claude/CLAUDE.md"]);
    let not_mine = Wanted { sources: Sources::parse("project").unwrap(), ..Wanted::default() };
    assert!(world.load_at("home", not_mine).files.is_empty());
}

#[test]
fn imports_are_put_in_where_they_stand() {
    let world = World::new();
    world.file(
        "repo/pkg/CLAUDE.md",
        "one\n@a.md\nsee @docs/b.md here\n`@c.md`\n<!-- @c.md -->\n```\n@c.md\n```\n",
    );
    world.file("repo/pkg/a.md", "text of a");
    world.file("repo/pkg/docs/b.md", "text of b, @../d.md\n");
    world.file("repo/pkg/d.md", "text of d");
    world.file("repo/pkg/c.md", "must not appear");
    let loaded = world.load();
    let text = &loaded.files[0].text;
    assert_eq!(
        text,
        "one\ntext of a\nsee @docs/b.md here\n\n[docs/b.md]\ntext of b, @../d.md\n\n[../d.md]\ntext of d\n`@c.md`\n```\n@c.md\n```\n"
    );
    assert!(loaded.notices.is_empty());
}

#[test]
fn the_fifth_import_of_a_chain_is_left_out() {
    let world = World::new();
    world.file("repo/pkg/CLAUDE.md", "@1.md");
    for n in 1..=5 {
        world.file(&format!("repo/pkg/{n}.md"), format!("level {n}\n@{}.md", n + 1));
    }
    let loaded = world.load();
    let text = &loaded.files[0].text;
    assert!(text.contains("level 4") && !text.contains("level 5"), "{text}");
    assert!(matches!(&loaded.notices[..], [Notice::TooDeep { target, .. }] if target.ends_with("5.md")));
}

#[test]
fn a_project_imports_nothing_from_outside_unasked() {
    let world = World::new();
    world.file("home/secret.md", "SECRET");
    world.file("repo/near.md", "near");
    world.file("repo/pkg/CLAUDE.md", "@~/secret.md\n@../near.md\n@link.md\n@in.md\n");
    world.file("repo/pkg/in.md", "inside");
    std::os::unix::fs::symlink(world.base.join("home/secret.md"), world.base.join("repo/pkg/link.md"))
        .unwrap();
    std::os::unix::fs::symlink(world.base.join("home/secret.md"), world.base.join("repo/pkg/AGENTS.md"))
        .unwrap();
    let loaded = world.load();
    let all: String = loaded.files.iter().map(|file| file.text.as_str()).collect();
    assert!(all.contains("inside") && !all.contains("SECRET") && !all.contains("near\n"), "{all}");
    let outside = |notice: &&Notice| matches!(notice, Notice::Outside { .. });
    assert_eq!(loaded.notices.iter().filter(outside).count(), 4);
    let allowed = Wanted { imports_from_outside: true, ..Wanted::default() };
    let loaded = world.load_at("repo/pkg", allowed);
    assert!(loaded.files.iter().any(|file| file.text.contains("SECRET")) && loaded.notices.is_empty());
    // The user's own file may, also into a project.
    world.file("home/.claude/CLAUDE.md", "@../secret.md");
    assert!(world.load().files[0].text.contains("SECRET"));
}

#[test]
fn what_is_missing_is_told_only_when_it_must_be_a_file() {
    let world = World::new();
    world.file("repo/pkg/CLAUDE.md", "@gone.md, ask @someone about @types/node and @./x\n");
    let loaded = world.load();
    assert_eq!(loaded.files[0].text, "@gone.md, ask @someone about @types/node and @./x\n");
    assert_eq!(loaded.notices.len(), 2, "{:?}", loaded.notices);
}

#[test]
fn large_and_unreadable_files_are_told() {
    let world = World::new();
    world.file("repo/AGENTS.md", b"bad \xff bytes");
    fs::create_dir_all(world.base.join("repo/CLAUDE.md")).unwrap();
    world.file("repo/pkg/AGENTS.md", "é".repeat(FILE_CAP));
    let loaded = world.load();
    assert_eq!(world.names(&loaded), ["repo/pkg/AGENTS.md"]);
    assert_eq!(loaded.files[0].text.len(), FILE_CAP);
    let [bytes, folder, cut] = &loaded.notices[..] else { panic!("{:?}", loaded.notices) };
    assert!(bytes.to_string().contains("AGENTS.md was left out: it is not UTF-8"));
    assert!(folder.to_string().contains("not a regular file"));
    assert!(cut.to_string().contains("has 80000 bytes; only the first 40000 were read"));
}

#[test]
fn all_files_together_have_a_cap() {
    let world = World::new();
    world.file("home/.claude/AGENTS.md", "a".repeat(FILE_CAP));
    world.file("home/.claude/CLAUDE.md", "b".repeat(FILE_CAP));
    world.file("repo/AGENTS.md", "c".repeat(FILE_CAP));
    world.file("repo/pkg/AGENTS.md", "d");
    let loaded = world.load();
    let total: usize = loaded.files.iter().map(|file| file.text.len()).sum();
    assert_eq!(total, troupe_core::prompt::INSTRUCTIONS_CAP);
    assert!(matches!(loaded.notices[..], [Notice::Cut { .. }, Notice::Full { .. }]), "{:?}", loaded.notices);
}

// proves: F207
#[test]
fn reading_again_gives_what_is_there_now() {
    let world = World::new();
    world.file("repo/pkg/AGENTS.md", "always answer with token ZEBRA");
    assert!(world.load().files[0].text.contains("ZEBRA"));
    assert_eq!(world.load(), world.load());
    world.file("repo/pkg/AGENTS.md", "always answer with token LYNX");
    assert!(world.load().files[0].text.contains("LYNX"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // Any graph of imports ends, and no file's text stands twice.
    #[test]
    fn imports_never_loop(edges in prop::collection::vec(prop::collection::vec(0..6_usize, 0..5), 6)) {
        let world = World::new();
        for (from, targets) in edges.iter().enumerate() {
            let imports: Vec<String> = targets.iter().map(|to| format!("@{to}.md")).collect();
            world.file(&format!("repo/pkg/{from}.md"), format!("<{from}>\n{}\n", imports.join("\n")));
        }
        world.file("repo/pkg/CLAUDE.md", "@0.md\n@CLAUDE.md\n");
        let loaded = world.load();
        prop_assert_eq!(loaded.files.len(), 1);
        for n in 0..6 {
            let mark = format!("<{n}>");
            prop_assert!(loaded.files[0].text.matches(&mark).count() <= 1);
        }
        prop_assert!(loaded.files[0].text.starts_with("<0>"));
    }
}
