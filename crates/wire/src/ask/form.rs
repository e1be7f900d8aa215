//! Questions of the model on a terminal: one after the other, each with its options. Pure.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_core::policy::{Answer, Question};

use super::Reading;
use super::render::short;

/// The tool whose calls are such questions.
const TOOL: &str = "AskUserQuestion";
/// The word that answers none of them.
const NONE: &str = "skip";
/// Most lines of a preview that are shown.
const PREVIEW: usize = 12;
/// Most characters of an answer in own words.
const LONGEST: usize = 4_000;

/// What a call asks.
#[derive(Deserialize)]
pub(super) struct Form {
    questions: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ask {
    question: String,
    #[serde(default)]
    header: String,
    options: Vec<Choice>,
    #[serde(default)]
    multi_select: bool,
}

#[derive(Deserialize)]
struct Choice {
    label: String,
    #[serde(default)]
    description: String,
    preview: Option<String>,
}

impl Form {
    /// The form of a call that is one.
    pub(super) fn of(question: &Question) -> Option<Self> {
        let form = (question.tool == TOOL).then(|| Self::deserialize(&question.input).ok())??;
        (!form.questions.is_empty()).then_some(form)
    }

    /// The question after those that were answered, in lines.
    pub(super) fn prompt(&self, asker: &str, given: &[String]) -> String {
        let Some(ask) = self.questions.get(given.len()) else { return String::new() };
        let mut text = String::new();
        let place = match self.questions.len() {
            1 => String::new(),
            many => format!(" ({} of {many})", given.len() + 1),
        };
        // Writing to a string can't fail.
        let _ = writeln!(text, "\n{} asks{place}: {}", short(asker), short(&ask.header));
        let _ = writeln!(text, "  {}", short(&ask.question));
        for (n, choice) in ask.options.iter().enumerate() {
            let _ = write!(text, "  {}. {}", n + 1, short(&choice.label));
            if !choice.description.is_empty() {
                let _ = write!(text, ": {}", short(&choice.description));
            }
            text.push('\n');
            let preview = choice.preview.as_deref().unwrap_or_default();
            for line in preview.lines().take(PREVIEW) {
                let _ = writeln!(text, "     | {}", short(line));
            }
            if let more @ 1.. = preview.lines().count().saturating_sub(PREVIEW) {
                let _ = writeln!(text, "     … {more} more lines");
            }
        }
        let how = if ask.multi_select { "numbers with commas" } else { "a number" };
        let _ = write!(text, "Answer with {how} or in your own words; `{NONE}` answers none: ");
        text
    }

    /// Understands a line.
    pub(super) fn read(&self, line: &str, given: &[String]) -> Reading {
        let line = line.trim();
        let Some(ask) = self.questions.get(given.len()) else { return Reading::Unclear };
        if line.eq_ignore_ascii_case(NONE) {
            let message = "The person chose to answer no question.".to_owned();
            return Reading::Answer(Answer::Deny { message, interrupt: false });
        }
        let Some(answer) = ask.read(line) else { return Reading::Unclear };
        if given.len() + 1 < self.questions.len() {
            return Reading::Next(answer);
        }
        let answers = given.iter().chain([&answer]);
        let pairs = self.questions.iter().zip(answers);
        let answers: Map<String, Value> =
            pairs.map(|(ask, answer)| (ask.question.clone(), answer.as_str().into())).collect();
        Reading::Answer(Answer::Allow { input: Some(json!({"answers": answers})), updates: Vec::new() })
    }
}

impl Ask {
    /// The labels that the line names, or its words. Numbers that name nothing are no answer.
    fn read(&self, line: &str) -> Option<String> {
        let parts: Vec<&str> = line.split([',', ' ']).filter(|part| !part.is_empty()).collect();
        let digits = |part: &&str| part.chars().all(|c| c.is_ascii_digit());
        if parts.is_empty() {
            return None;
        }
        if !parts.iter().all(digits) {
            return Some(line.chars().take(LONGEST).collect());
        }
        let mut chosen: Vec<&str> = Vec::new();
        for part in parts {
            let number: usize = part.parse().ok()?;
            let label = self.options.get(number.checked_sub(1)?)?.label.as_str();
            if !chosen.contains(&label) {
                chosen.push(label);
            }
        }
        (self.multi_select || chosen.len() == 1).then(|| chosen.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(input: Value) -> Question {
        Question {
            asker: troupe_core::policy::Asker::default(),
            reason_kind: troupe_core::policy::ReasonKind::Person,
            alternatives: Vec::new(),
            id: "q".into(),
            agent: "main".into(),
            call: "t".into(),
            tool: TOOL.into(),
            input,
            title: String::new(),
            reason: String::new(),
            blocked_path: None,
            suggestions: Vec::new(),
            hard: true,
            interactive: true,
        }
    }

    fn form() -> Form {
        let options = json!([{"label": "a", "description": "first"}, {"label": "b", "description": "x", "preview": "1\n2"}]);
        let ask = |text: &str, several: bool| json!({"question": text, "header": "Way", "options": options, "multiSelect": several});
        let input = json!({"questions": [ask("Which?", false), ask("And?", true)]});
        Form::of(&question(input)).unwrap_or(Form { questions: Vec::new() })
    }

    // proves: S2
    #[test]
    fn each_question_stands_with_its_options() {
        let text = form().prompt("main", &[]);
        assert_eq!(
            text,
            "\nmain asks (1 of 2): Way\n  Which?\n  1. a: first\n  2. b: x\n     | 1\n     | 2\nAnswer with a number or in your own words; `skip` answers none: "
        );
        let second = form().prompt("main", &["a".into()]);
        assert!(
            second.contains("(2 of 2)") && second.contains("And?") && second.contains("commas"),
            "{second}"
        );
    }

    // proves: S2
    #[test]
    fn numbers_words_and_neither() {
        let read = |line: &str| form().read(line, &[]);
        assert_eq!(read(" 2\n"), Reading::Next("b".into()));
        assert_eq!(read("neither, c"), Reading::Next("neither, c".into()));
        for unclear in ["", "  ", "0", "3", "1,2", ",", "99999999999999999999999"] {
            assert_eq!(read(unclear), Reading::Unclear, "{unclear:?}");
        }
        assert!(matches!(read("SKIP"), Reading::Answer(Answer::Deny { interrupt: false, .. })));
        assert!(matches!(read(&"x".repeat(9_000)), Reading::Next(text) if text.len() == LONGEST));
    }

    #[test]
    fn the_last_answer_gives_them_all() {
        let read = |line: &str| form().read(line, &["b".into()]);
        let answers = |second: &str| {
            let input = json!({"answers": {"Which?": "b", "And?": second}});
            Reading::Answer(Answer::Allow { input: Some(input), updates: vec![] })
        };
        assert_eq!(read("2, 1,2"), answers("b, a"));
        assert_eq!(read("own words"), answers("own words"));
        assert_eq!(read("1,3"), Reading::Unclear);
    }

    #[test]
    fn what_is_no_such_call_is_no_form() {
        for input in [json!({}), json!({"questions": []}), json!({"questions": [{"question": 1}]})] {
            assert!(Form::of(&question(input)).is_none());
        }
        let other = Question {
            tool: "Bash".into(),
            ..question(json!({"questions": [{"question": "x", "options": []}]}))
        };
        assert!(Form::of(&other).is_none());
    }
}
