//! One call, judged as a session judges it.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::access::Access;
use troupe_core::policy::{
    Explanation, Judged, Mode, Rules, Update, Verdict, alternatives, explain, tool_name,
};
use troupe_core::ports::tool::{Place, Tool};
use troupe_engine::judge::{followed, touched};
use troupe_tools::shell::parse::parse;

/// A call.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) input: Value,
}

/// What is found of it.
pub(super) struct Found {
    pub(super) why: Explanation,
    pub(super) access: Vec<Access>,
    /// What may be saved and covers more than the call.
    pub(super) alternatives: Vec<Update>,
    /// Why the tool would not take the call anyway, whatever is decided.
    pub(super) refused: Option<String>,
}

/// Fields that a call means nothing without.
const MEANT: &[&str] = &["command", "file_path", "notebook_path", "pattern", "path", "url"];

/// Judges a call.
///
/// # Errors
/// When the input is not the tool's.
pub(super) fn judge(
    call: &Call,
    rules: &Rules,
    mode: Mode,
    place: &Place,
    tools: &[Arc<dyn Tool>],
) -> Result<Found, String> {
    let name = tool_name(&call.tool);
    let mut refused = None;
    let access = match tools.iter().find(|tool| &*tool.spec().name == name) {
        Some(tool) => {
            let input = completed(&call.input, &tool.spec().input_schema);
            touched(&**tool, place, &input).or_else(|bad| {
                let bad = format!("{name}: {bad}");
                let access = line(name, &call.input).ok_or_else(|| bad.clone())?;
                refused = Some(bad);
                Ok::<_, String>(followed(vec![access], place))
            })?
        }
        None if name == "WebFetch" => vec![Access::Fetch { host: host(&call.input)? }],
        // A tool of a server, or one that comes later: anything.
        None => vec![Access::Unknown],
    };
    let judged = Judged { tool: name, input: &call.input, access: &access, place };
    let why = explain(rules, mode, &judged);
    let wide = match &why.verdict {
        Verdict::Ask(asking) if !asking.suggestions.is_empty() => alternatives(rules, mode, &judged),
        _ => Vec::new(),
    };
    Ok(Found { why, access, alternatives: wide, refused })
}

/// A command that is there, though the shell can't be given it: it is judged all the same.
fn line(name: &str, input: &Value) -> Option<Access> {
    let command = input["command"].as_str().filter(|command| name == "Bash" && !command.trim().is_empty())?;
    Some(Access::Exec(Box::new(parse(command))))
}

/// The input with what is required of it and changes no judgement: who asks about a file need not invent its
/// content.
fn completed(input: &Value, schema: &Value) -> Value {
    let mut input = input.clone();
    let Some(map) = input.as_object_mut() else { return input };
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(key) && !MEANT.contains(&key) {
            let value = match schema["properties"][key]["type"].as_str() {
                Some("array") => json!([]),
                Some("object") => json!({}),
                Some("boolean") => json!(false),
                Some("number" | "integer") => json!(0),
                _ => json!("?"),
            };
            map.insert(key.to_owned(), value);
        }
    }
    input
}

fn host(input: &Value) -> Result<String, String> {
    let url = input["url"].as_str().ok_or("WebFetch: `url` is missing")?;
    let url = reqwest::Url::parse(url).map_err(|error| format!("WebFetch: `url`: {error}"))?;
    url.host_str().map(str::to_owned).ok_or_else(|| "WebFetch: `url` names no host".to_owned())
}

/// Something that the call names outside of a folder.
pub(super) fn outside(access: &[Access], folder: &Path) -> Option<String> {
    let out = |path: &Path| (!path.starts_with(folder)).then(|| path.display().to_string());
    access.iter().find_map(|access| match access {
        Access::Read(path) | Access::Write(path) => out(&path.typed).or_else(|| out(&path.resolved)),
        Access::Exec(command) => {
            let mut named = command.links.iter().filter(|(typed, _)| !typed.starts_with("/dev"));
            named.find_map(|(typed, real)| out(typed).or_else(|| out(real)))
        }
        _ => None,
    })
}
