//! The forms of questions, and answers to them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use super::*;

fn asks(questions: &[(&str, &[&str])]) -> Value {
    let questions: Vec<Value> = questions
        .iter()
        .map(|(question, labels)| {
            let options: Vec<Value> =
                labels.iter().map(|label| json!({"label": label, "description": "d"})).collect();
            json!({"question": question, "header": "Choice", "options": options, "multiSelect": false})
        })
        .collect();
    json!({"questions": questions})
}

fn tool() -> AskUserQuestion {
    AskUserQuestion::default()
}

fn place() -> Place {
    Place { cwd: "/w".into(), home: "/h".into(), roots: vec![], scratch: vec![], read_only: false }
}

#[test]
fn the_schema_bounds_questions_options_and_headers() {
    let check = |input: &Value| troupe_core::schema::check(&tool().spec().input_schema, input);
    check(&asks(&[("Which?", &["a", "b"])])).unwrap();
    let mut long = asks(&[("Which?", &["a", "b"])]);
    long["questions"][0]["header"] = "thirteen long".into();
    let mut answered = asks(&[("Which?", &["a", "b"])]);
    answered["answers"] = json!({"Which?": "a"});
    for wrong in [
        json!({"questions": []}),
        asks(&[("Which?", &["a"])]),
        asks(&[("Which?", &["a", "b", "c", "d", "e"])]),
        asks(&[
            ("1", &["a", "b"]),
            ("2", &["a", "b"]),
            ("3", &["a", "b"]),
            ("4", &["a", "b"]),
            ("5", &["a", "b"]),
        ]),
        long,
        // The model can't answer for the person.
        answered,
    ] {
        assert!(check(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_answers_are_told_apart_by_occurs_once() {
    assert_eq!(tool().access(&place(), &asks(&[("Which?", &["a", "b"])])).unwrap(), [Access::Person]);
    assert!(tool().access(&place(), &asks(&[("Which?", &["a", "b"]), ("Which?", &["c", "d"])])).is_err());
    assert!(tool().access(&place(), &asks(&[("Which?", &["a", "a"])])).is_err());
}

// proves: S2
#[test]
fn leave_without_an_answer_is_no_answer() {
    let shown = asks(&[("Which?", &["a", "b"])]);
    for given in [
        None,
        Some(shown.clone()),
        Some(json!({"answers": {}})),
        Some(json!({"answers": {"Which?": "  "}})),
        Some(json!({"answers": {"Another?": "a"}})),
        Some(json!("a")),
    ] {
        let fault = tool().answered(shown.clone(), given.clone()).unwrap_err();
        assert!(fault.starts_with("No answer was given"), "{given:?}: {fault}");
    }
}

#[tokio::test]
async fn answers_reach_the_model_and_the_questions_stay_those_that_were_shown() {
    let shown = asks(&[("Which?", &["a", "b"]), ("And?", &["c", "d"]), ("Why?", &["e", "f"])]);
    let given = json!({
        "questions": [{"question": "Changed?"}],
        "answers": {"Which?": "b", "And?": ["c", "d"], "Changed?": "x"},
        "annotations": {"Which?": {"notes": "soon"}, "Changed?": {"notes": "x"}},
    });
    let call = tool().answered(shown.clone(), Some(given)).unwrap();
    let wanted = json!({
        "questions": shown["questions"], "answers": {"Which?": "b", "And?": "c, d"},
        "annotations": {"Which?": {"notes": "soon"}},
    });
    assert_eq!(call, wanted);
    let cx = crate::search::test_tree::Tree::new(&[]).cx();
    let output = tool().call(&cx, call).await;
    let text = "The person answered:\n- Which?\n  b\n  note: soon\n- And?\n  c, d\n- Why?\n  (not answered)";
    assert_eq!(output.content, ToolOutput::text(text).content);
    assert_eq!(output.data.unwrap(), wanted);
}
