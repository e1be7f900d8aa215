//! The demo, in the languages that it knows.

use std::os::unix::fs::symlink;

use crate::stage::{Ended, Stage, end};

#[track_caller]
fn shows(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for words in words {
        assert!(ended.out.contains(words), "no {words:?} in {}", ended.out);
    }
}

fn left(stage: &Stage) -> usize {
    std::fs::read_dir(stage.path("tmp")).unwrap().count()
}

// proves: E1
#[test]
fn agents_fix_the_bug_and_the_test_passes() {
    let stage = Stage::new();
    let ended = end(stage.troupe().arg("demo"));
    let agents = ["explore-1", "explore-2", "reports", "tokens"];
    shows(&ended, &agents);
    shows(&ended, &["A scripted run", "+++ b/", "The test passes."]);
    assert_eq!(ended.err, "");
    assert_eq!(left(&stage), 0, "the project is gone");
    assert!(!stage.path("home/.troupe").exists(), "the person's home is left alone");
}

#[test]
fn it_works_without_git_and_without_python() {
    let stage = Stage::new();
    let programs = stage.path("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["sh", "bash"] {
        let found = ["/bin", "/usr/bin"].map(|folder| std::path::Path::new(folder).join(name));
        symlink(found.iter().find(|path| path.exists()).unwrap(), programs.join(name)).unwrap();
    }
    let ended = end(stage.troupe().arg("demo").env("PATH", programs));
    shows(
        &ended,
        &["git is not there", "sh tests/run.sh", "+++ b/lib/price.sh", "all passed", "The test passes."],
    );
}

#[test]
fn the_project_can_be_kept() {
    let stage = Stage::new();
    let ended = end(stage.troupe().args(["demo", "--keep"]));
    let kept = ended.out.lines().last().unwrap().rsplit(' ').next().unwrap();
    assert!(std::path::Path::new(kept).join("README.md").is_file(), "{kept}");
    assert!(std::path::Path::new(kept).starts_with(stage.path("tmp").canonicalize().unwrap()));
}

#[test]
fn without_a_folder_for_it_the_reason_is_said() {
    let stage = Stage::new();
    let ended = end(stage.troupe().arg("demo").env("TMPDIR", stage.path("none")));
    ended.says(1, &["none", "TMPDIR"]);
}
