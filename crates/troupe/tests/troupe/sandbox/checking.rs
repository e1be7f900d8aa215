//! The sandbox around the commands of an agent that is to change nothing of the project.

use super::*;

/// A project whose build changes a file of it; what is left after the verification agent ran the build.
fn after(arguments: &[&str]) -> (Stage, bool) {
    let stage = seen();
    repository(&stage);
    stage.write("work/README", "one\n");
    stage.write("work/.gitignore", "target\n");
    stage.write("work/target/old", "");
    stage.write("work/build.sh", "echo built > target/out\necho two > README\necho x > new\n");
    let script = "agent main\nreply\ncall Agent subagent_type=verification description=\"check\" prompt=\"Check it\"\n\
                  reply \"sent\"\nreply \"over\"\nagent verification\n\
                  reply\ncall Bash command=\"sh build.sh\"\nreply\ncall Bash command=\"sh -s < build.sh\"\n\
                  reply \"VERDICT: FAIL\"\n";
    let mut run = stage.scripted(script);
    run.env("IS_SANDBOX", "1").args(["-p", "hi", "--permission-mode", "bypassPermissions"]);
    let ended = end(run.args(arguments));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let is_whole = std::fs::read_to_string(stage.path("work/README")).unwrap() == "one\n"
        && !stage.path("work/new").exists();
    (stage, is_whole)
}

// proves: D10
#[test]
fn a_build_that_changes_the_project_can_not_and_still_builds() {
    let (stage, is_whole) = after(&["--sandbox"]);
    assert!(is_whole, "behind the walls");
    assert_eq!(std::fs::read_to_string(stage.path("work/target/out")).unwrap(), "built\n");
    let (_stage, is_whole) = after(&[]);
    assert!(!is_whole, "without them nobody sees what a script does");
}
