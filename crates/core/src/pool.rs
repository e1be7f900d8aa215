//! Which tools an agent gets: three filters in order (P1), each with the name under which a person is told of it.

use crate::coordinator::TOOLS;
use crate::def::AgentDef;
use crate::entry::Header;
use crate::policy::Mode;

/// How an agent came to be, as far as its tools go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The main agent.
    Main,
    /// The main agent, where it only coordinates.
    Coordinator,
    /// A call waits for it.
    Foreground,
    /// No call waits for it.
    Background,
    /// A member of a team, within the process.
    Teammate,
}

impl Life {
    /// How an agent below the main one came to be, by its header.
    pub fn of(header: &Header) -> Self {
        match (&header.team, header.background) {
            (Some(_), _) => Self::Teammate,
            (None, true) => Self::Background,
            (None, false) => Self::Foreground,
        }
    }
}

/// Where an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How it came to be.
    pub life: Life,
    /// 0 for the main agent.
    pub depth: u32,
    /// How deep agents may nest.
    pub most_depth: u32,
    /// Its permission mode.
    pub mode: Mode,
}

/// Which filter took a tool away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// A coordinator has workers for it.
    Coordinator,
    /// No agent below the main one gets it.
    ForAll,
    /// Agents nest no deeper.
    Depth,
    /// Agents of this kind don't get it: only built-in ones do.
    Custom,
    /// Agents in the background don't get it.
    Background,
    /// The definition takes it away.
    Disallowed,
    /// The definition names others.
    NotNamed,
}

impl Removed {
    /// The filter, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Coordinator => "a coordinator has workers for it",
            Self::ForAll => "not for agents below the main one",
            Self::Depth => "agents nest no deeper",
            Self::Custom => "not for agents that are not built in",
            Self::Background => "not in the background",
            Self::Disallowed => "disallowedTools",
            Self::NotNamed => "not in tools",
        }
    }
}

/// Tools that act on the session or ask its person (first filter).
const NOT_FOR_CHILDREN: &[&str] = &[
    "EnterPlanMode",
    "ExitPlanMode",
    "AskUserQuestion",
    "TeamCreate",
    "TeamDelete",
    "Workflow",
    "ScheduleWakeup",
];

/// Tools that only built-in agents get (second filter).
const NOT_FOR_CUSTOM: &[&str] = &["CronCreate", "CronDelete", "CronList"];

/// What an agent in the background keeps (second filter), besides MCP tools.
const BACKGROUND: &[&str] = &[
    "Read",
    crate::builtin::DOCS,
    "WebSearch",
    "TodoWrite",
    "Grep",
    "WebFetch",
    "Glob",
    "Bash",
    "PowerShell",
    "Edit",
    "Write",
    "NotebookEdit",
    "Skill",
    "StructuredOutput",
    "ToolSearch",
    "SendMessage",
    "Monitor",
    "TaskOutput",
    "TaskStop",
    "EnterWorktree",
    "ExitWorktree",
    "Agent",
];

/// What only a definition that names it gets; for it there is no `all`.
const BY_NAME: &[&str] = &[crate::builtin::DOCS];

/// What an agent with a memory gets in any case, to read and write it (Y1).
const MEMORY: &[&str] = &["Read", "Edit", "Write"];

/// Whether an agent of this definition has the tool for its memory alone.
pub fn only_for_memory(tool: &str, def: &AgentDef) -> bool {
    def.memory.is_some() && MEMORY.contains(&tool) && without_memory(tool, def).is_some()
}

/// What a member of a team gets besides.
const TEAMMATE: &[&str] = &[
    "EnterPlanMode",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "CronCreate",
    "CronDelete",
    "CronList",
];

/// What took the tool away from an agent of this definition; none where it has it. `spawns` marks the tool that
/// starts agents.
pub fn removed(tool: &str, spawns: bool, def: &AgentDef, at: &Standing) -> Option<Removed> {
    if at.life == Life::Coordinator && !TOOLS.contains(&tool) {
        return Some(Removed::Coordinator);
    }
    if matches!(at.life, Life::Main | Life::Coordinator) {
        return (spawns && at.most_depth == 0).then_some(Removed::Depth).or_else(|| by_definition(tool, def));
    }
    let member = at.life == Life::Teammate && TEAMMATE.contains(&tool);
    // Also where it does not plan from the start: it may come to, and its tools stay as they were sent.
    let plans = tool == "ExitPlanMode" && at.life == Life::Teammate;
    if NOT_FOR_CHILDREN.contains(&tool) && !member && !plans {
        return Some(Removed::ForAll);
    }
    if spawns && at.depth >= at.most_depth {
        return Some(Removed::Depth);
    }
    let custom = def.source != crate::def::Source::BuiltIn;
    if custom && NOT_FOR_CUSTOM.contains(&tool) && !member {
        return Some(Removed::Custom);
    }
    let limited = matches!(at.life, Life::Background | Life::Teammate);
    if limited && !is_mcp(tool) && !BACKGROUND.contains(&tool) && !member && !plans {
        return Some(Removed::Background);
    }
    by_definition(tool, def)
}

/// The third filter. It holds for tools of MCP too, which pass the others (P2).
fn by_definition(tool: &str, def: &AgentDef) -> Option<Removed> {
    if only_for_memory(tool, def) { None } else { without_memory(tool, def) }
}

fn without_memory(tool: &str, def: &AgentDef) -> Option<Removed> {
    if def.tools.leaves_out(tool) {
        return Some(Removed::Disallowed);
    }
    let named = || def.tools.only.iter().flatten().any(|name| name == tool);
    if BY_NAME.contains(&tool) && !named() {
        return Some(Removed::NotNamed);
    }
    (!def.tools.passes(tool)).then_some(Removed::NotNamed)
}

fn is_mcp(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::def::{Filter, Source};

    fn at(life: Life, depth: u32) -> Standing {
        Standing { life, depth, most_depth: 3, mode: Mode::Default }
    }

    fn custom(tools: Filter) -> AgentDef {
        AgentDef { tools, source: Source::Project("/a.md".into()), ..AgentDef::default() }
    }

    // proves: P1
    #[test]
    fn the_filters_apply_in_order() {
        let all = AgentDef::default();
        let child = |tool| removed(tool, tool == "Agent", &all, &at(Life::Foreground, 1));
        assert_eq!(removed("AskUserQuestion", false, &all, &at(Life::Main, 0)), None);
        assert_eq!(child("Bash"), None);
        assert_eq!(child("AskUserQuestion"), Some(Removed::ForAll));
        assert_eq!(child("CronCreate"), None);
        let custom_all = custom(Filter::default());
        let standing = at(Life::Foreground, 1);
        assert_eq!(removed("CronCreate", false, &custom_all, &standing), Some(Removed::Custom));
        assert_eq!(removed("Agent", true, &all, &at(Life::Foreground, 2)), None);
        assert_eq!(removed("Agent", true, &all, &at(Life::Foreground, 3)), Some(Removed::Depth));
        let background = at(Life::Background, 1);
        assert_eq!(removed("TaskCreate", false, &all, &background), Some(Removed::Background));
        assert_eq!(removed("TaskCreate", false, &all, &at(Life::Teammate, 1)), None);
        assert_eq!(removed("TaskStop", false, &all, &background), None);
        let some = custom(Filter {
            only: Some(vec!["Read".into(), "Bash".into()]),
            without: vec!["Bash".into()],
            ..Filter::default()
        });
        assert_eq!(removed("Read", false, &some, &standing), None);
        assert_eq!(removed("Bash", false, &some, &standing), Some(Removed::Disallowed));
        assert_eq!(removed("Edit", false, &some, &standing), Some(Removed::NotNamed));
    }

    // proves: O1
    #[test]
    fn a_coordinator_has_its_few_tools_and_none_of_a_server() {
        let def = crate::coordinator::definition();
        let has = |tool: &str| removed(tool, tool == "Agent", &def, &at(Life::Coordinator, 0)).is_none();
        for tool in ["Agent", "SendMessage", "TaskStop", "TaskList"] {
            assert!(has(tool), "{tool}");
        }
        for tool in ["Read", "Bash", "AskUserQuestion", "TaskOutput", "EnterPlanMode", "mcp__docs__find"] {
            assert!(!has(tool), "{tool}");
        }
        let none = Standing { most_depth: 0, ..at(Life::Coordinator, 0) };
        assert_eq!(removed("Agent", true, &def, &none), Some(Removed::Depth));
    }

    // proves: P2
    #[test]
    fn tools_of_mcp_pass_all_but_what_the_definition_says() {
        let find = |only: &[&str], without: &[&str]| {
            let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            let only = (!only.is_empty()).then(|| texts(only));
            let def = custom(Filter { only, without: texts(without), ..Filter::default() });
            removed("mcp__docs__find", false, &def, &at(Life::Background, 1))
        };
        assert_eq!(find(&[], &[]), None);
        assert_eq!(find(&["Read"], &[]), Some(Removed::NotNamed));
        for only in ["mcp__docs__find", "mcp__docs", "mcp__docs__*", "mcp__*", "*"] {
            assert_eq!(find(&[only], &[]), None, "{only}");
            assert_eq!(find(&[], &[only]), Some(Removed::Disallowed), "{only}");
        }
        for other in ["mcp__doc", "mcp__docs__fin", "mcp__other__*", "docs"] {
            assert_eq!(find(&[other], &[]), Some(Removed::NotNamed), "{other}");
        }
        let plan = Standing { mode: Mode::Plan, ..at(Life::Teammate, 1) };
        assert_eq!(removed("ExitPlanMode", false, &AgentDef::default(), &plan), None);
    }
}
