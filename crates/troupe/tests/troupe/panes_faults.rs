//! Members in panes of a real tmux where something goes another way: other folders, rules that come later, processes that
//! are killed.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use troupe_testkit::process::{LIMIT, poll};

use crate::panes::{Lead, Server, members, names};
use crate::stage::{Stage, end};

const TEAM: &str = "agent main\nreply\n  call TeamCreate team_name=blue description=\"try panes\"\n";

/// Each member waits for an answer before what the lead is to hear, so that the order is the test's to say.
const BOUND: &str = r#"reply
  call Agent description="ann" name=ann cwd=sub prompt="ANN: look"
reply "started"
reply
  expect "ann has looked"
  text "heard ann"
reply
  call Read file_path=../secret.txt
reply "no more commands"
reply
  call SendMessage to=ann summary="go on" message="go on"
reply "sent"
reply
  expect "ann has tried"
  text "ann tried"
reply
  call SendMessage to=ann summary="write" message="write it"
reply "sent again"
reply
  expect "ann has written"
  text "ann wrote"
agent general-purpose /ANN/
reply
  call Read file_path=../../secret.txt
reply
  call Bash command="touch by_project"
  call Bash command="rmdir empty"
  call Read file_path=here.txt
reply
  expect "in sub"
  call SendMessage to=team-lead summary="ann has looked" message="ann has looked"
reply "ann waits"
reply
  call Read file_path=../../secret.txt
reply
  call Bash command="mkdir by_session"
reply
  call SendMessage to=team-lead summary="ann has tried" message="ann has tried"
reply "ann waits"
reply
  call Write file_path=new.txt content=x
reply
  call SendMessage to=team-lead summary="ann has written" message="ann has written"
reply "ann waits"
"#;

// proves: X7, T8
#[test]
fn what_binds_the_lead_binds_its_members_wherever_they_work_and_whenever_it_came() {
    let stage = Stage::new();
    stage.write("secret.txt", "of the test\n");
    stage.write("work/sub/here.txt", "in sub\n");
    stage.write("work/sub/empty/.keep", "");
    std::fs::remove_file(stage.path("work/sub/empty/.keep")).unwrap();
    stage.write("work/.troupe/settings.json", r#"{"permissions": {"deny": ["Bash(touch *)"]}}"#);
    let server = Server::start(&stage);
    let script = format!("{TEAM}{BOUND}");
    let flags = ["--allowed-tools", "Bash", "--permission-mode", "acceptEdits"];
    let mut lead = Lead::start(&stage, &server, &script, &flags);
    lead.prompt("go");
    lead.result("started");
    lead.allow("ann");
    lead.result("heard ann");
    assert!(!stage.path("work/sub/by_project").exists(), "the project's rules hold");
    assert!(!stage.path("work/sub/empty").exists(), "and so do the lead's flags, in the member's folder");

    lead.prompt("deny");
    let question = lead.until(|frame| frame["request"]["subtype"] == "can_use_tool");
    let rules = json!([{"toolName": "Bash"}]);
    let deny = json!([{"type": "addRules", "rules": rules, "behavior": "deny", "destination": "session"}]);
    lead.answer(&question, &deny);
    lead.result("no more commands");
    lead.prompt("ann is to go on");
    lead.result("sent");
    lead.allow("ann");
    lead.result("ann tried");
    assert!(!stage.path("work/sub/by_session").exists(), "what the lead's person denied is denied");

    let inboxes = "home/.troupe/teams/blue/inboxes";
    // That ann is idle counts as read only once the lead's model is told.
    poll("the lead has taken all", LIMIT, || {
        let mail = stage.read(&format!("{inboxes}/team-lead.jsonl"));
        let last = mail.lines().last().unwrap_or_default();
        let position = stage.read(&format!("{inboxes}/team-lead.position.json"));
        let position: Value = serde_json::from_str(&position).ok()?;
        let tried = last.contains("idle_notification") && last.contains("ann has tried");
        (tried && position["taken"] == mail.lines().count()).then_some(())
    });
    lead.child.kill().unwrap();
    lead.child.wait().unwrap();
    let session = format!("--resume={}", lead.session);
    let flags = [session.as_str(), "--permission-mode", "default"];
    let mut lead = Lead::start(&stage, &server, &script, &flags);
    lead.prompt("ann is to write");
    lead.result("sent again");
    let question = lead.allow("ann");
    assert_eq!(question["tool_name"], "Write", "{question:#}");
    lead.result("ann wrote");
    assert_eq!(stage.read("work/sub/new.txt"), "x");
    assert_eq!(lead.asked, Vec::<Value>::new());
}

const ASKS: &str = r#"reply
  call Agent description="ann" name=ann prompt="ANN: ask"
  call Agent description="eve" name=eve subagent_type=reader prompt="EVE: look"
reply "started"
reply
  expect "eve has looked"
  text "heard eve"
reply
  expect "typed"
  text "heard ann"
agent general-purpose /ANN/
reply "ann waits"
reply
  call SendMessage to=team-lead summary="typed" message="typed"
reply
  call Read file_path=../secret.txt
reply "never said"
agent reader
reply
  call Read file_path=../secret.txt
reply
  call SendMessage to=team-lead summary="eve has looked" message="eve has looked"
reply "eve waits"
"#;

// proves: T4, T9, S3, X17
#[test]
fn a_member_runs_once_hears_what_is_typed_and_takes_its_question_with_it() {
    let stage = Stage::new();
    stage.write("secret.txt", "of the test\n");
    let server = Server::start(&stage);
    let mut lead = Lead::start(&stage, &server, &format!("{TEAM}{ASKS}"), &[]);
    let reader =
        json!({"reader": {"description": "reads", "prompt": "READER", "tools": ["Read", "SendMessage"]}});
    lead.send(&json!({"type": "control_request", "request_id": "i1",
        "request": {"subtype": "initialize", "agents": reader}}));
    lead.prompt("go");
    lead.result("started");
    lead.allow("eve");
    lead.result("heard eve");

    let script = stage.path("model.script");
    let model = format!("--model=script:{}", script.display());
    let second = end(stage.troupe().args(["--agent-id=ann@blue", &model]));
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.err.contains("ann of the team blue runs already"), "{second:?}");
    assert!(names(&stage).contains(&"ann".to_owned()), "it is in the team as before");

    let all = members(&stage);
    let ann = all.iter().find(|member| member["name"] == "ann").unwrap();
    let ann = ann["tmuxPaneId"].as_str().unwrap();
    server.say(&["send-keys", "-t", ann, "-H", "ff", "0a"]);
    lead.result("heard ann");
    let question = lead.question("ann");
    server.say(&["kill-pane", "-t", ann]);
    let cancelled = lead.until(|frame| frame["type"] == "control_cancel_request");
    assert_eq!(cancelled["request_id"], question["request_id"]);
    poll("ann is out of the team", LIMIT, || (names(&stage) == ["team-lead", "eve"]).then_some(()));
}

const HELD: &str = r#"reply
  call Agent description="ann" name=ann prompt="ANN: go"
reply "started"
reply "gone on"
reply "heard ann"
agent general-purpose /ANN/
reply
  call SendMessage to=team-lead summary="ann is here" message="ann is here"
reply "ann waits"
"#;

// proves: T8, T9
#[test]
fn a_lead_killed_before_the_pane_of_its_member_opens_it_when_it_goes_on() {
    let stage = Stage::new();
    let server = Server::start(&stage);
    let (opens, goes_on) = (stage.path("opens"), stage.path("goes_on"));
    for pipe in [&opens, &goes_on] {
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let slow = format!(
        "#!/bin/sh\ncase \"$*\" in *split-window*) echo > {}; cat {}; exit 1;; esac\nPATH=${{PATH#*:}} exec tmux \"$@\"\n",
        opens.display(),
        goes_on.display()
    );
    let slow = stage.write("slow/tmux", &slow);
    std::fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let usual = String::from_utf8(Command::new("printenv").arg("PATH").output().unwrap().stdout).unwrap();
    let path = format!("{}:{}", stage.path("slow").display(), usual.trim_end());
    let script = format!("{TEAM}{HELD}");
    let mut lead = Lead::start_in(&stage, &server, &script, &[], &[("PATH", &path)]);
    lead.prompt("go");
    std::fs::read(&opens).unwrap();
    let handover = stage.path("home/.troupe/teams/blue/handover/ann.json");
    assert!(handover.exists());
    lead.until(|frame| frame["session_id"].is_string());
    lead.child.kill().unwrap();
    lead.child.wait().unwrap();
    std::fs::write(&goes_on, "").unwrap();

    let session = format!("--resume={}", lead.session);
    let mut lead = Lead::start(&stage, &server, &script, &[session.as_str()]);
    lead.prompt("go on");
    poll("ann writes", LIMIT, || {
        let mail = stage.read("home/.troupe/teams/blue/inboxes/team-lead.jsonl");
        mail.contains("ann is here").then_some(())
    });
    assert_eq!(names(&stage), ["team-lead", "ann"]);
    assert_eq!(members(&stage)[1]["tmuxPaneId"], "%1");
    assert!(!handover.exists());
}

const FAILS: &str = r#"reply
  call Agent description="ann" name=ann prompt="ANN: go"
reply "started"
"#;

// proves: T9, F062
#[test]
fn a_lead_hears_why_its_member_did_not_start() {
    let stage = Stage::new();
    let server = Server::start(&stage);
    let program = [("TROUPE_TEAMMATE_COMMAND", "/nowhere/member")];
    let mut lead = Lead::start_in(&stage, &server, &format!("{TEAM}{FAILS}"), &[], &program);
    lead.prompt("go");
    lead.until(|frame| frame.to_string().contains("it did not start: failed to run /nowhere/member"));
    poll("ann is out of the team", LIMIT, || (names(&stage) == ["team-lead"]).then_some(()));
}

/// A run without a host, in text.
fn run_in_panes(stage: &Stage, server: &Server, script: &str) -> crate::stage::Ended {
    let mut command = stage.scripted(script);
    command
        .args(["-p", "go", "--teammate-mode", "auto"])
        .env("TROUPE_AGENT_TEAMS", "1")
        .env("TMUX", server.variable())
        .env("TMUX_PANE", "%0")
        .stdin(Stdio::null());
    end(&mut command)
}

// proves: X16, X6
#[test]
fn a_run_ends_once_its_members_in_panes_have_nothing_to_do() {
    let stage = Stage::new();
    let server = Server::start(&stage);
    stage.write("work/a.txt", "x");
    let script = format!(
        "{TEAM}reply\n  call Agent description=\"ann\" name=ann prompt=\"ANN: look\"\nreply \"started\"\n\
         agent general-purpose /ANN/\nreply\n  call Read file_path=a.txt\nreply\n  call Read file_path=a.txt\n\
         reply \"ann waits\"\n"
    );
    // That she is idle counts as unread until the lead's next request, and there is none.
    let ended = run_in_panes(&stage, &server, &script);
    assert_eq!(ended.clean(), "started\n");
    assert!(!stage.path("home/.troupe/teams/blue").exists(), "the team goes with the run");
    assert_eq!(server.panes(), ["%0"]);
}

// proves: X16
#[test]
fn a_run_whose_member_failed_or_left_a_task_under_way_is_no_success() {
    let stage = Stage::new();
    let play = |script: &str| {
        let mut command = stage.scripted(script);
        command
            .args(["-p", "go", "--output-format", "json"])
            .env("TROUPE_AGENT_TEAMS", "1")
            .stdin(Stdio::null());
        end(&mut command)
    };
    let lead = "reply\n  call Agent description=\"ann\" name=ann prompt=\"ANN: look\"\nreply \"started\"\nreply \"heard\"\n";
    let failed = play(&format!(
        "{TEAM}{lead}agent general-purpose /ANN/\nreply\n  error 400 \"no such thing\"\n  text \"x\"\n"
    ));
    failed.says(1, &["ann@blue did not get done: failed"]);
    let result: Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!((&result["is_error"], &result["result"]), (&json!(true), &json!("started")), "{result:#}");
    assert_eq!(result["unfinished_tasks"][0]["task_id"], "ann@blue");

    let task = "reply\n  call TaskCreate subject=look description=x\n";
    let open = play(&format!(
        "{TEAM}{task}{lead}agent general-purpose /ANN/\nreply\n  call TaskUpdate taskId=\"1\" status=in_progress\nreply \"I stop here\"\n"
    ));
    open.says(1, &["blue#1 is under way with ann and not done: look"]);
}

// proves: X17, T3
#[test]
fn what_the_shell_of_a_killed_member_ran_ends_with_it() {
    let stage = Stage::new();
    let server = Server::start(&stage);
    let pipe = stage.path("work/hold");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!(
        "{TEAM}reply\n  call Agent description=\"ann\" name=ann prompt=\"ANN: look\"\nreply \"started\"\n\
         agent general-purpose /ANN/\nreply\n  call Bash command=\"read x < hold\" run_in_background=true\n\
         reply \"ann waits\"\n"
    );
    let flags = ["--allowed-tools", "Bash"];
    let mut lead = Lead::start(&stage, &server, &script, &flags);
    lead.prompt("go");
    lead.result("started");
    // Opens once her command reads.
    let mut held = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let process = members(&stage).into_iter().find(|member| member["name"] == "ann").unwrap();
    let pid = process["process"]["pid"].as_u64().unwrap();
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    poll("she is out of the team", LIMIT, || (names(&stage) == ["team-lead"]).then_some(()));
    // No line's end, so that it waits on.
    poll("and nobody is at the pipe", LIMIT, || held.write_all(b"x").is_err().then_some(()));
}

// proves: T9, D2
#[test]
fn definitions_that_are_too_long_for_an_argument_reach_a_member_in_a_pane() {
    let stage = Stage::new();
    let server = Server::start(&stage);
    let long = "x".repeat(200_000);
    stage.write("work/agents.json", &json!({"long": {"description": "d", "prompt": long}}).to_string());
    let script = format!(
        "{TEAM}reply\n  call Agent description=\"ann\" name=ann subagent_type=long prompt=\"ANN: look\"\nreply \"started\"\n\
         reply\n  expect \"ann is here\"\n  text \"heard ann\"\nreply \"heard\"\n\
         agent long /ANN/\nreply\n  call SendMessage to=team-lead summary=here message=\"ann is here\"\nreply \"waits\"\n"
    );
    let mut lead = Lead::start(&stage, &server, &script, &["--agents", "@agents.json"]);
    lead.prompt("go");
    poll("she has written", LIMIT, || {
        stage.read("home/.troupe/teams/blue/inboxes/team-lead.jsonl").contains("ann is here").then_some(())
    });
    let missing = stage.play("agent main\nreply \"x\"\n", &["-p", "x", "--agents", "@nowhere.json"]);
    missing.says(2, &["failed to read --agents @nowhere.json"]);
}
