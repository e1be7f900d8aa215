//! Values by their lines: what follows a colon or a dash, and what is indented below it.

use serde_json::{Map, Value};

use super::Fault;
use super::flow::{self, Balance};
use super::lines::{Line, key_of};
use super::scalar;

/// Reads lines in order.
pub(super) struct Reader<'t> {
    lines: Vec<Line<'t>>,
    at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(lines: Vec<Line<'t>>) -> Self {
        Self { lines, at: 0 }
    }

    /// The next line that holds something.
    pub(super) fn peek(&mut self) -> Result<Option<Line<'t>>, Fault> {
        while self.lines.get(self.at).is_some_and(Line::is_empty) {
            self.at += 1;
        }
        match self.lines.get(self.at) {
            Some(line) if line.text.starts_with('\t') => {
                Err(Fault::new(line.number, "a tab indents it: indent with spaces"))
            }
            line => Ok(line.copied()),
        }
    }

    pub(super) fn take(&mut self) {
        self.at += 1;
    }

    /// Goes to the next field at the top.
    pub(super) fn skip_field(&mut self) {
        let begins = |line: &Line<'_>| line.indent == 0 && key_of(line.text).is_some();
        while self.lines.get(self.at).is_some_and(|line| !begins(line)) {
            self.at += 1;
        }
    }

    /// The value behind a colon or dash; its key, or its dash, is indented by `indent`.
    pub(super) fn value(
        &mut self,
        rest: &'t str,
        indent: usize,
        number: usize,
        depth: usize,
    ) -> Result<Value, Fault> {
        let depth = depth.checked_sub(1).ok_or_else(|| Fault::new(number, "it nests too deep"))?;
        match rest.chars().next() {
            None | Some('#') => match self.peek()? {
                Some(line) if line.indent > indent => self.node(line.indent, depth),
                // A list may stand as far out as its key.
                Some(line) if line.indent == indent && line.item().is_some() => self.list(indent, depth),
                _ => Ok(Value::Null),
            },
            Some('|' | '>') => match Header::parse(rest) {
                Some(header) => Ok(Value::String(self.scalar(header, indent))),
                None => Ok(self.plain(rest, indent)),
            },
            Some(quote @ ('"' | '\'')) => self.quoted(rest, quote, indent, number),
            Some('[' | '{') => self.flow(rest, indent, number, depth),
            Some(_) => Ok(self.plain(rest, indent)),
        }
    }

    /// What begins in the next line, which is indented by `indent`.
    fn node(&mut self, indent: usize, depth: usize) -> Result<Value, Fault> {
        let Some(line) = self.peek()? else { return Ok(Value::Null) };
        let depth = depth.checked_sub(1).ok_or_else(|| Fault::new(line.number, "it nests too deep"))?;
        if line.item().is_some() {
            self.list(indent, depth)
        } else if key_of(line.text).is_some() {
            self.map(indent, depth)
        } else {
            self.take();
            // As if it stood behind its key, one step further out.
            self.value(line.text, indent.saturating_sub(1), line.number, depth)
        }
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<Value, Fault> {
        let mut items = Vec::new();
        while let Some(line) = self.peek()? {
            if line.indent < indent {
                break;
            }
            let item = line.item().filter(|_| line.indent == indent);
            let Some((text, inner)) = item else {
                if line.indent == indent {
                    break;
                }
                return Err(Fault::new(line.number, "it is indented deeper than the items above it"));
            };
            if key_of(text).is_some() || Line::new(line.number, text).item().is_some() {
                // A map or list of its own that begins behind the dash.
                self.lines[self.at] = Line { indent: inner, text, ..line };
                items.push(self.node(inner, depth)?);
            } else {
                self.take();
                // A dash at the same place is the next item, not a list within this one.
                let next = self.peek()?.filter(|_| text.is_empty() || text.starts_with('#'));
                let empty = next.is_some_and(|next| next.indent == indent);
                items.push(if empty { Value::Null } else { self.value(text, indent, line.number, depth)? });
            }
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, indent: usize, depth: usize) -> Result<Value, Fault> {
        let mut map = Map::new();
        while let Some(line) = self.peek()? {
            if line.indent < indent {
                break;
            }
            if line.indent > indent {
                return Err(Fault::new(line.number, "it is indented deeper than the keys above it"));
            }
            let Some((key, rest)) = key_of(line.text) else {
                return Err(Fault::new(line.number, "expected `key: value`"));
            };
            self.take();
            let value = self.value(rest, indent, line.number, depth)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }

    /// Lines that go on with a value: deeper than its key.
    fn further(&mut self, indent: usize) -> Option<Line<'t>> {
        let line = *self.lines.get(self.at)?;
        (line.is_blank() || line.indent > indent).then(|| {
            self.at += 1;
            line
        })
    }

    /// A text without quotes, with the lines that go on with it.
    fn plain(&mut self, rest: &'t str, indent: usize) -> Value {
        let first = scalar::uncommented(rest);
        let mut parts = vec![first];
        let start = self.at;
        while let Some(line) = self.further(indent) {
            if line.text.starts_with('#') {
                continue;
            }
            parts.push(scalar::uncommented(line.text.trim()));
        }
        while parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
        if parts.len() == 1 {
            // Nothing but blank lines and comments followed.
            self.at = start;
            return scalar::plain(first);
        }
        Value::String(fold(&parts))
    }

    fn quoted(&mut self, rest: &'t str, quote: char, indent: usize, number: usize) -> Result<Value, Fault> {
        if let Some((text, end)) = scalar::quoted(rest) {
            // With more behind it, the quotes are a part of the text.
            let alone = scalar::uncommented(&rest[end..]).trim().is_empty();
            return Ok(if alone { Value::String(text) } else { self.plain(rest, indent) });
        }
        let mut parts = vec![rest[1..].trim_end()];
        while let Some(line) = self.further(indent) {
            let text = line.text.trim_start();
            let Some(end) = scalar::close(text, quote) else {
                parts.push(text);
                continue;
            };
            parts.push(&text[..end]);
            if !scalar::uncommented(&text[end + 1..]).trim().is_empty() {
                return Err(Fault::new(line.number, "something follows the closing quote"));
            }
            return Ok(Value::String(scalar::unquote(&fold(&parts), quote)));
        }
        Err(Fault::new(number, format!("the quote {quote} is not closed")))
    }

    fn flow(&mut self, rest: &'t str, indent: usize, number: usize, depth: usize) -> Result<Value, Fault> {
        let mut balance = Balance::default();
        if let Some(end) = balance.feed(rest) {
            // With more behind it, it is a text that begins with a bracket.
            if !scalar::uncommented(&rest[end..]).trim().is_empty() {
                return Ok(self.plain(rest, indent));
            }
            return flow::parse(&rest[..end], depth).map_err(|what| Fault::new(number, what));
        }
        let mut text = scalar::uncommented(rest).to_owned();
        loop {
            let closes = |line: &&Line<'_>| line.indent == indent && line.text.starts_with([']', '}']);
            let line = match self.further(indent) {
                Some(line) => line,
                None => match self.lines.get(self.at).filter(closes) {
                    Some(line) => {
                        self.at += 1;
                        *line
                    }
                    None => return Err(Fault::new(number, "the bracket is not closed")),
                },
            };
            let piece = scalar::uncommented(line.text.trim_start());
            text.push(' ');
            if let Some(end) = balance.feed(piece) {
                text.push_str(&piece[..end]);
                if !piece[end..].trim().is_empty() {
                    return Err(Fault::new(line.number, "something follows the closing bracket"));
                }
                return flow::parse(&text, depth).map_err(|what| Fault::new(number, what));
            }
            text.push_str(piece);
        }
    }

    /// A block of text (`|`, `>`), below a key that is indented by `indent`.
    fn scalar(&mut self, header: Header, indent: usize) -> String {
        let mut lines = Vec::new();
        while let Some(line) = self.further(indent) {
            lines.push(line);
        }
        let first = lines.iter().find(|line| !line.is_blank()).map_or(indent + 1, |line| line.indent);
        let margin = header.margin.map_or(first, |margin| indent + margin);
        let mut texts: Vec<&str> = lines
            .iter()
            .map(|line| if line.is_blank() { "" } else { &line.raw[margin.min(line.indent)..] })
            .collect();
        let whole = texts.len();
        while texts.last().is_some_and(|text| text.is_empty()) {
            texts.pop();
        }
        let blank = whole - texts.len();
        let mut text = if header.folds { fold(&texts) } else { texts.join("\n") };
        match header.end {
            End::Strip => {}
            End::Clip if texts.is_empty() => {}
            End::Clip => text.push('\n'),
            End::Keep => text.extend(std::iter::repeat_n('\n', blank + usize::from(!texts.is_empty()))),
        }
        text
    }
}

/// Lines as one text: a line end is a space, a blank line a line end, and what is indented keeps its lines.
fn fold(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut before: Option<&str> = None;
    for line in lines {
        let stands = |text: &str| text.starts_with([' ', '\t']);
        match before {
            None => {}
            Some(before) if stands(before) || stands(line) => text.push('\n'),
            Some("") if line.is_empty() => text.push('\n'),
            Some("") => {}
            Some(_) if line.is_empty() => text.push('\n'),
            Some(_) => text.push(' '),
        }
        text.push_str(line);
        before = Some(line);
    }
    text
}

/// How a block of text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    folds: bool,
    end: End,
    margin: Option<usize>,
}

/// What becomes of the line ends behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Clip,
    Strip,
    Keep,
}

impl Header {
    fn parse(text: &str) -> Option<Self> {
        let text = scalar::uncommented(text);
        let mut header = Self { folds: text.starts_with('>'), end: End::Clip, margin: None };
        for c in text.chars().skip(1) {
            match c {
                '-' => header.end = End::Strip,
                '+' => header.end = End::Keep,
                '1'..='9' => header.margin = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()),
                _ => return None,
            }
        }
        Some(header)
    }
}
