//! The words of an operation, read.

use troupe_core::policy::{Behaviour, Mode};

/// The name of a child that the case gives none.
const CHILD: &str = "child";

/// One thing that happens in a case. Names are those of the case: `t1` an agent, `c1` a command, `f` a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    /// How the session is set up.
    Cap(usize),
    Mode(Mode),
    Rule(Behaviour, String),
    /// What the lead is at.
    LongTurn,
    Rest,
    Compact,
    Quit,
    Resume,
    ListAgents,
    /// Agents.
    Start(String),
    StartOf {
        name: String,
        mode: Mode,
    },
    RunMany(usize),
    Fork(String),
    TryFork(String),
    Finish(String),
    Fail(String),
    EndTurn(String),
    Stop(String),
    Message(String),
    AskFor(String),
    /// Their commands.
    Command {
        agent: String,
        name: String,
    },
    /// What is looked at.
    ReadInbox,
    Delivered,
    ClientDrops,
    ClientReconnects,
    /// Permissions.
    Ask(String),
    Call {
        agent: String,
        call: String,
    },
    Answer {
        reverse: bool,
    },
    Decide {
        allow: bool,
    },
    /// Files.
    Read(String, String),
    Edit(String, String),
    Write(String, String),
    Touch(String),
    Rewrite,
}

impl Op {
    /// The agents that must be there before it, or have to be started for it.
    pub(crate) fn agents(&self) -> Vec<&str> {
        match self {
            Self::TryFork(name)
            | Self::Finish(name)
            | Self::Fail(name)
            | Self::EndTurn(name)
            | Self::Stop(name)
            | Self::Message(name)
            | Self::AskFor(name)
            | Self::Ask(name)
            | Self::Call { agent: name, .. }
            | Self::Command { agent: name, .. }
            | Self::Read(name, _)
            | Self::Edit(name, _)
            | Self::Write(name, _) => vec![name],
            _ => Vec::new(),
        }
    }
}

/// A name of an agent, a command or a file: a letter, and perhaps a number.
pub(crate) fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.all(|letter| letter.is_ascii_digit())
}

/// The names of `a1..a7`, or of one name.
fn names(word: &str) -> Option<Vec<String>> {
    let Some((first, last)) = word.split_once("..") else {
        return is_name(word).then(|| vec![word.to_owned()]);
    };
    let stem = first.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = |name: &str| name.strip_prefix(stem)?.parse::<usize>().ok();
    Some((number(first)?..=number(last)?).map(|number| format!("{stem}{number}")).collect())
}

/// Reads an operation; several where it names several agents or says how often.
pub(crate) fn parse(text: &str) -> Result<Vec<Op>, String> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let times = words.last().and_then(|last| last.strip_prefix('x')?.parse().ok());
    if times.is_some() {
        words.pop();
    }
    let one = match words.as_slice() {
        ["background" | "child", "agent", rest @ ..] | ["agent", rest @ ..] => rest,
        ["child", name, rest @ ..] if is_name(name) && !rest.is_empty() => &words[1..],
        all => all,
    };
    let several = one.first().and_then(|word| names(word)).filter(|_| one.len() > 1);
    let ops = match (several, one) {
        (Some(names), _) => {
            names.into_iter().map(|name| of_agent(name, &one[1..])).collect::<Option<Vec<_>>>()
        }
        (None, ["child", "with", "permissionMode", mode, "calls", call @ ..]) => of_child(mode, call),
        (None, _) => other(one).map(|op| vec![op]),
    };
    let ops = ops.ok_or_else(|| format!("unknown operation `{text}`"))?;
    Ok(ops.iter().cycle().take(ops.len() * times.unwrap_or(1)).cloned().collect())
}

/// What an agent does, or is done to it.
fn of_agent(name: String, words: &[&str]) -> Option<Op> {
    let op = match words {
        ["running" | "runs" | "starts"] | ["is", "running"] => Op::Start(name),
        ["finishes" | "ends" | "finish" | "end"] => Op::Finish(name),
        ["fails"] => Op::Fail(name),
        ["ends", "turn"] | ["ends", "its", "turn"] => Op::EndTurn(name),
        ["killed" | "stopped"]
        | ["is", "killed" | "stopped"]
        | ["is", "stopped" | "killed", "for", "good"] => Op::Stop(name),
        ["starts", "background", "command", command] | ["starts", command] if is_name(command) => {
            Op::Command { agent: name, name: (*command).to_owned() }
        }
        ["tries", "to", "fork"] => Op::TryFork(name),
        ["ask" | "asks"] => Op::Ask(name),
        ["calls", call @ ..] if !call.is_empty() => Op::Call { agent: name, call: call.join(" ") },
        ["read" | "reads", file] => Op::Read(name, (*file).to_owned()),
        ["edit" | "edits", "a", "unique", "place"] => Op::Edit(name, "f".to_owned()),
        ["edit" | "edits", file] | ["edit" | "edits", file, "again"] => Op::Edit(name, (*file).to_owned()),
        ["write" | "writes", file] | ["write" | "writes", file, "whole"] => {
            Op::Write(name, (*file).to_owned())
        }
        _ => return None,
    };
    Some(op)
}

/// What the lead, the person, the client or the world does.
fn other(words: &[&str]) -> Option<Op> {
    let op = match words {
        ["cap", count] => Op::Cap(count.parse().ok()?),
        ["settings", behaviour, rule @ ..] if !rule.is_empty() => {
            Op::Rule(behaviour_of(behaviour)?, rule.join(" "))
        }
        ["lead", "in", "one" | "a", "long", "turn"] | ["user", "message", "in", "progress"] => Op::LongTurn,
        ["lead", "ends", "turn"] | ["lead", "ends", "its", "turn"] | ["lead", "idle"] => Op::Rest,
        ["lead", "in", mode, "mode"] | ["lead", "in", mode] => Op::Mode(Mode::parse(mode)?),
        ["compact"] => Op::Compact,
        ["quit"] | ["lead", "quits"] => Op::Quit,
        ["resume"] | ["lead", "resumes"] => Op::Resume,
        ["list", "agents"] => Op::ListAgents,
        ["start", name] | ["lead", "starts", name] if is_name(name) => Op::Start((*name).to_owned()),
        ["run", count, "to", "completion"] | ["run", count, "to", "completion", "without", "closing"] => {
            Op::RunMany(count.parse().ok()?)
        }
        ["lead", "forks", name] if is_name(name) => Op::Fork((*name).to_owned()),
        ["stop" | "kill", name] | ["user" | "lead", "stops" | "kills", name] if is_name(name) => {
            Op::Stop((*name).to_owned())
        }
        ["message", name] | ["lead", "message" | "messages", name] if is_name(name) => {
            Op::Message((*name).to_owned())
        }
        ["lead", "asks", "for", name] | ["lead", "asks", "for", name, "by", "id"] if is_name(name) => {
            Op::AskFor((*name).to_owned())
        }
        ["read", "lead", "inbox"] => Op::ReadInbox,
        ["notice", "delivered"] => Op::Delivered,
        ["client", "drops"] => Op::ClientDrops,
        ["client", "reconnects"] => Op::ClientReconnects,
        ["answer", "in", "order"] => Op::Answer { reverse: false },
        ["answer", "in", "reverse", "order"] => Op::Answer { reverse: true },
        ["user", "approves"] => Op::Decide { allow: true },
        ["user", "denies"] => Op::Decide { allow: false },
        ["touch", file] => Op::Touch((*file).to_owned()),
        ["formatter", "rewrites", "another", "line"] => Op::Rewrite,
        _ => return None,
    };
    Some(op)
}

/// A child without a name in the case.
fn of_child(mode: &str, call: &[&str]) -> Option<Vec<Op>> {
    let start = Op::StartOf { name: CHILD.to_owned(), mode: Mode::parse(mode)? };
    Some(vec![start, of_agent(CHILD.to_owned(), &[&["calls"], call].concat())?])
}

fn behaviour_of(word: &str) -> Option<Behaviour> {
    match word {
        "allow" => Some(Behaviour::Allow),
        "ask" => Some(Behaviour::Ask),
        "deny" => Some(Behaviour::Deny),
        _ => None,
    }
}
