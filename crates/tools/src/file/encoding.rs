//! How a file's bytes are text: what encoding they have, and the way there and back. Not a guesser of
//! legacy code pages: bytes that are neither UTF-8 nor UTF-16 with a mark are left as they are.

use std::borrow::Cow;

/// How many bytes at the start are searched for the NUL that marks a binary file.
pub const HEAD: usize = 8 * 1024;

const MARK_UTF8: &[u8] = b"\xef\xbb\xbf";
const MARK_UTF16_LE: &[u8] = b"\xff\xfe";
const MARK_UTF16_BE: &[u8] = b"\xfe\xff";
const MARK_UTF32_LE: &[u8] = b"\xff\xfe\0\0";

/// A file's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a mark.
    Utf8,
    /// UTF-8 that begins with a byte order mark.
    Utf8Marked,
    /// Little-endian UTF-16 with its mark.
    Utf16Le,
    /// Big-endian UTF-16 with its mark.
    Utf16Be,
    /// No valid UTF-8: a legacy code page, or stray bytes. ASCII means ASCII in it, the rest is unknown.
    Unknown,
}

/// Why bytes are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    /// There is a NUL near the start.
    #[error("the file is binary")]
    Binary,
    /// Marked as UTF-16 and not valid as such, or UTF-32.
    #[error("the file's encoding is broken or not supported")]
    Broken,
}

/// A file's text: UTF-8 without a mark, or, when [`Encoding::Unknown`], the bytes themselves.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The encoding that it has on disk.
    pub encoding: Encoding,
    /// The text.
    pub text: Cow<'a, [u8]>,
}

/// The encoding that a byte order mark at the start tells.
pub fn marked(head: &[u8]) -> Option<Encoding> {
    if head.starts_with(MARK_UTF8) {
        Some(Encoding::Utf8Marked)
    } else if head.starts_with(MARK_UTF16_LE) {
        Some(Encoding::Utf16Le)
    } else if head.starts_with(MARK_UTF16_BE) {
        Some(Encoding::Utf16Be)
    } else {
        None
    }
}

/// Whether the first bytes of a file show that it is no text.
pub fn is_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(HEAD)];
    !matches!(marked(head), Some(Encoding::Utf16Le | Encoding::Utf16Be)) && memchr::memchr(0, head).is_some()
}

/// Decodes a whole file. Valid UTF-8 is borrowed.
///
/// # Errors
/// See [`NotText`].
pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, NotText> {
    if bytes.starts_with(MARK_UTF32_LE) {
        return Err(NotText::Broken);
    }
    if is_binary(bytes) {
        return Err(NotText::Binary);
    }
    let (encoding, text) = match marked(bytes) {
        Some(Encoding::Utf16Le) => (Encoding::Utf16Le, Cow::Owned(utf16(&bytes[2..], u16::from_le_bytes)?)),
        Some(Encoding::Utf16Be) => (Encoding::Utf16Be, Cow::Owned(utf16(&bytes[2..], u16::from_be_bytes)?)),
        Some(Encoding::Utf8Marked) if std::str::from_utf8(bytes).is_ok() => {
            (Encoding::Utf8Marked, Cow::Borrowed(&bytes[MARK_UTF8.len()..]))
        }
        None if std::str::from_utf8(bytes).is_ok() => (Encoding::Utf8, Cow::Borrowed(bytes)),
        _ => (Encoding::Unknown, Cow::Borrowed(bytes)),
    };
    Ok(Decoded { encoding, text })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Vec<u8>, NotText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(NotText::Broken);
    }
    let mut text = String::with_capacity(bytes.len() / 2);
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        text.push(decoded.map_err(|_| NotText::Broken)?);
    }
    Ok(text.into_bytes())
}

impl Encoding {
    /// The mark that stands at the start of the file.
    pub fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Unknown => b"",
            Self::Utf8Marked => MARK_UTF8,
            Self::Utf16Le => MARK_UTF16_LE,
            Self::Utf16Be => MARK_UTF16_BE,
        }
    }

    /// The file's bytes for a new text. `marked_text` is the text with [`Encoding::mark`] before it when the
    /// encoding is a form of UTF-8, so that nothing need be copied.
    pub(super) fn encode(self, marked_text: Vec<u8>) -> Vec<u8> {
        let unit: fn(u16) -> [u8; 2] = match self {
            Self::Utf8 | Self::Utf8Marked | Self::Unknown => return marked_text,
            Self::Utf16Le => u16::to_le_bytes,
            Self::Utf16Be => u16::to_be_bytes,
        };
        let text = String::from_utf8_lossy(&marked_text);
        let mut bytes = Vec::with_capacity(2 + 2 * text.len());
        bytes.extend_from_slice(self.mark());
        bytes.extend(text.encode_utf16().flat_map(unit));
        bytes
    }

    /// What must stand before the text given to [`Encoding::encode`].
    pub(super) fn prefix(self) -> &'static [u8] {
        match self {
            Self::Utf8Marked => MARK_UTF8,
            _ => b"",
        }
    }

    /// The bytes of a whole new text in this encoding; `Unknown` takes UTF-8 only when it is ASCII.
    pub fn bytes_of(self, text: &str) -> Option<Vec<u8>> {
        if self == Self::Unknown && !text.is_ascii() {
            return None;
        }
        let mut marked = Vec::with_capacity(text.len() + 3);
        marked.extend_from_slice(self.prefix());
        marked.extend_from_slice(text.as_bytes());
        Some(self.encode(marked))
    }
}
