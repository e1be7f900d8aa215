//! A process that may open few files.

use std::os::unix::fs::PermissionsExt as _;

use troupe_testkit::process::LIMIT;

use crate::stage;

/// Fewer than ten agents with a command each need, and enough for some of them.
const FEW: u32 = 20;

// proves: F018
#[test]
fn agents_outlive_a_lack_of_file_handles_and_are_told_of_the_limit() {
    let stage = stage();
    let call = |n| format!("call Agent description=d prompt=\"number {n}\"\n");
    let calls = (0..10).map(call).collect::<Vec<_>>().concat();
    stage.write(
        "model.script",
        &format!(
            "agent main\nreply\n{calls}reply \"all are back\"\nagent general-purpose\nreply\n\
             call Bash command=\"sleep 1; echo here\"\nreply \"mine\"\n"
        ),
    );
    let program = env!("CARGO_BIN_EXE_troupe");
    let start = stage.write("start", &format!("#!/bin/sh\nulimit -n {FEW}\nexec {program} \"$@\"\n"));
    std::fs::set_permissions(&start, std::fs::Permissions::from_mode(0o700)).unwrap();
    let run = stage.start_as(&start, &["-p", "go", "--output-format", "stream-json", "--verbose"]);
    let out = run.end(LIMIT).clean().to_owned();
    let results: Vec<&str> = out.lines().filter(|line| line.contains("tool_result")).collect();
    let with = |text: &str| results.iter().filter(|line| line.contains(text)).count();
    assert_eq!(with("agentId"), 10, "each ends by itself: {out}");
    assert!(with("mine") == 10 && out.contains("all are back"), "{out}");
    assert!(with(&format!("the limit of open files (ulimit -n) is {FEW}")) > 0, "{out}");
    assert!(with("here") > 0, "those that run go on: {out}");
    assert!(!out.contains("not found"), "{out}");
    stage.is_deserted(LIMIT);
}
