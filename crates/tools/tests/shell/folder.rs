//! The shell's folder and its prologue.

use serde_json::json;
use troupe_core::ids::AgentId;
use troupe_core::ports::tool::{Tool as _, ToolOutput};
use troupe_core::state::Effect;
use troupe_tools::shell::{Bash, Options};

use crate::supervisor::{Agent, World, field, text};

fn bash() -> Bash {
    Bash::new(Options::default())
}

/// What a call changed of its agent.
fn changes(out: &ToolOutput) -> Vec<Effect> {
    out.effects.iter().filter(|effect| !matches!(effect, Effect::Ran(_))).cloned().collect()
}

#[tokio::test]
async fn the_folder_is_kept_between_calls_of_the_main_agent() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let tool = bash();
    let out = agent.run(&tool, "mkdir -p a/b && cd a/b").await;
    assert_eq!(changes(&out), [Effect::Cwd(world.work().join("a/b"))]);
    let out = agent.run(&tool, "pwd -P").await;
    assert_eq!(text(&out), world.work().join("a/b").to_str().unwrap());
    assert_eq!(changes(&out), []);
}

#[tokio::test]
async fn a_sub_agent_never_carries_its_folder_over() {
    let world = World::new();
    let mut agent = Agent::named(&world, AgentId::new("a1"));
    let tool = bash();
    assert_eq!(changes(&agent.run(&tool, "mkdir sub; cd sub").await), []);
    assert_eq!(text(&agent.run(&tool, "pwd -P").await), world.work().to_str().unwrap());
}

#[tokio::test]
async fn a_folder_outside_is_reset_and_told() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let tool = bash();
    agent.run(&tool, "mkdir sub; cd sub").await;
    let out = agent.run(&tool, "cd /; echo x").await;
    assert_eq!(text(&out), format!("x\nShell cwd was reset to {}", world.work().display()));
    assert_eq!(agent.place.cwd, world.work());
}

#[tokio::test]
async fn a_folder_that_the_command_removed_is_reset() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let tool = bash();
    let out = agent.run(&tool, "mkdir sub; cd sub; rmdir ../sub").await;
    assert!(text(&out).contains("Shell cwd was reset to"), "{}", text(&out));
    assert_eq!(agent.place.cwd, world.work());
}

// Whatever a command does to its shell: exit code and output are those of plain `bash -c`.
#[tokio::test]
async fn the_way_back_changes_nothing_that_a_command_can_see() {
    let world = World::new();
    let tool = bash();
    std::fs::create_dir(world.work().join("d")).unwrap();
    for (command, follows) in [
        ("cd d; exit 7", true),
        ("cd d; (exit 3)", true),
        ("set -e; cd d; false; echo never", true),
        ("set -eu; cd d; echo $nothing; echo never", true),
        ("set -x; cd d; echo traced", true),
        ("cd d; if )", false),
        ("cd d\nif )", true),
        ("cd d; echo $LINENO\nnosuchcommand", true),
        ("cd d; cat <<X\nin $LINENO\nX", true),
        ("cd d; exec sh -c 'echo replaced; exit 4'", false),
        ("trap 'echo mine; exit 9' EXIT; cd d", false),
        ("cd d; trap 'echo bye' TERM; echo $BASH_ENV $0 $# $-", true),
        ("cd d; bash -c 'cd /; echo $BASH_ENV'", true),
        ("(cd d)", false),
        ("cd d; kill -TERM $$", true),
        ("cd d; set -o noclobber; pwd() { echo mine; }", true),
        ("cd d; exec >/dev/null 2>&1; echo unseen", true),
        ("cd nosuchfolder", false),
        ("cd d; return 3", true),
        ("cd d; false || echo $?; echo ${PIPESTATUS[@]}", true),
    ] {
        let mut agent = Agent::main(&world);
        let out = agent.run(&tool, command).await;
        let plain = plain_bash(command, &world.work());
        assert_eq!(field(&out, "stdout"), plain.1.trim_end(), "{command}");
        let code = text(&out)
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("Exit code "))
            .map_or(0, |code| code.split(' ').next().unwrap().parse().unwrap());
        assert_eq!(code, plain.0, "{command}");
        assert_eq!(agent.place.cwd != world.work(), follows, "{command}");
    }
}

/// Exit code and output of a command in plain bash; both its outputs go to one file.
fn plain_bash(command: &str, cwd: &std::path::Path) -> (i32, String) {
    use std::os::unix::process::ExitStatusExt as _;
    let path = cwd.join("../plain");
    let file = std::fs::File::create(&path).unwrap();
    let status = std::process::Command::new("bash")
        .arg("-c")
        .arg(command)
        .current_dir(cwd)
        .stdin(std::process::Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .status()
        .unwrap();
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
    (code, std::fs::read_to_string(path).unwrap())
}

// proves: F085
#[tokio::test]
async fn nothing_runs_when_the_folder_is_gone() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    agent.place.cwd = world.work().join("gone");
    let mark = world.work().join("ran");
    let tool = bash();
    let out = agent.run(&tool, &format!("touch {}", mark.display())).await;
    assert!(out.is_error);
    assert!(text(&out).contains("working directory gone"), "{}", text(&out));
    let out = agent
        .call(&tool, json!({"command": format!("touch {}", mark.display()), "run_in_background": true}))
        .await;
    assert!(out.is_error && text(&out).contains("working directory gone"), "{}", text(&out));
    assert!(!mark.exists());
}

// proves: F146
#[tokio::test]
async fn variables_do_not_persist_and_the_text_says_so() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let tool = bash();
    agent.run(&tool, "export HOME=/tmp/nowhere").await;
    let home = plain_bash("echo $HOME", &world.work()).1;
    assert_eq!(text(&agent.run(&tool, "echo $HOME").await), home.trim_end());
    assert!(tool.spec().description.contains("variables do not last"));
}

#[tokio::test]
async fn aliases_and_functions_of_the_rc_file_apply() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let rc = world.work().join("rc");
    let text_of_rc = "case $- in *i*) ;; *) return;; esac\necho noise\nalias hi='echo hello'\n\
                      both() { echo \"both $1\"; cd sub; }\n_hidden() { :; }\nX=1\n";
    std::fs::write(&rc, text_of_rc).unwrap();
    std::fs::create_dir(world.work().join("sub")).unwrap();
    let tool = Bash::new(Options { rc_file: Some(rc), ..Options::default() });
    let out = agent.run(&tool, "hi there; both x; type -t _hidden; echo \"[$X]\"").await;
    assert_eq!(text(&out), "hello there\nboth x\n[]");
    assert_eq!(agent.place.cwd, world.work().join("sub"));
}

#[tokio::test]
async fn a_missing_hanging_or_empty_rc_file_is_no_harm() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    for content in [None, Some("X=1\n"), Some("exit 3\n"), Some("if (\n")] {
        let rc = world.work().join("rc");
        match content {
            None => {}
            Some(text) => std::fs::write(&rc, text).unwrap(),
        }
        let tool = Bash::new(Options { rc_file: Some(rc), ..Options::default() });
        assert_eq!(text(&agent.run(&tool, "echo ok").await), "ok", "{content:?}");
    }
}

#[tokio::test]
async fn the_environment_script_is_sourced_and_bash_env_is_as_it_was() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let (one, two) = (world.work().join("it's one"), world.work().join("two"));
    std::fs::write(&one, "A=1\n").unwrap();
    std::fs::write(&two, "B=$A\n").unwrap();
    let options = Options { bash_env: Some(one.clone()), env_file: Some(two), ..Options::default() };
    let tool = Bash::new(options);
    let out = agent.run(&tool, "echo $A$B; bash -c 'echo $A'; echo \"$BASH_ENV\"").await;
    assert_eq!(text(&out), format!("11\n1\n{}", one.display()));
}

#[tokio::test]
async fn commands_know_where_they_run() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let out = agent.run(&bash(), "echo $CLAUDECODE $TROUPE; read -r x; echo \"$? [$x]\"; test -t 0").await;
    assert_eq!(text(&out), "1 1\n1 []");
    assert_eq!(field(&out, "returnCodeInterpretation"), "Condition is false");
}

// proves: F137
#[tokio::test]
async fn looking_at_a_repository_runs_no_program_of_its_config() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let tool = bash();
    let mark = world.work().join("mark");
    let set = format!("git init -q . && git config core.fsmonitor 'touch {}; false'", mark.display());
    assert!(!agent.run(&tool, &set).await.is_error);
    assert!(!agent.run(&tool, "git status --short").await.is_error);
    assert!(!mark.exists());
}
