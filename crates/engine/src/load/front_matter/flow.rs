//! Lists and maps in brackets, JSON among them.

use serde_json::{Map, Value};

use super::scalar;

/// Follows brackets and quotes over several lines, to find where a value ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Balance {
    depth: usize,
    quote: Option<char>,
    /// The last character that was no space: a quote counts only at the beginning of a value.
    last: Option<char>,
}

impl Balance {
    /// Reads on; where the outermost bracket closes, if it does here.
    pub(super) fn feed(&mut self, text: &str) -> Option<usize> {
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            match (self.quote, c) {
                (Some('"'), '\\') => drop(chars.next()),
                (Some(quote), c) if c == quote => self.quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if matches!(self.last, Some('[' | '{' | ',' | ':')) => {
                    self.quote = Some(c);
                }
                (None, '[' | '{') => self.depth += 1,
                (None, ']' | '}') => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                (None, _) => {}
            }
            if !c.is_whitespace() {
                self.last = Some(c);
            }
        }
        None
    }
}

/// Reads a value in brackets; what is wrong with it, if anything.
pub(super) fn parse(text: &str, depth: usize) -> Result<Value, String> {
    let mut parser = Parser { rest: text };
    let value = parser.value(depth, &[])?;
    parser.space();
    if parser.rest.is_empty() { Ok(value) } else { Err(format!("`{}` follows its end", brief(parser.rest))) }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, c: char) -> bool {
        self.space();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// A value; a plain one ends before `,`, a closing bracket, or one of `ends`.
    fn value(&mut self, depth: usize, ends: &[char]) -> Result<Value, String> {
        let below = depth.checked_sub(1).ok_or("it nests too deep")?;
        if self.eat('[') {
            return self.list(below);
        }
        if self.eat('{') {
            return self.map(below);
        }
        if let Some((text, end)) = scalar::quoted(self.rest) {
            self.rest = &self.rest[end..];
            return Ok(Value::String(text));
        }
        Ok(scalar::plain(self.plain(ends)))
    }

    /// A text without quotes. Commas within its parentheses belong to it: `Agent(a, b)`.
    fn plain(&mut self, ends: &[char]) -> &'t str {
        let mut open = 0_usize;
        let ends_here = |(at, c): &(usize, char)| match c {
            '(' => {
                open += 1;
                false
            }
            ')' => {
                open = open.saturating_sub(1);
                false
            }
            ']' | '}' => true,
            ',' => open == 0,
            c => ends.contains(c) && self.rest[at + 1..].chars().next().is_none_or(char::is_whitespace),
        };
        let end = self.rest.char_indices().find(ends_here).map_or(self.rest.len(), |(at, _)| at);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text.trim()
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            if self.eat(']') {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth, &[])?);
            if !self.eat(',') && !self.rest.starts_with(']') {
                return Err(format!("expected `,` or `]`, found `{}`", brief(self.rest)));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, String> {
        let mut map = Map::new();
        loop {
            if self.eat('}') {
                return Ok(Value::Object(map));
            }
            let key = match scalar::quoted(self.rest) {
                Some((key, end)) => {
                    self.rest = &self.rest[end..];
                    key
                }
                None => self.plain(&[':']).to_owned(),
            };
            let value = if self.eat(':') { self.value(depth, &[])? } else { Value::Null };
            map.insert(key, value);
            if !self.eat(',') && !self.rest.starts_with('}') {
                return Err(format!("expected `,` or `}}`, found `{}`", brief(self.rest)));
            }
        }
    }
}

fn brief(text: &str) -> String {
    if text.is_empty() { "the end".to_owned() } else { text.chars().take(20).collect() }
}
