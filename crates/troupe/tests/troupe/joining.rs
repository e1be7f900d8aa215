//! A session that joins the team of another one.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use troupe_testkit::process::{LIMIT, poll};

use crate::stage::{Stage, end, ended};

const LEAD: &str = "agent main\n\
     reply\n  call TeamCreate team_name=blue\n\
     reply \"made\"\n\
     reply\n  call SendMessage to=eve message=\"paint it\" summary=paint\n\
     reply \"sent\"\n\
     reply\n  expect \"it is blue\"\n  text \"heard\"\n";
const EVE: &str = "agent main\n\
     reply\n  expect \"paint it\"\n  call Bash command=\"cat go_on\"\n\
     reply\n  call SendMessage to=team-lead message=\"it is blue\" summary=done\n\
     reply \"told\"\n";

fn scripted(stage: &Stage, name: &str, script: &str) -> Command {
    let path = stage.write(name, script);
    let mut command = stage.troupe();
    command.arg("--model").arg(format!("script:{}", path.display())).env("TROUPE_AGENT_TEAMS", "1");
    command.args(["--permission-mode", "acceptEdits"]).stdin(Stdio::piped());
    command
}

/// What the lead says next.
fn result(output: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "no more frames");
        let frame: Value = serde_json::from_str(&line).unwrap();
        if frame["type"] == "result" {
            return frame["result"].as_str().unwrap_or_default().to_owned();
        }
    }
}

fn member(stage: &Stage, name: &str) -> Value {
    let said = end(stage.troupe().args(["team", "list", "--json"]));
    let listed: Value = serde_json::from_str(&said.out).unwrap_or_default();
    let members = listed["teams"][0]["members"].as_array().cloned().unwrap_or_default();
    members.into_iter().find(|member| member["name"] == name).unwrap_or_default()
}

fn say(child: &mut Child, text: &str) {
    let line = json!({"type": "user", "message": {"role": "user", "content": text}});
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
}

// proves: T1, T11, M5
#[test]
fn a_session_joins_a_team_works_in_it_and_can_not_join_one_that_is_not_there() {
    let stage = Stage::new();
    let mut lead = scripted(&stage, "lead.script", LEAD)
        .args(["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"])
        .spawn()
        .unwrap();
    let mut output = BufReader::new(lead.stdout.take().unwrap());
    say(&mut lead, "go");
    assert_eq!(result(&mut output), "made");

    let refused = end(scripted(&stage, "eve.script", EVE).arg("--agent-id=eve@red"));
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.err.contains("no team `red`") && refused.err.contains("blue"), "{refused:?}");

    let goes_on = stage.path("work/go_on");
    assert!(Command::new("mkfifo").arg(&goes_on).status().unwrap().success());
    let eve = scripted(&stage, "eve.script", EVE).arg("--agent-id=eve@blue").spawn().unwrap();
    poll("eve is a member", LIMIT, || {
        (member(&stage, "eve")["state"] != "gone")
            .then_some(())
            .filter(|()| member(&stage, "eve").is_object())
    });
    say(&mut lead, "write to her");
    assert_eq!(result(&mut output), "sent");
    // Before that, her answer would be read in the same turn, which says nothing of it.
    std::fs::write(&goes_on, "").unwrap();
    assert_eq!(result(&mut output), "heard");

    // The team goes with its lead, and she leaves.
    drop(lead.stdin.take());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(lead.wait().unwrap().success());
    let eve = ended(eve.wait_with_output().unwrap());
    assert_eq!(eve.code, Some(0), "{eve:?}");
    assert!(eve.out.contains("Message to team-lead"), "{eve:?}");
    assert_eq!(stage.survivors(), Vec::<u32>::new());
}

// proves: T8, T11
#[test]
fn a_member_of_a_dead_leads_process_goes_on_with_that_session_alone() {
    let stage = Stage::new();
    let script = "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         agent general-purpose\nreply \"idle\"\n";
    let mut lead = scripted(&stage, "lead.script", script)
        .args(["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"])
        .spawn()
        .unwrap();
    let mut output = BufReader::new(lead.stdout.take().unwrap());
    say(&mut lead, "go");
    assert_eq!(result(&mut output), "made");
    lead.kill().unwrap();
    lead.wait().unwrap();
    let taken = end(scripted(&stage, "eve.script", EVE).arg("--agent-id=ann@blue"));
    assert_ne!(taken.code, Some(0), "{taken:?}");
    assert!(taken.err.contains("runs in its lead's process") && taken.err.contains("--resume="), "{taken:?}");
    assert_eq!(member(&stage, "ann")["state"], "gone");
}

// proves: T11, K3, T3
#[test]
fn the_lead_hears_of_the_end_of_one_that_has_joined_and_has_its_tasks_again() {
    let stage = Stage::new();
    let script = "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call TaskCreate subject=look description=x\n\
         reply \"made\"\n\
         reply\n  expect \"eve is gone; the tasks that it has not done can be claimed again\"\n  call TaskList\n\
         reply\n  expect \"1 [pending] look\"\n  call TeamDelete\n\
         reply \"gone\"\n";
    let eve = "agent main\nreply\n  call TaskUpdate taskId=\"1\" status=in_progress\nreply \"on it\"\n";
    let mut lead = scripted(&stage, "lead.script", script)
        .args(["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"])
        .spawn()
        .unwrap();
    let mut output = BufReader::new(lead.stdout.take().unwrap());
    say(&mut lead, "go");
    assert_eq!(result(&mut output), "made");
    let mut eve = scripted(&stage, "eve.script", eve)
        .arg("--agent-id=eve@blue")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hers = BufReader::new(eve.stdout.take().unwrap());
    writeln!(eve.stdin.as_mut().unwrap(), "take the task").unwrap();
    assert!(hers.lines().any(|line| line.unwrap().contains("on it")));
    eve.kill().unwrap();
    eve.wait().unwrap();
    poll("she is out of the team", LIMIT, || (!member(&stage, "eve").is_object()).then_some(()));
    assert_eq!(result(&mut output), "gone");
    drop(lead.stdin.take());
    assert!(lead.wait().unwrap().success());
}
