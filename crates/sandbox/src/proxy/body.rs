//! The body of a request: passed on as far as its own framing says, and not a byte further, so that nothing
//! behind it is taken for a second request by the server.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::Trouble;
use super::head::{HEAD_MOST, Head};

/// Longest line that tells a chunk's size, in bytes.
const SIZE_LINE_MOST: u64 = 1024;

/// How a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes.
    Length(u64),
    Chunked,
}

impl Framing {
    pub(super) fn of(head: &Head) -> Result<Self, Trouble> {
        let length = head.once("content-length")?;
        let coding = head.once("transfer-encoding")?;
        match (length, coding) {
            (None, None) => Ok(Self::Length(0)),
            (Some(digits), None) => {
                let digits =
                    std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                let length = digits.and_then(|text| text.parse().ok());
                length.map(Self::Length).ok_or(Trouble::Malformed("the length of its body"))
            }
            (None, Some(coding)) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Self::Chunked),
            _ => Err(Trouble::Malformed("the framing of its body")),
        }
    }

    /// Passes the body on.
    pub(super) async fn pass(
        self,
        from: &mut (impl AsyncBufRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        match self {
            Self::Length(length) => exactly(from, to, length).await?,
            Self::Chunked => chunks(from, to).await?,
        }
        to.flush().await
    }
}

async fn exactly(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    length: u64,
) -> io::Result<()> {
    let copied = tokio::io::copy_buf(&mut from.take(length), to).await?;
    if copied < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

async fn chunks(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    loop {
        let line = line(from, SIZE_LINE_MOST).await?;
        let digits = line.split(|b| *b == b';').next().unwrap_or_default();
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        let plain = (1..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let size = plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten().ok_or_else(bad)?;
        // Extensions are left out: nobody uses them but to confuse.
        to.write_all(format!("{size:x}\r\n").as_bytes()).await?;
        if size == 0 {
            break;
        }
        exactly(from, to, size).await?;
        let mut end = [0; 2];
        from.read_exact(&mut end).await?;
        if end != *b"\r\n" {
            return Err(bad());
        }
        to.write_all(b"\r\n").await?;
    }
    // Fields behind the last chunk are read and left out.
    let mut left = HEAD_MOST as u64;
    loop {
        let line = line(from, left).await?;
        left = left.saturating_sub(line.len() as u64 + 2);
        if line.is_empty() {
            return to.write_all(b"\r\n").await;
        }
    }
}

/// One line without its end, which must be `\r\n`.
async fn line(from: &mut (impl AsyncBufRead + Unpin), most: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(most).read_until(b'\n', &mut line).await?;
    match line.strip_suffix(b"\r\n") {
        Some(inner) if !inner.contains(&b'\r') => Ok(inner.to_vec()),
        _ => Err(bad()),
    }
}

fn bad() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a chunk of the body is malformed")
}
