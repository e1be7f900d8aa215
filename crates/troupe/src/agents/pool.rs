//! Which tools an agent gets, and what took the others away (P3).

use troupe_core::def::AgentDef;
use troupe_core::pool::{Life, Standing, removed};

use crate::args::LifeWord;
use crate::wiring::AgentsHere;

/// The pool of an agent.
pub(super) struct Pool {
    pub(super) has: Vec<String>,
    /// What it has not, and what took it away.
    pub(super) without: Vec<(String, &'static str)>,
    /// Names in its definition that no tool has.
    pub(super) unknown: Vec<String>,
}

/// How the agent stands when it runs so.
pub(super) fn standing(def: &AgentDef, life: Option<LifeWord>, here: &AgentsHere) -> Standing {
    let life = match life {
        Some(LifeWord::Main) => Life::Main,
        Some(LifeWord::Foreground) => Life::Foreground,
        Some(LifeWord::Background) => Life::Background,
        None if def.background => Life::Background,
        None => Life::Foreground,
    };
    let mode = if life == Life::Main { def.mode.unwrap_or(here.mode) } else { here.mode.of_child(def.mode) };
    Standing { life, depth: u32::from(life != Life::Main), most_depth: here.ceilings.depth, mode }
}

/// Asks the filters, in their order.
pub(super) fn of(def: &AgentDef, at: &Standing, here: &AgentsHere) -> Pool {
    let mut pool = Pool { has: Vec::new(), without: Vec::new(), unknown: Vec::new() };
    for tool in &here.tools {
        let name = tool.spec().name.to_string();
        if !here.pool.passes(&name) {
            let why = if here.pool.leaves_out(&name) { "a rule denies it" } else { "not in a bare run" };
            pool.without.push((name, why));
        } else if let Some(by) = removed(&name, tool.spawns(), def, at) {
            pool.without.push((name, by.words()));
        } else {
            pool.has.push(name);
        }
    }
    let is_known = |name: &String| {
        name == "*" || name.starts_with("mcp__") || here.tools.iter().any(|tool| *tool.spec().name == **name)
    };
    let named = def.tools.only.iter().flatten().chain(&def.tools.without);
    pool.unknown = named.filter(|name| !is_known(name)).cloned().collect();
    pool
}
