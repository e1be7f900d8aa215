//! Tests of the git status's text.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn changes_are_read_as_git_writes_them() {
    let read: Vec<String> = changes(b" M a\0?? new \n file\0").collect();
    assert_eq!(read, [" M a", "?? new \u{fffd} file"]);
    assert_eq!(changes(b"").count(), 0);
    let long = format!("?? {}", "é".repeat(300));
    let read: Vec<String> = changes(long.as_bytes()).collect();
    assert_eq!(read[0].chars().count(), CHARS + 1);
}

#[tokio::test]
async fn without_a_checkout_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let env = Env { vars: [].into(), cwd: folder.path().to_owned(), home: None };
    assert!(Gathering::start(&Places::of(&env), &env).is_none());
}

#[tokio::test]
async fn what_git_can_not_say_is_told_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(folder.path().join(".git/config"), "[core\n").unwrap();
    let env = Env { vars: [].into(), cwd: folder.path().to_owned(), home: None };
    let status = Gathering::start(&Places::of(&env), &env).unwrap().get().await.unwrap();
    let GitStatus::LeftOut(reason) = status else { panic!("{status:?}") };
    assert!(reason.contains("can't be understood"), "{reason}");
}
