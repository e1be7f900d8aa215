//! A keep-alive connection of plain HTTP/1.1, as little as a recorded request needs: no TLS, no redirects, and
//! the bodies of replies are read to their end and thrown away.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// The longest wait for the next bytes of a reply.
const SILENCE: Duration = Duration::from_mins(1);
/// Most bytes of a line of a reply's head.
const LINE: u64 = 16 * 1024;
/// Most lines of a reply's head, or after its last chunk.
const LINES: usize = 200;
/// Most bytes of a reply's body.
const BODY: u64 = 1 << 30;

/// The connection.
pub(super) struct Connection {
    reader: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, SILENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
            io::Result::Ok(stream)
        };
        let stream = connect().with_context(|| format!("failed to connect to {address}"))?;
        Ok(Self { reader: BufReader::new(stream), address })
    }

    /// Sends a request and reads the whole reply; gives the size of its body in bytes. Any status but 200 is
    /// an error.
    pub(super) fn exchange(&mut self, method: &str, target: &str, body: &str) -> Result<u64> {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body.as_bytes());
        self.reader.get_mut().write_all(&bytes).context("failed to send a request")?;
        let (status, size) = read_reply(&mut self.reader).context("failed to read a reply")?;
        ensure!(status == 200, "{method} {target} was answered with status {status}");
        Ok(size)
    }
}

/// The address in `http://host:port`.
pub(super) fn address_of(url: &str) -> Result<SocketAddr> {
    let host = url.strip_prefix("http://").with_context(|| format!("{url:?} does not begin with http://"))?;
    let mut found =
        host.trim_end_matches('/').to_socket_addrs().with_context(|| format!("failed to find {url}"))?;
    found.next().with_context(|| format!("{url} has no address"))
}

/// Reads one reply; gives its status and the size of its body.
fn read_reply(reader: &mut impl BufRead) -> Result<(u16, u64)> {
    let first = line(reader)?;
    let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.with_context(|| format!("{first:?} is no status line"))?;
    let mut length = None;
    let mut chunked = false;
    for header in lines(reader)? {
        let Some((name, value)) = header.split_once(':') else { bail!("{header:?} is no header") };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                let number = value.trim().parse();
                length = Some(number.with_context(|| format!("{header:?} is no length"))?);
            }
            "transfer-encoding" => chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let size = match (chunked, length) {
        (true, _) => skip_chunks(reader)?,
        (false, Some(length)) => skip(reader, length).map(|()| length)?,
        (false, None) => bail!("the reply tells no length"),
    };
    Ok((status, size))
}

fn skip_chunks(reader: &mut impl BufRead) -> Result<u64> {
    let mut total: u64 = 0;
    loop {
        let head = line(reader)?;
        let digits = head.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).with_context(|| format!("{head:?} is no chunk size"))?;
        if size == 0 {
            lines(reader)?;
            return Ok(total);
        }
        skip(reader, size)?;
        total += size;
        ensure!(total <= BODY, "the reply is longer than {BODY} bytes");
        ensure!(line(reader)?.is_empty(), "a chunk is longer than its size says");
    }
}

fn skip(reader: &mut impl BufRead, size: u64) -> Result<()> {
    ensure!(size <= BODY, "the reply is longer than {BODY} bytes");
    let got = io::copy(&mut reader.take(size), &mut io::sink())?;
    ensure!(got == size, "the reply ends after {got} of {size} bytes");
    Ok(())
}

/// The lines up to an empty one.
fn lines(reader: &mut impl BufRead) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let line = line(reader)?;
        if line.is_empty() {
            return Ok(lines);
        }
        ensure!(lines.len() < LINES, "more than {LINES} lines of head");
        lines.push(line);
    }
}

/// A line without its end.
fn line(reader: &mut impl BufRead) -> Result<String> {
    let mut bytes = Vec::new();
    reader.take(LINE).read_until(b'\n', &mut bytes)?;
    ensure!(bytes.pop() == Some(b'\n'), "the reply ends in the middle of a line, or the line is too long");
    bytes.pop_if(|last| *last == b'\r');
    String::from_utf8(bytes).context("a line is no text")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn read(bytes: &[u8]) -> Result<(u16, u64)> {
        read_reply(&mut &*bytes)
    }

    const CHUNKED: &[u8] =
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=1\r\n0123\r\n6789\r\n0\r\n\r\n";

    #[test]
    fn a_chunked_reply_is_read_to_its_end_and_no_further() {
        let two = [CHUNKED, b"HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\nno"].concat();
        let mut reader = &*two;
        assert_eq!(read_reply(&mut reader).unwrap(), (200, 15));
        assert_eq!(read_reply(&mut reader).unwrap(), (404, 2));
        assert!(reader.is_empty());
    }

    #[test]
    fn trailers_belong_to_the_reply() {
        let mut reader =
            &b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\na: b\r\n\r\nrest"[..];
        assert_eq!(read_reply(&mut reader).unwrap(), (200, 1));
        assert_eq!(reader, b"rest");
    }

    #[test]
    fn a_reply_that_breaks_off_anywhere_is_an_error() {
        for end in 0..CHUNKED.len() {
            assert!(read(&CHUNKED[..end]).is_err(), "{end}");
        }
        assert!(read(b"HTTP/1.1 200 X\r\ncontent-length: 5\r\n\r\nfour").is_err());
    }

    #[test]
    fn nonsense_is_an_error() {
        for reply in [
            "hello\r\n\r\n",
            "HTTP/1.1 200 X\r\n\r\n",
            "HTTP/1.1 200 X\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 X\r\ncontent-length: 99999999999999\r\n\r\n",
            "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
            "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n",
            "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n",
        ] {
            assert!(read(reply.as_bytes()).is_err(), "{reply:?}");
        }
        assert!(read("a".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn an_address_is_a_plain_http_one() {
        assert_eq!(address_of("http://127.0.0.1:80/").unwrap().to_string(), "127.0.0.1:80");
        assert!(address_of("https://127.0.0.1:80").is_err());
        assert!(address_of("http://127.0.0.1").is_err());
    }
}
