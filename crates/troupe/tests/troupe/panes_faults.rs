//! Members in panes of a real tmux where something goes another way: other folders, rules that come later, processes that
//! are killed.

use serde_json::{Value, json};
use troupe_testkit::process::{LIMIT, poll};

use crate::panes::{Lead, Server};
use crate::stage::Stage;

const TEAM: &str = "agent main\nreply\n  call TeamCreate team_name=blue description=\"try panes\"\n";

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
  call Bash command="touch by_project"
  call Bash command="rmdir empty"
  call Read file_path=here.txt
reply
  expect "in sub"
  call SendMessage to=team-lead summary="ann has looked" message="ann has looked"
reply "ann waits"
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
    lead.result("ann tried");
    assert!(!stage.path("work/sub/by_session").exists(), "what the lead's person denied is denied");

    let inboxes = "home/.troupe/teams/blue/inboxes";
    poll("the lead has read all", LIMIT, || {
        let sent = stage.read(&format!("{inboxes}/team-lead.jsonl")).lines().count();
        let position = stage.read(&format!("{inboxes}/team-lead.position.json"));
        let position: Value = serde_json::from_str(&position).ok()?;
        (position["read"] == sent && sent == 4).then_some(())
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
