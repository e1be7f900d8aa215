//! Questions to the host: `can_use_tool`, and how its answer is read.

use serde_json::{Value, json};
use troupe_core::policy::{Answer, Asker, Behaviour, Destination, Mode, Question, ReasonKind, Update};
use troupe_core::visible::visible;

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
        "display_name": visible(&question.tool),
        "input": shown,
        "tool_use_id": question.call,
        "permission_suggestions": question.suggestions.iter().map(suggestion).collect::<Vec<_>>(),
    });
    if let Some(path) = &question.blocked_path {
        request["blocked_path"] = path.as_str().into();
    }
    for (key, text) in [("decision_reason", &question.reason), ("title", &question.title)] {
        if !text.is_empty() {
            request[key] = visible(text).into();
        }
    }
    request["decision_reason_type"] = kind(question.reason_kind).into();
    if !question.agent.is_main() {
        let Asker { address, definition } = &question.asker;
        request["agent_id"] = question.agent.as_str().into();
        // Hosts show these, and the id means nothing to a person.
        request["title"] = visible(&format!("{address}: {}", question.headline())).into();
        request["description"] = visible(&format!("Asked by the agent {address} ({definition})")).into();
    }
    let marks = [
        // Nothing narrow enough is known, so "always" has nothing to save.
        ("suppress_always_allow_rule", question.suggestions.is_empty()),
        ("default_to_no", question.hard && !question.interactive),
        ("requires_user_interaction", question.interactive),
    ];
    for (key, _) in marks.into_iter().filter(|(_, on)| *on) {
        request[key] = true.into();
    }
    let frame = json!({"type": "control_request", "request_id": id, "request": request});
    (frame, Asked { question, shown, is_cut })
}

/// The protocol's word for a kind of reason.
fn kind(kind: ReasonKind) -> &'static str {
    match kind {
        ReasonKind::Rule => "rule",
        ReasonKind::Mode => "mode",
        ReasonKind::Folder => "workingDir",
        ReasonKind::Safety => "safetyCheck",
        ReasonKind::Gatekeeper => "hook",
        ReasonKind::Person | ReasonKind::Other => "other",
    }
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
            if changed.is_some_and(|input| !input.is_object()) {
                let message = "The host allowed this call with an `updatedInput` that is no object.";
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
    let items = match value {
        None | Some(Value::Null) => &[],
        Some(Value::Array(items)) => items.as_slice(),
        Some(_) => return (Vec::new(), Some("updatedPermissions were not applied: no list".to_owned())),
    };
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
        kind @ ("addRules" | "replaceRules" | "removeRules") => {
            let behaviour = match text("behavior")? {
                "allow" => Behaviour::Allow,
                "ask" => Behaviour::Ask,
                "deny" => Behaviour::Deny,
                other => return Err(format!("`{other}` is no behavior")),
            };
            let rules = list("rules")?.iter().map(rule).collect::<Result<_, _>>()?;
            Ok(match kind {
                "addRules" => Update::AddRules { rules, behaviour, destination },
                "replaceRules" => Update::ReplaceRules { rules, behaviour, destination },
                _ => Update::RemoveRules { rules, behaviour, destination },
            })
        }
        "setMode" => {
            let mode = text("mode")?;
            let mode = Mode::parse(mode).ok_or(format!("`{mode}` is no mode"))?;
            Ok(Update::SetMode { mode, destination })
        }
        kind @ ("addDirectories" | "removeDirectories") => {
            let directory = |item: &Value| item.as_str().map(str::to_owned).ok_or("a directory is no text");
            let directories = list("directories")?.iter().map(directory).collect::<Result<_, _>>()?;
            Ok(match kind {
                "addDirectories" => Update::AddDirectories { directories, destination },
                _ => Update::RemoveDirectories { directories, destination },
            })
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
    let rules = |rules: &[String], behaviour: &Behaviour| {
        let rule = |text: &String| match text.split_once('(') {
            Some((tool, rest)) => {
                json!({"toolName": tool, "ruleContent": rest.strip_suffix(')').unwrap_or(rest)})
            }
            None => json!({"toolName": text}),
        };
        let behavior = match behaviour {
            Behaviour::Allow => "allow",
            Behaviour::Ask => "ask",
            Behaviour::Deny => "deny",
        };
        json!({"rules": rules.iter().map(rule).collect::<Vec<_>>(), "behavior": behavior})
    };
    let (kind, mut written) = match update {
        Update::AddRules { rules: texts, behaviour, .. } => ("addRules", rules(texts, behaviour)),
        Update::ReplaceRules { rules: texts, behaviour, .. } => ("replaceRules", rules(texts, behaviour)),
        Update::RemoveRules { rules: texts, behaviour, .. } => ("removeRules", rules(texts, behaviour)),
        Update::SetMode { mode, .. } => ("setMode", json!({"mode": mode.as_str()})),
        Update::AddDirectories { directories, .. } => ("addDirectories", json!({"directories": directories})),
        Update::RemoveDirectories { directories, .. } => {
            ("removeDirectories", json!({"directories": directories}))
        }
    };
    written["type"] = kind.into();
    written["destination"] = place(update.destination()).into();
    written
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
            asker: Asker { address: "main".into(), definition: "main".into() },
            call: "t1".into(),
            tool: "Bash".into(),
            input,
            title: "Run npm test".into(),
            reason: "no rule allows it".into(),
            reason_kind: ReasonKind::Other,
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
                "decision_reason": "no rule allows it", "title": "Run npm test", "decision_reason_type": "other",
            }})
        );
    }

    // proves: F157
    #[test]
    fn what_a_host_shows_can_do_nothing_and_the_input_is_as_it_is() {
        let sly = |name: &str| format!("{name}\u{1b}[2K\u{202e}\u{e0100}\u{a0}");
        let mut child = (*question(json!({"command": sly("input")}))).clone();
        child.agent = "a1".into();
        child.asker = Asker { address: sly("address"), definition: sly("definition") };
        child.title = sly("title");
        child.reason = sly("reason");
        child.tool = sly("tool");
        let (frame, _) = request("r1", Arc::new(child));
        for field in ["title", "description", "decision_reason", "display_name"] {
            let text = frame["request"][field].as_str().unwrap_or_default();
            assert!(
                !text.is_empty() && !text.chars().any(troupe_core::visible::is_hidden),
                "{field}: {text:?}"
            );
        }
        assert_eq!(frame["request"]["input"]["command"], sly("input"));
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
    fn every_update_is_understood_as_it_is_written() {
        let (_, asked) = request("r1", question(json!({})));
        let rules = || vec!["Bash(npm test)".to_owned(), "Read".to_owned()];
        let directories = || vec!["/a".to_owned()];
        let all: Vec<Update> = [
            Destination::Session,
            Destination::LocalSettings,
            Destination::ProjectSettings,
            Destination::UserSettings,
        ]
        .into_iter()
        .flat_map(|destination| {
            let of = move |behaviour| {
                [
                    Update::AddRules { rules: rules(), behaviour, destination },
                    Update::ReplaceRules { rules: rules(), behaviour, destination },
                    Update::RemoveRules { rules: rules(), behaviour, destination },
                ]
            };
            let rules = [Behaviour::Allow, Behaviour::Ask, Behaviour::Deny].into_iter().flat_map(of);
            rules.chain([
                Update::SetMode { mode: Mode::Plan, destination },
                Update::AddDirectories { directories: directories(), destination },
                Update::RemoveDirectories { directories: directories(), destination },
            ])
        })
        .collect();
        let written: Vec<Value> = all.iter().map(suggestion).collect();
        let (given, trouble) =
            answer(&asked, Ok(json!({"behavior": "allow", "updatedPermissions": written})));
        assert_eq!(given, Answer::Allow { input: None, updates: all });
        assert_eq!(trouble, None);
    }

    // proves: S2
    #[test]
    fn a_child_s_question_names_it_and_says_what_kind_it_is() {
        let mut child = (*question(json!({}))).clone();
        child.agent = "a1".into();
        child.asker = Asker { address: "main/explore-2".into(), definition: "Explore".into() };
        child.suggestions.clear();
        child.hard = true;
        child.reason_kind = ReasonKind::Safety;
        child.blocked_path = Some("/etc/x".into());
        let (frame, _) = request("r1", Arc::new(child.clone()));
        let request_of = &frame["request"];
        assert_eq!(request_of["agent_id"], "a1");
        assert_eq!(request_of["title"], "main/explore-2: Run npm test");
        assert_eq!(request_of["description"], "Asked by the agent main/explore-2 (Explore)");
        assert_eq!(request_of["decision_reason_type"], "safetyCheck");
        assert_eq!(request_of["blocked_path"], "/etc/x");
        assert_eq!(request_of["suppress_always_allow_rule"], true);
        assert_eq!(request_of["default_to_no"], true);
        assert!(request_of.get("requires_user_interaction").is_none());
        child.interactive = true;
        let (frame, _) = request("r1", Arc::new(child));
        assert_eq!(frame["request"]["requires_user_interaction"], true);
        assert!(frame["request"].get("default_to_no").is_none());
    }

    #[test]
    fn one_bad_update_drops_the_list_and_keeps_the_answer() {
        let (_, asked) = request("r1", question(json!({})));
        let good = json!({"type": "setMode", "mode": "plan", "destination": "session"});
        for bad in [
            json!({"type": "addRules", "behavior": "allow", "destination": "session",
                   "rules": [{"toolName": "Bash", "ruleContent": null}]}),
            json!({"type": "removeRules", "behavior": "allow", "destination": "session"}),
            json!({"type": "replaceRules", "behavior": "allow", "destination": "session", "rules": [{"toolName": ""}]}),
            json!({"type": "addDirectories", "directories": [7], "destination": "session"}),
            json!({"type": "forgetAll", "destination": "session"}),
            json!({"type": "setMode", "mode": "plan"}),
            json!({"type": "setMode", "mode": "plan", "destination": "cliArg"}),
        ] {
            let (answer, trouble) =
                answer(&asked, Ok(json!({"behavior": "allow", "updatedPermissions": [good, bad]})));
            assert_eq!(answer, Answer::Allow { input: None, updates: Vec::new() });
            assert!(trouble.is_some());
        }
    }

    // proves: S1
    #[test]
    fn updates_that_are_no_list_are_told() {
        let (_, asked) = request("r1", question(json!({})));
        let read =
            |given: Value| answer(&asked, Ok(json!({"behavior": "allow", "updatedPermissions": given})));
        let plain = Answer::Allow { input: None, updates: Vec::new() };
        for given in [json!("all"), json!({}), json!(true)] {
            let (answer, trouble) = read(given);
            assert_eq!(answer, plain);
            assert!(trouble.is_some_and(|trouble| trouble.contains("not applied")));
        }
        for given in [Value::Null, json!([])] {
            assert_eq!(read(given), (plain.clone(), None));
        }
    }

    // proves: S2
    #[test]
    fn a_changed_input_of_another_shape_is_no_yes() {
        let (_, asked) = request("r1", question(json!({"plan": "a"})));
        for given in [json!([1]), json!("yes"), json!(false)] {
            let (answer, trouble) = answer(&asked, Ok(json!({"behavior": "allow", "updatedInput": given})));
            assert!(matches!(answer, Answer::Deny { interrupt: false, .. }), "{given}");
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
