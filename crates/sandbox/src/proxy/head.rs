//! The head of an HTTP message, read strictly: what two programs could read in two ways is refused.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::Trouble;

/// Largest head, in bytes.
pub(super) const HEAD_MOST: usize = 32 * 1024;
/// Most fields of a head.
const FIELDS_MOST: usize = 128;

/// A request's line and fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) uri: String,
    /// Names in lower case, values trimmed.
    pub(super) fields: Vec<(String, Vec<u8>)>,
}

/// Reads until the empty line that ends a head; what came behind it is the second part. None if the peer ends
/// before, or the head is too large.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut looked = 0;
    loop {
        if let Some(at) = bytes[looked..].windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(looked + at + 4);
            return Ok(Some((bytes, rest)));
        }
        looked = bytes.len().saturating_sub(3);
        let room = HEAD_MOST - bytes.len();
        if room == 0 || from.take(room as u64).read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

impl Head {
    /// Reads a request's head.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Trouble> {
        let bad = Trouble::Malformed;
        let text = bytes.strip_suffix(b"\r\n\r\n").unwrap_or(bytes);
        let mut lines = split_lines(text);
        let line = lines.next().and_then(|line| std::str::from_utf8(line).ok());
        let words: Vec<&str> = line.ok_or(bad("its first line"))?.split(' ').collect();
        let [method, uri, "HTTP/1.1" | "HTTP/1.0"] = words[..] else { return Err(bad("its first line")) };
        let visible = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        if !is_token(method.as_bytes()) || !visible(uri) {
            return Err(bad("its first line"));
        }
        let mut fields = Vec::new();
        for line in lines {
            let colon = line.iter().position(|b| *b == b':').ok_or(bad("a field without a colon"))?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            // A blank before the colon, and a line that goes on, are the two old ways to hide a field.
            if !is_token(name) {
                return Err(bad("the name of a field"));
            }
            if value.iter().any(|b| b.is_ascii_control() && *b != b'\t') {
                return Err(bad("the value of a field"));
            }
            if fields.len() == FIELDS_MOST {
                return Err(bad("too many fields"));
            }
            fields.push((String::from_utf8_lossy(name).to_ascii_lowercase(), value.to_vec()));
        }
        Ok(Self { method: method.to_owned(), uri: uri.to_owned(), fields })
    }

    /// The value of a field that may stand there once.
    pub(super) fn once(&self, name: &'static str) -> Result<Option<&[u8]>, Trouble> {
        let mut found = self.all(name);
        match (found.next(), found.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(Trouble::Malformed("a field that may stand once stands twice")),
        }
    }

    /// The values of a field.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_slice())
    }
}

/// Lines between `\r\n`; a bare `\r` or `\n` stays in its line, where it is refused.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.windows(2).position(|two| two == b"\r\n");
        rest = end.map(|end| &text[end + 2..]);
        Some(end.map_or(text, |end| &text[..end]))
    })
}

fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b))
}
