//! A mailbox whose file is not what its reader left: nothing that was acknowledged since is passed over.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::tests::{message, next, place, states};
use super::*;
use crate::team::reader::Reader;

/// How many messages are there, and how many of them were read.
const THERE: usize = 20;
const READ: usize = 15;

fn append(path: &Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn removed(path: &Path) {
    fs::remove_file(path).unwrap();
}

fn emptied(path: &Path) {
    fs::write(path, "").unwrap();
}

fn first_line_again(path: &Path) {
    let text = fs::read(path).unwrap();
    append(path, text.split_inclusive(|byte| *byte == b'\n').next().unwrap());
}

fn all_lines_again(path: &Path) {
    append(path, &fs::read(path).unwrap());
}

fn damaged_line_with_a_low_number(path: &Path) {
    append(path, b"\0\0\0\"x\",\"troupeSeq\":3}\n");
}

/// Does this to a mailbox of which a part was read, and sends `more` messages. Whether its reader lives meanwhile or
/// comes back: it gets them all, in order, and is told.
async fn check(harm: fn(&Path), lives: bool, more: usize) {
    let home = tempfile::tempdir().unwrap();
    let open = || place(home.path()).mail(false);
    for n in 0..THERE {
        open().send(&message(&format!("a-{n:02}"), "x")).await.unwrap();
    }
    let mut reader = Reader::open(open(), "ann").await.unwrap();
    for _ in 0..READ {
        let waiting = next(&mut reader).await;
        reader.done(waiting.position).await.unwrap();
    }
    harm(&open().file("ann"));
    let is_there = fs::metadata(open().file("ann")).is_ok_and(|file| file.len() > 0);
    for n in 0..more {
        open().send(&message(&format!("b-{n:02}"), "x")).await.unwrap();
    }
    if !lives {
        drop(reader);
        reader = Reader::open(open(), "ann").await.unwrap();
    }
    // What comes a second time is dropped by its id, as everywhere.
    let mut fresh: Vec<String> = Vec::new();
    let last = format!("b-{:02}", more - 1);
    while fresh.last() != Some(&last) {
        let waiting = next(&mut reader).await;
        reader.done(waiting.position).await.unwrap();
        let id = waiting.message.id;
        if (0..READ).all(|n| id != format!("a-{n:02}")) && !fresh.contains(&id) {
            fresh.push(id);
        }
    }
    let unread = (READ..THERE).map(|n| format!("a-{n:02}")).filter(|_| lives || is_there);
    let expected: Vec<_> = unread.chain((0..more).map(|n| format!("b-{n:02}"))).collect();
    assert_eq!(fresh, expected);
    assert_ne!(reader.damaged(), [""; 0], "it is told");
    drop(reader);
    assert_eq!(open().unread("ann", 0).await.unwrap(), Unread::default(), "what was marked stays so");
    assert_eq!(states(&open()).await.last().unwrap(), &(last, State::Processed));
}

// proves: M1, F046
#[tokio::test]
async fn mail_whose_numbers_fall_below_what_was_read_comes_all_the_same() {
    for harm in [removed, emptied, first_line_again, all_lines_again, damaged_line_with_a_low_number] {
        for lives in [true, false] {
            for more in [3, READ, THERE, 40] {
                check(harm, lives, more).await;
            }
        }
    }
}

// proves: M1, F046
#[tokio::test]
async fn a_number_beyond_all_closes_no_mailbox() {
    let home = tempfile::tempdir().unwrap();
    let open = || place(home.path()).mail(false);
    open().send(&message("a-1", "one")).await.unwrap();
    append(&open().file("ann"), b"{\"troupeSeq\":18446744073709551615}\n");
    open().send(&message("a-2", "two")).await.unwrap();
    let mut reader = Reader::open(open(), "ann").await.unwrap();
    for id in ["a-1", "a-2"] {
        let waiting = next(&mut reader).await;
        assert_eq!(waiting.message.id, id);
        reader.done(waiting.position).await.unwrap();
    }
    assert_eq!(reader.damaged().len(), 1);
    // Whoever wrote a position that no reader can have had closes it no more than that.
    drop(reader);
    let position = open().file("ann").with_file_name("ann.position.json");
    fs::write(position, r#"{"read":18446744073709551615,"taken":18446744073709551615}"#).unwrap();
    let mut reader = Reader::open(open(), "ann").await.unwrap();
    let waiting = next(&mut reader).await;
    assert_eq!(waiting.message.id, "a-1");
    reader.done(waiting.position).await.unwrap();
    open().mark("ann", u64::MAX).await.unwrap();
}
