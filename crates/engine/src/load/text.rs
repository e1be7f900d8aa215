//! Bounded reading of text files. Regular files alone, so that a pipe or a device in a project can't hold or
//! flood a start.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// At most the cap, cut between characters, without a byte order mark.
    pub(crate) content: String,
    /// Bytes that the file has in all.
    pub(crate) size: u64,
    /// Whether the end was left out.
    pub(crate) cut: bool,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// There is none.
    #[error("there is no such file")]
    Absent,
    /// A folder, a pipe, a device.
    #[error("it is not a regular file")]
    NotAFile,
    /// Bytes that are no UTF-8.
    #[error("it is not UTF-8 text (byte {0} is none)")]
    NotText(usize),
    /// The system refused.
    #[error("{0}")]
    Io(#[source] io::Error),
}

/// Reads at most `cap` bytes.
pub(crate) fn read(path: &Path, cap: usize) -> Result<Text, ReadError> {
    // NONBLOCK: opening a pipe must not wait for its writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(of_open)?;
    let meta = file.metadata().map_err(ReadError::Io)?;
    if !meta.is_file() {
        return Err(ReadError::NotAFile);
    }
    let mut bytes = Vec::new();
    // The size is a hint only: files under /proc say 0.
    file.take(cap as u64 + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    let cut = bytes.len() > cap;
    bytes.truncate(cap);
    let size = meta.len().max(bytes.len() as u64);
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let fault = error.utf8_error();
            // A character that the cap cut in two is no fault of the file.
            if !cut || fault.error_len().is_some() {
                return Err(ReadError::NotText(fault.valid_up_to()));
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(fault.valid_up_to());
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    let content = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Text { content, size, cut })
}

fn of_open(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::Absent,
        _ => ReadError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_cut_falls_between_characters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "\u{feff}aéé").unwrap();
        let whole = read(&path, 100).unwrap();
        assert_eq!((whole.content.as_str(), whole.cut, whole.size), ("aéé", false, 8));
        let part = read(&path, 7).unwrap();
        assert_eq!((part.content.as_str(), part.cut, part.size), ("aé", true, 8));
    }

    #[test]
    fn what_is_no_text_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(folder.path(), 9), Err(ReadError::NotAFile)));
        assert!(matches!(read(&folder.path().join("none"), 9), Err(ReadError::Absent)));
        let bytes = folder.path().join("b");
        std::fs::write(&bytes, b"ab\xff").unwrap();
        assert!(matches!(read(&bytes, 9), Err(ReadError::NotText(2))));
        assert!(matches!(read(&bytes.join("below"), 9), Err(ReadError::Absent)));
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(matches!(read(&pipe, 9), Err(ReadError::NotAFile)));
        let device = folder.path().join("zero");
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        assert!(matches!(read(&device, 9), Err(ReadError::NotAFile)));
    }
}
