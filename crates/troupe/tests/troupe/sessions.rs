//! Going on with sessions.

use serde_json::Value;

use crate::stage::{Stage, end};

const TWO: &str = "agent main\nreply \"first\"\nreply \"second\"\nreply \"third\"\n";
const ID: &str = "7c1d6a52-1f43-4a53-9c39-6fd2d1f2f001";

#[test]
fn a_session_goes_on_by_id_and_as_the_last_one() {
    let stage = Stage::new();
    let arguments = ["-p", "one", "--session-id", ID, "--output-format", "json"];
    let ended = stage.play(TWO, &arguments);
    let result: Value = serde_json::from_str(ended.clean()).unwrap();
    assert_eq!((&result["result"], &result["session_id"]), (&"first".into(), &ID.into()));
    assert_eq!(stage.play(TWO, &["-p", "two", &format!("--resume={ID}")]).clean(), "second\n");
    assert_eq!(stage.play(TWO, &["-p", "-c", "three"]).clean(), "third\n");
    // The script has no fourth reply: the session is still the same.
    assert_eq!(stage.play(TWO, &["-p", "four", "--continue"]).code, Some(1));
    assert_eq!(stage.play(TWO, &["-p", "anew"]).clean(), "first\n");
}

// proves: E7
#[test]
fn without_a_prompt_a_session_goes_on_with_what_is_unfinished() {
    let stage = Stage::new();
    stage.play(TWO, &["-p", "hi", "--session-id", ID]).clean();
    let resume = format!("--resume={ID}");
    stage.play(TWO, &["-p", &resume]).says(2, &["nothing unfinished", "hint: "]);
    // What a kill before the first reply leaves.
    let projects = std::fs::read_dir(stage.path("home/.troupe/projects")).unwrap();
    let file =
        projects.map(|folder| folder.unwrap().path().join(format!("{ID}.jsonl"))).find(|file| file.is_file());
    let file = file.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let end = text.find("\"type\":\"assistant\"").unwrap() - 1;
    std::fs::write(&file, &text[..end]).unwrap();
    assert_eq!(stage.play(TWO, &["-p", &resume]).clean(), "first\n");
}

#[test]
fn sessions_are_listed_with_their_first_prompt() {
    let stage = Stage::new();
    assert_eq!(end(stage.troupe().arg("sessions")).clean(), "");
    stage.play(TWO, &["-p", "mend the roof", "--session-id", ID]).clean();
    let ended = end(stage.troupe().arg("sessions"));
    let line = ended.clean();
    assert!(line.starts_with(ID) && line.trim_end().ends_with("mend the roof"), "{line}");
    let elsewhere = end(stage.troupe().arg("sessions").current_dir(stage.path("tmp")));
    assert_eq!(elsewhere.clean(), "");
}

#[test]
fn what_is_not_there_is_said() {
    let stage = Stage::new();
    let hint = "hint: ";
    stage.play(TWO, &["-p", "hi", "--continue"]).says(1, &["no session to go on with", hint]);
    stage.play(TWO, &["-p", "hi", &format!("--resume={ID}")]).says(1, &[ID, "troupe sessions", hint]);
    stage.play(TWO, &["-p", "hi", "--resume=../../etc/passwd"]).says(1, &["there is no session", hint]);
    stage.play(TWO, &["-p", "hi", "-c", "--session-id", ID]).says(2, &["--session-id"]);
    stage.play(TWO, &["-p", "hi", "--session-id", ID]).clean();
    stage.play(TWO, &["-p", "hi", "--session-id", ID]).says(1, &[ID, "--resume", hint]);
}

#[test]
fn a_session_may_be_kept_from_disk() {
    let stage = Stage::new();
    assert_eq!(stage.play(TWO, &["-p", "hi", "--no-session-persistence"]).clean(), "first\n");
    assert_eq!(std::fs::read_dir(stage.path("tmp")).unwrap().count(), 0);
    assert!(!stage.path("home/.troupe").exists());
    stage.play(TWO, &["-p", "hi", "--continue"]).says(1, &["no session"]);
}

// proves: F234
#[test]
fn five_may_start_at_once() {
    let stage = Stage::new();
    let model = format!("script:{}", stage.write("model.script", TWO).display());
    let start = |_| stage.troupe().args(["-p", "hi", "--model", &model]).spawn().unwrap();
    // All are started before the first is waited for.
    let starts: Vec<_> = (0..5).map(start).collect();
    for start in starts {
        let ended = crate::stage::ended(start.wait_with_output().unwrap());
        assert_eq!(ended.clean(), "first\n");
    }
    assert_eq!(end(stage.troupe().arg("sessions")).clean().lines().count(), 5);
}
