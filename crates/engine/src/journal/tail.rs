//! A journal's file from its end: where it stands, at the cost of what is new and not of what is there.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;

use troupe_core::ports::journal::Seq;

use super::lines::{Numbers, numbers, stamp};

/// How much is read at once; more where a line is longer.
const CHUNK: u64 = 1 << 12;
/// How much is read at once of a whole file.
const READ: usize = 1 << 16;
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

/// The offset behind the last record whose number is `upto` at most; 0 where there is none. Looked for from the end.
pub(super) fn behind(file: &File, size: u64, upto: Seq) -> io::Result<u64> {
    let mut lines = Backwards::new(file, size);
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

/// The offset at which goes on who is at `upto`, and knows nothing but that: behind the first record of that number, or
/// before the first of a larger one. Who knows how the record ended goes on behind that very one. 0 where there is none.
/// Looked for from the beginning, so that it is no later than it should be where numbers do not ascend.
pub(super) fn reached(mut file: &File, upto: Seq, end: Option<&[u8]>) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(READ, file);
    let (mut line, mut at, mut before) = (Vec::new(), 0, 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        at += line.len() as u64;
        // Most lines are passed over by their last bytes; the one that counts is read whole.
        let may_be = match end {
            Some(end) => line.ends_with(end),
            None => line.ends_with(b"\n") && stamp(&line).is_none_or(|seq| seq >= upto),
        };
        let whole = if may_be { numbers(line.strip_suffix(b"\n").unwrap_or(&line)).whole } else { 0 };
        if whole > 0 && whole == upto {
            return Ok(at);
        }
        if whole > upto && end.is_none() {
            return Ok(before);
        }
        if whole > 0 || stamp(&line).is_some() {
            before = at;
        }
        line.clear();
    }
    Ok(0)
}

/// Whether these bytes end at `offset`. It holds for any file whose content is that, so nothing need be known of whether it
/// was replaced meanwhile.
pub(super) fn ends_at(file: &File, offset: u64, end: &[u8]) -> io::Result<bool> {
    let Some(from) = offset.checked_sub(end.len() as u64) else { return Ok(false) };
    let mut bytes = vec![0; end.len()];
    match file.read_exact_at(&mut bytes, from) {
        Ok(()) => Ok(bytes == end),
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
    fn a_place_is_found_whatever_damaged_lines_say() {
        let line = |seq: u64| format!("{{\"a\":\"{}\",\"troupeSeq\":{seq}}}\n", "y".repeat(900));
        let odd = ["\0,\"troupeSeq\":1}\n", "\0,\"troupeSeq\":9999}\n", "{\"foreign\":1}\n"];
        let (mut text, mut ends) = (String::new(), vec![0]);
        for seq in 1..=200 {
            text += &line(seq);
            ends.push(text.len() as u64);
            text += odd[usize::try_from(seq).unwrap() % 3];
        }
        let (file, size) = file(&text);
        for (seq, end) in (0_u64..).zip(ends) {
            assert_eq!(behind(&file, size, seq).unwrap(), end, "{seq}");
            if seq > 0 {
                assert_eq!(reached(&file, seq, None).unwrap(), end, "{seq}");
            }
        }
    }

    // proves: M1
    #[test]
    fn what_is_new_begins_behind_the_last_record_that_is_not() {
        let line = |seq: u64| format!("{{\"a\":\"{}\",\"troupeSeq\":{seq}}}\n", "y".repeat(700));
        let text: String = (5..40).map(|seq| line(seq) + "{\"foreign\":1}\n").collect();
        let (file, size) = file(&text);
        for seq in 5..40 {
            let end = reached(&file, seq, None).unwrap();
            let at = usize::try_from(end).unwrap();
            assert!(text[..at].ends_with(&line(seq)), "{seq}");
            let (this, next) = (line(seq), line(seq + 1));
            assert_eq!(reached(&file, seq, Some(this.as_bytes())).unwrap(), end);
            assert!(ends_at(&file, end, this.as_bytes()).unwrap());
            assert!(!ends_at(&file, end, next.as_bytes()).unwrap());
            assert!(!ends_at(&file, end - 1, this.as_bytes()).unwrap());
        }
        assert_eq!(reached(&file, 4, None).unwrap(), 0, "what was before is gone");
        assert_eq!(reached(&file, 40, None).unwrap(), 0, "nobody can have been there");
        assert_eq!(reached(&file, 7, Some(line(9).as_bytes())).unwrap(), 0, "another one has the number");
        assert!(
            !ends_at(&file, size + 100, b"x").unwrap() && !ends_at(&file, 3, line(5).as_bytes()).unwrap()
        );
    }

    // proves: M1, F046
    #[test]
    fn where_numbers_fall_what_is_new_begins_no_later_than_it_should() {
        let numbers = [3, 4, 5, 6, 3, 4, 5, 8];
        let lines = numbers.map(|seq| format!("{{\"troupeSeq\":{seq}}}\n"));
        let (file, _) = file(&lines.concat());
        let behind = |records: usize| lines[..records].concat().len() as u64;
        for (upto, records) in [(2, 0), (3, 1), (5, 3), (6, 4), (7, 7), (8, 8), (9, 0)] {
            assert_eq!(reached(&file, upto, None).unwrap(), behind(records), "{upto}");
        }
    }
}
