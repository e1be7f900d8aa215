//! One agent as it would run.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::def::AgentDef;
use troupe_core::not_yet;
use troupe_core::pool::{Life, Standing};
use troupe_core::visible::visible_lines;
use troupe_engine::load::Env;

use super::list::{fault_line, fault_object, is_of, object};
use super::source;
use crate::args::{AgentsShow, LifeWord};
use crate::fault::Fault;
use crate::wiring::{AgentsHere, Gets, agents_here, unknown_agent};

/// The agent as text or JSON.
///
/// # Errors
/// When there is none of this name.
pub(super) async fn text(wish: &AgentsShow, env: Env) -> Result<String, Fault> {
    let here = agents_here(wish.given.run(), env)?;
    let is_main = wish.name == here.main.name;
    let listed = here.catalogue.find(&wish.name).or_else(|| here.catalogue.unavailable(&wish.name));
    let life = match wish.life {
        Some(LifeWord::Foreground) => Some(Life::Foreground),
        Some(LifeWord::Background) => Some(Life::Background),
        Some(LifeWord::Main) => Some(Life::Main),
        None => (is_main && listed.is_none()).then_some(Life::Main),
    };
    let found = listed.or_else(|| is_main.then_some(&here.main));
    let def = found.ok_or_else(|| unknown_agent(&wish.name, &here.catalogue))?;
    let gets = here.gets(def, life).await;
    if wish.json {
        return Ok(format!("{:#}\n", as_json(def, &gets, &here)));
    }
    let mut text = String::new();
    for (name, value) in lines(def, &gets, &here) {
        // Writing to a string can't fail. What has several lines stays one block.
        let _ = writeln!(text, "{name:<12}{}", value.trim_end().replace('\n', "\n            "));
    }
    let _ = write!(text, "\nprompt:\n{}\n", def.prompt);
    Ok(visible_lines(&text))
}

/// Why the main agent can't start it; none for the main agent itself.
fn refused(def: &AgentDef, gets: &Gets, here: &AgentsHere) -> Option<&'static str> {
    if is_main(gets.at.life) { None } else { here.refused(def) }
}

fn is_main(life: Life) -> bool {
    matches!(life, Life::Main | Life::Coordinator)
}

/// Names in its definition that no tool has.
fn unknown<'d>(def: &'d AgentDef, here: &AgentsHere) -> Vec<&'d str> {
    def.tools.unknown(|name| here.tools.iter().any(|tool| *tool.spec().name == *name))
}

fn lines(def: &AgentDef, gets: &Gets, here: &AgentsHere) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("name", def.name.clone()),
        ("source", source(def, here)),
        ("when", def.when.clone()),
        ("model", model(def, gets, here)),
    ];
    let mut add = |name: &'static str, value: Option<String>| {
        lines.extend(value.filter(|value| !value.is_empty()).map(|value| (name, value)));
    };
    add("lacks", not_yet::lacks(def));
    add("refused", refused(def, gets, here).map(str::to_owned));
    add("no effect", not_yet::ignored_words(def));
    let replaces = here.catalogue.replaces_builtin(def);
    add("replaces", replaces.then(|| "the built-in agent of this name".to_owned()));
    add("effort", gets.effort.map(|effort| effort.as_str().to_owned()));
    add("mode", Some(mode(def, &gets.at, here)));
    add("runs", Some(life(gets.at.life).to_owned()));
    add("turns", def.limits.turns.map(|turns| format!("at most {turns}")));
    add(
        "starts",
        def.tools.agents.as_ref().map(|types| format!("agents of these types only: {}", types.join(", "))),
    );
    let not = def.tools.without_agents.join(", ");
    add(
        "starts not",
        Some(not).filter(|not| !not.is_empty()).map(|not| format!("agents of these types: {not}")),
    );
    add(
        "allowed",
        def.allowed.as_ref().map(|rules| format!("in place of the session's rules: {}", rules.join(", "))),
    );
    add("memory", def.memory.map(|memory| word(&json!(memory))));
    add("isolation", def.isolation.map(|isolation| word(&json!(isolation))));
    add("skills", Some(def.skills.join(", ")));
    add("servers", Some(def.mcp_servers.iter().map(server).collect::<Vec<_>>().join(", ")));
    add("needs", Some(def.required_mcp_servers.join(", ")));
    add(
        "hooks",
        def.hooks
            .as_ref()
            .and_then(Value::as_object)
            .map(|hooks| hooks.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
    );
    add("context", def.omit_instructions.then(|| "without instruction files and git status".to_owned()));
    add("first", def.initial_prompt.clone());
    add("reminder", def.reminder.clone());
    add("tools", Some(if gets.tools.is_empty() { "none".to_owned() } else { gets.tools.join(", ") }));
    let without: Vec<String> =
        gets.without.iter().map(|(tool, why)| format!("{tool}: {}", why.words())).collect();
    add("without", Some(without.join("\n")));
    add(
        "unknown",
        Some(
            unknown(def, here)
                .iter()
                .map(|name| format!("{name}: there is no such tool"))
                .collect::<Vec<_>>()
                .join("\n"),
        ),
    );
    let faults = here.catalogue.faults.iter().filter(|fault| is_of(fault, def));
    add("faults", Some(faults.map(|fault| fault_line(fault, here)).collect::<Vec<_>>().join("\n")));
    lines
}

/// The model that it gets, and why (C2).
fn model(def: &AgentDef, gets: &Gets, here: &AgentsHere) -> String {
    let name = match &gets.model {
        Ok(name) => name,
        Err(unknown) => return format!("none: {unknown}"),
    };
    let id = here.model_id(name);
    let named = if id == *name { id } else { format!("{name} ({id})") };
    match (is_main(gets.at.life), here.model_from(def)) {
        (true, _) | (_, "") => named,
        (false, from) => format!("{named}, {from}"),
    }
}

fn mode(def: &AgentDef, at: &Standing, here: &AgentsHere) -> String {
    match def.mode {
        None if is_main(at.life) => format!("{}, the session's", at.mode.as_str()),
        None => format!("that of whoever starts it, at first {}", at.mode.as_str()),
        Some(wanted) if wanted == at.mode => wanted.as_str().to_owned(),
        Some(wanted) => {
            format!(
                "{}: it wants {}, and the session's is {}",
                at.mode.as_str(),
                wanted.as_str(),
                here.main_mode(&here.main).as_str()
            )
        }
    }
}

fn life(life: Life) -> &'static str {
    match life {
        Life::Main => "as the main agent",
        Life::Coordinator => "as the main agent, which coordinates",
        Life::Foreground => "in the foreground, as a direct child of the main agent",
        Life::Background => "in the background, as a direct child of the main agent",
        Life::Teammate => "as a member of a team",
    }
}

/// A server's name.
fn server(server: &Value) -> String {
    match server {
        Value::String(name) => name.clone(),
        Value::Object(map) => map.keys().next().map(|name| format!("{name} (its own)")).unwrap_or_default(),
        _ => String::new(),
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn as_json(def: &AgentDef, gets: &Gets, here: &AgentsHere) -> Value {
    let mut object = object(def, None, here);
    let without: Vec<Value> =
        gets.without.iter().map(|(tool, why)| json!({"tool": tool, "why": why.words()})).collect();
    let faults: Vec<Value> =
        here.catalogue.faults.iter().filter(|fault| is_of(fault, def)).map(fault_object).collect();
    let model = gets.model.as_ref().ok();
    object["refused"] = json!(refused(def, gets, here));
    object["resolvedModel"] = json!(model.map(|name| here.model_id(name)));
    object["resolvedMode"] = gets.at.mode.as_str().into();
    object["recorded"] = json!({
        "model": model, "mode": gets.at.mode, "effort": gets.effort,
        "background": gets.at.life == Life::Background,
    });
    object["pool"] = json!(gets.tools);
    object["removed"] = without.into();
    object["unknownTools"] = json!(unknown(def, here));
    object["faults"] = faults.into();
    object["prompt"] = def.prompt.as_str().into();
    object
}
