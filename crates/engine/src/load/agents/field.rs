//! A value → what a field takes. Each error says what would be right.

use serde_json::Value;
use troupe_core::color::{Color, PALETTE};
use troupe_core::def::{Effort, Filter, Isolation, MemoryScope, ModelChoice};
use troupe_core::policy::{Behaviour, Mode, Rules, Scope, tool_name};

use crate::load::rules::split;

/// Older names of tools that only definitions have.
const OLDER: &[(&str, &str)] = &[
    ("FileRead", "Read"),
    ("FileEdit", "Edit"),
    ("FileWrite", "Write"),
    ("SyntheticOutput", "StructuredOutput"),
];

/// A text of one or more lines; numbers and words for yes and no are text too.
pub(super) fn text(value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return Err(wrong("a text", value)),
    };
    if text.is_empty() { Err("expected a text, found nothing".to_owned()) } else { Ok(text) }
}

/// Yes or no.
pub(super) fn switch(value: &Value) -> Result<bool, String> {
    let word = match value {
        Value::Bool(on) => return Ok(*on),
        Value::Number(number) => number.to_string(),
        Value::String(word) => word.trim().to_ascii_lowercase(),
        _ => return Err(wrong("true or false", value)),
    };
    match word.as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(wrong("true or false", value)),
    }
}

/// A whole number from 1 up.
pub(super) fn count(value: &Value) -> Result<u32, String> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number > 0)
        .ok_or_else(|| wrong("a whole number from 1 up", value))
}

/// Texts: a list of them, or one text with commas. What parentheses hold stays together.
pub(super) fn texts(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::String(text) => Ok(commas(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| text(item).map_err(|_| wrong("a list of texts", item)))
            .collect::<Result<Vec<_>, _>>(),
        _ => Err(wrong("a list, or names with commas", value)),
    }
}

fn commas(text: &str) -> Vec<String> {
    let mut open = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && (c == ',' || c == '\n')
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The tools that a definition names. What stands in parentheses counts for `Agent` alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tools {
    pub(super) names: Vec<String>,
    /// The types in `Agent(a, b)`; none where any may be started.
    pub(super) agents: Option<Vec<String>>,
    /// What is not as its writer may think.
    pub(super) remarks: Vec<String>,
}

/// Names of tools, by list or with commas or spaces.
pub(super) fn tools(value: &Value) -> Result<Tools, String> {
    let words: Vec<String> = match value {
        Value::String(text) => split(text).into_iter().map(str::to_owned).collect(),
        value => texts(value)?,
    };
    let mut tools = Tools::default();
    let mut any_agent = false;
    for word in words {
        let (name, inner) = match word.split_once('(') {
            None => (word.trim(), None),
            Some((name, rest)) => {
                (name.trim(), Some(rest.trim_end().strip_suffix(')').unwrap_or(rest).trim()))
            }
        };
        let name = OLDER.iter().find(|(old, _)| *old == name).map_or_else(|| tool_name(name), |(_, new)| new);
        match inner {
            Some(inner) if name == "Agent" => {
                let types = commas(inner);
                any_agent |= types.is_empty() || types.iter().any(|kind| kind == "*");
                tools.agents.get_or_insert_default().extend(types);
            }
            None if name == "Agent" => any_agent = true,
            Some(inner) if !inner.is_empty() && inner != "*" => tools.remarks.push(format!(
                "`{word}` stands for all of {name} here: what a tool may do is said by permission rules"
            )),
            _ => {}
        }
        if !name.is_empty() && !tools.names.iter().any(|known| known == name) {
            tools.names.push(name.to_owned());
        }
    }
    if any_agent {
        tools.agents = None;
    }
    Ok(tools)
}

/// The filter of a list of allowed tools: all of them where it holds `*`.
pub(super) fn only(tools: Tools, filter: &mut Filter) {
    let all = tools.names.iter().any(|name| name == "*");
    filter.only = (!all).then_some(tools.names);
    filter.agents = tools.agents;
}

/// The filter of a list of tools that it is to be without. Types in parentheses are types that it may not start, and
/// leave it the tool.
pub(super) fn without(tools: Tools, filter: &mut Filter) {
    filter.without = tools.names;
    filter.without_agents = tools.agents.unwrap_or_default();
    if !filter.without_agents.is_empty() {
        filter.without.retain(|name| name != "Agent");
    }
}

/// Rules that allow.
pub(super) fn rules(value: &Value) -> Result<Vec<String>, String> {
    let rules: Vec<String> = match value {
        Value::String(text) => split(text).into_iter().map(str::to_owned).collect(),
        value => texts(value)?,
    };
    let mut tried = Rules::default();
    for rule in &rules {
        tried.add(rule, Behaviour::Allow, Scope::Session, "/".into()).map_err(|fault| fault.to_string())?;
    }
    Ok(rules)
}

/// A model.
pub(super) fn model(value: &Value) -> Result<ModelChoice, String> {
    let name = text(value)?;
    if name.contains(char::is_whitespace) {
        return Err(wrong("the name or alias of a model, or `inherit`", value));
    }
    Ok(if name.eq_ignore_ascii_case("inherit") { ModelChoice::Inherit } else { ModelChoice::Named(name) })
}

/// The levels of effort, and where each stands on a scale of hundred.
const EFFORTS: [(&str, u64, Effort); 5] = [
    ("low", 20, Effort::Low),
    ("medium", 40, Effort::Medium),
    ("high", 60, Effort::High),
    ("xhigh", 80, Effort::Xhigh),
    ("max", 100, Effort::Max),
];

/// An effort: a level, or a number up to 100 for the level that is nearest.
pub(super) fn effort(value: &Value) -> Result<Effort, String> {
    let expected = || wrong("low, medium, high, xhigh, max, or a whole number up to 100", value);
    let word = text(value).map_err(|_| expected())?;
    let level = EFFORTS.iter().find(|(name, ..)| word.eq_ignore_ascii_case(name));
    let near = || {
        let number = word.parse::<u64>().ok().filter(|number| *number <= 100)?;
        EFFORTS.iter().min_by_key(|(_, place, _)| place.abs_diff(number))
    };
    level.or_else(near).map(|(.., effort)| *effort).ok_or_else(expected)
}

/// A permission mode.
pub(super) fn mode(value: &Value) -> Result<Mode, String> {
    let expected = || wrong(&format!("one of {}", Mode::ALL.map(Mode::as_str).join(", ")), value);
    text(value).ok().and_then(|word| Mode::parse(&word)).ok_or_else(expected)
}

/// One of the words that a field knows.
fn word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Result<T, String> {
    let expected = || {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        wrong(&format!("one of {}", names.join(", ")), value)
    };
    let text = text(value).map_err(|_| expected())?;
    words.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map(|(_, word)| *word).ok_or_else(expected)
}

/// Whose its memory is.
pub(super) fn memory(value: &Value) -> Result<MemoryScope, String> {
    let words =
        [("user", MemoryScope::User), ("project", MemoryScope::Project), ("local", MemoryScope::Local)];
    word(value, &words)
}

/// Where it works.
pub(super) fn isolation(value: &Value) -> Result<Isolation, String> {
    word(value, &[("worktree", Isolation::Worktree), ("remote", Isolation::Remote)])
}

/// Its colour.
pub(super) fn color(value: &Value) -> Result<Color, String> {
    let words = PALETTE.map(|color| (color.as_str(), color));
    word(value, &words)
}

/// MCP servers: names, and objects of one name and its configuration (D11). A map of configurations is taken too.
pub(super) fn servers(value: &Value) -> Result<Vec<Value>, String> {
    let expected = "a list of names, or of `name: configuration`";
    let one = |name: &String, config: &Value| match config {
        Value::Object(_) => Ok(Value::Object([(name.clone(), config.clone())].into_iter().collect())),
        _ => Err(format!("expected the configuration of `{name}` to be an object")),
    };
    match value {
        Value::Object(map) => map.iter().map(|(name, config)| one(name, config)).collect(),
        Value::String(text) => Ok(commas(text).into_iter().map(Value::String).collect()),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(name) if !name.trim().is_empty() => Ok(Value::String(name.trim().to_owned())),
                Value::Object(map) if map.len() == 1 => map
                    .iter()
                    .next()
                    .map_or_else(|| Err(wrong(expected, item)), |(name, config)| one(name, config)),
                item => Err(wrong(expected, item)),
            })
            .collect(),
        value => Err(wrong(expected, value)),
    }
}

/// Hooks as settings have them: events, each with a list.
pub(super) fn hooks(value: &Value) -> Result<Value, String> {
    let valid = value.as_object().is_some_and(|events| events.values().all(Value::is_array));
    if valid {
        Ok(value.clone())
    } else {
        Err(wrong("a map of events, each with a list, as in settings", value))
    }
}

fn wrong(expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        Value::String(text) => format!("`{}`", text.chars().take(40).collect::<String>()),
        Value::Number(_) | Value::Bool(_) => format!("`{found}`"),
    };
    format!("expected {expected}, found {found}")
}
