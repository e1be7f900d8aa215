//! The tool that asks the person. Its call is the question; the answers come back with the leave to make it.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};

/// What the model is told when leave came without an answer.
const NO_ANSWER: &str =
    "No answer was given. Go on with what you think best and say so, or end the turn with the question.";

/// Asks the person.
pub struct AskUserQuestion(ToolSpec);

#[derive(Deserialize)]
struct Input {
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    options: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    label: String,
}

impl Default for AskUserQuestion {
    fn default() -> Self {
        let option = json!({
            "type": "object",
            "properties": {
                "label": {"type": "string", "minLength": 1},
                "description": {"type": "string"},
                "preview": {"type": "string", "description": "what is better seen, such as code"}
            },
            "required": ["label", "description"],
            "additionalProperties": false
        });
        let question = json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "minLength": 1},
                "header": {"type": "string", "minLength": 1, "maxLength": 12},
                "options": {"type": "array", "minItems": 2, "maxItems": 4, "items": option},
                "multiSelect": {"type": "boolean"}
            },
            "required": ["question", "header", "options", "multiSelect"],
            "additionalProperties": false
        });
        let schema = json!({
            "type": "object",
            "properties": {"questions": {"type": "array", "minItems": 1, "maxItems": 4, "items": question}},
            "required": ["questions"],
            "additionalProperties": false
        });
        Self(ToolSpec {
            name: "AskUserQuestion".into(),
            description: include_str!("question.md").trim_end().into(),
            input_schema: Arc::new(schema),
        })
    }
}

impl Tool for AskUserQuestion {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    /// Answers are told apart by the question's words, and choices by their labels, so both occur once.
    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        let input = Input::deserialize(input).map_err(|fault| BadInput::new("", fault.to_string()))?;
        let mut asked = HashSet::new();
        for (n, question) in input.questions.iter().enumerate() {
            if !asked.insert(&question.question) {
                return Err(BadInput::new(format!("questions[{n}].question"), "is asked twice"));
            }
            let mut labels = HashSet::new();
            if !question.options.iter().all(|choice| labels.insert(&choice.label)) {
                return Err(BadInput::new(format!("questions[{n}].options"), "has a label twice"));
            }
        }
        Ok(vec![Access::Person])
    }

    fn answered(&self, shown: Value, given: Option<Value>) -> Result<Value, String> {
        let questions: Vec<&str> = asked(&shown).collect();
        let of = |key: &str| given.as_ref().and_then(|given| given.get(key)).and_then(Value::as_object);
        let mut answers = Map::new();
        let mut notes = Map::new();
        for question in questions {
            let answer = of("answers").and_then(|answers| answers.get(question)).and_then(words);
            if let Some(answer) = answer {
                answers.insert(question.to_owned(), answer.into());
            }
            if let Some(note) =
                of("annotations").and_then(|notes| notes.get(question)).filter(|n| n.is_object())
            {
                notes.insert(question.to_owned(), note.clone());
            }
        }
        if answers.is_empty() {
            return Err(NO_ANSWER.to_owned());
        }
        let mut call = json!({"questions": shown["questions"], "answers": answers});
        if !notes.is_empty() {
            call["annotations"] = notes.into();
        }
        Ok(call)
    }

    fn call<'a>(&'a self, _cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let answers =
                input.get("answers").and_then(Value::as_object).filter(|answers| !answers.is_empty());
            match answers {
                Some(answers) => ToolOutput::text(told(&input, answers)).with_data(input.clone()),
                None => ToolOutput::error(NO_ANSWER),
            }
        })
    }

    fn title(&self, input: &Value) -> Title {
        let mut questions = asked(input);
        let text = match (questions.next(), questions.count()) {
            (Some(only), 0) => only.to_owned(),
            (_, more) => format!("{} questions", more + 1),
        };
        Title { text }
    }
}

/// The words of the questions.
fn asked(input: &Value) -> impl Iterator<Item = &str> {
    let questions = input.get("questions").and_then(Value::as_array);
    questions.into_iter().flatten().filter_map(|question| question.get("question")?.as_str())
}

/// An answer in words; several are joined. None where it holds nothing.
fn words(answer: &Value) -> Option<String> {
    let text = match answer {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

/// The answers for the model.
fn told(input: &Value, answers: &Map<String, Value>) -> String {
    let mut text = String::from("The person answered:");
    for question in asked(input) {
        let answer = answers.get(question).and_then(Value::as_str).unwrap_or("(not answered)");
        // Writing to a string can't fail.
        let _ = write!(text, "\n- {question}\n  {answer}");
        let note = input.get("annotations").and_then(|notes| notes.get(question)?.get("notes")?.as_str());
        if let Some(note) = note.filter(|note| !note.trim().is_empty()) {
            let _ = write!(text, "\n  note: {note}");
        }
    }
    text
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
