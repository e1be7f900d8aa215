//! An explanation as text and as JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::policy::{Mode, PartFinding, Rule, Update, Verdict};

use super::judge::{Call, Found};
use troupe_core::visible::visible_lines;

/// For people.
pub(super) fn text(call: &Call, found: &Found, mode: Mode, mode_from: &str) -> String {
    let why = &found.why;
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = writeln!(text, "{}: {}", why.verdict.decision().as_str(), why.reason);
    if let Some(rule) = &why.rule {
        let _ = writeln!(text, "rule: {}", stands(rule));
    }
    if let Some(refused) = &found.refused {
        let _ = writeln!(text, "the tool takes no such call: {refused}");
    }
    let _ = writeln!(text, "tool: {}", call.tool);
    let _ = writeln!(text, "mode: {} ({mode_from})", mode.as_str());
    if is_hard(&why.verdict) {
        text.push_str("a person is asked, whatever a rule or a classifier allows\n");
    }
    for part in &why.parts {
        let _ = write!(text, "  {:<5}  {}", part.decision.as_str(), first_line(&part.text));
        let _ = write!(text, "  ({})", part.reason);
        if let Some(rule) = &part.rule {
            let _ = write!(text, "  {}", rule.origin());
        }
        text.push('\n');
    }
    if let Verdict::Ask(asking) = &why.verdict {
        for (word, updates) in [("always", &asking.suggestions), ("wider", &found.alternatives)] {
            let rules = rules_of(updates);
            if !rules.is_empty() {
                let _ = writeln!(text, "{word} would save: {}", rules.join(", "));
            }
        }
    }
    visible_lines(&text)
}

/// For programs, one object.
pub(super) fn json(call: &Call, found: &Found, mode: Mode) -> String {
    let mut value = explained(found);
    value["tool"] = call.tool.as_str().into();
    value["mode"] = mode.as_str().into();
    value["hard"] = is_hard(&found.why.verdict).into();
    if let Verdict::Ask(asking) = &found.why.verdict {
        value["suggestions"] = json!(rules_of(&asking.suggestions));
        value["alternatives"] = json!(rules_of(&found.alternatives));
    }
    format!("{value:#}\n")
}

/// `decision`, `reason`, `rule` and `parts`; `refused` where the tool takes no such call.
pub(super) fn explained(found: &Found) -> Value {
    let why = &found.why;
    let part = |part: &PartFinding| {
        json!({
            "text": part.text, "decision": part.decision.as_str(), "reason": part.reason,
            "rule": part.rule.as_ref().map(|rule| rule.to_value()),
        })
    };
    let mut value = json!({
        "decision": why.verdict.decision().as_str(),
        "reason": why.reason,
        "rule": why.rule.as_ref().map(|rule| rule.to_value()),
        "parts": why.parts.iter().map(part).collect::<Vec<_>>(),
    });
    if let Some(refused) = &found.refused {
        value["refused"] = refused.as_str().into();
    }
    value
}

fn is_hard(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Ask(asking) if asking.hard)
}

fn stands(rule: &Arc<Rule>) -> String {
    format!("{} {rule} ({}, {})", rule.behaviour.as_str(), rule.scope.as_str(), rule.origin())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn rules_of(updates: &[Update]) -> Vec<String> {
    let mut rules = Vec::new();
    for update in updates {
        match update {
            Update::AddRules { rules: added, .. } => rules.extend(added.iter().cloned()),
            // Nothing suggests these.
            Update::ReplaceRules { .. } | Update::RemoveRules { .. } | Update::RemoveDirectories { .. } => {}
            Update::SetMode { mode, .. } => rules.push(format!("the mode {}", mode.as_str())),
            Update::AddDirectories { directories, .. } => {
                rules.extend(directories.iter().map(|folder| format!("the folder {folder}")));
            }
        }
    }
    rules
}
