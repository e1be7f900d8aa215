//! The rules of a folder, with where each stands and which never count.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::policy::list;
use troupe_engine::load::Env;

use crate::args::List;
use crate::fault::Fault;
use crate::wiring::standing;
use troupe_core::visible::visible_lines;

/// The list as text or JSON.
///
/// # Errors
/// When a session could not start here.
pub(super) fn text(wish: &List, env: Env) -> Result<String, Fault> {
    let standing = standing(&wish.given.run(), env)?;
    let listed = list(&standing.rules);
    if wish.json {
        let rules: Vec<Value> = listed.iter().map(troupe_core::policy::Listed::to_value).collect();
        return Ok(format!("{:#}\n", json!({"mode": standing.mode.as_str(), "rules": rules})));
    }
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = writeln!(text, "mode: {} ({})", standing.mode.as_str(), standing.mode_from);
    for item in &listed {
        let rule = &item.rule;
        let (does, scope) = (rule.behaviour.as_str(), rule.scope.as_str());
        let _ = writeln!(text, "{does:<5}  {rule}  {scope}  {}", rule.origin());
        if let Some(hint) = &item.hint {
            let _ = writeln!(text, "       hint: {}", hint.text());
        }
    }
    if listed.is_empty() {
        text.push_str("no rules\n");
    }
    Ok(visible_lines(&text))
}
