//! The rows of the requirements, the tests that claim to prove them, and the report on both.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::tree::{Source, Tree};

/// Where the requirements stand, a table row each.
pub(crate) const DOCUMENT: &str = "docs/requirements.md";
/// The invariants (I1 and on) stand with the architecture, in rows of the same form.
const DOCUMENTS: [&str; 2] = [DOCUMENT, "docs/architecture.md"];

/// A letter and a number: `E3`; of a fault scenario: `F014`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    letter: char,
    number: u32,
}

impl Id {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let letter = text.chars().next().filter(char::is_ascii_uppercase)?;
        let digits = &text[1..];
        let plain = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        Some(Self { letter, number: digits.parse().ok().filter(|_| plain)? })
    }

    /// True for the number of a fault scenario.
    pub(crate) fn is_fault(self) -> bool {
        self.letter == 'F'
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = if self.is_fault() { 3 } else { 1 };
        write!(f, "{}{:0width$}", self.letter, self.number)
    }
}

/// One requirement.
pub(crate) struct Row {
    pub(crate) id: Id,
    pub(crate) text: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// One `// proves:` comment.
pub(crate) struct Claim {
    pub(crate) ids: Vec<Id>,
    /// The function that it stands before or in; empty when there is none.
    pub(crate) test: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// All requirements, in the order of the documents.
pub(crate) fn rows(tree: &Tree) -> Vec<Row> {
    let sources = DOCUMENTS.iter().filter_map(|path| tree.file(path));
    sources.flat_map(|source| source.lines().filter_map(|(line, text)| row(source, line, text))).collect()
}

fn row(source: &Source, line: usize, text: &str) -> Option<Row> {
    let (first, rest) = text.strip_prefix('|')?.split_once('|')?;
    let id = Id::parse(first.trim())?;
    let text = rest.trim().trim_end_matches('|').trim().to_owned();
    Some(Row { id, text, path: source.path.clone(), line })
}

/// All claims of the product's tests; here the words stand in samples.
pub(crate) fn claims(tree: &Tree) -> Vec<Claim> {
    tree.rust().filter(|source| !source.path.starts_with("xtask/")).flat_map(claims_of).collect()
}

fn claims_of(source: &Source) -> Vec<Claim> {
    let lines: Vec<&str> = source.text.lines().collect();
    let claim = |(index, line): (usize, &&str)| {
        let (before, after) = line.split_once("// proves")?;
        // Inside a string it is somebody's example, after a word or a slash somebody's prose.
        if before.contains('"') || before.trim_end().ends_with(['/', '`']) {
            return None;
        }
        let test = test_at(&lines, index).unwrap_or_default().to_owned();
        Some(Claim { ids: ids(after), test, path: source.path.clone(), line: index + 1 })
    };
    lines.iter().enumerate().filter_map(claim).collect()
}

/// The ids after the colon, up to the first word that is none.
fn ids(after: &str) -> Vec<Id> {
    let Some(list) = after.strip_prefix(':') else { return Vec::new() };
    list.split([',', ' '])
        .filter(|word| !word.is_empty())
        .map_while(|word| Id::parse(word.trim_end_matches([':', ';', '.'])))
        .collect()
}

/// The function that a comment stands before, else the one it stands in.
fn test_at<'a>(lines: &[&'a str], index: usize) -> Option<&'a str> {
    let between = |line: &str| line.is_empty() || line.starts_with("//") || line.starts_with("#[");
    let after = lines[index..].iter().find(|line| !between(line.trim()));
    after
        .and_then(|line| function(line))
        .or_else(|| lines[..index].iter().rev().find_map(|line| function(line)))
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let opens = before.split_whitespace().all(|word| word.starts_with("pub") || word == "async");
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (opens && end > 0).then(|| &after[..end])
}

/// Each requirement with its tests, then those that have none.
pub(crate) fn report(tree: &Tree) -> String {
    let mut tests: BTreeMap<Id, Vec<String>> = BTreeMap::new();
    for claim in claims(tree) {
        for id in claim.ids {
            let place = format!("{}:{} {}", claim.path, claim.line, claim.test);
            tests.entry(id).or_default().push(place);
        }
    }
    let rows = rows(tree);
    let mut report = String::new();
    let mut say = |line: std::fmt::Arguments<'_>| {
        writeln!(report, "{line}").expect("writing to a string can't fail");
    };
    for row in &rows {
        say(format_args!("{:<4} {}", row.id.to_string(), row.text));
        for place in tests.get(&row.id).into_iter().flatten() {
            say(format_args!("       {place}"));
        }
    }
    for (id, places) in tests.iter().filter(|(id, _)| id.is_fault()) {
        say(format_args!("{id}"));
        for place in places {
            say(format_args!("       {place}"));
        }
    }
    let bare: Vec<String> =
        rows.iter().filter(|row| !tests.contains_key(&row.id)).map(|row| row.id.to_string()).collect();
    say(format_args!("without a test: {}", if bare.is_empty() { "none".to_owned() } else { bare.join(" ") }));
    let faults = tests.keys().filter(|id| id.is_fault()).count();
    let proven = rows.len() - bare.len();
    say(format_args!("{proven} of {} requirements and {faults} fault scenarios have a test", rows.len()));
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_a_letter_and_a_number() {
        assert_eq!(Id::parse("E3").map(|id| id.to_string()).as_deref(), Some("E3"));
        assert_eq!(Id::parse("F14").map(|id| id.to_string()).as_deref(), Some("F014"));
        for text in ["", "E", "e3", "E3a", "E+3", "É3", "id"] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_claim_belongs_to_the_function_below_or_around_it() {
        let text = "\
// proves: E3, F014 (both)
#[tokio::test]
async fn below() {}
fn around() {
    // proves: E4
    let x = 1;
}
/// Say `// proves: E9` above a test.
fn prose() { let example = \"// proves: E8\"; }
";
        let tree = Tree::sample(&[("a.rs", text)]);
        let found: Vec<(String, String)> = claims(&tree)
            .iter()
            .map(|claim| {
                (claim.ids.iter().map(Id::to_string).collect::<Vec<_>>().join(" "), claim.test.clone())
            })
            .collect();
        assert_eq!(found, [("E3 F014".into(), "below".into()), ("E4".to_owned(), "around".to_owned())]);
    }

    #[test]
    fn the_report_lists_tests_and_names_what_has_none() {
        let tree = Tree::sample(&[
            (DOCUMENT, "| id | what |\n|---|---|\n| E1 | One loop. |\n| E2 | A stream. |\n"),
            ("docs/architecture.md", "| I1 | Every call is answered. |\n"),
            ("a.rs", "// proves: E2, F003\n#[test]\nfn streams() {}\n"),
        ]);
        let report = report(&tree);
        assert!(report.contains("E2   A stream.\n       a.rs:1 streams\n"), "{report}");
        assert!(report.contains("without a test: E1 I1\n"), "{report}");
        assert!(report.ends_with("1 of 3 requirements and 1 fault scenarios have a test\n"), "{report}");
    }
}
