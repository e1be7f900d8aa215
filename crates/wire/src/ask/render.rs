//! A question as plain lines, and a line as an answer. Pure; reading and writing is done elsewhere.

use std::fmt::Write as _;

use serde_json::Value;
use troupe_core::policy::{Answer, Asker, Behaviour, Destination, Question, Update};
use troupe_core::visible::visible;

/// Most lines of a call that are shown.
const MOST_LINES: usize = 40;
/// Most characters of a line that are shown.
const MOST_CHARS: usize = 400;

/// What a person may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Once,
    Always,
    /// As always, with the rules that cover more.
    Wider,
    Deny,
}

/// Who asks, for people.
pub(super) fn asker(question: &Question) -> String {
    let Asker { address, definition } = &question.asker;
    // The main agent needs no other name.
    if question.agent.is_main() { address.clone() } else { format!("{address} ({definition})") }
}

/// The question in lines. Nothing in it can move the cursor or hide.
pub(super) fn prompt(question: &Question, asker: &str) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = writeln!(text, "\n{} asks: {}", short(asker), short(question.headline()));
    for line in call(&question.input) {
        let _ = writeln!(text, "  | {line}");
    }
    if !question.reason.is_empty() {
        let _ = writeln!(text, "  why: {}", short(&question.reason));
    }
    let mut choices = vec!["[y] once"];
    for (word, choice, updates) in [
        ("always", "[a] always", &question.suggestions),
        ("wider", "[w] always, and wider", &question.alternatives),
    ] {
        for update in updates {
            let _ = writeln!(text, "  {word} would keep: {}", short(&in_words(update)));
        }
        if is_offered(updates) {
            choices.push(choice);
        } else if !updates.is_empty() {
            let _ =
                writeln!(text, "  {word} is not offered: what it would keep is too long to be shown whole");
        }
    }
    choices.push("[n] no");
    let _ = write!(text, "Allow? {}: ", choices.join(", "));
    text
}

/// The input, a line a field; texts of several lines stand below their name.
fn call(input: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match input {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if text.contains('\n') => {
                        lines.push(format!("{}:", short(key)));
                        lines.extend(text.lines().map(|line| format!("  {}", short(line))));
                    }
                    Value::String(text) => lines.push(format!("{}: {}", short(key), short(text))),
                    other => lines.push(format!("{}: {}", short(key), short(&other.to_string()))),
                }
            }
        }
        other => lines.push(short(&other.to_string())),
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("… {more} more lines"));
    }
    lines
}

fn in_words(update: &Update) -> String {
    let behaviour = |behaviour: &Behaviour| match behaviour {
        Behaviour::Allow => "Allow",
        Behaviour::Ask => "Ask",
        Behaviour::Deny => "Deny",
    };
    let what = match update {
        Update::AddRules { rules, behaviour: does, .. } => {
            format!("{} {}", behaviour(does), rules.join(", "))
        }
        Update::ReplaceRules { rules, behaviour: does, .. } => {
            format!("{} {} and nothing else there", behaviour(does), rules.join(", "))
        }
        Update::RemoveRules { rules, behaviour: does, .. } => {
            format!("no more {} {}", behaviour(does), rules.join(", "))
        }
        Update::SetMode { mode, .. } => format!("mode {}", mode.as_str()),
        Update::AddDirectories { directories, .. } => format!("folders {}", directories.join(", ")),
        Update::RemoveDirectories { directories, .. } => {
            format!("no more folders {}", directories.join(", "))
        }
    };
    let place = match update.destination() {
        Destination::Session => "for this session",
        Destination::LocalSettings => "in the project's local settings",
        Destination::ProjectSettings => "in the project's settings",
        Destination::UserSettings => "in your settings",
    };
    format!("{what} ({place})")
}

/// Whether a person may choose to keep these: only what stands on the screen whole.
fn is_offered(updates: &[Update]) -> bool {
    let is_whole = |update: &Update| in_words(update).chars().count() <= MOST_CHARS;
    !updates.is_empty() && updates.iter().all(is_whole)
}

/// A text that nothing hides in, cut with a mark where it is too long.
pub(super) fn short(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST_CHARS) else { return visible(text) };
    let more = text[end..].chars().count();
    // What follows may be what matters, so it is said how much there is.
    format!("{}… [{more} more characters]", visible(&text[..end]))
}

/// Understands a line; none is no answer, and the question is put again.
pub(super) fn choice(line: &str, question: &Question) -> Option<Choice> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Choice::Once),
        "a" | "always" if is_offered(&question.suggestions) => Some(Choice::Always),
        "w" | "wider" if is_offered(&question.alternatives) => Some(Choice::Wider),
        "n" | "no" => Some(Choice::Deny),
        _ => None,
    }
}

impl Choice {
    /// The answer to this question.
    pub(super) fn answer(self, question: &Question) -> Answer {
        match self {
            Self::Once => Answer::Allow { input: None, updates: Vec::new() },
            Self::Always => Answer::Allow { input: None, updates: question.suggestions.clone() },
            Self::Wider => Answer::Allow { input: None, updates: question.alternatives.clone() },
            Self::Deny => {
                Answer::Deny { message: "The person denied this call.".to_owned(), interrupt: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use troupe_core::policy::ReasonKind;
    use troupe_core::visible::is_hidden;

    fn question(input: Value, suggestions: Vec<Update>) -> Question {
        Question {
            id: "q".into(),
            agent: "a1".into(),
            asker: Asker { address: "main/explore-2".into(), definition: "Explore".into() },
            call: "t".into(),
            tool: "Bash".into(),
            input,
            title: "Run a command".into(),
            reason: "no rule allows it".into(),
            reason_kind: ReasonKind::Other,
            blocked_path: None,
            suggestions,
            alternatives: Vec::new(),
            hard: false,
            interactive: false,
        }
    }

    fn rule() -> Update {
        Update::AddRules {
            rules: vec!["Bash(npm test)".into()],
            behaviour: Behaviour::Allow,
            destination: Destination::LocalSettings,
        }
    }

    // proves: S2
    #[test]
    fn who_asks_what_and_why() {
        let question = question(json!({"command": "npm test\nrm x"}), vec![rule()]);
        assert_eq!(
            prompt(&question, &asker(&question)),
            "\nmain/explore-2 (Explore) asks: Run a command\n  | command:\n  |   npm test\n  |   rm x\n  why: no rule allows it\n  always would keep: Allow Bash(npm test) (in the project's local settings)\nAllow? [y] once, [a] always, [n] no: "
        );
    }

    // proves: F157
    #[test]
    fn nothing_hides_or_moves_the_cursor_in_any_field() {
        let sly = |name: &str| format!("{name}\u{1b}[2K\r\u{202e}\u{200b}\u{e0100}\u{a0}\u{e0041}");
        let update = Update::AddRules {
            rules: vec![sly("rule")],
            behaviour: Behaviour::Allow,
            destination: Destination::LocalSettings,
        };
        let fields = ["address", "definition", "tool", "key", "value", "line", "list", "reason", "rule"];
        for title in ["title", ""] {
            let mut question = question(
                json!({sly("key"): sly("value"), "lines": format!("x\n{}", sly("line")), "l": [sly("list")]}),
                vec![update.clone()],
            );
            question.asker = Asker { address: sly("address"), definition: sly("definition") };
            question.tool = sly("tool");
            question.title = if title.is_empty() { String::new() } else { sly(title) };
            question.reason = sly("reason");
            let text = prompt(&question, &asker(&question));
            assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)), "{text:?}");
            let shown = fields.iter().filter(|field| text.contains(&format!("{field}\\u{{1b}}[2K"))).count();
            // The tool's name stands there where the call has no title.
            assert!(shown >= fields.len() - 2, "{text}");
        }
    }

    #[test]
    fn long_input_says_how_much_is_left_out() {
        let long = question(json!({"a": "x".repeat(500), "b": "y\n".repeat(60)}), vec![]);
        let text = prompt(&long, &asker(&long));
        assert!(text.contains("[100 more characters]"), "{text}");
        assert!(text.contains("more lines"), "{text}");
    }

    // proves: S7
    #[test]
    fn wider_rules_are_shown_and_saved_only_by_their_own_answer() {
        let wide = Update::AddRules {
            rules: vec!["Bash(npm test *)".into(), "Bash(jq a)".into()],
            behaviour: Behaviour::Allow,
            destination: Destination::LocalSettings,
        };
        let question = Question { alternatives: vec![wide.clone()], ..question(json!({}), vec![rule()]) };
        let text = prompt(&question, "main");
        assert!(
            text.contains(
                "wider would keep: Allow Bash(npm test *), Bash(jq a) (in the project's local settings)"
            ),
            "{text}"
        );
        assert!(text.ends_with("[y] once, [a] always, [w] always, and wider, [n] no: "), "{text}");
        let saved = |line: &str| choice(line, &question).map(|choice| choice.answer(&question));
        assert_eq!(saved("w"), Some(Answer::Allow { input: None, updates: vec![wide] }));
        assert_eq!(saved("a"), Some(Answer::Allow { input: None, updates: vec![rule()] }));
        let without = Question { alternatives: vec![], ..question };
        assert_eq!(choice("w", &without), None);
    }

    #[test]
    fn always_is_an_answer_only_where_it_was_offered() {
        let with = question(json!({}), vec![rule()]);
        let without = question(json!({}), vec![]);
        assert_eq!(choice(" Y\n", &with), Some(Choice::Once));
        assert_eq!(choice("always", &with), Some(Choice::Always));
        assert_eq!(choice("always", &without), None);
        assert_eq!(choice("no", &without), Some(Choice::Deny));
        assert_eq!(choice("", &with), None, "an empty line decides nothing");
        assert_eq!(Choice::Always.answer(&with), Answer::Allow { input: None, updates: vec![rule()] });
    }

    // proves: S2
    #[test]
    fn what_is_not_shown_whole_is_not_offered() {
        let long = Update::AddRules {
            rules: vec!["Bash(ls)".into(), format!("Bash(echo {} && rm x)", "x".repeat(MOST_CHARS))],
            behaviour: Behaviour::Allow,
            destination: Destination::LocalSettings,
        };
        let always = question(json!({}), vec![rule(), long.clone()]);
        assert!(prompt(&always, "main").ends_with("too long to be shown whole\nAllow? [y] once, [n] no: "));
        assert_eq!(choice("a", &always), None);
        let wider = Question { alternatives: vec![long], ..question(json!({}), vec![rule()]) };
        assert!(prompt(&wider, "main").ends_with("Allow? [y] once, [a] always, [n] no: "));
        assert_eq!((choice("a", &wider), choice("w", &wider)), (Some(Choice::Always), None));
    }
}
