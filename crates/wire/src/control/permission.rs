//! Questions to the host: `can_use_tool`, and how its answer is read.

use serde_json::{Value, json};
use troupe_core::policy::{Answer, Behaviour, Destination, Mode, Question, Update};

use crate::line;

/// A question that the host was asked.
pub(crate) struct Asked {
    pub(crate) question: std::sync::Arc<Question>,
    /// The input as the host saw it.
    shown: Value,
    /// Whether that is not all of it.
    is_cut: bool,
}

/// The request of a question.
pub(crate) fn request(id: &str, question: std::sync::Arc<Question>) -> (Value, Asked) {
    let mut shown = question.input.clone();
    // Half a line is left for everything else in the request.
    let is_cut = line::fit(&mut shown, line::LIMIT / 2);
    let mut request = json!({
        "subtype": "can_use_tool",
        "tool_name": question.tool,
        "display_name": question.tool,
        "input": shown,
        "tool_use_id": question.call,
        "permission_suggestions": question.suggestions.iter().map(suggestion).collect::<Vec<_>>(),
    });
    if let Some(path) = &question.blocked_path {
        request["blocked_path"] = path.as_str().into();
    }
    for (key, text) in [("decision_reason", &question.reason), ("title", &question.title)] {
        if !text.is_empty() {
            request[key] = text.as_str().into();
        }
    }
    if question.interactive {
        request["requires_user_interaction"] = true.into();
    }
    if !question.agent.is_main() {
        request["agent_id"] = question.agent.as_str().into();
    }
    let frame = json!({"type": "control_request", "request_id": id, "request": request});
    (frame, Asked { question, shown, is_cut })
}

/// Takes a request back.
pub(crate) fn withdrawal(id: &str) -> Value {
    json!({"type": "control_cancel_request", "request_id": id})
}

/// Reads the host's answer; the second part is what should be told on stderr. Whatever is not a clear yes is a
/// no.
pub(crate) fn answer(asked: &Asked, answer: Result<Value, String>) -> (Answer, Option<String>) {
    let deny = |message: String, interrupt| Answer::Deny { message, interrupt };
    let value = match answer {
        Ok(value) => value,
        Err(error) => return (deny(format!("The host could not decide: {error}"), false), Some(error)),
    };
    match value.get("behavior").and_then(Value::as_str) {
        Some("allow") => {
            let changed =
                value.get("updatedInput").filter(|input| !input.is_null() && **input != asked.shown);
            if changed.is_some() && asked.is_cut {
                let message = "The host changed an input that was too long to be shown to it whole, so the \
                               change can't be taken over.";
                return (deny(message.to_owned(), false), Some(message.to_owned()));
            }
            let (updates, trouble) = updates(value.get("updatedPermissions"));
            (Answer::Allow { input: changed.cloned(), updates }, trouble)
        }
        Some("deny") => {
            let message = value.get("message").and_then(Value::as_str).filter(|text| !text.is_empty());
            let message = message.unwrap_or("The host denied this call.").to_owned();
            (deny(message, value.get("interrupt").and_then(Value::as_bool).unwrap_or(false)), None)
        }
        _ => {
            let message = "The host's answer was neither `allow` nor `deny`.".to_owned();
            (deny(message.clone(), false), Some(message))
        }
    }
}

/// One bad entry drops the whole list.
fn updates(value: Option<&Value>) -> (Vec<Update>, Option<String>) {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match items.iter().map(update).collect::<Result<Vec<_>, _>>() {
        Ok(updates) => (updates, None),
        Err(what) => (Vec::new(), Some(format!("updatedPermissions were not applied: {what}"))),
    }
}

fn update(value: &Value) -> Result<Update, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).ok_or(format!("`{key}` is missing"));
    let destination = match text("destination")? {
        "session" => Destination::Session,
        "localSettings" => Destination::LocalSettings,
        "projectSettings" => Destination::ProjectSettings,
        "userSettings" => Destination::UserSettings,
        other => return Err(format!("`{other}` is no destination")),
    };
    let list = |key: &str| value.get(key).and_then(Value::as_array).ok_or(format!("`{key}` is missing"));
    match text("type")? {
        "addRules" => {
            let behaviour = match text("behavior")? {
                "allow" => Behaviour::Allow,
                "ask" => Behaviour::Ask,
                "deny" => Behaviour::Deny,
                other => return Err(format!("`{other}` is no behavior")),
            };
            let rules = list("rules")?.iter().map(rule).collect::<Result<_, _>>()?;
            Ok(Update::AddRules { rules, behaviour, destination })
        }
        "setMode" => {
            let mode = text("mode")?;
            let mode = Mode::parse(mode).ok_or(format!("`{mode}` is no mode"))?;
            Ok(Update::SetMode { mode, destination })
        }
        "addDirectories" => {
            let directory = |item: &Value| item.as_str().map(str::to_owned).ok_or("a directory is no text");
            let directories = list("directories")?.iter().map(directory).collect::<Result<_, _>>()?;
            Ok(Update::AddDirectories { directories, destination })
        }
        other => Err(format!("`{other}` is not supported")),
    }
}

/// `{toolName, ruleContent?}` → `Tool(content)`.
fn rule(value: &Value) -> Result<String, String> {
    let tool = value.get("toolName").and_then(Value::as_str).filter(|tool| !tool.is_empty());
    let tool = tool.ok_or("a rule has no `toolName`")?;
    match value.get("ruleContent") {
        None => Ok(tool.to_owned()),
        Some(Value::String(content)) => Ok(format!("{tool}({content})")),
        Some(_) => Err("a `ruleContent` is no text".to_owned()),
    }
}

/// An update as the protocol writes it.
fn suggestion(update: &Update) -> Value {
    match update {
        Update::AddRules { rules, behaviour, destination } => {
            let behavior = behaviour.as_str();
            let rule = |text: &String| match text.split_once('(') {
                Some((tool, rest)) => {
                    json!({"toolName": tool, "ruleContent": rest.strip_suffix(')').unwrap_or(rest)})
                }
                None => json!({"toolName": text}),
            };
            let rules: Vec<Value> = rules.iter().map(rule).collect();
            json!({"type": "addRules", "rules": rules, "behavior": behavior, "destination": place(*destination)})
        }
        Update::SetMode { mode, destination } => {
            json!({"type": "setMode", "mode": mode.as_str(), "destination": place(*destination)})
        }
        Update::AddDirectories { directories, destination } => {
            json!({"type": "addDirectories", "directories": directories, "destination": place(*destination)})
        }
    }
}

fn place(destination: Destination) -> &'static str {
    match destination {
        Destination::Session => "session",
        Destination::LocalSettings => "localSettings",
        Destination::ProjectSettings => "projectSettings",
        Destination::UserSettings => "userSettings",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn question(input: Value) -> Arc<Question> {
        Arc::new(Question {
            id: "q1".into(),
            agent: "main".into(),
            call: "t1".into(),
            tool: "Bash".into(),
            input,
            title: "Run npm test".into(),
            reason: "no rule allows it".into(),
            blocked_path: None,
            suggestions: vec![Update::AddRules {
                rules: vec!["Bash(npm test:*)".into(), "Read".into()],
                behaviour: Behaviour::Allow,
                destination: Destination::LocalSettings,
            }],
            alternatives: Vec::new(),
            hard: false,
            interactive: false,
        })
    }

    #[test]
    fn the_request_has_all_that_a_host_needs() {
        let (frame, _) = request("r1", question(json!({"command": "npm test"})));
        assert_eq!(
            frame,
            json!({"type": "control_request", "request_id": "r1", "request": {
                "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash",
                "input": {"command": "npm test"}, "tool_use_id": "t1",
                "permission_suggestions": [{
                    "type": "addRules", "behavior": "allow", "destination": "localSettings",
                    "rules": [{"toolName": "Bash", "ruleContent": "npm test:*"}, {"toolName": "Read"}],
                }],
                "decision_reason": "no rule allows it", "title": "Run npm test",
            }})
        );
    }

    #[test]
    fn a_suggestion_given_back_is_the_update_it_came_from() {
        let question = question(json!({}));
        let (frame, asked) = request("r1", Arc::clone(&question));
        let given = &frame["request"]["permission_suggestions"];
        let (answer, trouble) =
            answer(&asked, Ok(json!({"behavior": "allow", "updatedInput": {}, "updatedPermissions": given})));
        assert_eq!(answer, Answer::Allow { input: None, updates: question.suggestions.clone() });
        assert_eq!(trouble, None);
    }

    #[test]
    fn one_bad_update_drops_the_list_and_keeps_the_answer() {
        let (_, asked) = request("r1", question(json!({})));
        let good = json!({"type": "setMode", "mode": "plan", "destination": "session"});
        for bad in [
            json!({"type": "addRules", "behavior": "allow", "destination": "session",
                   "rules": [{"toolName": "Bash", "ruleContent": null}]}),
            json!({"type": "removeRules", "behavior": "allow", "destination": "session", "rules": []}),
            json!({"type": "setMode", "mode": "plan", "destination": "cliArg"}),
        ] {
            let (answer, trouble) =
                answer(&asked, Ok(json!({"behavior": "allow", "updatedPermissions": [good, bad]})));
            assert_eq!(answer, Answer::Allow { input: None, updates: Vec::new() });
            assert!(trouble.is_some());
        }
    }

    #[test]
    fn whatever_is_no_clear_yes_is_a_no() {
        let (_, asked) = request("r1", question(json!({})));
        for given in [
            Err("boom".to_owned()),
            Ok(Value::Null),
            Ok(json!({"behavior": "ask"})),
            Ok(json!({"behavior": "deny"})),
        ] {
            assert!(matches!(answer(&asked, given).0, Answer::Deny { interrupt: false, .. }));
        }
        let firm = json!({"behavior": "deny", "message": "no", "interrupt": true});
        assert_eq!(answer(&asked, Ok(firm)).0, Answer::Deny { message: "no".into(), interrupt: true });
    }

    #[test]
    fn a_changed_input_is_taken_unless_the_host_never_saw_it_whole() {
        let (_, asked) = request("r1", question(json!({"command": "a"})));
        let given = json!({"behavior": "allow", "updatedInput": {"command": "b"}});
        let taken = answer(&asked, Ok(given)).0;
        assert_eq!(taken, Answer::Allow { input: Some(json!({"command": "b"})), updates: Vec::new() });

        let (frame, long) = request("r1", question(json!({"content": "x".repeat(2_000_000)})));
        let shown = frame["request"]["input"].clone();
        assert!(shown.to_string().len() <= line::LIMIT / 2);
        let same = json!({"behavior": "allow", "updatedInput": shown});
        assert_eq!(answer(&long, Ok(same)).0, Answer::Allow { input: None, updates: Vec::new() });
        let other = json!({"behavior": "allow", "updatedInput": {"content": "y"}});
        assert!(matches!(answer(&long, Ok(other)).0, Answer::Deny { .. }));
    }
}
