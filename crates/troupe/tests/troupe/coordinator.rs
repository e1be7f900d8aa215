//! `--coordinator` with the program itself.

use crate::stage::{Ended, Stage, end};

/// The worker ends after the coordinator has come to rest.
const SCRIPT: &str = r#"agent coordinator
reply
  call Agent description="add a line" prompt="append a line to a.txt"
reply "now I wait"
reply
  expect "<task-notification>"
  expect "appended it"
  text "a.txt has a line more"
reply
  call Read file_path=a.txt
reply "I can only coordinate"
agent worker
reply
  call Bash command="until grep -qs 'now I wait' ~/.troupe/projects/*/*.jsonl; do :; done; echo three >> a.txt"
reply "appended it"
"#;

fn go(stage: &Stage, arguments: &[&str], vars: &[(&str, &str)]) -> Ended {
    let mut command = stage.scripted(SCRIPT);
    command.args(["-p", "--permission-mode", "bypassPermissions"]).env("IS_SANDBOX", "1");
    end(command.args(arguments).envs(vars.iter().copied()))
}

// proves: O1, O2
#[test]
fn a_worker_does_the_work_and_the_session_stays_a_coordinators() {
    let stage = Stage::new();
    stage.write("work/a.txt", "one\ntwo\n");
    let ran = go(&stage, &["--coordinator", "Add a line to a.txt."], &[]);
    assert!(ran.out.contains("a.txt has a line more"), "{ran:?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(std::fs::read_to_string(stage.path("work/a.txt")).unwrap(), "one\ntwo\nthree\n");
    let again = go(&stage, &["--continue", "And now?"], &[]);
    assert!(again.err.contains("goes on as a coordinator's"), "{again:?}");
    assert!(again.out.ends_with("I can only coordinate\n"), "{again:?}");
}

// proves: O2
#[test]
fn a_session_does_not_become_a_coordinators() {
    let stage = Stage::new();
    let script = "agent main\nreply \"one\"\nreply \"two\"\n";
    stage.play(script, &["-p", "hi"]).clean();
    let refused = end(stage.scripted(script).args(["-p", "--continue", "--coordinator", "hi"]));
    refused.says(2, &["was not begun as a coordinator's", "start a new session"]);
    let told =
        end(stage.scripted(script).args(["-p", "--continue", "hi"]).env("TROUPE_COORDINATOR_MODE", "1"));
    assert_eq!((told.code, told.out.as_str()), (Some(0), "two\n"), "{told:?}");
    assert!(told.err.contains("was not begun as, and does not become, a coordinator's"), "{told:?}");
}

// proves: O1, C1
#[test]
fn a_variable_or_a_setting_turns_it_on_too_and_its_prompt_stays() {
    for (how, vars, settings) in [
        ("variable", &[("CLAUDE_CODE_COORDINATOR_MODE", "1")][..], "{}"),
        ("setting", &[], "{\"flags\": {\"COORDINATOR_MODE\": true}}"),
    ] {
        let stage = Stage::new();
        stage.write("home/.troupe/settings.json", settings);
        let ran = go(&stage, &["--system-prompt", "Be a pirate.", "go"], vars);
        assert!(ran.out.contains("a.txt has a line more"), "{how}: {ran:?}");
        assert!(ran.err.contains("--system-prompt: a coordinator keeps its own"), "{how}: {ran:?}");
    }
}

// proves: O1, C1
#[test]
fn another_main_agent_does_not_take_the_coordinators_place() {
    let stage = Stage::new();
    stage.write("home/.troupe/agents/lead.md", "---\nname: lead\ndescription: d\n---\nLead.\n");
    let words = ["--agent lead", "its coordinator is the main agent", "leave one of the two out"];
    go(&stage, &["--coordinator", "--agent", "lead", "go"], &[]).says(2, &words);
    let vars = [("TROUPE_COORDINATOR_MODE", "1")];
    go(&stage, &["--agent", "lead", "go"], &vars).says(2, &words);
    // The coordinator itself may be named.
    let named = go(&stage, &["--coordinator", "--agent", "coordinator", "go"], &[]);
    assert!(named.out.contains("a.txt has a line more"), "{named:?}");
    stage.write("home/.troupe/settings.json", "{\"agent\": \"lead\"}");
    let told = go(&stage, &["--coordinator", "go"], &[]);
    assert!(told.out.contains("a.txt has a line more"), "{told:?}");
    assert!(told.err.contains("the setting `agent` (lead) does not count"), "{told:?}");
    // Resumed, it is a coordinator's still.
    go(&stage, &["--continue", "--agent", "lead", "go"], &[]).says(2, &words);
}

/// The depth of agents is a setting of the environment, also a coordinator's.
// proves: A9
#[test]
fn the_depth_of_agents_is_set_by_a_variable() {
    let stage = Stage::new();
    let script = "agent main\nreply\n  call Agent description=d prompt=\"one\"\nreply \"main\"\nagent general-purpose \
                  /one/\nreply\n  call Agent description=d prompt=\"two\"\nreply \"first\"\nagent general-purpose \
                  /two/\nreply\n  call Bash command=\"echo deep >> deep\"\nreply \"second\"\n";
    let run = |depth: &str| {
        let arguments = ["-p", "go", "--permission-mode", "acceptEdits", "--allowed-tools", "Bash(echo *)"];
        let mut command = stage.scripted(script);
        let ended = end(command.args(arguments).env("TROUPE_MAX_SUBAGENT_SPAWN_DEPTH", depth));
        assert_eq!(ended.out, "main\n", "{ended:?}");
        stage.path("work/deep").exists()
    };
    assert!(!run("0") && !run("1"));
    assert!(run("2"));
}

#[test]
fn a_level_of_effort_that_there_is_none_of_is_refused() {
    let stage = Stage::new();
    let script = "agent main\nreply \"one\"\n";
    let wrong = stage.play(script, &["-p", "hi", "--effort", "huge"]);
    wrong.says(2, &["the levels are low, medium, high, xhigh, max"]);
    assert_eq!(stage.play(script, &["-p", "hi", "--effort", "high"]).clean(), "one\n");
    stage.write("home/.troupe/settings.json", "{\"effortLevel\": \"huge\"}");
    let told = stage.play(script, &["-p", "hi"]);
    assert!(told.err.contains("effortLevel: there is no effort `huge`; there are low,"), "{told:?}");
}
