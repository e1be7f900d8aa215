//! `troupe team`: what lies on disk, as a person sees and mends it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use troupe_core::board::{Move, New, Who};
use troupe_core::team::{BackendKind, Change, Kind, LEAVES, Member, Message, Owner, PaneAt, Team, member_id};
use troupe_engine::store::Lease;
use troupe_engine::team::board::Mover;
use troupe_engine::team::{TeamError, TeamPlace, Teams, process};
use troupe_testkit::process::{LIMIT, poll};

use crate::stage::{Ended, Stage, end};

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn teams(stage: &Stage) -> Teams {
    Teams::new(stage.path("home/.troupe"))
}

fn member(name: &str) -> Member {
    Member {
        agent_id: member_id(name, "blue"),
        name: name.to_owned(),
        agent_type: Some("general-purpose".into()),
        backend_type: Some(BackendKind::InProcess),
        ..Member::default()
    }
}

/// A team whose lead is gone.
fn left_behind(stage: &Stage, name: &str, members: Vec<Member>) -> TeamPlace {
    let place = teams(stage).place(name).unwrap();
    // This process began later than that.
    let lead = Member { process: Some(Owner { pid: std::process::id(), start: 0 }), ..Member::default() };
    let mut team = Team::new(name, Some("paint \u{1b}[2J".into()), "s1", lead, 1);
    team.members.extend(members);
    let made = |_: Option<&Team>| Ok(vec![Change::Made { team: Box::new(team.clone()) }]);
    wait(place.members.change::<TeamError>(made)).unwrap();
    place
}

fn mail(place: &TeamPlace, to: &str, id: &str, text: &str) {
    let message = Message {
        id: id.into(),
        from: "bob".into(),
        to: to.into(),
        text: text.into(),
        timestamp: "2026-11-30T10:00:00.000Z".into(),
        color: None,
        summary: Some("hi".into()),
        kind: Kind::Text,
    };
    wait(place.mail(false).send(&message)).unwrap();
}

fn troupe(stage: &Stage, words: &[&str]) -> Ended {
    end(stage.troupe().arg("team").args(words).stdin(Stdio::null()))
}

fn json(stage: &Stage, words: &[&str]) -> Value {
    let ended = troupe(stage, &[words, &["--json"]].concat());
    serde_json::from_str(ended.clean()).unwrap()
}

fn json_of(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap()
}

// proves: T11
#[test]
fn teams_are_listed_with_what_each_member_does() {
    let stage = Stage::new();
    assert_eq!(troupe(&stage, &[]).clean(), "There is no team on this machine.\n");
    let idle = Member { is_active: Some(false), ..member("bob") };
    let place = left_behind(&stage, "blue", vec![member("ann"), idle, member("eve\u{202e}")]);
    let _ann = wait(Lease::take(&place.mail(false).lock("ann"))).unwrap();
    let _bob = wait(Lease::take(&place.mail(false).lock("bob"))).unwrap();
    stage.write("home/.troupe/teams/odd/config.json", "{");
    let list = troupe(&stage, &["list"]);
    let lines: Vec<&str> = list.clean().lines().collect();
    assert!(
        lines[0].starts_with("blue, ") && lines[0].ends_with("led by session s1: paint \\u{1b}[2J"),
        "{list:?}"
    );
    let state = |line: &str| line.split_whitespace().nth(1).unwrap().to_owned();
    assert_eq!([1, 2, 3, 4].map(|at| state(lines[at])), ["gone", "active", "idle", "gone"], "{list:?}");
    assert!(lines[4].contains("eve\\u{202e}") && lines[5].starts_with("odd: nothing of a team"), "{list:?}");
    let teams = &json(&stage, &["list"])["teams"];
    assert_eq!((&teams[0]["members"][2]["state"], &teams[1]["name"]), (&"idle".into(), &"odd".into()));
    troupe(&stage, &["show", "red"]).says(1, &["there is no team `red`; there are: blue, odd", "hint: "]);
    troupe(&stage, &["show"]).says(2, &["several teams: blue, odd"]);
}

// proves: M7, K2
#[test]
fn an_agents_shell_does_nothing_in_the_persons_name() {
    let stage = Stage::new();
    let place = left_behind(&stage, "blue", vec![member("ann")]);
    let in_shell =
        |words: &[&str]| end(stage.troupe().env("TROUPE", "1").arg("team").args(words).stdin(Stdio::null()));
    for words in [
        &["send", "ann", "I am the person"][..],
        &["tasks", "--claim", "1"],
        &["tasks", "--delete", "1"],
        &["clean", "blue"],
    ] {
        in_shell(words).says(1, &["this is an agent's shell", "hint: agents use SendMessage"]);
    }
    assert!(place.folder.exists());
    in_shell(&["tasks"]).clean();
    in_shell(&["show", "blue"]).clean();
}

// proves: M5
#[test]
fn nobody_writes_to_a_member_that_has_agreed_to_end() {
    let stage = Stage::new();
    let other = [(LEAVES.to_owned(), true.into())].into_iter().collect();
    let place = left_behind(&stage, "blue", vec![member("ann"), Member { other, ..member("bob") }]);
    troupe(&stage, &["send", "bob", "hello"]).says(1, &["bob has agreed to end", "hint: "]);
    troupe(&stage, &["send", "*", "hello"]).clean();
    assert!(place.mail(false).file("ann").exists() && !place.mail(false).file("bob").exists());
}

// proves: M4, M1, T11
#[test]
fn mail_is_shown_with_its_state_and_what_is_damaged() {
    let stage = Stage::new();
    let place = left_behind(&stage, "blue", vec![member("ann")]);
    mail(&place, "ann", "m1", "first");
    mail(&place, "ann", "m2", "second\n\u{1b}]0;x\u{7}");
    let file = place.mail(false).file("ann");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{{\"torn\u{1b}\n")).unwrap();
    mail(&place, "ann", "m3", "third");
    wait(async {
        let mail = place.mail(false);
        let unread = mail.unread("ann", 0).await.unwrap();
        mail.mark("ann", unread.waiting[0].position).await.unwrap();
        mail.take("ann", unread.waiting[1].position).await.unwrap();
    });
    let states = |stage: &Stage| {
        let shown = json(stage, &["mail", "ann"]);
        assert_eq!(shown["damaged"].as_array().unwrap().len(), 1, "{shown}");
        let messages = shown["messages"].as_array().unwrap().clone();
        messages.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states(&stage), ["processed", "pending", "pending"]);
    let reader = wait(Lease::take(&place.mail(false).lock("ann"))).unwrap();
    assert_eq!(states(&stage), ["processed", "processing", "pending"]);
    let text = troupe(&stage, &["mail", "ann@blue"]);
    assert!(text.clean().contains("pending     from bob: hi\n    third\n"), "{text:?}");
    assert!(
        text.out.contains("damaged, in the mailbox: ") && !text.out.contains(['\u{1b}', '\u{7}']),
        "{text:?}"
    );
    drop(reader);
    troupe(&stage, &["mail", "../ann"]).says(1, &["there is no `../ann` in the team blue"]);
    let show = troupe(&stage, &["show"]);
    assert!(show.clean().contains("2 messages for ann\n"), "{show:?}");
}

// proves: M4
#[test]
fn mail_is_followed() {
    let stage = Stage::new();
    let place = left_behind(&stage, "blue", vec![member("ann")]);
    mail(&place, "ann", "m1", "first");
    let mut child = stage.troupe().args(["team", "mail", "ann", "--follow", "--json"]).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["id"], "m1");
    mail(&place, "ann", "m2", "second");
    assert_eq!(next()["id"], "m2");
    wait(async {
        let position = place.mail(false).unread("ann", 0).await.unwrap().waiting[0].position;
        place.mail(false).mark("ann", position).await.unwrap();
    });
    let read = next();
    assert_eq!((&read["id"], &read["state"]), (&"m1".into(), &"processed".into()));
    child.kill().unwrap();
    child.wait().unwrap();
}

// proves: M5
#[test]
fn a_person_writes_to_one_and_to_all() {
    let stage = Stage::new();
    let place = left_behind(&stage, "blue", vec![member("ann"), member("bob")]);
    let sent = troupe(&stage, &["send", "Ann", "-hello", "--summary", "a word"]);
    assert_eq!(sent.clean(), "Sent to ann, which is gone: it reads it when its team goes on.\n");
    assert_eq!(json(&stage, &["send", "*@blue", "to each"])["sent"].as_array().unwrap().len(), 3);
    let unread = wait(place.mail(false).unread("ann", 0)).unwrap().waiting;
    let said: Vec<_> = unread.iter().map(|one| (&*one.message.from, &*one.message.text)).collect();
    assert_eq!(said, [("user", "-hello"), ("user", "to each")]);
    assert_eq!(unread[0].message.summary.as_deref(), Some("a word"));
    troupe(&stage, &["send", "enginer", "x"])
        .says(1, &["there is no `enginer` in the team blue; there are: team-lead, ann, bob"]);
    troupe(&stage, &["send", "ann", " "]).says(2, &["1 to 100000 bytes"]);
    troupe(&stage, &["send", "ann"]).says(2, &["1 to 100000 bytes"]);
}

// proves: K1, K2
#[test]
fn a_person_moves_tasks_and_members_hear_of_it() {
    let stage = Stage::new();
    let place = left_behind(&stage, "blue", vec![member("ann")]);
    let list = teams(&stage).tasks("blue").unwrap();
    let who = Who::lead("team-lead");
    let mover = Mover { who: &who, listeners: &[], gone: &|_| None, now_ms: 1, mark: None };
    for subject in ["roof", "wall", "door"] {
        let new = New { subject: subject.into(), ..New::default() };
        wait(list.make(&Move::Add(new), &mover)).unwrap();
    }
    let tasks = |words: &[&str]| json(&stage, &[&["tasks"], words].concat())["tasks"].clone();
    let given = tasks(&["--claim", "1", "--owner", "ANN"]);
    assert_eq!((&given[0]["owner"], &given[0]["status"]), (&"ann".into(), &"pending".into()));
    let told = wait(place.mail(false).unread("ann", 0)).unwrap().waiting;
    assert!(
        matches!(&told[0].message.kind, Kind::TaskAssignment { task_id, .. } if task_id == "1"),
        "{told:?}"
    );
    let own = tasks(&["--claim", "#2"]);
    assert_eq!((&own[1]["owner"], &own[1]["status"]), (&"user".into(), &"in_progress".into()));
    // A person's task is not one of somebody who is gone.
    let team = wait(place.members.load()).unwrap().unwrap();
    assert_eq!(place.gone(&team, "user"), None);
    assert_eq!(tasks(&["--release", "1"])[0]["owner"], Value::Null);
    assert_eq!(tasks(&["blue", "--complete", "2"])[1]["status"], "completed");
    assert_eq!(tasks(&["--delete", "3"]).as_array().unwrap().len(), 2);
    troupe(&stage, &["tasks", "--claim", "9"]).says(1, &["there is no task 9"]);
    troupe(&stage, &["tasks", "--claim", "x"]).says(2, &["is no number of a task"]);
    troupe(&stage, &["tasks", "--claim", "1", "--owner", "zoe"]).says(1, &["there is no `zoe`"]);
    let text = troupe(&stage, &["tasks"]);
    assert!(text.clean().contains("   2  completed, user: wall\n"), "{text:?}");
}

/// A process that runs until it is ended.
fn resident() -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' TERM; echo; while :; do read line || exit; done"]).process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It ignores the signal from its first line on.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child
}

// proves: X17, T7, F059
#[test]
fn a_team_is_cleared_away_with_its_own_processes_and_no_other() {
    let stage = Stage::new();
    let (mut own, mut other) = (resident(), resident());
    let start = |child: &Child| process::owner(child.id()).unwrap().start;
    let pane = |name: &str, pid, start| Member {
        backend_type: Some(BackendKind::Tmux),
        tmux_pane_id: "%1".into(),
        process: Some(Owner { pid, start }),
        ..member(name)
    };
    // The number of the second is another's by now.
    let members = vec![
        pane("ann", own.id(), start(&own)),
        pane("bob", other.id(), start(&other) + 1),
        Member { process: Some(Owner { pid: other.id(), start: start(&other) }), ..member("eve") },
    ];
    let place = left_behind(&stage, "blue", members);
    // It ran in a process that has ended, whatever has its number now.
    drop(wait(Lease::take(&place.mail(false).lock("eve"))));
    let guest = Member { process: Some(Owner { pid: other.id(), start: start(&other) }), ..member("zoe") };
    left_behind(&stage, "red", vec![guest.clone()]);
    wait(teams(&stage).tasks("blue").unwrap().make(
        &Move::Add(New { subject: "roof".into(), ..New::default() }),
        &Mover { who: &Who::lead("x"), listeners: &[], gone: &|_| None, now_ms: 1, mark: None },
    ))
    .unwrap();
    let lead = wait(Lease::take(&place.mail(false).lock("team-lead"))).unwrap();
    troupe(&stage, &["clean", "blue", "--yes"]).says(1, &["led by a running session"]);
    assert!(own.try_wait().unwrap().is_none());
    drop(lead);
    // Kept open: a shell whose input ends is gone by itself.
    let input = own.stdin.take();
    let reaper = std::thread::spawn(move || own.wait().unwrap());
    let cleared = troupe(&stage, &["clean", "blue", "--yes"]);
    assert_eq!(
        cleared.clean(),
        "the process of ann ended\nthe process of bob had ended\nThe team blue is gone.\n"
    );
    poll("its end", LIMIT, || reaper.is_finished().then_some(()));
    drop(input);
    assert!(other.try_wait().unwrap().is_none(), "the other one runs");
    for gone in ["teams/blue", "tasks/blue"] {
        assert!(!stage.path("home/.troupe").join(gone).exists(), "{gone}");
    }
    assert!(stage.path("home/.troupe/teams/red").is_dir());
    let guests = troupe(&stage, &["clean", "--yes"]);
    assert_eq!(guests.code, Some(1));
    let words = format!("left: zoe is run by process {}, which this team did not start\n", other.id());
    assert!(guests.out.starts_with(&words), "{guests:?}");
    assert!(stage.path("home/.troupe/teams/red").is_dir() && other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
    let rest = json(&stage, &["clean", "--yes"]);
    assert_eq!((&rest["teams"][0]["name"], &rest["teams"][0]["removed"]), (&"red".into(), &true.into()));
    assert_eq!(troupe(&stage, &["clean", "--yes"]).clean(), "No team is left behind.\n");
}

// proves: T3, W4
#[test]
fn a_worktree_with_unsaved_work_is_kept_and_named() {
    let stage = Stage::new();
    let git = |folder: &str, words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]).arg(stage.path(folder)).args(words);
        let done = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git("work", &["init", "-q", "-b", "main"]);
    git("work", &["commit", "-q", "--allow-empty", "-m", "one"]);
    for name in ["clean", "dirty", "loose"] {
        git("work", &["worktree", "add", "-q", &format!("../{name}"), "-b", name]);
    }
    git("loose", &["checkout", "-q", "--detach"]);
    git("loose", &["commit", "-q", "--allow-empty", "-m", "two"]);
    stage.write("dirty/new.txt", "work");
    let at =
        |name: &str| Member { worktree_path: Some(stage.path(name).display().to_string()), ..member(name) };
    left_behind(&stage, "blue", vec![at("clean"), at("dirty"), at("loose"), at("work"), at("none")]);
    let report = json(&stage, &["clean", "--yes"]);
    let kept = report["teams"][0]["worktreesKept"].as_array().unwrap();
    let kept: Vec<_> =
        kept.iter().map(|one| one["path"].as_str().unwrap().rsplit('/').next().unwrap()).collect();
    assert_eq!(kept, ["dirty", "loose", "work"], "{report}");
    assert!(!stage.path("clean").exists() && stage.path("dirty/new.txt").exists());
    git("work", &["rev-parse", "--verify", "-q", "clean"]);
}

// proves: X17
#[test]
fn nothing_is_removed_without_a_yes() {
    let stage = Stage::new();
    left_behind(&stage, "blue", Vec::new());
    let mut command = stage.troupe();
    command.args(["team", "clean"]).stdin(Stdio::null());
    // Without a terminal nobody can be asked.
    let mut apart = Command::new("setsid");
    apart.arg(command.get_program()).args(command.get_args());
    apart.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let asked = end(apart
        .current_dir(stage.path("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped()));
    asked.says(1, &["/dev/tty can't be read", "--yes"]);
    assert!(stage.path("home/.troupe/teams/blue").is_dir());
}

// proves: T10
#[test]
fn a_member_without_a_pane_has_none_to_hide() {
    let stage = Stage::new();
    left_behind(&stage, "blue", vec![member("ann")]);
    troupe(&stage, &["hide-pane", "ann"]).says(1, &["ann has no pane"]);
    troupe(&stage, &["show-pane", "ann@blue"]).says(1, &["ann has no pane"]);
}

// proves: X17, T7
#[test]
fn a_team_of_which_nothing_says_that_its_lead_is_gone_goes_by_its_name_alone() {
    let stage = Stage::new();
    let config =
        |lead: &str| format!(r#"{{"name":"blue","leadAgentId":"team-lead@blue","members":[{lead}]}}"#);
    let lead = r#"{"name":"team-lead","agentId":"team-lead@blue"},{"name":"ann","agentId":"ann@blue"}"#;
    stage.write("home/.troupe/teams/blue/config.json", &config(lead));
    stage.write("home/.troupe/teams/blue/inboxes/ann.json", "[]");
    left_behind(&stage, "red", Vec::new());
    // Its program has its mail as arrays.
    troupe(&stage, &["send", "ann@blue", "hello"]).clean();
    let mail = std::fs::read_to_string(stage.path("home/.troupe/teams/blue/inboxes/ann.json")).unwrap();
    assert!(mail.contains("hello"), "{mail}");
    let cleared = troupe(&stage, &["clean", "--yes"]);
    assert_eq!((cleared.code, &*cleared.out), (Some(0), "The team red is gone.\n"), "{cleared:?}");
    assert!(cleared.err.contains("whether a program still leads the team blue is not known"), "{cleared:?}");
    assert!(stage.path("home/.troupe/teams/blue").is_dir());
    let named = troupe(&stage, &["clean", "blue", "--yes"]);
    assert!(named.err.contains("warning: whether") && named.out.contains("blue is gone"), "{named:?}");
    assert!(!stage.path("home/.troupe/teams/blue").exists());
}

// proves: X17, T11
#[test]
fn a_fault_of_one_team_stops_no_other_and_a_member_that_is_held_keeps_its_team() {
    let stage = Stage::new();
    let pane = Member {
        backend_type: Some(BackendKind::Tmux),
        process: Some(Owner { pid: std::process::id(), start: 0 }),
        ..member("ann")
    };
    let place = left_behind(&stage, "blue", vec![pane]);
    left_behind(&stage, "red", Vec::new());
    let held = wait(Lease::take(&place.mail(false).lock("ann"))).unwrap();
    let report = json_of(&troupe(&stage, &["clean", "--yes", "--json"]));
    assert_eq!([&report["teams"][0]["removed"], &report["teams"][1]["removed"]], [false, true], "{report}");
    assert!(report["teams"][0]["left"][0].as_str().unwrap().starts_with("ann is run by process"), "{report}");
    drop(held);
    assert_eq!(troupe(&stage, &["clean", "--yes"]).code, Some(0));
    // What is no team goes by its name, unless somebody reads mail there.
    stage.write("home/.troupe/teams/odd/config.json", "{");
    let odd = teams(&stage).place("odd").unwrap();
    let held = wait(Lease::take(&odd.mail(false).lock("ann"))).unwrap();
    troupe(&stage, &["clean", "odd", "--yes"]).says(1, &[]);
    assert!(odd.folder.is_dir());
    drop(held);
    assert_eq!(troupe(&stage, &["clean", "odd", "--yes"]).clean(), "The team odd is gone.\n");
    assert!(!odd.folder.exists());
}

// proves: M1
#[test]
fn what_is_written_for_a_team_that_ended_meanwhile_is_not_said_to_be_sent() {
    let stage = Stage::new();
    let place = left_behind(&stage, "blue", vec![member("ann")]);
    let mut child = stage.troupe().args(["team", "send", "ann"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut typed = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut typed, b"hel").unwrap();
    teams(&stage).remove(&place);
    std::io::Write::write_all(&mut typed, b"lo").unwrap();
    drop(typed);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(!place.folder.exists(), "no folder is made for nobody");
}

// proves: F157
#[test]
fn nothing_that_acts_on_a_terminal_is_printed_as_text_or_json() {
    let stage = Stage::new();
    let sly = "eve\u{202e}\u{1b}]0;x\u{7}\u{9b}";
    let place = left_behind(&stage, "blue", vec![member(sly)]);
    mail(&place, sly, "m1", "a\u{e0041}b\u{9b}2J");
    std::fs::write(place.mail(false).file(sly), "{\"torn\u{9b}\n").unwrap();
    mail(&place, sly, "m2", "a\u{e0041}b\u{9b}2J");
    let is_plain = |text: &str| !text.contains(|c| c != '\n' && troupe_core::visible::is_hidden(c));
    for words in [vec!["show"], vec!["show", "--json"], vec!["list", "--json"]] {
        let shown = troupe(&stage, &words);
        assert!(is_plain(shown.clean()) && shown.out.contains("eve"), "{shown:?}");
    }
    assert_eq!(
        json(&stage, &["list"])["teams"][0]["members"][1]["name"],
        sly,
        "a program reads what is there"
    );
}

// proves: X17, T11
#[test]
fn a_member_that_a_person_has_taken_up_is_ended_by_that_person_alone() {
    let stage = Stage::new();
    // She had a pane, of which nothing is left.
    let process = Some(Owner { pid: std::process::id(), start: 0 });
    let pane = PaneAt { id: "%7".into(), process: process.clone(), ..PaneAt::default() };
    let ann = Member { backend_type: Some(BackendKind::Tmux), process, pane: Some(pane), ..member("ann") };
    left_behind(&stage, "blue", vec![ann]);
    let mut person = stage
        .scripted("agent main\nreply \"here\"\n")
        .arg("--agent-id=ann@blue")
        .env("TROUPE_AGENT_TEAMS", "1")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let hers = BufReader::new(person.stdout.take().unwrap());
    writeln!(person.stdin.as_mut().unwrap(), "are you there?").unwrap();
    assert!(hers.lines().any(|line| line.unwrap().contains("here")));
    let cleaned = troupe(&stage, &["clean", "blue", "--yes"]);
    assert!(cleaned.out.contains("ann is run by process"), "{cleaned:?}");
    assert!(person.try_wait().unwrap().is_none(), "her process goes on");
    person.kill().unwrap();
    person.wait().unwrap();
    // Without her seat her session would be another agent.
    let team: Value = serde_json::from_str(&stage.read("home/.troupe/teams/blue/config.json")).unwrap();
    let session = team["members"][1]["sessionId"].as_str().unwrap().to_owned();
    let alone = stage.play("agent main\nreply \"x\"\n", &["-p", "x", &format!("--resume={session}")]);
    alone.says(1, &["is that of ann@blue, a member of a team", "troupe --agent-id=ann@blue --resume="]);
}
