//! Tests of the places.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn env(vars: &[(&str, &str)], cwd: &Path) -> Env {
    let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Env { vars, cwd: cwd.into(), home: Some("/h".into()) }
}

#[test]
fn the_home_and_the_lower_layer() {
    let sdk = ("CLAUDE_AGENT_SDK_VERSION", "0.2.1");
    let (ours, theirs) = (("TROUPE_HOME", "/t"), ("CLAUDE_CONFIG_DIR", "/c"));
    let cases = [
        (vec![], ["/h/.troupe", "/h/.troupe/projects", "/h/.claude", "/h/.claude.json"]),
        (vec![ours], ["/t", "/t/projects", "/h/.claude", "/h/.claude.json"]),
        (vec![theirs], ["/c", "/c/projects", "/c", "/c/.claude.json"]),
        (vec![ours, theirs], ["/t", "/t/projects", "/c", "/c/.claude.json"]),
        (vec![sdk], ["/h/.troupe", "/h/.claude/projects", "/h/.claude", "/h/.claude.json"]),
        (vec![sdk, ours], ["/t", "/h/.claude/projects", "/h/.claude", "/h/.claude.json"]),
        (vec![sdk, theirs], ["/c", "/c/projects", "/c", "/c/.claude.json"]),
        (vec![sdk, ours, theirs], ["/c", "/c/projects", "/c", "/c/.claude.json"]),
    ];
    for (vars, [home, projects, user, file]) in cases {
        let places = Places::of(&env(&vars, Path::new("/")));
        assert_eq!(places.home, Path::new(home), "{vars:?}");
        assert_eq!(places.projects, Path::new(projects), "{vars:?}");
        assert_eq!(places.user.as_deref(), Some(Path::new(user)), "{vars:?}");
        assert_eq!(places.user_file.as_deref(), Some(Path::new(file)), "{vars:?}");
        let layers: Vec<&Path> =
            if home == user { vec![home.as_ref()] } else { vec![user.as_ref(), home.as_ref()] };
        assert_eq!(places.user_layers(), layers);
    }
}

#[test]
fn a_configured_folder_is_normalised() {
    let places = Places::of(&env(&[("CLAUDE_CONFIG_DIR", "/e\u{301}")], Path::new("/")));
    assert_eq!(places.home, Path::new("/\u{e9}"));
}

// proves: F169
#[test]
fn a_dot_env_of_the_project_moves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plain = Places::of(&env(&[], folder.path()));
    std::fs::write(folder.path().join(".env"), "TROUPE_HOME=./cfg\nCLAUDE_CONFIG_DIR=./cfg\n").unwrap();
    std::fs::create_dir(folder.path().join("cfg")).unwrap();
    assert_eq!(Places::of(&env(&[], folder.path())), plain);
}

#[test]
fn worktrees_share_local_settings_and_memory_but_no_transcripts() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (main, tree) = (base.join("main"), base.join("tree"));
    let entry = main.join(".git/worktrees/tree");
    std::fs::create_dir_all(&entry).unwrap();
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    for (file, text) in [
        (main.join(".git/HEAD"), "ref: refs/heads/main".into()),
        (entry.join("HEAD"), "ref: refs/heads/x".into()),
        (entry.join("commondir"), "../..".into()),
        (entry.join("gitdir"), tree.join(".git").display().to_string()),
        (tree.join(".git"), format!("gitdir: {}", entry.display())),
    ] {
        std::fs::write(file, text).unwrap();
    }
    let here = Places::of(&env(&[], &tree.join("sub")));
    assert_eq!(here.project_root(), tree);
    assert_eq!(here.local_root(), main);
    let there = Places::of(&env(&[], &main));
    assert_eq!(here.memory(), there.memory());
    assert_ne!(here.transcripts(), there.transcripts());
    let local = here.settings_file(Destination::LocalSettings).unwrap();
    assert_eq!(local.path, main.join(".troupe/settings.local.json"));
    assert_eq!(
        here.settings_file(Destination::ProjectSettings).unwrap().path,
        tree.join("sub/.troupe/settings.json")
    );
    assert_eq!(here.settings_file(Destination::Session), None);
    let sdk = Places::of(&env(&[("CLAUDE_AGENT_SDK_VERSION", "1")], &tree.join("sub")));
    assert_eq!(sdk.local_root(), tree.join("sub"));
}

// proves: F227
#[test]
fn a_home_that_cannot_be_written_has_a_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let temp = folder.path().join("tmp");
    std::fs::create_dir(&temp).unwrap();
    let vars = [("TROUPE_HOME", blocked.join("home")), ("TMPDIR", temp.clone())];
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, path)| (*name, path.to_str().unwrap())).collect();
    let env = env(&vars, folder.path());
    let (places, notice) = Places::of(&env).with_state(&env).unwrap();
    let notice = notice.unwrap().to_string();
    assert!(places.state.starts_with(&temp) && places.projects.starts_with(&places.state));
    assert_eq!(places.home, blocked.join("home"), "what can be read there still is");
    assert!(notice.contains("file/home") && !notice.contains('\n'), "{notice}");
    // Again, and it is found; open to others, and it is refused.
    assert!(Places::of(&env).with_state(&env).is_ok());
    std::fs::set_permissions(&places.state, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Places::of(&env).with_state(&env).is_err());
}

#[test]
fn a_home_is_made_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("a/home");
    let env = env(&[("TROUPE_HOME", home.to_str().unwrap())], folder.path());
    let (places, notice) = Places::of(&env).with_state(&env).unwrap();
    assert!(notice.is_none());
    assert_eq!(places.state, home);
    assert_eq!(std::fs::metadata(&home).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn without_any_home_there_is_still_a_place() {
    let env = Env { cwd: "/".into(), ..Env::default() };
    let places = Places::of(&env);
    assert!(places.home.starts_with("/tmp"));
    assert_eq!((&places.user, &places.user_file), (&None, &None));
}

#[test]
fn expansion() {
    let home = Some(Path::new("/h"));
    for (path, expected) in [("~", "/h"), ("~/a", "/h/a"), ("~u/a", "/b/~u/a"), ("x", "/b/x"), ("/x", "/x")] {
        assert_eq!(expand(path, Path::new("/b"), home), Path::new(expected));
    }
    assert_eq!(expand("~/a", Path::new("/b"), None), Path::new("/b/~/a"));
}
