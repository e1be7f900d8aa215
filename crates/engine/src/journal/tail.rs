//! A journal's file from its end: where it stands, at the cost of what is new and not of what is there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use troupe_core::ports::journal::Seq;

use super::lines::{Numbers, numbers, stamp};

/// How much is read at once; more where a line is longer.
const CHUNK: u64 = 1 << 12;
/// How near to a place it pays to halve no more.
const NEAR: u32 = 1 << 15;
/// The most bytes that the end of a line of ours takes: the key, the number, and what is around them.
const STAMP: usize = 40;

/// The last numbers of a file of `size` bytes: `whole` of a record, `begun` of one that was torn after it.
pub(super) fn last(file: &File, size: u64) -> io::Result<Numbers> {
    let mut lines = Backwards::new(file, size);
    let mut begun = 0;
    while let Some(line) = lines.previous()? {
        let found = numbers(line.bytes());
        begun = begun.max(found.begun);
        if found.whole > 0 {
            return Ok(Numbers { whole: found.whole, begun });
        }
    }
    Ok(Numbers { whole: 0, begun })
}

/// The same, without a look at the whole of a long line: a damaged one that ends as ours do counts too.
pub(super) fn last_or_more(file: &File, size: u64) -> io::Result<Numbers> {
    let mut end = [0; STAMP];
    let length = usize::try_from(size).unwrap_or(STAMP).min(STAMP);
    let end = &mut end[..length];
    file.read_exact_at(end, size - length as u64)?;
    match stamp(end).filter(|_| end.ends_with(b"\n")) {
        Some(whole) => Ok(Numbers { whole, begun: 0 }),
        None => last(file, size),
    }
}

/// The offset behind the last record whose number is `upto` at most; 0 where there is none.
pub(super) fn behind(file: &File, size: u64, upto: Seq) -> io::Result<u64> {
    let mut lines = Backwards::new(file, later(file, size, upto)?);
    while let Some(line) = lines.previous()? {
        // Most lines are passed over by their last bytes; the one that counts is read whole.
        if stamp(line.bytes()).is_some_and(|seq| seq > upto) || !line.is_whole {
            continue;
        }
        let found = numbers(line.bytes());
        if found.whole > 0 && found.whole <= upto {
            return Ok(line.end);
        }
    }
    Ok(0)
}

/// The end of a line behind the place where `upto` ends, not far behind it: halves what it looks at, as numbers ascend.
/// A damaged line can mislead it to a place before that one, from where more is read than is new, but nothing is missed.
fn later(file: &File, size: u64, upto: Seq) -> io::Result<u64> {
    let (mut low, mut high) = (0, size);
    let mut bytes = vec![0; 2 * NEAR as usize];
    while high - low > 4 * u64::from(NEAR) {
        let middle = low + (high - low) / 2;
        file.read_exact_at(&mut bytes, middle)?;
        let mut end = middle;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        // The first line may be the rest of one; its end counts all the same.
        let stamped = lines.find_map(|line| {
            end += line.len() as u64;
            stamp(line)
        });
        match stamped {
            Some(seq) if seq > upto => high = end,
            Some(_) => low = middle,
            None => break,
        }
    }
    Ok(high)
}

/// Whether the line that ends at `offset` is the end of record `seq`. It holds for any file whose content is that, so
/// nothing need be known of whether it was replaced meanwhile.
pub(super) fn ends_at(file: &File, offset: u64, seq: Seq) -> io::Result<bool> {
    let mut bytes = [0; STAMP];
    let length = usize::try_from(offset).unwrap_or(STAMP).min(STAMP);
    let bytes = &mut bytes[..length];
    match file.read_exact_at(bytes, offset - length as u64) {
        Ok(()) => Ok(bytes.ends_with(b"\n") && stamp(bytes) == Some(seq)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The lines of a file, the last one first.
struct Backwards<'a> {
    file: &'a File,
    /// Where `bytes` begin in the file. They end behind a line.
    from: u64,
    bytes: Vec<u8>,
}

/// One line of a file.
struct Line {
    bytes: Vec<u8>,
    /// The offset behind it and its LF.
    end: u64,
    /// Whether its LF is there.
    is_whole: bool,
}

impl Line {
    /// Without the LF.
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<'a> Backwards<'a> {
    fn new(file: &'a File, size: u64) -> Self {
        Self { file, from: size, bytes: Vec::new() }
    }

    fn previous(&mut self) -> io::Result<Option<Line>> {
        loop {
            let is_whole = self.bytes.last() == Some(&b'\n');
            let body = &self.bytes[..self.bytes.len() - usize::from(is_whole)];
            let start = match body.iter().rposition(|byte| *byte == b'\n') {
                Some(before) => before + 1,
                None if self.from == 0 && self.bytes.is_empty() => return Ok(None),
                None if self.from == 0 => 0,
                None => {
                    self.grow()?;
                    continue;
                }
            };
            let end = self.from + self.bytes.len() as u64;
            let mut bytes = self.bytes.split_off(start);
            if is_whole {
                bytes.pop();
            }
            return Ok(Some(Line { bytes, end, is_whole }));
        }
    }

    /// Reads what stands before: as much again as there is, so that a long line costs its length.
    fn grow(&mut self) -> io::Result<()> {
        let more = CHUNK.max(self.bytes.len() as u64).min(self.from);
        let mut bytes = vec![0; usize::try_from(more).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, self.from - more)?;
        bytes.append(&mut self.bytes);
        self.from -= more;
        self.bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn file(text: &str) -> (File, u64) {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        (file, text.len() as u64)
    }

    // proves: M1
    #[test]
    fn the_end_tells_the_last_number_whatever_stands_behind_it() {
        let long = "x".repeat(3 * 4096);
        let one = "{\"a\":1,\"troupeSeq\":1}\n";
        let two = format!("{{\"a\":\"{long}\",\"troupeSeq\":2}}\n");
        let foreign = format!("{{\"troupe\":\"{long}\"}}\n");
        for (text, whole, begun) in [
            (String::new(), 0, 0),
            ("\n\n".to_owned(), 0, 0),
            (one.to_owned(), 1, 0),
            (format!("{one}{two}"), 2, 0),
            (format!("{one}{two}{foreign}\n{foreign}"), 2, 0),
            (format!("{one}{two}{{\"a\":1,\"troupeSe"), 2, 0),
            (format!("{one}{{\"p\":1,\"troupePart\":2}}\n{{\"q"), 1, 2),
            (format!("{one}{{\"nested\":{{\"troupeSeq\":9}}}}\n"), 1, 0),
            (format!("{one}\0\0\0,\"troupeSeq\":9}}\n"), 1, 0),
            (format!("{one}{{\"to{two}"), 2, 0),
            ("{\"a\":1,\"troupeSeq\":7}".to_owned(), 7, 0),
        ] {
            let (file, size) = file(&text);
            assert_eq!(last(&file, size).unwrap(), Numbers { whole, begun }, "{text}");
            let more = last_or_more(&file, size).unwrap();
            let damaged = text.contains('\0');
            assert_eq!(more, Numbers { whole: if damaged { 9 } else { whole }, begun }, "{text}");
        }
    }

    // proves: M1
    #[test]
    fn a_place_in_a_large_file_is_found_whatever_damaged_lines_say() {
        let line = |seq: u64| format!("{{\"a\":\"{}\",\"troupeSeq\":{seq}}}\n", "y".repeat(900));
        let odd = ["\0,\"troupeSeq\":1}\n", "\0,\"troupeSeq\":9999}\n", "{\"foreign\":1}\n"];
        let (mut text, mut ends) = (String::new(), vec![0]);
        for seq in 1..=2_000 {
            text += &line(seq);
            ends.push(text.len() as u64);
            text += odd[usize::try_from(seq).unwrap() % 3];
        }
        let (file, size) = file(&text);
        for seq in [0, 1, 2, 500, 999, 1_000, 1_001, 1_500, 1_999, 2_000] {
            assert_eq!(behind(&file, size, seq).unwrap(), ends[usize::try_from(seq).unwrap()], "{seq}");
        }
        assert!(later(&file, size, 1_000).unwrap() < size, "it looks at less than all");
    }

    // proves: M1
    #[test]
    fn what_is_new_begins_behind_the_last_record_that_is_not() {
        let line = |seq: u64| format!("{{\"a\":\"{}\",\"troupeSeq\":{seq}}}\n", "y".repeat(700));
        let text: String = (5..40).map(|seq| line(seq) + "{\"foreign\":1}\n").collect();
        let (file, size) = file(&text);
        for seq in 5..40 {
            let end = behind(&file, size, seq).unwrap();
            let at = usize::try_from(end).unwrap();
            assert!(text[..at].ends_with(&line(seq)), "{seq}");
            assert!(ends_at(&file, end, seq).unwrap());
            assert!(!ends_at(&file, end, seq + 1).unwrap() && !ends_at(&file, end - 1, seq).unwrap());
        }
        assert_eq!(behind(&file, size, 4).unwrap(), 0, "what was before is gone");
        assert!(!ends_at(&file, size + 100, 39).unwrap());
    }
}
