//! Takes in a command's output: its start and its end in memory, all of it in a file once it is large or
//! the command runs in the background. What the model gets of it is [`super::render`]'s business.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

/// Most bytes of a foreground command's file; past it the start and the end are kept.
const FOREGROUND_FILE: u64 = 64 << 20;
/// Bytes of output past which a command is killed; also the most that a background command's file takes.
const OUTPUT_MOST: u64 = 5_000_000_000;
/// Bytes of the end that are kept in memory.
const TAIL: usize = 256 * 1024;
/// How long one write may take before the file is given up.
const WRITE_LIMIT: Duration = Duration::from_secs(20);

/// Bounds of one spool, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Output up to this stays in memory.
    pub(super) memory: usize,
    /// The end that is kept.
    pub(super) tail: usize,
    /// The file of a foreground command.
    pub(super) file: u64,
    /// The output of any command.
    pub(super) output: u64,
}

impl Bounds {
    /// Bounds for showing at most `inline_chars` characters, each of up to four bytes.
    pub(super) fn for_chars(inline_chars: usize) -> Self {
        Self { memory: inline_chars * 4, tail: TAIL, file: FOREGROUND_FILE, output: OUTPUT_MOST }
    }
}

/// Why output is not in its file.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum SpoolError {
    /// The system refused.
    #[error("the output file {}: {error}{}", .path.display(), free(.space.as_ref()))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        error: String,
        /// The filesystem and its free bytes, when it is full.
        space: Option<(PathBuf, u64)>,
    },
    /// A write did not come back.
    #[error("writing to {} took longer than {} s", .0.display(), WRITE_LIMIT.as_secs())]
    Stalled(PathBuf),
}

fn free(space: Option<&(PathBuf, u64)>) -> String {
    space.map_or_else(String::new, |(mount, free)| {
        format!(" (the filesystem at {} has {free} bytes free)", mount.display())
    })
}

enum Sink {
    Memory,
    File {
        file: File,
        written: u64,
    },
    /// A file that took no more after `written` bytes, or could not be made.
    Closed {
        written: Option<u64>,
        error: SpoolError,
    },
}

/// Output on its way in.
pub(super) struct Spool {
    path: PathBuf,
    bounds: Bounds,
    file_most: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    sink: Sink,
}

/// Output that is complete.
#[derive(Debug)]
pub(super) struct Capture {
    /// The first bytes; all of them if `total` is not larger.
    pub(super) head: Vec<u8>,
    /// The last of the bytes that `head` lacks.
    pub(super) tail: Vec<u8>,
    /// Bytes in all.
    pub(super) total: u64,
    /// The file, if there is one, and how many bytes of the output it holds.
    pub(super) file: Option<(PathBuf, u64)>,
    /// Why the file is missing or short.
    pub(super) error: Option<SpoolError>,
}

impl Capture {
    /// The end of it, as far as memory has it.
    pub(super) fn last(&self) -> &[u8] {
        if self.tail.is_empty() { &self.head } else { &self.tail }
    }
}

impl Spool {
    pub(super) fn new(path: PathBuf, bounds: Bounds) -> Self {
        Self {
            path,
            bounds,
            file_most: bounds.file,
            head: Vec::new(),
            tail: Vec::new(),
            total: 0,
            sink: Sink::Memory,
        }
    }

    /// Whether there was more output than any command may have.
    pub(super) fn is_flooded(&self) -> bool {
        self.total > self.bounds.output
    }

    /// Whether the output has more than `chars` characters.
    pub(super) fn is_longer_than(&self, chars: usize) -> bool {
        self.total > self.head.len() as u64
            || self.head.len() > chars && String::from_utf8_lossy(&self.head).chars().count() > chars
    }

    /// The end of it, as far as memory has it.
    pub(super) fn last(&self) -> &[u8] {
        if self.tail.is_empty() { &self.head } else { &self.tail }
    }

    /// Takes in more. It never fails: without a file, memory keeps the start and the end.
    pub(super) async fn push(&mut self, chunk: &[u8]) {
        let (first, rest) = chunk.split_at(chunk.len().min(self.bounds.memory - self.head.len()));
        self.head.extend_from_slice(first);
        self.total += chunk.len() as u64;
        if matches!(self.sink, Sink::Memory) && !rest.is_empty() {
            self.open().await;
            // What memory had before; the chunk itself follows below.
            let before = self.head.len() - first.len();
            let head = std::mem::take(&mut self.head);
            self.write(&head[..before]).await;
            self.head = head;
        }
        self.write(chunk).await;
        self.keep_tail(rest);
    }

    /// Opens the file of a command that goes on in the background: nobody waits for the rest of its output.
    pub(super) async fn move_to_background(&mut self) -> Result<(), SpoolError> {
        if self.written().is_none_or(|written| written == self.total) {
            self.file_most = self.bounds.output;
        }
        self.open_file().await
    }

    /// Ends the file: past its limit, a mark and the last bytes follow.
    pub(super) async fn finish(mut self, to_file: bool) -> Capture {
        if to_file {
            // The error stays in the sink.
            let _ = self.open_file().await;
        }
        let excess = self.tail.len().saturating_sub(self.bounds.tail);
        self.tail.drain(..excess);
        let mut kept = self.written().unwrap_or(0);
        let missing = self.total - kept;
        if missing > 0 && matches!(self.sink, Sink::File { .. }) {
            let tail = std::mem::take(&mut self.tail);
            let length = usize::try_from(missing).unwrap_or(usize::MAX).min(tail.len());
            let dropped = missing - length as u64;
            self.file_most = u64::MAX;
            if dropped > 0 {
                self.write(format!("\n[{dropped} bytes left out]\n").as_bytes()).await;
            }
            self.write(&tail[tail.len() - length..]).await;
            if matches!(self.sink, Sink::File { .. }) {
                kept += length as u64;
            }
            self.tail = tail;
        }
        let (file, error) = match self.sink {
            Sink::Memory => (None, None),
            Sink::File { .. } => (Some((self.path, kept)), None),
            Sink::Closed { written: None, error } => (None, Some(error)),
            Sink::Closed { written: Some(0), error } => {
                // Empty, and on a full filesystem: of no use to anybody.
                let _ = tokio::fs::remove_file(&self.path).await;
                (None, Some(error))
            }
            Sink::Closed { written: Some(written), error } => (Some((self.path, written)), Some(error)),
        };
        Capture { head: self.head, tail: self.tail, total: self.total, file, error }
    }

    async fn open_file(&mut self) -> Result<(), SpoolError> {
        if matches!(self.sink, Sink::Memory) {
            self.open().await;
            let head = std::mem::take(&mut self.head);
            self.write(&head).await;
            self.head = head;
        }
        match &self.sink {
            Sink::Closed { error, .. } => Err(error.clone()),
            Sink::Memory | Sink::File { .. } => Ok(()),
        }
    }

    fn written(&self) -> Option<u64> {
        match &self.sink {
            Sink::File { written, .. } => Some(*written),
            Sink::Memory | Sink::Closed { .. } => None,
        }
    }

    /// The last bytes, in a buffer that is halved when full: no byte is moved more than once.
    fn keep_tail(&mut self, more: &[u8]) {
        let most = self.bounds.tail;
        let more = &more[more.len().saturating_sub(most)..];
        if self.tail.len() + more.len() > 2 * most {
            let excess = (self.tail.len() + more.len()).saturating_sub(most).min(self.tail.len());
            self.tail.drain(..excess);
        }
        self.tail.extend_from_slice(more);
    }

    async fn open(&mut self) {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        // `O_EXCL` follows no link already; the flag says so for systems that differ.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let opened = tokio::time::timeout(WRITE_LIMIT, options.open(&self.path)).await;
        self.sink = match opened {
            Ok(Ok(file)) => Sink::File { file, written: 0 },
            Ok(Err(error)) => Sink::Closed { written: None, error: explain(&self.path, &error) },
            Err(_) => Sink::Closed { written: None, error: SpoolError::Stalled(self.path.clone()) },
        };
    }

    /// Writes what still fits; a failure closes the sink.
    async fn write(&mut self, bytes: &[u8]) {
        let Sink::File { file, written } = &mut self.sink else { return };
        let left = self.file_most.saturating_sub(*written);
        let fits = &bytes[..usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len())];
        if fits.is_empty() {
            return;
        }
        let work = async {
            file.write_all(fits).await?;
            // The write itself happens behind this; an error would otherwise show at the next one.
            file.flush().await
        };
        let error = match tokio::time::timeout(WRITE_LIMIT, work).await {
            Ok(Ok(())) => {
                *written += fits.len() as u64;
                return;
            }
            Ok(Err(error)) => explain(&self.path, &error),
            Err(_) => SpoolError::Stalled(self.path.clone()),
        };
        self.sink = Sink::Closed { written: Some(*written), error };
    }
}

fn explain(path: &Path, error: &std::io::Error) -> SpoolError {
    let full = matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
    let space = if full { free_space(path) } else { None };
    SpoolError::Io { path: path.to_owned(), error: error.to_string(), space }
}

/// Where the filesystem of a file is mounted, and its free bytes.
fn free_space(path: &Path) -> Option<(PathBuf, u64)> {
    use std::os::unix::fs::MetadataExt as _;

    let folder = path.parent()?.canonicalize().ok()?;
    let stat = rustix::fs::statvfs(&folder).ok()?;
    let device = folder.metadata().ok()?.dev();
    let mount = folder
        .ancestors()
        .take_while(|folder| folder.metadata().is_ok_and(|known| known.dev() == device))
        .last()?;
    Some((mount.to_owned(), stat.f_bavail * stat.f_frsize))
}
