//! Server-sent events out of bytes; not what the events mean.
//!
//! Bytes are pushed as they come and may split anywhere. One buffer holds what is not yet read and another
//! the event being put together, so that an event costs no allocation of its own.

/// Most bytes of one event's data, or of one line: 32 MiB, the API's own limit on a request's body.
pub const MAX_EVENT: usize = 32 * 1024 * 1024;

/// One event, borrowed from its parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event:` field; empty where there was none.
    pub name: &'a [u8],
    /// The `data:` lines, joined by LF.
    pub data: &'a [u8],
}

/// An event is longer than the parser's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

/// An incremental parser.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// What was pushed; before `read` it is used up, before `scanned` it holds no end of a line.
    buffer: Vec<u8>,
    read: usize,
    scanned: usize,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    /// Nothing was read yet: a byte order mark may stand here.
    at_start: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// `name` and `data` hold an event that was handed out.
    handed_out: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT)
    }
}

impl Parser {
    /// A parser that refuses events of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            read: 0,
            scanned: 0,
            after_cr: false,
            at_start: true,
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            handed_out: false,
        }
    }

    /// Takes bytes; read them with [`Parser::event`] until it has no more.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.scanned -= self.read;
            self.read = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event; none when more bytes are needed. What stands after the last blank line of a
    /// stream is no event.
    ///
    /// # Errors
    /// When an event passes the limit. The stream can't be read on from there.
    pub fn event(&mut self) -> Result<Option<Event<'_>>, EventTooLarge> {
        if self.handed_out {
            self.handed_out = false;
            self.name.clear();
            self.data.clear();
        }
        while let Some((start, end)) = self.line()? {
            if start < end {
                self.field(start, end)?;
            } else if self.has_data {
                self.has_data = false;
                self.handed_out = true;
                return Ok(Some(Event { name: &self.name, data: &self.data }));
            } else {
                self.name.clear();
            }
        }
        Ok(None)
    }

    /// The next whole line, as a range of the buffer.
    fn line(&mut self) -> Result<Option<(usize, usize)>, EventTooLarge> {
        if self.after_cr && self.read < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.read] == b'\n' {
                self.read += 1;
                self.scanned = self.scanned.max(self.read);
            }
        }
        if self.at_start && !self.skip_mark() {
            return Ok(None);
        }
        let end = self.buffer[self.scanned..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = end.map(|offset| self.scanned + offset) else {
            self.scanned = self.buffer.len();
            let pending = self.buffer.len() - self.read;
            return if pending > self.limit { Err(self.too_large()) } else { Ok(None) };
        };
        let start = self.read;
        self.after_cr = self.buffer[end] == b'\r';
        self.read = end + 1;
        self.scanned = self.read;
        Ok(Some((start, end)))
    }

    /// Skips a byte order mark; false while it can't be told whether there is one.
    fn skip_mark(&mut self) -> bool {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let seen = &self.buffer[..self.buffer.len().min(MARK.len())];
        if seen == MARK {
            self.read = MARK.len();
            self.scanned = self.read;
        } else if MARK.starts_with(seen) {
            return false;
        }
        self.at_start = false;
        true
    }

    fn field(&mut self, start: usize, end: usize) -> Result<(), EventTooLarge> {
        let line = &self.buffer[start..end];
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() >= self.limit {
                    return Err(self.too_large());
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // A comment (no field name), `id`, `retry`, and what is not known.
            _ => {}
        }
        Ok(())
    }

    fn too_large(&self) -> EventTooLarge {
        EventTooLarge { limit: self.limit }
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
