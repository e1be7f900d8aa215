//! A question as plain lines, and a line as an answer. Pure; reading and writing is done elsewhere.

use std::fmt::Write as _;

use serde_json::Value;
use troupe_core::policy::{Answer, Question, Update};

/// Most lines of a call that are shown.
const MOST_LINES: usize = 40;
/// Most characters of a line that are shown.
const MOST_CHARS: usize = 400;

/// What a person may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Once,
    Always,
    /// As always, with the rules that cover more.
    Wider,
    Deny,
}

/// The question in lines. `asker` is the agent's address. Nothing in it can move the cursor or hide.
pub(crate) fn prompt(question: &Question, asker: &str) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = writeln!(text, "\n{} asks: {}", visible(asker), visible(&heading(question)));
    for line in call(&question.input) {
        let _ = writeln!(text, "  | {line}");
    }
    if !question.reason.is_empty() {
        let _ = writeln!(text, "  why: {}", visible(&question.reason));
    }
    let mut choices = vec!["[y] once"];
    for (word, choice, updates) in [
        ("always", "[a] always", &question.suggestions),
        ("wider", "[w] always, and wider", &question.alternatives),
    ] {
        for update in updates {
            let _ = writeln!(text, "  {word} would keep: {}", visible(&in_words(update)));
        }
        if !updates.is_empty() {
            choices.push(choice);
        }
    }
    choices.push("[n] no");
    let _ = write!(text, "Allow? {}: ", choices.join(", "));
    text
}

fn heading(question: &Question) -> String {
    if question.title.is_empty() { question.tool.clone() } else { question.title.clone() }
}

/// The input, a line a field; texts of several lines stand below their name.
fn call(input: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match input {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if text.contains('\n') => {
                        lines.push(format!("{}:", visible(key)));
                        lines.extend(text.lines().map(|line| format!("  {}", visible(line))));
                    }
                    Value::String(text) => lines.push(format!("{}: {}", visible(key), visible(text))),
                    other => lines.push(format!("{}: {}", visible(key), visible(&other.to_string()))),
                }
            }
        }
        other => lines.push(visible(&other.to_string())),
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("… {more} more lines"));
    }
    lines
}

fn in_words(update: &Update) -> String {
    match update {
        Update::AddRules { rules, behaviour, destination } => {
            format!("{behaviour:?} {} ({destination:?})", rules.join(", "))
        }
        Update::SetMode { mode, destination } => format!("mode {} ({destination:?})", mode.as_str()),
        Update::AddDirectories { directories, destination } => {
            format!("folders {} ({destination:?})", directories.join(", "))
        }
    }
}

/// Makes control and invisible characters visible, and cuts what is too long with a mark.
fn visible(text: &str) -> String {
    let mut shown = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == MOST_CHARS {
            let more = text.chars().count() - MOST_CHARS;
            // What follows may be what matters, so it is said how much there is.
            let _ = write!(shown, "… [{more} more characters]");
            break;
        }
        if is_hidden(c) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Control characters, and those that are not seen or change the order of what is.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0xAD | 0x61C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFE00..=0xFE0F
            | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE0FFF)
}

/// Understands a line; none is no answer, and the question is put again.
pub(crate) fn choice(line: &str, question: &Question) -> Option<Choice> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Choice::Once),
        "a" | "always" if !question.suggestions.is_empty() => Some(Choice::Always),
        "w" | "wider" if !question.alternatives.is_empty() => Some(Choice::Wider),
        "n" | "no" => Some(Choice::Deny),
        _ => None,
    }
}

impl Choice {
    /// The answer to this question.
    pub(crate) fn answer(self, question: &Question) -> Answer {
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
    use troupe_core::policy::{Behaviour, Destination};

    fn question(input: Value, suggestions: Vec<Update>) -> Question {
        Question {
            id: "q".into(),
            agent: "a1".into(),
            call: "t".into(),
            tool: "Bash".into(),
            input,
            title: "Run a command".into(),
            reason: "no rule allows it".into(),
            blocked_path: None,
            suggestions,
            alternatives: Vec::new(),
            hard: false,
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
            prompt(&question, "main/explore-2"),
            "\nmain/explore-2 asks: Run a command\n  | command:\n  |   npm test\n  |   rm x\n  why: no rule allows it\n  always would keep: Allow Bash(npm test) (LocalSettings)\nAllow? [y] once, [a] always, [n] no: "
        );
    }

    #[test]
    fn nothing_hides_or_moves_the_cursor() {
        let sly = "ls\u{1b}[2K\r\u{202e}x\u{200b}";
        let text = prompt(&question(json!({"command": sly}), vec![]), "main");
        assert!(text.contains(r"ls\u{1b}[2K\u{d}\u{202e}x\u{200b}"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)));
    }

    #[test]
    fn long_input_says_how_much_is_left_out() {
        let text = prompt(&question(json!({"a": "x".repeat(500), "b": "y\n".repeat(60)}), vec![]), "main");
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
            text.contains("wider would keep: Allow Bash(npm test *), Bash(jq a) (LocalSettings)"),
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
}
