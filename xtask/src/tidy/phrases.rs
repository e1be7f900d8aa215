//! Phrases that may not stand in Rust source, each with what stands there instead.
//!
//! This file holds the phrases, so it is the one file that the check does not read.

use super::finding::Finding;
use crate::tree::{Source, Tree};

const THIS_FILE: &str = "xtask/src/tidy/phrases.rs";

struct Phrase {
    text: &'static str,
    place: Place,
    instead: &'static str,
}

#[derive(PartialEq, Eq)]
enum Place {
    Anywhere,
    /// Test code, whatever clock it runs on.
    Tests,
    /// Test code on the real clock; a paused one makes waiting free and exact.
    TestsInRealTime,
}

const PHRASES: &[Phrase] = &[
    Phrase { text: "#[allow(", place: Place::Anywhere, instead: EXPECT },
    Phrase { text: "#![allow(", place: Place::Anywhere, instead: EXPECT },
    Phrase { text: "todo!(", place: Place::Anywhere, instead: WHOLE },
    Phrase { text: "unimplemented!(", place: Place::Anywhere, instead: WHOLE },
    Phrase { text: "thread::sleep", place: Place::Tests, instead: EVENT },
    Phrase { text: "time::sleep", place: Place::TestsInRealTime, instead: EVENT },
];

const EXPECT: &str = "use `#[expect(lint, reason = \"…\")]`, which fails when it is no longer needed";
const WHOLE: &str = "finish it, or leave it out";
const EVENT: &str = "wait for an event or a gate, or pause tokio's clock (`start_paused`)";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|source| source.path != THIS_FILE).flat_map(check_one).collect()
}

fn check_one(source: &Source) -> Vec<Finding> {
    let tests_from = source.tests_from().unwrap_or(usize::MAX);
    let paused = source.text.contains("start_paused") || source.text.contains("time::pause()");
    let mut findings = Vec::new();
    for (number, line) in source.lines() {
        for phrase in PHRASES.iter().filter(|phrase| line.contains(phrase.text)) {
            let forbidden = match phrase.place {
                Place::Anywhere => true,
                Place::Tests => number >= tests_from,
                Place::TestsInRealTime => number >= tests_from && !paused,
            };
            if forbidden {
                let what = format!("`{}`", phrase.text);
                findings.push(Finding::error(&source.path, number, what, phrase.instead));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::sample(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn silenced_lints_and_unfinished_code_are_found() {
        let text =
            "//! A.\n#![allow(dead_code)]\n#[allow(x)]\nfn a() { todo!() }\nfn b() { unimplemented!() }\n";
        assert_eq!(lines("a.rs", text), [2, 3, 4, 5]);
        assert_eq!(lines("a.rs", "#[expect(x, reason = \"y\")]\n"), [0; 0]);
        assert_eq!(lines("a.md", "#[allow(x)]\n"), [0; 0]);
    }

    #[test]
    fn sleeps_are_found_in_tests_alone() {
        let text =
            "fn a() { time::sleep(d) }\n#[cfg(test)]\nmod tests {\n time::sleep(d)\n thread::sleep(d)\n}\n";
        assert_eq!(lines("a.rs", text), [4, 5]);
    }

    #[test]
    fn a_paused_clock_may_sleep_but_a_thread_may_not() {
        let text = "#[tokio::test(start_paused = true)]\n time::sleep(d)\n thread::sleep(d)\n";
        assert_eq!(lines("a_tests.rs", text), [3]);
    }
}
