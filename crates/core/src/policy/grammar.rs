//! The grammar of a rule: `Tool` or `Tool(specifier)`, and what each tool takes between the brackets.

use std::path::Path;

use crate::policy::Behaviour;

use super::path::PathPattern;
use super::pattern::CommandPattern;
use super::rule::Matcher;
use super::wildcard::Wildcard;

/// Older names of tools, and what they are called now.
const ALIASES: &[(&str, &str)] = &[
    ("Task", "Agent"),
    ("KillShell", "TaskStop"),
    ("KillBash", "TaskStop"),
    ("BashOutput", "TaskOutput"),
    ("AgentOutputTool", "TaskOutput"),
    ("MultiEdit", "Edit"),
    ("ListMcpResources", "ListMcpResourcesTool"),
    ("ReadMcpResource", "ReadMcpResourceTool"),
    ("Brief", "SendUserMessage"),
    ("ListPeers", "ListAgents"),
];

/// Tools that rules are mostly about, to find a slip of the pen.
const USUAL: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "Cd",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "Monitor",
    "NotebookEdit",
    "Read",
    "SendMessage",
    "Skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// Fields that a rule has a form of its own for, and that form.
const PRIMARY: &[(&str, &str)] = &[
    ("command", "Bash(command)"),
    ("file_path", "Read(path)` or `Edit(path)"),
    ("notebook_path", "Edit(path)"),
    ("path", "Read(path)"),
    ("url", "WebFetch(domain:example.com)"),
    ("pattern", "Read(path)"),
    ("query", "WebSearch"),
    ("skill", "Skill(name)"),
    ("subagent_type", "Agent(type)"),
];

/// Other fields of tools whose brackets hold something else.
const OTHERS: &[(&str, &[&str])] = &[
    ("Bash", &["run_in_background", "dangerouslyDisableSandbox"]),
    ("Agent", &["model", "isolation", "mode", "run_in_background"]),
];

/// The present name of a tool.
pub fn tool_name(name: &str) -> &str {
    ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// The tool that a rule, however faulty, is about.
pub(super) fn meant(text: &str) -> &str {
    let name = text.split('(').next().unwrap_or(text).trim();
    tool_name(usual_spelling(name).unwrap_or(name))
}

/// The usual name that this one differs from by the case of letters alone.
fn usual_spelling(name: &str) -> Option<&'static str> {
    let old = ALIASES.iter().map(|(old, _)| *old);
    let mut all = USUAL.iter().copied().chain(old);
    all.find(|usual| usual.eq_ignore_ascii_case(name)).filter(|usual| *usual != name)
}

/// Reads a rule. The error says what would be right.
pub(super) fn read(text: &str, behaviour: Behaviour, base: &Path) -> Result<Matcher, String> {
    let allows = behaviour == Behaviour::Allow;
    let (name, spec) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => {
            let spec = rest.strip_suffix(')').ok_or("the bracket is not closed: write `Tool(specifier)`")?;
            (name.trim(), Some(spec.trim()).filter(|spec| !spec.is_empty()))
        }
    };
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-*.".contains(c)) {
        return Err("a rule begins with the name of a tool: write `Tool` or `Tool(specifier)`".into());
    }
    if let Some(usual) = usual_spelling(name) {
        return Err(format!("the case of letters counts: write `{usual}`"));
    }
    let old = name;
    let name = tool_name(name);
    let Some(spec) = spec else {
        // Its successor asks for itself.
        return if old == "MultiEdit" && allows { Ok(Matcher::Nothing) } else { bare(name, allows) };
    };
    if let Some((key, value)) = field(spec)
        && let Some(matcher) = of_field(name, key, value, allows)
    {
        return matcher;
    }
    match name {
        "Bash" if spec == "*" => bare(name, allows),
        "Bash" => command(spec).map(Matcher::Command),
        "Read" => PathPattern::new(spec, base, !allows).map(Matcher::Read),
        "Edit" if old == "Edit" || !allows => PathPattern::new(spec, base, !allows).map(Matcher::Edit),
        // Older settings have these; they never allow anything, and deny what they seem to.
        "Edit" | "Write" | "NotebookEdit" | "Glob" | "Grep" | "LS" if allows => Ok(Matcher::Nothing),
        "Write" | "NotebookEdit" => PathPattern::new(spec, base, true).map(Matcher::Edit),
        "Glob" | "Grep" | "LS" => PathPattern::new(spec, base, true).map(Matcher::Read),
        "Cd" => PathPattern::new(spec, base, !allows).map(Matcher::Cd),
        "WebFetch" => match spec.strip_prefix("domain:").map(str::trim) {
            Some(host) if !host.is_empty() && !host.contains(['/', ' ', ':']) => {
                Ok(Matcher::Domain(host.to_lowercase()))
            }
            _ => Err("write `WebFetch(domain:example.com)`, a host alone".into()),
        },
        "WebSearch" => Err("WebSearch takes no specifier: write `WebSearch`".into()),
        // A tool of another system: its rules stand in settings that are shared.
        "PowerShell" if allows => Ok(Matcher::Nothing),
        "PowerShell" => Ok(Matcher::Every(Wildcard::new(name))),
        "Agent" => Ok(Matcher::Agent(Wildcard::new(spec))),
        "SendMessage" if crate::mail::leaves_session(spec) => Ok(Matcher::Address(Wildcard::new(spec))),
        "Skill" => Ok(Matcher::Skill(Wildcard::new(spec.trim_start_matches('/').trim_end_matches(":*")))),
        _ => match field(spec) {
            Some((key, value)) if !allows => by_value(name, key, value),
            Some(_) => Err(format!("an input can't be allowed by its value: write `{name}`")),
            None => Err(format!("{name} takes no such specifier: write `{name}`")),
        },
    }
}

/// `key:value`.
fn field(spec: &str) -> Option<(&str, &str)> {
    let (key, value) = spec.split_once(':')?;
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_');
    plain.then_some((key, value))
}

/// A field where the tool's brackets hold something else; none if it is no field there.
fn of_field(name: &str, key: &str, value: &str, allows: bool) -> Option<Result<Matcher, String>> {
    let has_form = matches!(
        name,
        "Bash"
            | "Read"
            | "Edit"
            | "Write"
            | "NotebookEdit"
            | "Glob"
            | "Grep"
            | "Agent"
            | "Skill"
            | "WebFetch"
    );
    if !has_form {
        return None;
    }
    let own = OTHERS.iter().any(|(tool, keys)| *tool == name && keys.contains(&key));
    // `timeout:*` is an older way to write `timeout *`.
    if own && value != "*" {
        return Some(if allows {
            Err(format!("an input can't be allowed by its value: write `{name}`"))
        } else {
            by_value(name, key, value)
        });
    }
    let primary = PRIMARY.iter().find(|(primary, _)| *primary == key);
    primary.filter(|_| value != "*" || name != "Bash").map(|(key, form)| Err(no_field(key, form)))
}

fn no_field(key: &str, form: &str) -> String {
    format!("`{key}` has a form of its own: write `{form}`")
}

/// A value at the top of the input.
fn by_value(name: &str, key: &str, value: &str) -> Result<Matcher, String> {
    if let Some((key, form)) = PRIMARY.iter().find(|(primary, _)| *primary == key) {
        return Err(no_field(key, form));
    }
    let is_server = name.strip_prefix("mcp__").is_some_and(|rest| !rest.contains("__"));
    if name.contains('*') || is_server {
        return Err("a rule for a value names one tool: write `Tool(param:value)`".into());
    }
    Ok(Matcher::Param { tool: name.into(), key: key.into(), value: Wildcard::new(value) })
}

fn command(spec: &str) -> Result<CommandPattern, String> {
    let first = spec.split_whitespace().next().unwrap_or_default();
    if first.ends_with(":*") && first.len() < spec.len() {
        return Err("`:*` stands at the end alone: write `*` for any words between".into());
    }
    Ok(CommandPattern::new(spec))
}

fn bare(name: &str, allows: bool) -> Result<Matcher, String> {
    if name == "Bash" && allows {
        return Ok(Matcher::Command(CommandPattern::new("*")));
    }
    if name == "Cd" {
        return PathPattern::new("//**", Path::new("/"), !allows).map(Matcher::Cd);
    }
    let Some(rest) = name.strip_prefix("mcp__") else {
        if allows && name.contains('*') {
            return Err("a rule that allows names its tool: write `mcp__server__*` or a tool's name".into());
        }
        return Ok(Matcher::Every(Wildcard::new(name)));
    };
    let (server, tool) = rest.split_once("__").map_or((rest, None), |(server, tool)| (server, Some(tool)));
    if allows && (server.contains('*') || server.is_empty()) {
        return Err("a rule that allows names the server: write `mcp__server__*`".into());
    }
    match tool {
        // A server alone stands for all its tools.
        None if !server.contains('*') => Ok(Matcher::Every(Wildcard::new(&format!("mcp__{server}__*")))),
        _ => Ok(Matcher::Every(Wildcard::new(name))),
    }
}
