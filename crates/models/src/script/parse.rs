//! The text of a script → its parts. An error names the file, the line, and what would be right.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};
use troupe_core::entry::Stop;
use troupe_core::ports::model::{Fault, ModelError};

use super::format::{Cut, Failure, List, Reply, Script, Step};
use crate::anthropic::of_answer;

/// A script that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("read the script {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A line is wrong.
    #[error("{file}:{line}: {what}; {right}")]
    Line {
        /// The file's name.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// What would be right.
        right: &'static str,
    },
}

const WORDS: &str =
    "a line begins with cache, agent, reply, expect, error, cut, gate, think, text, call, usage or stop";
const CACHE: &str = "write `cache 1024`, the fewest tokens of a prefix that it keeps";
const AGENT: &str = "write `agent NAME` or `agent NAME /part of its first prompt/`";
const REPLY: &str = "write `reply`, or `reply \"text\"` for a reply of one text";
const STRING: &str = "a text stands in double quotes, with JSON's escapes";
const ERROR: &str = "write `error 529 \"message\"` (or timeout, network, malformed for 529), then times=2 or times=always, retry_after=1.5";
const CUT: &str = "write `cut 3`, the pieces that come through, then times=2 or times=always";
const GATE: &str = "write `gate NAME`";
const CALL: &str = "write `call Tool key=value key=\"a text\"` or `call Tool {\"key\": \"value\"}`";
const USAGE: &str = "write `usage input=100 output=10 cache_write=0 cache_read=0`, any of them";
const STOP: &str = "write `stop` and end_turn, stop_sequence, tool_use, max_tokens, pause_turn, refusal or model_context_window_exceeded";
const NOTHING: &str = "nothing may follow";

/// Most bytes of a script.
const MOST: u64 = 64 << 20;

fn read_bounded(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "it holds more than 64 MiB"));
    }
    Ok(text)
}

type Wrong = (String, &'static str);

impl Script {
    /// Reads a script file.
    ///
    /// # Errors
    /// When the file can't be read, or a line is wrong.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text =
            read_bounded(path).map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a script; `file` is its name in errors.
    ///
    /// # Errors
    /// When a line is wrong.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        let mut script = Self { file: file.to_owned(), lists: Vec::new(), cache: None };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = index + 1;
            script.line(number, line).map_err(|(what, right)| ScriptError::Line {
                file: file.to_owned(),
                line: number,
                what,
                right,
            })?;
        }
        Ok(script)
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), Wrong> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut rest = Rest(rest.trim());
        match word {
            "cache" => {
                let least = rest.word().and_then(|word| word.parse().ok());
                self.cache = Some(least.ok_or_else(|| wrong("a cache without a number", CACHE))?);
                return rest.end();
            }
            "agent" => return self.agent(number, &rest),
            "reply" => {
                let list = self.lists.last_mut().ok_or_else(|| wrong("a reply before any agent", AGENT))?;
                let mut reply = Reply::new(number);
                if !rest.is_empty() {
                    reply.steps.push(Step::Text(rest.string(REPLY)?));
                }
                list.replies.push(reply);
                return rest.end();
            }
            _ => {}
        }
        let reply = self.lists.last_mut().and_then(|list| list.replies.last_mut());
        let reply = || reply.ok_or_else(|| wrong(&format!("`{word}` before any reply"), REPLY));
        match word {
            "expect" => reply()?.expects.push(rest.string(STRING)?),
            "error" => reply()?.failures.push(failure(&mut rest)?),
            "cut" => {
                let reply = reply()?;
                if reply.cut.is_some() {
                    return Err(wrong("a second cut in a reply", CUT));
                }
                reply.cut = Some(cut(&mut rest)?);
            }
            "gate" => {
                let name = rest.word().ok_or_else(|| wrong("a gate without a name", GATE))?;
                reply()?.steps.push(Step::Gate(name.to_owned()));
            }
            "think" => reply()?.steps.push(Step::Think(rest.string(STRING)?)),
            "text" => reply()?.steps.push(Step::Text(rest.string(STRING)?)),
            "call" => reply()?.steps.push(call(&mut rest)?),
            "usage" => usage(reply()?, &mut rest)?,
            "stop" => {
                let stop = Stop::parse(rest.word().unwrap_or_default());
                if matches!(stop, Stop::Other(_) | Stop::Cut) {
                    return Err(wrong(&format!("the stop reason `{}` is not known", stop.as_str()), STOP));
                }
                reply()?.stop = Some(stop);
            }
            _ => return Err(wrong(&format!("`{word}` is no word of a script"), WORDS)),
        }
        rest.end()
    }

    fn agent(&mut self, line: usize, rest: &Rest<'_>) -> Result<(), Wrong> {
        let (definition, key) = rest.0.split_once(char::is_whitespace).unwrap_or((rest.0, ""));
        if definition.is_empty() {
            return Err(wrong("an agent without a name", AGENT));
        }
        let key = key.trim();
        let prompt = match key.strip_prefix('/').and_then(|key| key.strip_suffix('/')) {
            Some(part) if !part.is_empty() => Some(part.to_owned()),
            None if key.is_empty() => None,
            _ => return Err(wrong(&format!("`{key}` is no part of a prompt between slashes"), AGENT)),
        };
        let list = List { definition: definition.to_owned(), prompt, line, replies: Vec::new() };
        if let Some(earlier) = self.lists.iter().find(|earlier| earlier.name() == list.name()) {
            let what = format!("`{}` has its replies in line {} already", list.name(), earlier.line);
            return Err(wrong(&what, "all replies of an agent stand in one list"));
        }
        self.lists.push(list);
        Ok(())
    }
}

fn failure(rest: &mut Rest<'_>) -> Result<Failure, Wrong> {
    let kind = rest.word().ok_or_else(|| wrong("an error without a status", ERROR))?;
    let message = rest.string(ERROR)?;
    let mut error = match kind {
        "timeout" => ModelError::new(Fault::Timeout, message),
        "network" => ModelError::new(Fault::Network, message),
        "malformed" => ModelError::new(Fault::Malformed, message),
        _ => {
            let status = kind.parse().ok().filter(|status| *status >= 400);
            let status = status.and_then(|status| StatusCode::from_u16(status).ok());
            let status =
                status.ok_or_else(|| wrong(&format!("`{kind}` is no status of a failure"), ERROR))?;
            // Read as a server's answer is, so that both find the same faults in the same words.
            let body = json!({"error": {"message": message}}).to_string();
            of_answer(status, &HeaderMap::new(), body.as_bytes())
        }
    };
    let mut times = 1;
    while let Some((key, value)) = rest.pair(ERROR)? {
        match key {
            "times" => times = parse_times(&value, ERROR)?,
            "retry_after" => {
                let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                let seconds = seconds.ok_or_else(|| wrong("retry_after is no number of seconds", ERROR))?;
                error.retry_after = Some(seconds);
            }
            _ => return Err(wrong(&format!("an error has no `{key}`"), ERROR)),
        }
    }
    Ok(Failure { error, times })
}

fn cut(rest: &mut Rest<'_>) -> Result<Cut, Wrong> {
    let after = rest.word().and_then(|word| word.parse().ok());
    let after = after.ok_or_else(|| wrong("a cut without a number of pieces", CUT))?;
    let mut times = 1;
    while let Some((key, value)) = rest.pair(CUT)? {
        match key {
            "times" => times = parse_times(&value, CUT)?,
            _ => return Err(wrong(&format!("a cut has no `{key}`"), CUT)),
        }
    }
    Ok(Cut { after, times })
}

fn parse_times(value: &Value, right: &'static str) -> Result<u32, Wrong> {
    if value == "always" {
        return Ok(u32::MAX);
    }
    let times = value.as_u64().and_then(|times| u32::try_from(times).ok());
    times.ok_or_else(|| wrong("times is no number and not `always`", right))
}

fn call(rest: &mut Rest<'_>) -> Result<Step, Wrong> {
    let tool = rest.word().ok_or_else(|| wrong("a call without a tool", CALL))?.to_owned();
    let mut input = Map::new();
    if rest.0.starts_with('{') {
        let Value::Object(whole) = rest.json(CALL)? else {
            return Err(wrong("the input is no object", CALL));
        };
        input = whole;
    } else {
        while let Some((key, value)) = rest.pair(CALL)? {
            if input.insert(key.to_owned(), value).is_some() {
                return Err(wrong(&format!("`{key}` is given twice"), CALL));
            }
        }
    }
    Ok(Step::Call { tool, input: Value::Object(input) })
}

fn usage(reply: &mut Reply, rest: &mut Rest<'_>) -> Result<(), Wrong> {
    while let Some((key, value)) = rest.pair(USAGE)? {
        let tokens =
            value.as_u64().ok_or_else(|| wrong(&format!("`{key}` is no number of tokens"), USAGE))?;
        match key {
            "input" => reply.usage.input_tokens = tokens,
            "output" => reply.usage.output_tokens = tokens,
            "cache_write" => reply.usage.cache_creation_input_tokens = tokens,
            "cache_read" => reply.usage.cache_read_input_tokens = tokens,
            _ => return Err(wrong(&format!("usage has no `{key}`"), USAGE)),
        }
    }
    Ok(())
}

fn wrong(what: &str, right: &'static str) -> Wrong {
    (what.to_owned(), right)
}

/// What is left of a line.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn word(&mut self) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(char::is_whitespace).unwrap_or((self.0, ""));
        self.0 = rest.trim_start();
        (!word.is_empty()).then_some(word)
    }

    fn string(&mut self, right: &'static str) -> Result<String, Wrong> {
        if !self.0.starts_with('"') {
            return Err(wrong("a text in quotes is missing", right));
        }
        match self.json(right)? {
            Value::String(text) => Ok(text),
            _ => Err(wrong("a text in quotes is missing", right)),
        }
    }

    /// One JSON value; a blank or the end of the line follows it.
    fn json(&mut self, right: &'static str) -> Result<Value, Wrong> {
        let mut values = serde_json::Deserializer::from_str(self.0).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => return Err(wrong(&format!("`{}` is no JSON ({error})", self.0), right)),
            None => return Err(wrong("a value is missing", right)),
        };
        let rest = &self.0[values.byte_offset()..];
        if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            return Err(wrong(&format!("`{rest}` follows a value without a blank"), right));
        }
        self.0 = rest.trim_start();
        Ok(value)
    }

    /// The next `key=value`. A value in quotes or brackets is JSON; a bare one is a number, `true`, `false` or
    /// `null` where it looks so, else a text.
    fn pair(&mut self, right: &'static str) -> Result<Option<(&'a str, Value)>, Wrong> {
        if self.is_empty() {
            return Ok(None);
        }
        let pair =
            self.0.split_once('=').filter(|(key, _)| !key.is_empty() && !key.contains(char::is_whitespace));
        let (key, value) = pair.ok_or_else(|| wrong(&format!("`{}` is no key=value", self.0), right))?;
        self.0 = value;
        if value.starts_with(['"', '{', '[']) {
            return Ok(Some((key, self.json(right)?)));
        }
        // A blank after `=` leaves nothing before it.
        let (bare, rest) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
        self.0 = rest.trim_start();
        if bare.is_empty() {
            return Err(wrong(&format!("`{key}` has no value"), right));
        }
        let plain = serde_json::from_str::<Value>(bare).ok();
        Ok(Some((key, plain.unwrap_or_else(|| Value::String(bare.to_owned())))))
    }

    fn end(&self) -> Result<(), Wrong> {
        if self.is_empty() { Ok(()) } else { Err(wrong(&format!("`{}` is too much", self.0), NOTHING)) }
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
