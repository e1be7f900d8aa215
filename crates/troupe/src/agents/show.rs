//! One agent as it would run.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::def::AgentDef;
use troupe_core::pool::{Life, Standing};
use troupe_core::visible::visible_lines;
use troupe_engine::load::Env;

use super::list::{fault_line, fault_object, is_of, object};
use super::pool::{self, Pool};
use super::source;
use crate::args::AgentsShow;
use crate::fault::Fault;
use crate::wiring::{AgentsHere, agents_here, model_id, unknown_agent};

/// The agent as text or JSON.
///
/// # Errors
/// When there is none of this name.
pub(super) fn text(wish: &AgentsShow, env: Env) -> Result<String, Fault> {
    let here = agents_here(&wish.given.run(), env)?;
    let is_main = wish.name == here.main.name;
    let found = here.catalogue.find(&wish.name).or_else(|| is_main.then_some(&here.main));
    let def = found.ok_or_else(|| unknown_agent(&wish.name, &here.catalogue))?;
    let life = wish.life.or_else(|| {
        (is_main && here.catalogue.find(&wish.name).is_none()).then_some(crate::args::LifeWord::Main)
    });
    let at = pool::standing(def, life, &here);
    let pool = pool::of(def, &at, &here);
    if wish.json {
        return Ok(format!("{:#}\n", as_json(def, &at, &pool, &here)));
    }
    let mut text = String::new();
    for (name, value) in lines(def, &at, &pool, &here) {
        // Writing to a string can't fail. What has several lines stays one block.
        let _ = writeln!(text, "{name:<12}{}", value.trim_end().replace('\n', "\n            "));
    }
    let _ = write!(text, "\nprompt:\n{}\n", def.prompt);
    Ok(visible_lines(&text))
}

fn lines(def: &AgentDef, at: &Standing, pool: &Pool, here: &AgentsHere) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("name", def.name.clone()),
        ("source", source(def, here)),
        ("when", def.when.clone()),
        ("model", model(def, at, here)),
    ];
    let mut add = |name: &'static str, value: Option<String>| {
        lines.extend(value.filter(|value| !value.is_empty()).map(|value| (name, value)));
    };
    add("effort", def.effort.map(|effort| word(&json!(effort))));
    add("mode", Some(mode(def, at, here)));
    add("runs", Some(life(at.life).to_owned()));
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
    add("tools", Some(if pool.has.is_empty() { "none".to_owned() } else { pool.has.join(", ") }));
    let without: Vec<String> = pool.without.iter().map(|(tool, why)| format!("{tool}: {why}")).collect();
    add("without", Some(without.join("\n")));
    add(
        "unknown",
        Some(
            pool.unknown
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
fn model(def: &AgentDef, at: &Standing, here: &AgentsHere) -> String {
    let named = |name: &str| {
        let id = model_id(name);
        if id == name { id } else { format!("{name} ({id})") }
    };
    match (&here.subagent_model, &def.model) {
        (Some(name), _) if at.life != Life::Main => {
            format!("{}, which is set for all sub-agents", named(name))
        }
        (_, troupe_core::def::ModelChoice::Named(name)) => named(name),
        (_, troupe_core::def::ModelChoice::Inherit) if at.life == Life::Main => named(&here.model),
        (_, troupe_core::def::ModelChoice::Inherit) => {
            format!("inherit: that of whoever starts it, at first {}", named(&here.model))
        }
    }
}

fn mode(def: &AgentDef, at: &Standing, here: &AgentsHere) -> String {
    match def.mode {
        None if at.life == Life::Main => format!("{}, the session's", at.mode.as_str()),
        None => format!("that of whoever starts it, at first {}", at.mode.as_str()),
        Some(wanted) if wanted == at.mode => wanted.as_str().to_owned(),
        Some(wanted) => {
            format!(
                "{}: it wants {}, and the session's is {}",
                at.mode.as_str(),
                wanted.as_str(),
                here.mode.as_str()
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

fn as_json(def: &AgentDef, at: &Standing, pool: &Pool, here: &AgentsHere) -> Value {
    let mut object = object(def, None);
    let without: Vec<Value> =
        pool.without.iter().map(|(tool, why)| json!({"tool": tool, "why": why})).collect();
    let faults: Vec<Value> =
        here.catalogue.faults.iter().filter(|fault| is_of(fault, def)).map(fault_object).collect();
    object["resolvedModel"] = match (&here.subagent_model, &def.model) {
        (Some(name), _) if at.life != Life::Main => model_id(name),
        (_, troupe_core::def::ModelChoice::Named(name)) => model_id(name),
        _ => model_id(&here.model),
    }
    .into();
    object["resolvedMode"] = at.mode.as_str().into();
    object["pool"] = json!(pool.has);
    object["removed"] = without.into();
    object["unknownTools"] = json!(pool.unknown);
    object["faults"] = faults.into();
    object["prompt"] = def.prompt.as_str().into();
    object
}
