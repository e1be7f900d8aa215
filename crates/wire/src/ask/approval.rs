//! The approval of a plan on a terminal. Pure.

use std::fmt::Write as _;

use serde_json::Value;
use troupe_core::policy::{Answer, Destination, Mode, Question, Update};

use super::Reading;
use super::render::short;

/// The tool that asks for it.
const TOOL: &str = "ExitPlanMode";
/// Most lines of a plan that are shown; all of it stands in its file.
const MOST_LINES: usize = 400;
/// Most characters of what a person says.
const LONGEST: usize = 4_000;

/// Whether a question is such a one.
pub(super) fn is_one(question: &Question) -> bool {
    question.tool == TOOL && question.input.get("plan").is_some_and(Value::is_string)
}

/// The plan in lines.
pub(super) fn prompt(question: &Question, asker: &str) -> String {
    let field = |key: &str| question.input.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = writeln!(text, "\n{} has a plan ({}):", short(asker), short(field("planFilePath")));
    let plan = field("plan");
    for line in plan.lines().take(MOST_LINES) {
        let _ = writeln!(text, "  | {}", short(line));
    }
    if let more @ 1.. = plan.lines().count().saturating_sub(MOST_LINES) {
        let _ = writeln!(text, "  … {more} more lines in the file");
    }
    text.push_str("Approve it? [y] yes, [e] yes, and edits need no leave, [n] no; or say what to change: ");
    text
}

/// Understands a line.
pub(super) fn read(line: &str) -> Reading {
    let allow = |updates| Reading::Answer(Answer::Allow { input: None, updates });
    let deny = |message: String| Reading::Answer(Answer::Deny { message, interrupt: false });
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "y" | "yes" => allow(Vec::new()),
        "e" => allow(vec![Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session }]),
        "n" | "no" => deny("The person did not approve the plan.".to_owned()),
        // A slip of a finger is no wish.
        short if short.chars().count() < 2 => Reading::Unclear,
        _ => {
            let words: String = line.chars().take(LONGEST).collect();
            deny(format!("The person did not approve the plan, and says: {words}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(plan: &str) -> Question {
        Question {
            asker: troupe_core::policy::Asker::default(),
            reason_kind: troupe_core::policy::ReasonKind::Person,
            alternatives: Vec::new(),
            id: "q".into(),
            agent: "main".into(),
            call: "t".into(),
            tool: TOOL.into(),
            input: json!({"plan": plan, "planFilePath": "/p.md"}),
            title: String::new(),
            reason: String::new(),
            blocked_path: None,
            suggestions: Vec::new(),
            hard: true,
            interactive: true,
        }
    }

    #[test]
    fn the_plan_is_shown_to_its_end_or_to_a_bound() {
        let text = prompt(&question("one\ntwo\u{1b}[2K"), "main");
        assert!(
            text.starts_with("\nmain has a plan (/p.md):\n  | one\n  | two\\u{1b}[2K\nApprove it?"),
            "{text}"
        );
        let text = prompt(&question(&"x\n".repeat(500)), "main");
        assert!(text.contains("100 more lines in the file"), "{text}");
        assert!(!is_one(&Question { input: json!({}), ..question("") }));
    }

    // proves: S2
    #[test]
    fn yes_with_a_mode_no_and_what_to_change() {
        assert_eq!(read("Y"), Reading::Answer(Answer::Allow { input: None, updates: vec![] }));
        let updates = vec![Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session }];
        assert_eq!(read("e\n"), Reading::Answer(Answer::Allow { input: None, updates }));
        for unclear in ["", " ", "q"] {
            assert_eq!(read(unclear), Reading::Unclear);
        }
        assert!(matches!(read("no"), Reading::Answer(Answer::Deny { .. })));
        let Reading::Answer(Answer::Deny { message, interrupt: false }) = read("use less code") else {
            panic!("it is a refusal")
        };
        assert!(message.ends_with("says: use less code"));
    }
}
