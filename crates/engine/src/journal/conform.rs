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

/// What many processes that share a store rely on. `open` opens it once more, as another process would.
async fn shared_suite(open: impl Fn() -> Arc<dyn Journal>) {
    many_writers_lose_nothing(&open).await;
    a_change_is_decided_once(&open).await;
    followers_get_what_is_new(&open).await;
    trimming_loses_nothing_that_was_not_read(&open).await;
    trimming_loses_nothing_that_is_written_meanwhile(&open).await;
}

async fn many_writers_lose_nothing(open: &impl Fn() -> Arc<dyn Journal>) {
    let many = key("many");
    let writers = (0..8_u64).map(|writer| {
        let (journal, many) = (open(), many.clone());
        async move {
            for n in 0..25 {
                journal.append(&many, None, record(writer * 100 + n)).await.unwrap();
            }
        }
    });
    let mut tasks = tokio::task::JoinSet::new();
    for writer in writers {
        tasks.spawn(writer);
    }
    tasks.join_all().await;
    let found = open().read(&many, 0).await.unwrap();
    let mut next = [0; 8];
    for (n, found) in found.iter().enumerate() {
        let Found::Record(seq, Record(lines)) = found else { panic!("{found:?}") };
        assert_eq!(*seq, n as u64 + 1, "numbers have no gap");
        let said = lines[0]["n"].as_u64().unwrap();
        let (writer, said) = (usize::try_from(said / 100).unwrap(), said % 100);
        assert_eq!(said, next[writer], "the order of a writer is kept");
        next[writer] += 1;
    }
    assert_eq!(next, [25; 8]);
}

async fn a_change_is_decided_once(open: &impl Fn() -> Arc<dyn Journal>) {
    let claimed = key("claimed");
    for position in 0..5 {
        let claims = (0..6).map(|n| {
            let (journal, claimed) = (open(), claimed.clone());
            async move { journal.append(&claimed, Some(position), record(n)).await }
        });
        let claims = futures_util::future::join_all(claims).await;
        assert_eq!(claims.iter().filter(|claim| claim.is_ok()).count(), 1, "{claims:?}");
        for claim in claims.into_iter().filter_map(Result::err) {
            assert!(
                matches!(claim, JournalError::Conflict { expected, actual, .. } if expected == position && actual == position + 1),
                "{claim:?}"
            );
        }
    }
}

async fn followers_get_what_is_new(open: &impl Fn() -> Arc<dyn Journal>) {
    let followed = key("followed");
    let (writer, reader) = (open(), open());
    let (mut at, mut seen) = (0, Vec::new());
    for n in 1..=30 {
        writer.append(&followed, None, record(n)).await.unwrap();
        if n % 4 == 0 {
            for found in reader.page(&followed, at, 3).await.unwrap() {
                let Found::Record(seq, _) = found else { panic!("{found:?}") };
                at = seq;
                seen.push(seq);
            }
        }
    }
    for found in open().read(&followed, at).await.unwrap() {
        let Found::Record(seq, _) = found else { panic!("{found:?}") };
        seen.push(seq);
    }
    assert_eq!(seen, (1..=30).collect::<Vec<_>>());
    assert_eq!(reader.page(&followed, 30, 3).await.unwrap(), []);
    assert_eq!(reader.page(&followed, 12, 2).await.unwrap(), [13, 14].map(|n| Found::Record(n, record(n))));
}

async fn trimming_loses_nothing_that_was_not_read(open: &impl Fn() -> Arc<dyn Journal>) {
    let trimmed = key("trimmed");
    assert!(!open().trim(&trimmed, 0).await.unwrap(), "a journal that doesn't exist is empty");
    let large = |n: u64| {
        let Record(mut lines) = record(n);
        lines[0].insert("x".into(), "x".repeat(10_000).into());
        Record(lines)
    };
    let (reader, writer, late) = (open(), open(), open());
    for n in 1..=600 {
        writer.append(&trimmed, None, large(n)).await.unwrap();
    }
    assert_eq!(late.page(&trimmed, 580, 1).await.unwrap(), [Found::Record(581, large(581))]);
    for upto in [0, 1, 580] {
        reader.trim(&trimmed, upto).await.unwrap();
        let rest: Vec<Found> = (upto + 1..=600).map(|n| Found::Record(n, large(n))).collect();
        for journal in [&reader, &writer, &late, &open()] {
            assert_eq!(journal.read(&trimmed, upto).await.unwrap(), rest, "{upto}");
        }
    }
    assert_eq!(late.page(&trimmed, 581, 1).await.unwrap(), [Found::Record(582, large(582))]);
    assert_eq!(writer.append(&trimmed, Some(600), record(601)).await.unwrap(), 601, "numbers go on");
    reader.trim(&trimmed, 601).await.unwrap();
    assert_eq!(open().append(&trimmed, Some(601), record(602)).await.unwrap(), 602);
}

async fn trimming_loses_nothing_that_is_written_meanwhile(open: &impl Fn() -> Arc<dyn Journal>) {
    let busy = key("busy");
    let text = "x".repeat(20_000);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4_u64 {
        let (journal, busy, text) = (open(), busy.clone(), text.clone());
        writers.spawn(async move {
            for n in 0..100 {
                let Record(mut lines) = record(writer * 100 + n);
                lines[0].insert("x".into(), text.clone().into());
                journal.append(&busy, None, Record(lines)).await.unwrap();
            }
        });
    }
    let (reader, mut at) = (open(), 0);
    while at < 400 {
        for found in reader.page(&busy, at, 50).await.unwrap() {
            if let Found::Record(seq, _) = found {
                assert_eq!(seq, at + 1);
                at = seq;
            }
        }
        reader.trim(&busy, at).await.unwrap();
        tokio::task::yield_now().await;
    }
    writers.join_all().await;
    assert_eq!(reader.read(&busy, 400).await.unwrap(), []);
}

// proves: M1
#[tokio::test]
async fn memory() {
    let journal = Arc::new(MemoryJournal::default());
    suite(journal.clone()).await;
    shared_suite(move || journal.clone()).await;
}

// proves: M1
#[tokio::test]
async fn leased_files() {
    let folder = tempfile::tempdir().unwrap();
    suite(Arc::new(FileJournal::new(folder.path().into(), Locking::Leased))).await;
}

// proves: M1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shared_files() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_secs(5))));
    suite(open()).await;
    shared_suite(|| open()).await;
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

// proves: M1
#[tokio::test]
async fn a_line_that_is_still_being_written_is_no_record_yet_and_one_whose_writer_died_becomes_one() {
    let folder = tempfile::tempdir().unwrap();
    let open = || FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_secs(5)));
    let a = key("a");
    let journal = open();
    journal.append(&a, None, record(1)).await.unwrap();
    let path = journal.path(&a);
    let whole = std::fs::read(&path).unwrap();
    journal.append(&a, None, record(2)).await.unwrap();
    let both = std::fs::read(&path).unwrap();
    // A writer of a second record is killed at each byte of it.
    for end in whole.len() + 1..both.len() {
        std::fs::write(&path, &both[..end]).unwrap();
        assert_eq!(journal.read(&a, 1).await.unwrap(), parts(&both[whole.len()..end]), "{end}");
        let next = open().append(&a, None, record(3)).await.unwrap();
        let found = journal.read(&a, 1).await.unwrap();
        let records: Vec<_> = found.iter().filter(|found| matches!(found, Found::Record(..))).collect();
        let kept = Found::Record(2, record(2));
        let (last, before) = records.split_last().unwrap();
        assert_eq!(**last, Found::Record(next, record(3)), "{end}");
        // Nobody was told of the second record: it is there whole, or not at all.
        assert!(before.is_empty() || (before == [&kept] && end == both.len() - 1), "{end}: {found:?}");
    }
    std::fs::write(&path, &both).unwrap();
    assert_eq!(journal.read(&a, 1).await.unwrap(), [Found::Record(2, record(2))]);
}

// proves: K1, E7
#[tokio::test]
async fn a_record_whose_writer_died_before_its_line_end_stops_nobody_who_expects() {
    let folder = tempfile::tempdir().unwrap();
    let open = || FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_secs(5)));
    let a = key("a");
    let journal = open();
    journal.append(&a, None, record(1)).await.unwrap();
    journal.append(&a, None, record(2)).await.unwrap();
    let path = journal.path(&a);
    let both = std::fs::read(&path).unwrap();
    std::fs::write(&path, &both[..both.len() - 1]).unwrap();
    // Whoever decided on what could be read is told of the other record, and finds it then.
    let refused = open().append(&a, Some(1), record(3)).await;
    assert!(matches!(refused, Err(JournalError::Conflict { actual: 2, .. })), "{refused:?}");
    assert_eq!(journal.read(&a, 1).await.unwrap(), [Found::Record(2, record(2))]);
    assert_eq!(open().append(&a, Some(2), record(3)).await.unwrap(), 3);
    assert_eq!(journal.read(&a, 2).await.unwrap(), [Found::Record(3, record(3))]);
}

/// What a reader finds of a record that is being written: its lines that are whole, as lines of nobody.
fn parts(written: &[u8]) -> Vec<Found> {
    let lines = written.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let mut maps: Vec<serde_json::Map<String, serde_json::Value>> =
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    for map in &mut maps {
        map.shift_remove("troupePart");
    }
    maps.into_iter().map(Found::Foreign).collect()
}

// proves: M1
#[tokio::test]
async fn a_copy_that_was_never_put_into_place_harms_nobody_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_secs(5)));
    let a = key("a");
    let large = |n: u64| {
        Record(vec![
            record(n).0[0].clone(),
            serde_json::Map::from_iter([("x".into(), "x".repeat(100_000).into())]),
        ])
    };
    for n in 1..=40 {
        journal.append(&a, None, large(n)).await.unwrap();
    }
    let path = journal.path(&a);
    let left = path.with_file_name("a.jsonl.0123.part");
    std::fs::write(&left, "half of it").unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    assert!(!journal.trim(&a, 12).await.unwrap(), "less would go than stays");
    assert!(journal.trim(&a, 38).await.unwrap());
    assert!(std::fs::metadata(&path).unwrap().len() < before / 2);
    assert!(!left.exists());
    let names: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["a.jsonl"]);
    let found = journal.read(&a, 0).await.unwrap();
    assert!(
        matches!(found[0], Found::Record(29..=33, _)),
        "about a megabyte is kept for people: {:?}",
        found.len()
    );
}

// proves: M1
#[tokio::test]
async fn a_writer_that_waits_while_the_file_is_replaced_writes_into_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::new(folder.path().into(), Locking::Shared(Duration::from_secs(5)));
    let a = key("a");
    journal.append(&a, None, record(1)).await.unwrap();
    let path = journal.path(&a);
    let old = std::fs::File::open(&path).unwrap();
    old.lock().unwrap();
    let write = journal.append(&a, None, record(2));
    let replace = async {
        // The writer has opened the old file by the time that this runs.
        tokio::task::yield_now().await;
        std::fs::copy(&path, path.with_extension("new")).unwrap();
        std::fs::rename(path.with_extension("new"), &path).unwrap();
        drop(old);
    };
    let (written, ()) = tokio::join!(write, replace);
    assert_eq!(written.unwrap(), 2);
    assert_eq!(journal.read(&a, 1).await.unwrap(), [Found::Record(2, record(2))]);
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
