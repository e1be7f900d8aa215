//! Followers are woken by what changes, soon, and by nothing else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::time::Instant;

use super::*;

fn append(file: &Path) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
    file.write_all(b"x\n").unwrap();
}

/// How long a follower waits for a change.
async fn wait(follow: &mut Follow) -> Duration {
    let start = Instant::now();
    follow.changed().await;
    start.elapsed()
}

// proves: M2
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_change_wakes_the_followers_of_its_file_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let watch = Watch::default();
    let (mut first, mut second, mut other) = (watch.follow(&one), watch.follow(&one), watch.follow(&two));
    for change in
        [append, append, |file: &Path| std::fs::rename(file, file.with_extension("old")).unwrap(), append]
    {
        change(&one);
        if one.exists() {
            assert!(wait(&mut first).await < LOOK / 2 && wait(&mut second).await < LOOK / 2);
        }
    }
    std::fs::rename(folder.path().join("one.old"), &one).unwrap();
    assert!(wait(&mut first).await < LOOK / 2, "what is moved into place is a change");
    assert!(wait(&mut other).await >= LOOK);
}

// proves: M2
#[tokio::test(start_paused = true)]
async fn a_nudge_is_heard_at_once_and_without_any_a_look_comes_once_a_second() {
    let file = Path::new("/nowhere/at/all");
    let watch = Watch::default();
    let mut follow = watch.follow(file);
    watch.nudge(file);
    let start = tokio::time::Instant::now();
    follow.changed().await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    follow.changed().await;
    assert_eq!(start.elapsed(), LOOK);
}

// proves: M2
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_is_made_anew_is_watched_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("team");
    let file = folder.join("one");
    std::fs::create_dir(&folder).unwrap();
    let watch = Watch::default();
    let mut follow = watch.follow(&file);
    std::fs::remove_dir_all(&folder).unwrap();
    follow.changed().await;
    std::fs::create_dir(&folder).unwrap();
    wait(&mut follow).await;
    append(&file);
    assert!(wait(&mut follow).await < LOOK / 2);
}
