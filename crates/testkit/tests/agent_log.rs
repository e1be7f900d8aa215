//! The log of agents has a line for each that ended, and is part of no conversation.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::ports::journal::{Found, Key, Record};
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{LIMIT, SESSION, World, turn};

// proves: B10
#[tokio::test]
async fn each_agent_that_ended_has_a_line() {
    let script = "agent main\nreply\n  call Agent description=\"a part\" prompt=\"do it\"\n  call Agent description=\"look\" prompt=\"look\" subagent_type=Explore\nreply \"done\"\nagent general-purpose\nreply \"a report\"\nagent Explore\nreply\n  call Glob pattern=\"*\"\nreply \"nothing\"\n";
    let world = World::new(Arc::new(ScriptModel::parse("log", script).unwrap()));
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    session.close(LIMIT).await;
    let key = Key::new(format!("projects/-ws/{SESSION}/agents")).unwrap();
    let mut lines: Vec<Value> = Vec::new();
    for found in world.journal.read(&key, 0).await.unwrap() {
        let Found::Record(_, Record(maps)) = found else { panic!("{found:?}") };
        lines.extend(maps.into_iter().map(Value::Object));
    }
    lines.sort_by_key(|line| line["agentType"].to_string());
    let short = |line: &Value| {
        ["agentType", "builtIn", "promptChars", "responseChars", "requests", "toolUses", "ending"]
            .map(|key| line[key].clone())
    };
    let all: Vec<_> = lines.iter().map(short).collect();
    let explore = ["Explore", "general-purpose"].map(Value::from);
    assert_eq!(
        all,
        [
            [explore[0].clone(), json!(true), json!(4), json!(7), json!(2), json!(1), json!("completed")],
            [explore[1].clone(), json!(true), json!(5), json!(8), json!(1), json!(0), json!("completed")],
        ]
    );
}
