//! Journals as JSONL files below one folder: `KEY.jsonl`. Files are opened to append and closed, so that a
//! thousand journals don't need a thousand handles.
//!
//! Each append is one `write` into the page cache (about 10 µs), done in place: a hop to another thread costs
//! more. Only waiting for a lock leaves the thread.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Ends, Found, Journal, JournalError, Key, Record, Seq};

use super::handles::patiently;
use super::lines::{Decoder, encode, single};

/// Who else may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// Nobody who numbers records: a lease held elsewhere keeps other writers out.
    Leased,
    /// Any process: each append takes the file's lock, waits for it this long at most, and looks for what
    /// others wrote.
    Shared(Duration),
}

/// The pause between two tries for a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// How much of a file's end is read at first to find its last line.
const TAIL: usize = 1 << 14;
/// The longest line that is looked for at an end of a file.
const LINE: u64 = 1 << 22;

/// Journals below a folder.
pub struct FileJournal {
    root: PathBuf,
    locking: Locking,
    tails: Mutex<HashMap<Key, Tail>>,
}

/// How far a file was read, so that an append need not read it again.
#[derive(Clone, Copy)]
struct Tail {
    bytes: u64,
    last: Seq,
}

impl FileJournal {
    /// Journals below `root`, which is made when the first one is written.
    pub fn new(root: PathBuf, locking: Locking) -> Self {
        Self { root, locking, tails: Mutex::default() }
    }

    /// Where a journal lies.
    pub fn path(&self, key: &Key) -> PathBuf {
        self.root.join(format!("{}.jsonl", key.as_str()))
    }

    /// Forgets what is known of a journal whose writer is gone.
    pub fn forget(&self, key: &Key) {
        self.lock_tails().remove(key);
    }

    fn lock_tails(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Tail>> {
        self.tails.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn open(&self, path: &Path) -> Result<File, JournalError> {
        let open = || {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true).mode(0o600);
            regular(&mut options, path)
        };
        match patiently(open).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(&self.root);
                std::fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)
                    .map_err(|error| io_error("make folder", folder, error))?;
                patiently(open).await
            }
            other => other,
        }
        .map_err(|error| io_error("open", path, error))
    }

    fn write(
        &self,
        key: &Key,
        expect: Option<Seq>,
        record: &Record,
        file: &mut File,
    ) -> Result<Seq, JournalError> {
        let path = self.path(key);
        let fail = |error| io_error("append to", &path, error);
        let size = file.metadata().map_err(fail)?.len();
        let known = self.lock_tails().get(key).copied().filter(|tail| tail.bytes <= size);
        let last = match known {
            // Only somebody without our numbering can have added to a leased journal.
            Some(tail) if tail.bytes == size || self.locking == Locking::Leased => tail.last,
            Some(tail) => scan(file, tail.bytes).map_err(fail)?.last().max(tail.last),
            None => scan(file, 0).map_err(fail)?.last(),
        };
        if let Some(expected) = expect
            && expected != last
        {
            return Err(JournalError::Conflict { key: key.as_str().to_owned(), expected, actual: last });
        }
        let seq = last + 1;
        let mut bytes = encode(record, seq);
        if size > 0 && !ends_with_newline(file, size).map_err(fail)? {
            bytes.insert(0, b'\n');
        }
        if let Err(error) = file.write_all(&bytes) {
            // What was written of it must not stand: a later reader would take it for a torn record.
            let _ = file.set_len(size);
            return Err(fail(error));
        }
        self.lock_tails().insert(key.clone(), Tail { bytes: size + bytes.len() as u64, last: seq });
        Ok(seq)
    }
}

/// Opens a file that must be a regular one. Nothing else may hold us: a pipe would wait for its other end.
fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = options.custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::Io { action, path: path.display().to_string(), source }
}

fn ends_with_newline(file: &mut File, size: u64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(size - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn scan(file: &mut File, from: u64) -> io::Result<Decoder> {
    file.seek(SeekFrom::Start(from))?;
    let mut decoder = Decoder::new();
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        decoder.line(line.strip_suffix(b"\n").unwrap_or(&line));
        line.clear();
    }
    Ok(decoder)
}

/// The first line, where it is not longer than [`LINE`].
fn first_line(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?;
    let mut line = Vec::new();
    BufReader::with_capacity(TAIL, file.take(LINE)).read_until(b'\n', &mut line)?;
    Ok((line.pop() == Some(b'\n')).then_some(line))
}

/// The last line, where it is whole and not longer than [`LINE`].
fn last_line(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let size = file.metadata()?.len();
    let mut most = TAIL as u64;
    loop {
        let from = size.saturating_sub(most);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&mut *file).take(size - from).read_to_end(&mut bytes)?;
        if bytes.pop() != Some(b'\n') {
            return Ok(None);
        }
        if let Some(before) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(Some(bytes.split_off(before + 1)));
        }
        if from == 0 {
            return Ok(Some(bytes));
        }
        if most >= LINE {
            return Ok(None);
        }
        most *= 4;
    }
}

async fn lock(file: &File, path: &Path, limit: Duration) -> Result<(), JournalError> {
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) if waited < limit => {
                tokio::time::sleep(LOCK_PAUSE).await;
                waited += LOCK_PAUSE;
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                let waited_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                return Err(JournalError::Busy { path: path.display().to_string(), waited_ms });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(io_error("lock", path, error)),
        }
    }
}

impl Journal for FileJournal {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        Box::pin(async move {
            let path = self.path(key);
            let mut file = self.open(&path).await?;
            if let Locking::Shared(limit) = self.locking {
                lock(&file, &path, limit).await?;
            }
            self.write(key, expect, &record, &mut file)
        })
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        let path = self.path(key);
        Box::pin(async move {
            let file = path.clone();
            let synced = tokio::task::spawn_blocking(move || File::open(&file)?.sync_data()).await;
            let synced = synced.unwrap_or_else(|error| Err(io::Error::other(error)));
            synced.map_err(|error| io_error("sync", &path, error))
        })
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        Box::pin(async move {
            let path = self.path(key);
            let open = || regular(OpenOptions::new().read(true), &path);
            let mut file = match patiently(open).await {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(io_error("open", &path, error)),
            };
            let found = scan(&mut file, 0).map_err(|error| io_error("read", &path, error))?.finish();
            if after == 0 {
                return Ok(found);
            }
            let start = found.iter().position(|found| matches!(found, Found::Record(seq, _) if *seq > after));
            Ok(start.map_or_else(Vec::new, |start| found[start..].to_vec()))
        })
    }

    fn ends<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Ends>, JournalError>> {
        Box::pin(async move {
            let path = self.path(key);
            let fail = |error| io_error("read", &path, error);
            let open = || regular(OpenOptions::new().read(true), &path);
            let mut file = match patiently(open).await {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(io_error("open", &path, error)),
            };
            let Some(first) = first_line(&mut file).map_err(fail)? else { return Ok(None) };
            let Some(last) = last_line(&mut file).map_err(fail)? else { return Ok(None) };
            Ok(single(&first).zip(single(&last)).map(|(first, last)| Ends { first, last }))
        })
    }
}
