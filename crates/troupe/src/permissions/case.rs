//! Cases, a line of JSON each, judged with the rules that they bring along: no settings are read.

use std::io::{self, BufRead, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use troupe_core::policy::{Behaviour, Decision, GitTrust, Mode, Rules, Scope, Verdict, absolute};
use troupe_core::ports::tool::{Place, Tool};
use troupe_engine::judge::{real, with_links};
use troupe_engine::load::Env;
use troupe_tools::shell::Options;

use super::judge::{Call, judge, outside};
use super::report::explained;
use crate::fault::Fault;

/// Most bytes of a line.
const LINE: u64 = 1 << 20;

/// Answers each line with one, until the input ends. A line that makes no sense is answered with what is wrong.
///
/// # Errors
/// When the input can't be read, or the output can't be written.
pub(super) fn judge_lines(env: &Env, mut input: impl BufRead, output: &mut impl Write) -> Result<u8, Fault> {
    let tools = troupe_tools::builtin(Options::default());
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let read = input.by_ref().take(LINE + 1).read_until(b'\n', &mut line);
        let bytes = read.map_err(|error| Fault::failed(format_args!("failed to read stdin: {error}")))?;
        if bytes == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if text.trim_ascii().is_empty() {
            continue;
        }
        let answer = if text.len() as u64 > LINE {
            skip_line(&mut input)
                .map_err(|error| Fault::failed(format_args!("failed to read stdin: {error}")))?;
            json!({"id": number, "error": format!("the line is longer than {LINE} bytes")})
        } else {
            answer(text, number, env, &tools)
        };
        match writeln!(output, "{answer}").and_then(|()| output.flush()) {
            Ok(()) => {}
            // A reader that has gone away has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            Err(error) => return Err(Fault::failed(format_args!("failed to write to stdout: {error}"))),
        }
    }
    Ok(0)
}

/// Passes over the rest of a line.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, ends) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if ends {
            return Ok(());
        }
    }
}

fn answer(line: &[u8], number: u64, env: &Env, tools: &[Arc<dyn Tool>]) -> Value {
    let case: Map<String, Value> = match serde_json::from_slice(line) {
        Ok(case) => case,
        Err(error) => return json!({"id": number, "error": format!("it is not a JSON object: {error}")}),
    };
    let id = case.get("id").filter(|id| !id.is_null()).cloned().unwrap_or_else(|| number.into());
    let mut answer = json!({ "id": id });
    match Case::read(&case, env).and_then(|case| case.judge(tools)) {
        Ok(Value::Object(found)) => {
            if let Some(answer) = answer.as_object_mut() {
                answer.extend(found);
            }
        }
        Ok(_) => {}
        Err(error) => answer["error"] = error.into(),
    }
    answer
}

struct Case {
    call: Call,
    rules: Rules,
    mode: Mode,
    place: Place,
    /// The worktree that the agent is bound to.
    bound: Option<PathBuf>,
}

impl Case {
    fn read(case: &Map<String, Value>, env: &Env) -> Result<Self, String> {
        let tool = text(case, "tool")?.unwrap_or("Bash").to_owned();
        let input = match (case.get("input"), text(case, "command")?) {
            (Some(input @ Value::Object(_)), _) => input.clone(),
            (Some(_), _) => return Err("`input` must be an object".to_owned()),
            (None, Some(command)) => json!({ "command": command }),
            (None, None) => return Err("`command` or `input` is missing".to_owned()),
        };
        let mode = match text(case, "mode")? {
            None => Mode::Default,
            Some(word) => Mode::parse(word).ok_or_else(|| format!("`{word}` is no permission mode"))?,
        };
        let home = text(case, "home")?.map(PathBuf::from).or_else(|| env.home.clone());
        let home = home.unwrap_or_else(|| "/".into());
        let folder = |key: &str, from: &Path| -> Result<Option<PathBuf>, String> {
            Ok(text(case, key)?.map(|path| real(&absolute(path, from, &home))))
        };
        let workspace = folder("workspace", &env.cwd)?.unwrap_or_else(|| env.cwd.clone());
        let bound = folder("isolation", &workspace)?;
        let root = bound.clone().unwrap_or_else(|| workspace.clone());
        let cwd = folder("cwd", &root)?.unwrap_or_else(|| root.clone());
        let place = Place { cwd, home, roots: vec![root], scratch: Vec::new(), read_only: false };
        let mut rules = Rules::default();
        for (key, behaviour) in
            [("rule_deny", Behaviour::Deny), ("rule_ask", Behaviour::Ask), ("rule_allow", Behaviour::Allow)]
        {
            for rule in texts(case, key)? {
                // One that can't be understood counts as it would in settings.
                let _ = rules.add(rule, behaviour, Scope::Project, workspace.clone());
            }
        }
        let untrusted = case.get("trusted") == Some(&Value::Bool(false));
        rules.set_git(if untrusted { GitTrust::None } else { GitTrust::All });
        rules.set_folding(case.get("case_insensitive") == Some(&Value::Bool(true)));
        let rules = with_links(rules, &place);
        Ok(Self { call: Call { tool, input }, rules, mode, place, bound })
    }

    fn judge(&self, tools: &[Arc<dyn Tool>]) -> Result<Value, String> {
        let found = judge(&self.call, &self.rules, self.mode, &self.place, tools)?;
        let mut value = explained(&found);
        let beyond = self.bound.as_deref().and_then(|bound| outside(&found.access, bound));
        let is_exec = tool_is_shell(&self.call.tool);
        match (&found.why.verdict, beyond) {
            (verdict, Some(path)) if !is_exec || verdict.decision() == Decision::Ask => {
                value["decision"] = Decision::Deny.as_str().into();
                value["reason"] = format!("{path} is outside the worktree that the agent is bound to").into();
            }
            // A classifier says yes to all that it may answer.
            (Verdict::Ask(asking), None) if self.mode == Mode::Auto && !asking.hard => {
                value["decision"] = Decision::Allow.as_str().into();
                value["reason"] = format!("a classifier may answer: {}", asking.reason).into();
            }
            _ => {}
        }
        Ok(value)
    }
}

fn tool_is_shell(tool: &str) -> bool {
    tool == "Bash"
}

fn text<'c>(case: &'c Map<String, Value>, key: &str) -> Result<Option<&'c str>, String> {
    match case.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` must be a text")),
    }
}

fn texts<'c>(case: &'c Map<String, Value>, key: &str) -> Result<Vec<&'c str>, String> {
    let fault = || format!("`{key}` must be a list of texts");
    match case.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(items)) => items.iter().map(|item| item.as_str().ok_or_else(fault)).collect(),
        Some(_) => Err(fault()),
    }
}
