//! Records ↔ lines. A record is one or more JSON objects, a line each; the last one carries
//! `"troupeSeq": n`, the others `"troupePart": n`, so that a torn record is known as such.

use std::io::Write as _;

use serde_json::{Map, Value};
use troupe_core::ports::journal::{Found, Record, Seq};

const SEQ: &str = "troupeSeq";
const PART: &str = "troupePart";
/// The largest number of a record: what every reader of JSON holds exactly. A larger one is damage, so that no line
/// leaves a journal without a next number.
pub(super) const LARGEST: Seq = 1 << 53;
/// Most bytes of a damaged line that a report quotes.
const QUOTE: usize = 120;

/// A record as bytes that lack only its number, so that what takes time is done before anybody is kept waiting.
pub(super) struct Encoded {
    lines: Vec<Vec<u8>>,
}

impl Encoded {
    /// Compact JSON, a line an object.
    pub(super) fn new(record: &Record) -> Self {
        let line = |line: &Map<String, Value>| {
            let mut bytes = Vec::with_capacity(512);
            // Maps of JSON values always serialise, and a vector takes every write.
            let _ = serde_json::to_writer(&mut bytes, line);
            let closed = bytes.pop();
            debug_assert_eq!(closed, Some(b'}'));
            bytes
        };
        Self { lines: record.0.iter().map(line).collect() }
    }

    /// The record with its number, LF after each line.
    pub(super) fn numbered(self, seq: Seq) -> Vec<u8> {
        let last = self.lines.len().saturating_sub(1);
        let mut bytes = Vec::with_capacity(self.lines.iter().map(|line| line.len() + 40).sum());
        for (n, line) in self.lines.into_iter().enumerate() {
            let comma = if line.len() > 1 { "," } else { "" };
            let key = if n == last { SEQ } else { PART };
            bytes.extend(line);
            let _ = writeln!(bytes, "{comma}\"{key}\":{seq}}}");
        }
        bytes
    }
}

/// A line that is a record of its own, or the last of one, without its LF.
pub(super) fn single(line: &[u8]) -> Option<Map<String, Value>> {
    let mut map = serde_json::from_slice::<Map<String, Value>>(line).ok()?;
    map.shift_remove(SEQ).and_then(|seq| seq.as_u64())?;
    Some(map)
}

/// The numbers that a line carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Of the last record that ends in it; 0 where none does.
    pub(super) whole: Seq,
    /// Of a record of which more should follow; 0 where there is none.
    pub(super) begun: Seq,
}

/// The numbers of a line, without its LF.
pub(super) fn numbers(line: &[u8]) -> Numbers {
    let mut decoder = Decoder::new();
    decoder.line(line);
    let begun = if decoder.open.is_empty() { 0 } else { decoder.open_seq };
    Numbers { whole: decoder.last, begun }
}

/// The number at the end of a line as [`Encoded`] writes it, without a look at the rest: a guess, but never one that is
/// missing where we wrote the line. The LF may be there or not.
pub(super) fn stamp(line: &[u8]) -> Option<Seq> {
    let line = line.strip_suffix(b"\n").unwrap_or(line).strip_suffix(b"}")?;
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits) = line.split_at(line.len() - digits);
    let key = before.strip_suffix(b"\":")?.strip_suffix(SEQ.as_bytes())?;
    key.ends_with(b"\"").then_some(())?;
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|seq| *seq <= LARGEST)
}

/// The line of ours that ends a damaged one, behind a torn piece. An object within the torn piece may end as ours do,
/// where it is a value there: behind `:`, `,` or `[`, so nothing behind these counts.
fn glued(line: &[u8]) -> Option<Map<String, Value>> {
    let starts = line.iter().enumerate().filter(|(_, byte)| **byte == b'{').map(|(at, _)| at);
    let is_value = |at: &usize| matches!(line[..*at].trim_ascii_end().last(), Some(b':' | b',' | b'['));
    let is_ours = |map: &Map<String, Value>| [SEQ, PART].iter().any(|key| map.contains_key(*key));
    starts.filter(|at| !is_value(at)).find_map(|at| serde_json::from_slice(&line[at..]).ok().filter(is_ours))
}

/// Without the spaces and NULs that it begins with: some file systems leave NULs where a write was lost.
fn unfilled(line: &[u8]) -> &[u8] {
    let filled = line.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0).count();
    &line[filled..]
}

fn quote(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(QUOTE)]).into_owned()
}

/// Reads bytes of a journal, record by record. Only LF ends a line; a torn, glued or foreign line is never
/// fatal.
#[derive(Default)]
pub(super) struct Decoder {
    open: Vec<Map<String, Value>>,
    open_seq: Seq,
    first: bool,
    found: Vec<Found>,
    records: usize,
    last: Seq,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { first: true, ..Self::default() }
    }

    /// Takes one line, without its LF.
    pub(super) fn line(&mut self, line: &[u8]) {
        let line = if std::mem::take(&mut self.first) {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if let Ok(map) = serde_json::from_slice::<Map<String, Value>>(line) {
            return self.object(map);
        }
        self.damaged(line);
    }

    /// A line that is not one object: the whole objects at its start are taken, and a record that was written behind a
    /// torn piece; the damage is told. What stands within a torn piece is somebody's text, and no line.
    fn damaged(&mut self, line: &[u8]) {
        // The lines before it belong to a record that was torn here; another one may have its number.
        self.drop_open();
        let mut rest = unfilled(line);
        let mut taken = false;
        loop {
            let mut objects = serde_json::Deserializer::from_slice(rest).into_iter::<Map<String, Value>>();
            let Some(Ok(map)) = objects.next() else { break };
            rest = unfilled(&rest[objects.byte_offset()..]);
            taken = true;
            self.object(map);
        }
        if let Some(map) = glued(rest) {
            taken = true;
            self.object(map);
        }
        let text = quote(line);
        self.found.push(if taken { Found::Repaired(text) } else { Found::Damaged(text) });
    }

    fn object(&mut self, mut map: Map<String, Value>) {
        let is_too_large =
            |number: &Value| number.is_number() && number.as_u64().is_none_or(|number| number > LARGEST);
        if [SEQ, PART].iter().any(|key| map.get(*key).is_some_and(is_too_large)) {
            self.drop_open();
            let line = serde_json::to_vec(&map).unwrap_or_default();
            return self.found.push(Found::Damaged(quote(&line)));
        }
        if let Some(seq) = map.shift_remove(PART).as_ref().and_then(Value::as_u64) {
            if seq != self.open_seq {
                self.drop_open();
            }
            self.open_seq = seq;
            self.open.push(map);
        } else if let Some(seq) = map.shift_remove(SEQ).as_ref().and_then(Value::as_u64) {
            if !self.open.is_empty() && seq != self.open_seq {
                self.drop_open();
            }
            let mut lines = std::mem::take(&mut self.open);
            lines.push(map);
            self.last = seq;
            self.records += 1;
            self.found.push(Found::Record(seq, Record(lines)));
        } else {
            self.found.push(Found::Foreign(map));
        }
    }

    /// The rest of a record never came: its lines are kept as foreign ones.
    fn drop_open(&mut self) {
        for map in std::mem::take(&mut self.open) {
            self.found.push(Found::Foreign(map));
        }
    }

    /// The number of the last record so far.
    pub(super) fn last(&self) -> Seq {
        self.last
    }

    /// How many records there were so far.
    pub(super) fn records(&self) -> usize {
        self.records
    }

    pub(super) fn finish(mut self) -> Vec<Found> {
        self.drop_open();
        self.found
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use proptest::prelude::*;

    fn map(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    fn encode(record: &Record, seq: Seq) -> Vec<u8> {
        Encoded::new(record).numbered(seq)
    }

    fn decode(text: &[u8]) -> Vec<Found> {
        let mut decoder = Decoder::new();
        for line in text.split(|byte| *byte == b'\n') {
            decoder.line(line);
        }
        decoder.finish()
    }

    #[test]
    fn a_record_of_several_lines_comes_back_whole() {
        let record = Record(vec![map(r#"{"a":1}"#), map("{}"), map(r#"{"b":{"z":1,"a":2}}"#)]);
        let bytes = encode(&record, 7);
        let expected =
            "{\"a\":1,\"troupePart\":7}\n{\"troupePart\":7}\n{\"b\":{\"z\":1,\"a\":2},\"troupeSeq\":7}\n";
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
        assert_eq!(decode(&bytes), [Found::Record(7, record)]);
    }

    #[test]
    fn a_torn_record_is_no_record() {
        let bytes = encode(&Record(vec![map(r#"{"a":1}"#), map(r#"{"b":2}"#)]), 1);
        let torn = &bytes[..bytes.len() - 5];
        let found = decode(torn);
        assert!(!found.iter().any(|found| matches!(found, Found::Record(..))), "{found:?}");
    }

    // proves: M1, E7
    #[test]
    fn lines_of_a_torn_record_are_not_taken_into_the_next_one_of_its_number() {
        let mut bytes = b"{\"torn\":1,\"troupePart\":7}\n{\"torn\":2,\"trou\n".to_vec();
        let record = Record(vec![map(r#"{"a":1}"#), map(r#"{"b":2}"#)]);
        bytes.extend(encode(&record, 7));
        assert!(decode(&bytes).contains(&Found::Record(7, record)));
    }

    // proves: E7
    #[test]
    fn of_a_torn_line_nothing_is_taken_that_stood_within_it() {
        for line in [
            r#"{"type":"user","message":{"role":"user","content":"do it"},"uu"#,
            r#"{"a":[{"task":{"id":"1"}},{"n":1,"troupeSeq":9}"#,
            r#"{"input": {"type":"user","troupeSeq":9}"#,
            r#"{"input":{"n":1,"troupePart":9}"#,
            r#""input":{"type":"user"},"troupeSeq":9}"#,
            r#"half of it {"type":"user"}"#,
        ] {
            let found = decode(line.as_bytes());
            assert!(matches!(found[..], [Found::Damaged(_)]), "{line}: {found:?}");
        }
        let found = decode(br#"{"a":1}{"type":"user","message":{"role":"user"},"uu"#);
        assert!(matches!(&found[..], [Found::Foreign(a), Found::Repaired(_)] if a["a"] == 1), "{found:?}");
    }

    // proves: E7
    #[test]
    fn of_a_damaged_line_whole_objects_at_its_start_and_a_record_at_its_end_are_taken() {
        let record = |seq, text| Found::Record(seq, Record(vec![map(text)]));
        for (line, expected) in [
            (
                "{\"a\":1} {\"b\":2}",
                vec![Found::Foreign(map(r#"{"a":1}"#)), Found::Foreign(map(r#"{"b":2}"#))],
            ),
            ("\0\0{\"a\":1,\"troupeSeq\":3}", vec![record(3, r#"{"a":1}"#)]),
            ("{\"a\":\"tw{\"b\":{\"c\":{}},\"troupeSeq\":4}", vec![record(4, r#"{"b":{"c":{}}}"#)]),
            ("{\"a\":\"tw{\"b\":1,\"troupePart\":4}\n{\"c\":1,\"troupeSeq\":4}", vec![]),
        ] {
            let mut found = decode(line.as_bytes());
            let repaired = found.iter().position(|found| matches!(found, Found::Repaired(_)));
            found.remove(repaired.unwrap_or_else(|| panic!("{line}: {found:?}")));
            if expected.is_empty() {
                let whole = Record(vec![map(r#"{"b":1}"#), map(r#"{"c":1}"#)]);
                assert_eq!(found, [Found::Record(4, whole)]);
            } else {
                assert_eq!(found, expected, "{line}");
            }
        }
    }

    // proves: E7
    #[test]
    fn a_number_that_none_of_ours_can_be_is_damage() {
        for number in ["18446744073709551615", "9007199254740993", "1e300", "-1"] {
            for key in [SEQ, PART] {
                let line = format!("{{\"a\":1,\"{key}\":{number}}}");
                let found = decode(line.as_bytes());
                assert!(matches!(found[..], [Found::Damaged(_)]), "{line}: {found:?}");
                assert_eq!(numbers(line.as_bytes()), Numbers::default());
                assert_eq!(stamp(line.as_bytes()), None);
            }
        }
    }

    proptest! {
        // proves: M1
        #[test]
        fn the_stamp_is_the_number_that_the_whole_line_carries(seq in 1..=1_u64 << 53, text in ".*") {
            let line = Record(vec![Map::from_iter([("t".to_owned(), Value::String(text))])]);
            let bytes = encode(&line, seq);
            prop_assert_eq!(stamp(&bytes), Some(seq));
            prop_assert_eq!(numbers(&bytes[..bytes.len() - 1]), Numbers { whole: seq, begun: 0 });
        }

        // proves: E7
        #[test]
        fn no_bytes_are_fatal_and_whole_lines_survive(junk in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut text = junk;
            text.push(b'\n');
            text.extend(encode(&Record(vec![map(r#"{"a":1}"#)]), 3));
            let found = decode(&text);
            let whole = Found::Record(3, Record(vec![map(r#"{"a":1}"#)]));
            prop_assert!(found.contains(&whole));
        }
    }
}
