//! A journal's file without its oldest records. What stays is copied beside it and moved into its place under its lock; a
//! process that dies on the way leaves the old file as it was, and a file that the next one takes away.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use troupe_core::ports::journal::Seq;

use super::lines::stamp;
use super::tail;

/// What is kept of what may go: this many records, and these many bytes, at most, and one record at least.
const KEEP: usize = 1_000;
const KEEP_BYTES: u64 = 1 << 20;
/// It is done where this much goes, and no less than stays.
const PAYS: u64 = 1 << 20;

/// How the name of a copy that is not in place yet ends.
const PART: &str = ".part";

/// A copy of what stays, made without the lock. Dropped, it is gone.
pub(super) struct Copy {
    /// The file that it is of.
    of: File,
    /// How far that was copied.
    upto: u64,
    into: File,
    beside: PathBuf,
}

impl Drop for Copy {
    fn drop(&mut self) {
        // After the move there is none; one that stays is taken away by the next copy.
        let _ = fs::remove_file(&self.beside);
    }
}

/// Copies what stays of a journal whose records up to `upto` may go; none where that doesn't pay.
pub(super) fn copy(path: &Path, upto: Seq) -> io::Result<Option<Copy>> {
    let mut of = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        of => of?,
    };
    let size = of.metadata()?.len();
    if size < PAYS {
        return Ok(None);
    }
    // Behind the last whole record a writer may still take back what it could not write. That one stays, so that numbers go
    // on, whatever damaged lines look like one.
    let last = tail::last(&of, size)?.whole;
    let whole = tail::behind(&of, size, last)?;
    let cut = cut(&mut of, upto)?.min(tail::behind(&of, size, last.saturating_sub(1))?);
    if cut < PAYS || cut < whole - cut {
        return Ok(None);
    }
    sweep(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!("{name}.{}{PART}", uuid::Uuid::new_v4().simple()));
    let into = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let mut copy = Copy { of, upto: cut, into, beside };
    copy.extend(whole)?;
    copy.into.sync_data()?;
    Ok(Some(copy))
}

impl Copy {
    /// Whether it is of this file.
    pub(super) fn is_of(&self, file: &File) -> io::Result<bool> {
        let (of, file) = (self.of.metadata()?, file.metadata()?);
        Ok((of.dev(), of.ino()) == (file.dev(), file.ino()))
    }

    /// Takes what came meanwhile, and puts it into the place of the journal, whose lock the caller holds.
    pub(super) fn finish(mut self, path: &Path) -> io::Result<()> {
        let size = self.of.metadata()?.len();
        self.extend(size)?;
        self.into.sync_data()?;
        fs::rename(&self.beside, path)
    }

    fn extend(&mut self, upto: u64) -> io::Result<()> {
        let more = upto.saturating_sub(self.upto);
        self.of.seek(SeekFrom::Start(self.upto))?;
        let copied = io::copy(&mut (&self.of).take(more), &mut self.into)?;
        if copied != more {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it was shortened meanwhile"));
        }
        self.upto = upto;
        Ok(())
    }
}

/// The offset at which what is kept begins.
fn cut(file: &mut File, upto: Seq) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let (mut line, mut at, mut last) = (Vec::new(), 0, 0);
    // Ends of records that may go, the last ones: those behind the first of them are kept.
    let mut ends = VecDeque::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        at += line.len() as u64;
        match stamp(&line) {
            // Where numbers fall, they no longer say what was read.
            Some(seq) if seq > upto || seq <= last => break,
            Some(seq) => {
                last = seq;
                ends.push_back(at);
            }
            None => {}
        }
        while ends.len() > 2
            && (ends.len() > KEEP + 1 || ends.front().is_some_and(|first| at - first > KEEP_BYTES))
        {
            ends.pop_front();
        }
        line.clear();
    }
    Ok(if ends.len() > 1 { ends.front().copied().unwrap_or_default() } else { 0 })
}

/// Takes away copies that were never put into place.
fn sweep(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let name = format!("{}.", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let left = entry.file_name();
        let left = left.to_string_lossy();
        if left.starts_with(&name) && left.ends_with(PART) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
