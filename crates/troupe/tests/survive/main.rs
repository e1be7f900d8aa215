//! What a session survives: other starts at the same time, Ctrl-C in the middle of a command, a kill, and a lack of
//! file handles.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ending;
mod handles;
mod starts;

use troupe_testkit::process::Stage;

const ID: &str = "7c1d6a52-1f43-4a53-9c39-6fd2d1f2f020";

fn stage() -> Stage {
    Stage::new(env!("CARGO_BIN_EXE_troupe"))
}

/// The session's lines on disk.
fn transcript(stage: &Stage) -> Vec<serde_json::Value> {
    let path = stage.sessions().unwrap().join(format!("{ID}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The texts of the results in it.
fn results(stage: &Stage) -> Vec<String> {
    let lines = transcript(stage);
    let blocks = lines.iter().flat_map(|line| line["message"]["content"].as_array().into_iter().flatten());
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|block| block["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}
