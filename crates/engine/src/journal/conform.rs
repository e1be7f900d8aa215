//! What every journal must hold; run against each implementation.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record};

use super::{FileJournal, Locking, MemoryJournal};

fn record(n: u64) -> Record {
    let line = |value: serde_json::Value| value.as_object().unwrap().clone();
    Record(vec![line(json!({"n": n, "text": "é\n\u{2028}"})), line(json!({"z": 1, "a": n}))])
}

fn key(name: &str) -> Key {
    Key::new(format!("projects/p/{name}")).unwrap()
}

async fn suite(journal: Arc<dyn Journal>) {
    let a = key("a");
    assert_eq!(journal.read(&a, 0).await.unwrap(), [], "a journal that doesn't exist is empty");
    for n in 1..=3 {
        assert_eq!(journal.append(&a, None, record(n)).await.unwrap(), n);
    }
    let all: Vec<Found> = (1..=3).map(|n| Found::Record(n, record(n))).collect();
    assert_eq!(journal.read(&a, 0).await.unwrap(), all);
    assert_eq!(journal.read(&a, 2).await.unwrap(), all[2..]);
    assert_eq!(journal.read(&a, 3).await.unwrap(), []);

    let stale = journal.append(&a, Some(2), record(9)).await;
    assert!(matches!(stale, Err(JournalError::Conflict { expected: 2, actual: 3, .. })), "{stale:?}");
    assert_eq!(journal.append(&a, Some(3), record(4)).await.unwrap(), 4);
    assert_eq!(journal.append(&key("b"), Some(0), record(1)).await.unwrap(), 1, "keys are apart");

    // Of many who claim the same position, one wins.
    let c = key("c");
    let claims = (0..8).map(|n| {
        let (journal, c) = (Arc::clone(&journal), c.clone());
        async move { journal.append(&c, Some(0), record(n)).await.is_ok() }
    });
    let won = futures_util::future::join_all(claims).await.into_iter().filter(|won| *won).count();
    assert_eq!(won, 1);
}

// proves: M1
#[tokio::test]
async fn memory() {
    suite(Arc::new(MemoryJournal::default())).await;
}

// proves: M1
#[tokio::test]
async fn leased_files() {
    let folder = tempfile::tempdir().unwrap();
    suite(Arc::new(FileJournal::new(folder.path().into(), Locking::Leased))).await;
}

// proves: M1
#[tokio::test]
async fn shared_files() {
    let folder = tempfile::tempdir().unwrap();
    suite(Arc::new(FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_secs(5))))).await;
}

// proves: M1
#[tokio::test]
async fn two_writers_of_one_file_number_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let open = || FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_secs(5)));
    let (one, two) = (open(), open());
    let a = key("a");
    for n in 0..10 {
        let journal = if n % 2 == 0 { &one } else { &two };
        assert_eq!(journal.append(&a, None, record(n)).await.unwrap(), n + 1);
    }
}

// proves: M1, E7
#[tokio::test]
async fn what_others_append_and_what_is_torn_moves_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let open = || FileJournal::new(folder.path().into(), Locking::Leased);
    let a = key("a");
    let journal = open();
    journal.append(&a, None, record(1)).await.unwrap();
    let path = journal.path(&a);
    let mut text = std::fs::read(&path).unwrap();
    text.extend(b"{\"type\":\"tag\",\"tag\":\"x\"}\n{\"n\":2,\"troupeP");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(open().append(&a, Some(1), record(2)).await.unwrap(), 2);
    let found = journal.read(&a, 0).await.unwrap();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(matches!(&found[1], Found::Foreign(map) if map["tag"] == "x"));
    assert!(matches!(&found[2], Found::Damaged(_)));
    assert_eq!(found[3], Found::Record(2, record(2)), "the next record begins a line of its own");
}

// proves: E7
#[tokio::test]
async fn the_ends_of_a_file_are_whole_lines_of_ours_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::new(folder.path().into(), Locking::Leased);
    let a = key("a");
    let one = |n| Record(record(n).0.into_iter().take(1).collect());
    assert_eq!(journal.ends(&a).await.unwrap(), None, "there is no file");
    let ends = async |journal: &FileJournal| {
        let ends = journal.ends(&key("a")).await.unwrap()?;
        let text = |line: &serde_json::Map<String, serde_json::Value>| line["n"].to_string();
        Some((text(&ends.first), text(&ends.last)))
    };
    let whole = |first: &str, last: &str| Some((first.to_owned(), last.to_owned()));
    journal.append(&a, None, one(1)).await.unwrap();
    assert_eq!(ends(&journal).await, whole("1", "1"));
    journal.append(&a, None, one(2)).await.unwrap();
    assert_eq!(ends(&journal).await, whole("1", "2"));
    // Lines longer than what is read at first, and of about its length.
    for length in (16_300..16_400).chain([70_000, 1_000_000]) {
        let Record(mut lines) = one(3);
        lines[0].insert("x".into(), "é".repeat(length / 2).into());
        journal.append(&a, None, Record(lines)).await.unwrap();
        assert_eq!(ends(&journal).await, whole("1", "3"), "{length}");
    }
    let path = journal.path(&a);
    let text = std::fs::read(&path).unwrap();
    for tail in ["{\"n\":4}\n", "{\"n\":4,\"troupeS", "\n"] {
        std::fs::write(&path, [&text[..], tail.as_bytes()].concat()).unwrap();
        assert_eq!(ends(&journal).await, None, "{tail}");
    }
    let b = key("b");
    journal.append(&b, None, record(1)).await.unwrap();
    assert_eq!(journal.ends(&b).await.unwrap(), None, "the first record is of two lines");
}

// proves: M1
#[tokio::test]
async fn a_lock_that_is_held_ends_the_wait_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_millis(20)));
    let a = key("a");
    journal.append(&a, None, record(1)).await.unwrap();
    let holder = std::fs::File::open(journal.path(&a)).unwrap();
    holder.lock().unwrap();
    let busy = journal.append(&a, None, record(2)).await;
    assert!(matches!(busy, Err(JournalError::Busy { waited_ms: 20, .. })), "{busy:?}");
}

// proves: X2
#[tokio::test]
async fn a_pipe_in_the_place_of_a_journal_is_an_error_and_holds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::new(folder.path().into(), Locking::Leased);
    let a = key("a");
    std::fs::create_dir_all(journal.path(&a).parent().unwrap()).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, journal.path(&a), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(journal.read(&a, 0).await, Err(JournalError::Io { .. })));
    assert!(matches!(journal.append(&a, None, record(1)).await, Err(JournalError::Io { .. })));
}
