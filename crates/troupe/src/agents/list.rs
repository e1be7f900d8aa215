//! The list of agents.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::catalogue::DefFault;
use troupe_core::def::AgentDef;
use troupe_core::not_yet;
use troupe_core::visible::{visible, visible_lines};
use troupe_engine::load::Env;

use super::{model, place, source, tools};
use crate::args::AgentsList;
use crate::fault::Fault;
use crate::wiring::{AgentsHere, agents_here};

/// Characters of a list of tools, and of a path, that a row shows.
const CELL: usize = 48;

/// The list as text or JSON.
///
/// # Errors
/// When a session could not start here.
pub(super) fn text(wish: &AgentsList, env: Env) -> Result<String, Fault> {
    let here = agents_here(wish.given.run(), env)?;
    let catalogue = &here.catalogue;
    let mut rows: Vec<(&AgentDef, Option<&AgentDef>)> = Vec::new();
    for def in catalogue.offered.iter().chain(&catalogue.unavailable) {
        rows.push((def, None));
        let shadowed = catalogue.shadowed.iter().rev().filter(|other| other.name == def.name);
        rows.extend(shadowed.map(|other| (&**other, Some(&**def))));
    }
    if wish.json {
        let agents: Vec<Value> = rows.iter().map(|(def, by)| object(def, *by, &here)).collect();
        let faults: Vec<Value> = catalogue.faults.iter().map(fault_object).collect();
        return Ok(format!("{:#}\n", json!({"agents": agents, "faults": faults})));
    }
    let cells: Vec<[String; 5]> = rows.iter().map(|(def, by)| row(def, *by, &here)).collect();
    let mut text = table(&cells);
    if !catalogue.faults.is_empty() {
        text.push_str("\nFaults:\n");
        for fault in &catalogue.faults {
            // Writing to a string can't fail.
            let _ = writeln!(text, "  {}", fault_line(fault, &here));
        }
    }
    Ok(visible_lines(&text))
}

fn row(def: &AgentDef, by: Option<&AgentDef>, here: &AgentsHere) -> [String; 5] {
    let faults = here.catalogue.faults.iter().filter(|fault| is_of(fault, def)).count();
    let mut state = match (by, not_yet::lacks(def), here.refused(def)) {
        (Some(by), ..) => format!("shadowed by {}", by.source.word()),
        (None, Some(_), _) => "can't be started".to_owned(),
        (None, None, _) if def.name == here.main.name => "active, main".to_owned(),
        (None, None, Some(why)) => why.to_owned(),
        (None, None, None) => "active".to_owned(),
    };
    if here.catalogue.replaces_builtin(def) && by.is_none() {
        state.push_str(", in place of a built-in");
    }
    let state = match faults {
        0 => state,
        1 => format!("{state}, 1 fault"),
        many => format!("{state}, {many} faults"),
    };
    [
        visible(&def.name),
        state,
        visible(here.named_model(def).unwrap_or("inherit")),
        short(&visible(&tools(def))),
        visible(&source(def, here)),
    ]
}

/// Whether a fault is one of this definition.
pub(super) fn is_of(fault: &DefFault, def: &AgentDef) -> bool {
    match def.source.file() {
        Some(file) => fault.file == *file,
        None => fault.what.starts_with(&format!("`{}`: ", def.name)),
    }
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(CELL).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// Columns as wide as they need be.
fn table(rows: &[[String; 5]]) -> String {
    let head = ["AGENT", "STATE", "MODEL", "TOOLS", "SOURCE"].map(str::to_owned);
    let all: Vec<&[String; 5]> = std::iter::once(&head).chain(rows).collect();
    let width = |at: usize| all.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for row in all {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        line.push_str(&row[4]);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A fault on one line.
pub(super) fn fault_line(fault: &DefFault, here: &AgentsHere) -> String {
    let line = fault.line.map_or_else(String::new, |line| format!(":{line}"));
    let skipped = if fault.used { "" } else { " (skipped)" };
    visible(&format!("{}{line}: {}{skipped}", place(&fault.file, here), fault.what))
}

pub(super) fn fault_object(fault: &DefFault) -> Value {
    json!({"file": fault.file, "line": fault.line, "what": fault.what, "used": fault.used})
}

/// A definition as JSON.
pub(super) fn object(def: &AgentDef, by: Option<&AgentDef>, here: &AgentsHere) -> Value {
    let lacks = not_yet::lacks(def);
    json!({
        "name": def.name,
        "description": def.when,
        "source": def.source.word(),
        "file": def.source.file(),
        "active": by.is_none() && lacks.is_none(),
        "unavailable": lacks,
        "refused": if by.is_none() { here.refused(def) } else { None },
        "replacesBuiltIn": by.is_none() && here.catalogue.replaces_builtin(def),
        "withoutEffect": not_yet::ignored(def),
        "shadowedBy": by.map(|by| json!({"source": by.source.word(), "file": by.source.file()})),
        "model": model(def),
        "effort": def.effort,
        "permissionMode": def.mode.map(troupe_core::policy::Mode::as_str),
        "tools": def.tools.only,
        "disallowedTools": def.tools.without,
        "startsAgents": def.tools.agents,
        "startsNoAgents": def.tools.without_agents,
        "maxTurns": def.limits.turns,
        "background": def.background,
        "memory": def.memory,
        "isolation": def.isolation,
        "skills": def.skills,
        "requiredMcpServers": def.required_mcp_servers,
        "color": def.color,
        "omitInstructions": def.omit_instructions,
    })
}
