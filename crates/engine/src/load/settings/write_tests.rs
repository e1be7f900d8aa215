//! Tests of saving to a settings file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use troupe_core::policy::{Destination, Mode};

use super::*;

fn project(base: &Path) -> SettingsFile {
    SettingsFile { path: base.join(".troupe/settings.local.json"), within: Some(base.to_owned()) }
}

fn alone(path: PathBuf) -> SettingsFile {
    SettingsFile { path, within: None }
}

fn value(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_first_answer_makes_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = project(folder.path());
    assert!(add_rule(&file, Behaviour::Allow, "Bash(npm test)").unwrap());
    assert!(!add_rule(&file, Behaviour::Allow, "Bash(npm test)").unwrap(), "it is there already");
    assert!(add_rule(&file, Behaviour::Deny, "Read(./\"x\")").unwrap());
    assert_eq!(
        fs::read_to_string(&file.path).unwrap(),
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(npm test)\"\n    ],\n    \"deny\": [\n      \"Read(./\\\"x\\\")\"\n    ]\n  }\n}\n"
    );
    let ignored = fs::read_to_string(folder.path().join(".troupe/.gitignore")).unwrap();
    assert_eq!(ignored, "worktrees/\n*.local.*\nagent-memory-local/\n");
    // Nothing is left beside the file but what git ignores.
    for entry in fs::read_dir(folder.path().join(".troupe")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == ".gitignore" || name.contains(".local."), "{name}");
        assert!(Path::new(&name).extension().is_none_or(|end| end != "tmp"), "{name}");
    }
}

#[test]
fn a_home_gets_no_gitignore_and_a_changed_one_stays() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join(".troupe");
    add_rule(&alone(home.join("settings.json")), Behaviour::Ask, "Edit").unwrap();
    assert!(!home.join(".gitignore").exists());
    fs::write(home.join(".gitignore"), "mine").unwrap();
    add_rule(&project(folder.path()), Behaviour::Ask, "Edit").unwrap();
    assert_eq!(fs::read_to_string(home.join(".gitignore")).unwrap(), "mine");
}

#[test]
fn comments_order_and_other_keys_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = alone(folder.path().join("settings.json"));
    let before = "// mine\n{\n  \"z\": 1, // last letter first\n  \"permissions\": {\n    \"ask\": [\"Edit\"],\n    \"allow\": [\n      // why\n      \"Read\",\n    ],\n  },\n  \"a\": [1, 2]\n}\n";
    fs::write(&file.path, before).unwrap();
    fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640)).unwrap();
    add_rule(&file, Behaviour::Allow, "Bash(ls)").unwrap();
    let after = fs::read_to_string(&file.path).unwrap();
    assert_eq!(after, before.replace("\"Read\",\n", "\"Read\",\n      \"Bash(ls)\",\n"));
    assert_eq!(fs::metadata(&file.path).unwrap().mode() & 0o777, 0o640);
}

#[test]
fn each_update_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = alone(folder.path().join("settings.json"));
    let destination = Destination::UserSettings;
    let rules = Update::AddRules {
        rules: vec!["Bash(a)".into(), "Bash(b)".into(), "Bash(a)".into()],
        behaviour: Behaviour::Allow,
        destination,
    };
    assert!(save(&file, &rules).unwrap());
    assert!(!save(&file, &rules).unwrap());
    let folders = Update::AddDirectories { directories: vec!["/d".into()], destination };
    assert!(save(&file, &folders).unwrap());
    assert!(save(&file, &Update::SetMode { mode: Mode::Plan, destination }).unwrap());
    assert!(save(&file, &Update::SetMode { mode: Mode::AcceptEdits, destination }).unwrap());
    assert!(!save(&file, &Update::SetMode { mode: Mode::AcceptEdits, destination }).unwrap());
    let expected = json!({"permissions": {
        "allow": ["Bash(a)", "Bash(b)"], "additionalDirectories": ["/d"], "defaultMode": "acceptEdits",
    }});
    assert_eq!(value(&file.path), expected);
}

#[test]
fn what_is_not_understood_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let file = alone(folder.path().join("settings.json"));
    for before in [
        "{\"a\": 1",
        "[]",
        "null",
        "{\"permissions\": []}",
        "{\"permissions\": {\"allow\": \"Read\"}}",
        "{\"permissions\": {}, \"permissions\": {\"allow\": []}}",
    ] {
        fs::write(&file.path, before).unwrap();
        assert!(add_rule(&file, Behaviour::Allow, "Edit").is_err(), "{before}");
        assert_eq!(fs::read_to_string(&file.path).unwrap(), before);
    }
}

#[test]
fn links_are_followed_for_a_person_and_not_for_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    let link = folder.path().join("settings.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    add_rule(&alone(link.clone()), Behaviour::Allow, "Edit").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(value(&real), json!({"permissions": {"allow": ["Edit"]}}));

    let repo = folder.path().join("repo");
    fs::create_dir_all(repo.join(".troupe")).unwrap();
    let file = project(&repo);
    std::os::unix::fs::symlink(&real, &file.path).unwrap();
    let error = add_rule(&file, Behaviour::Allow, "Bash(x)");
    assert!(matches!(error, Err(WriteFault::Link { .. })));
    fs::remove_dir_all(repo.join(".troupe")).unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, repo.join(".troupe")).unwrap();
    assert!(matches!(add_rule(&file, Behaviour::Allow, "Bash(x)"), Err(WriteFault::Link { .. })));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing is made where the link leads");
}

// proves: S1, F165
#[test]
fn a_refused_save_makes_nothing_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (repo, outside) = (folder.path().join("repo"), folder.path().join("outside"));
    fs::create_dir(&repo).unwrap();
    let file = project(&repo);
    // A link to a folder that is not there would be followed by whoever makes the folder.
    std::os::unix::fs::symlink("../outside/new", repo.join(".troupe")).unwrap();
    for there in [false, true] {
        if there {
            fs::create_dir_all(outside.join("new")).unwrap();
        }
        assert!(matches!(add_rule(&file, Behaviour::Allow, "Bash(x)"), Err(WriteFault::Link { .. })));
        assert_eq!(outside.exists(), there);
    }
    assert_eq!(fs::read_dir(outside.join("new")).unwrap().count(), 0);
}

// proves: F225
#[test]
fn twelve_writers_lose_nothing_and_a_reader_sees_no_half() {
    const WRITERS: usize = 12;
    const UPDATES: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let file = project(folder.path());
    add_rule(&file, Behaviour::Deny, "Bash(rm *)").unwrap();
    let (start, done) = (Barrier::new(WRITERS + 1), AtomicBool::new(false));
    let reads = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            start.wait();
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) || reads == 0 {
                assert_eq!(value(&file.path)["permissions"]["deny"], json!(["Bash(rm *)"]));
                reads += 1;
            }
            reads
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (file, start) = (&file, &start);
                scope.spawn(move || {
                    start.wait();
                    for update in 0..UPDATES {
                        assert!(
                            add_rule(file, Behaviour::Allow, &format!("Bash(w{writer} u{update})")).unwrap()
                        );
                    }
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
        reader.join().unwrap()
    });
    assert!(reads > 0);
    let rules = value(&file.path)["permissions"]["allow"].as_array().unwrap().clone();
    let distinct: std::collections::BTreeSet<&str> =
        rules.iter().map(|rule| rule.as_str().unwrap()).collect();
    assert_eq!((rules.len(), distinct.len()), (WRITERS * UPDATES, WRITERS * UPDATES));
}
