//! Journals as JSONL files below one folder: `KEY.jsonl`. Files are opened to append and closed, so that a
//! thousand journals don't need a thousand handles.
//!
//! Each append is one `write` into the page cache (about 10 µs), done in place: a hop to another thread costs
//! more. Only waiting for a lock, and what is done rarely, leaves the thread.
//!
//! What an append or a follower needs is found from the end of the file ([`tail`]), so that neither costs more in a
//! journal of a million records than in one of ten.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Ends, Found, Journal, JournalError, Key, Record, Seq};

use super::handles::patiently;
use super::lines::{Decoder, Encoded, LARGEST, Numbers, single};
use super::{tail, trim};

/// Who else may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// Nobody who numbers records: a lease held elsewhere keeps other writers out.
    Leased,
    /// Any process: each append takes the file's lock, waits for it this long at most, and looks for what
    /// others wrote. A line without its LF is still being written.
    Shared(Duration),
}

/// The pauses between two tries for a lock: they grow from the first to the last.
const LOCK_PAUSE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(5)];
/// How often an append begins again because the file was replaced while it waited.
const REPLACED: usize = 100;

/// How many places of one journal are remembered, and of how many journals.
const PLACES: usize = 16;
const FOLLOWED: usize = 1_000;
/// How many bytes of a record's end tell it from another one of its number.
const END: usize = 256;

/// How much of a file's end is read at first to find its last line.
const TAIL: usize = 1 << 14;
/// The longest line that is looked for at an end of a file.
const LINE: u64 = 1 << 22;

/// Journals below a folder.
pub struct FileJournal {
    root: PathBuf,
    locking: Locking,
    tails: Mutex<HashMap<Key, Tail>>,
    places: Mutex<HashMap<Key, VecDeque<Place>>>,
}

/// Where a record ended when it was last read, and how. That is looked at before it is relied on.
#[derive(Clone)]
struct Place {
    seq: Seq,
    offset: u64,
    /// The last bytes of it, [`END`] at most.
    end: Vec<u8>,
}

/// How far the only writer of a file got, so that it need not look again.
#[derive(Clone, Copy)]
struct Tail {
    bytes: u64,
    last: Seq,
}

impl FileJournal {
    /// Journals below `root`, which is made when the first one is written.
    pub fn new(root: PathBuf, locking: Locking) -> Self {
        Self { root, locking, tails: Mutex::default(), places: Mutex::default() }
    }

    /// Where a journal lies.
    pub fn path(&self, key: &Key) -> PathBuf {
        self.root.join(format!("{}.jsonl", key.as_str()))
    }

    /// Forgets what is known of a journal whose writer is gone.
    pub fn forget(&self, key: &Key) {
        self.lock_tails().remove(key);
        self.lock_places().remove(key);
    }

    fn lock_places(&self) -> std::sync::MutexGuard<'_, HashMap<Key, VecDeque<Place>>> {
        self.places.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Where what stands after `after` begins in a file.
    fn start(&self, key: &Key, after: Seq, file: &File) -> io::Result<u64> {
        if after == 0 {
            return Ok(0);
        }
        let known = self
            .lock_places()
            .get(key)
            .and_then(|places| places.iter().find(|place| place.seq == after).cloned());
        if let Some(Place { offset, end, .. }) = &known
            && tail::ends_at(file, *offset, end)?
        {
            return Ok(*offset);
        }
        tail::reached(file, after, known.as_ref().map(|place| &*place.end))
    }

    fn remember(&self, key: &Key, place: Place) {
        if self.locking == Locking::Leased {
            return;
        }
        let mut followed = self.lock_places();
        if followed.len() >= FOLLOWED && !followed.contains_key(key) {
            followed.clear();
        }
        let places = followed.entry(key.clone()).or_default();
        places.retain(|known| known.seq != place.seq);
        places.push_front(place);
        places.truncate(PLACES);
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

    /// Opens a file to append; a shared one with its lock, which ends with the handle.
    async fn locked(&self, path: &Path) -> Result<File, JournalError> {
        let mut file = self.open(path).await?;
        let Locking::Shared(limit) = self.locking else { return Ok(file) };
        for _ in 0..REPLACED {
            lock(&file, path, limit).await?;
            if is_in_place(&file, path).map_err(|error| io_error("find", path, error))? {
                return Ok(file);
            }
            file = self.open(path).await?;
        }
        Err(io_error("lock", path, io::Error::other("it is replaced again and again")))
    }

    fn write(
        &self,
        key: &Key,
        expect: Option<Seq>,
        record: Encoded,
        file: &mut File,
    ) -> Result<Seq, JournalError> {
        let path = self.path(key);
        let fail = |error| io_error("append to", &path, error);
        let mut size = file.metadata().map_err(fail)?.len();
        if size > 0 && !ends_with_newline(file, size).map_err(fail)? {
            // Whoever wrote there died. A torn piece stays a line of its own; a whole record is one from now on, so that
            // whoever expects another position finds it.
            file.write_all(b"\n").map_err(fail)?;
            size += 1;
        }
        let known = self.lock_tails().get(key).copied().filter(|tail| tail.bytes <= size);
        let Numbers { whole: last, begun } = match known {
            // Only somebody without our numbering can have added to a leased journal.
            Some(tail) if self.locking == Locking::Leased => Numbers { whole: tail.last, begun: 0 },
            // Where nothing is decided by it, a number may be too high but not too low, and is had for less.
            _ if expect.is_none() => tail::last_or_more(file, size).map_err(fail)?,
            _ => tail::last(file, size).map_err(fail)?,
        };
        if let Some(expected) = expect
            && expected != last
        {
            return Err(JournalError::Conflict { key: key.as_str().to_owned(), expected, actual: last });
        }
        // Lines of a torn record keep their number for themselves.
        let used_up = || fail(io::Error::other("its last number is the largest that there is"));
        let seq = Some(last.max(begun) + 1).filter(|seq| *seq <= LARGEST).ok_or_else(used_up)?;
        let bytes = record.numbered(seq);
        if let Err(error) = file.write_all(&bytes) {
            // What was written of it must not stand: a later reader would take it for a torn record.
            let _ = file.set_len(size);
            self.lock_tails().remove(key);
            return Err(fail(error));
        }
        if self.locking == Locking::Leased {
            self.lock_tails().insert(key.clone(), Tail { bytes: size + bytes.len() as u64, last: seq });
        }
        Ok(seq)
    }
}

/// Does what takes long on a thread of its own.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
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

/// What was read of a file.
struct Scan {
    found: Vec<Found>,
    /// The last record of it, and where that ends.
    place: Option<Place>,
}

/// Reads from an offset, `most` records long. A last line without its LF counts unless `only_whole`.
fn scan(file: &mut File, from: u64, most: usize, only_whole: bool) -> io::Result<Scan> {
    file.seek(SeekFrom::Start(from))?;
    let mut decoder = Decoder::new();
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let (mut line, mut offset) = (Vec::new(), from);
    let mut place = None;
    while decoder.records() < most && reader.read_until(b'\n', &mut line)? > 0 {
        let is_whole = line.last() == Some(&b'\n');
        if only_whole && !is_whole {
            break;
        }
        offset += line.len() as u64;
        let before = decoder.records();
        decoder.line(line.strip_suffix(b"\n").unwrap_or(&line));
        if decoder.records() > before && is_whole {
            let end = line[line.len().saturating_sub(END)..].to_vec();
            place = Some(Place { seq: decoder.last(), offset, end });
        }
        line.clear();
    }
    Ok(Scan { found: decoder.finish(), place })
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
    let end = tokio::time::Instant::now() + limit;
    let [mut pause, longest] = LOCK_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) if tokio::time::Instant::now() < end => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                let waited_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                return Err(JournalError::Busy { path: path.display().to_string(), waited_ms });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(io_error("lock", path, error)),
        }
    }
}

/// Whether a file is the one that has its path now.
fn is_in_place(file: &File, path: &Path) -> io::Result<bool> {
    let file = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
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
            let record = Encoded::new(&record);
            let mut file = self.locked(&path).await?;
            self.write(key, expect, record, &mut file)
        })
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        let path = self.path(key);
        Box::pin(async move {
            let file = path.clone();
            let synced = aside(move || File::open(&file)?.sync_data()).await;
            synced.map_err(|error| io_error("sync", &path, error))
        })
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.page(key, after, usize::MAX)
    }

    fn page<'a>(
        &'a self,
        key: &'a Key,
        after: Seq,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        Box::pin(async move {
            let path = self.path(key);
            let fail = |error| io_error("read", &path, error);
            let open = || regular(OpenOptions::new().read(true), &path);
            let mut file = match patiently(open).await {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(io_error("open", &path, error)),
            };
            let start = self.start(key, after, &file).map_err(fail)?;
            let Scan { found, place } =
                scan(&mut file, start, most, self.locking != Locking::Leased).map_err(fail)?;
            if let Some(place) = place {
                self.remember(key, place);
            }
            Ok(found)
        })
    }

    fn trim<'a>(&'a self, key: &'a Key, upto: Seq) -> BoxFuture<'a, Result<bool, JournalError>> {
        Box::pin(async move {
            // The only writer of a leased journal remembers offsets; nothing asks for it there.
            if self.locking == Locking::Leased {
                return Ok(false);
            }
            let path = self.path(key);
            let fail = |error| io_error("trim", &path, error);
            let of = path.clone();
            let Some(copy) = aside(move || trim::copy(&of, upto)).await.map_err(fail)? else {
                return Ok(false);
            };
            let file = self.locked(&path).await?;
            if !copy.is_of(&file).map_err(fail)? {
                return Ok(false);
            }
            let into = path.clone();
            let finish = move || {
                let done = copy.finish(&into);
                drop(file);
                done
            };
            aside(finish).await.map_err(fail)?;
            Ok(true)
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
