//! Output as text, and questions on a terminal.

use serde_json::json;
use tokio::io::{AsyncWriteExt as _, duplex};
use troupe_wire::headless::{Exit, Output};

use crate::model::{call, text};
use crate::stage::{Asks, Setup};

#[tokio::test(start_paused = true)]
async fn text_is_the_last_result_alone() {
    let replies = vec![vec![text("Looking."), call("t1", "Say", json!({}))], vec![text("\"It is done.\"")]];
    let stage = Setup::prompt(Output::Text, replies).start().await;
    let (exit, lines, told) = stage.exit().await;
    assert_eq!(exit, Exit::Success);
    assert_eq!(lines, [json!("It is done.")]);
    assert_eq!(told, "");
}

// proves: S2
#[tokio::test(start_paused = true)]
async fn a_person_is_asked_in_plain_lines_and_asked_again_until_it_is_clear() {
    let replies = vec![
        vec![call("t1", "Act", json!({"text": "one"})), call("t2", "Act", json!({"text": "two"}))],
        vec![text("\"ok\"")],
    ];
    let mut setup = Setup::prompt(Output::Text, replies);
    let (terminal, mut person) = duplex(1024);
    setup.asks = Asks::Person(terminal);
    // Typed ahead, these answer nothing.
    person.write_all(b"a\ny\nalw").await.unwrap();
    let stage = setup.start().await;
    for (n, line) in ["what?\na\n", "y\ny\n", "n\n"].into_iter().enumerate() {
        stage.told("Allow?", n + 1).await;
        person.write_all(line.as_bytes()).await.unwrap();
    }
    let model = std::sync::Arc::clone(&stage.model);
    let (exit, lines, told) = stage.exit().await;
    assert_eq!((exit, lines), (Exit::Success, vec![json!("ok")]));
    assert_eq!(told.matches("main asks:").count(), 3, "{told}");
    assert!(told.contains("  | text: one"), "{told}");
    let asked = model.asked.lock().unwrap();
    assert!(asked[1].contains("\"text\":\"one\""), "{}", asked[1]);
    assert!(asked[1].contains("The person denied this call."), "{}", asked[1]);
}
