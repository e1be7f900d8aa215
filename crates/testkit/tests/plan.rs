//! Plan mode and questions to the person, through the whole engine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Origin, Setting};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::Ending;
use troupe_core::policy::{Answer, Destination, Mode, Question, Update};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{SESSION, World, ended, say, turn};

fn world(mode: Mode, script: &str) -> World {
    let mut world = World::new(Arc::new(ScriptModel::parse("test", script).unwrap()));
    world.config.leave.mode = Some(mode);
    world.config.leave.asks = true;
    world
}

fn plan_file(world: &World) -> PathBuf {
    world.config.place.plans.join(format!("{SESSION}-main.md"))
}

/// A script that plans in the world's plan file, then goes on with `rest`.
fn planning(world: &World, rest: &str) -> Arc<ScriptModel> {
    let file = plan_file(world).display().to_string();
    let script = format!(
        "agent main\nreply\n  call EnterPlanMode\nreply\n  call Write file_path=early.txt content=x\n  call Write file_path={} content=\"1. do it\"\nreply\n  call ExitPlanMode\n{rest}",
        json!(file)
    );
    Arc::new(ScriptModel::parse("test", &script).unwrap())
}

async fn entries(session: &Session) -> Vec<Arc<Entry>> {
    session.entries(&AgentId::main(), 0).await.unwrap()
}

fn results(entries: &[Arc<Entry>]) -> Vec<(String, bool)> {
    let result = |entry: &Arc<Entry>| match &entry.body {
        Body::Result { blocks, .. } => match blocks.first() {
            Some(Block::ToolResult { content, is_error, .. }) => Some((text_of(content), *is_error)),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(result).collect()
}

/// The structured results that were heard of: they are on disk and in events, not in memory.
async fn data(events: &mut Subscription) -> Vec<Value> {
    let mut found = Vec::new();
    while let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        if let EventKind::Appended(entry) = &event.kind
            && let Body::Result { data: Some(data), .. } = &entry.body
        {
            found.push((**data).clone());
        }
    }
    found
}

/// What the harness told of plan mode.
fn reminders(entries: &[Arc<Entry>]) -> Vec<String> {
    let told = |entry: &Arc<Entry>| match &entry.body {
        Body::User { from: Origin::System, blocks, .. } => Some(text_of(blocks)),
        _ => None,
    };
    entries.iter().filter_map(told).filter(|text| text.contains("Plan mode is")).collect()
}

async fn question(events: &mut Subscription) -> Arc<Question> {
    let wait = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && let EventKind::QuestionOpened(question) = &event.kind
            {
                return Arc::clone(question);
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap()
}

async fn answer(session: &Session, question: &Question, answer: Answer) {
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.unwrap();
}

fn allow(input: Option<Value>, updates: Vec<Update>) -> Answer {
    Answer::Allow { input, updates }
}

fn set(mode: Mode) -> Update {
    Update::SetMode { mode, destination: Destination::Session }
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

// proves: S1
#[tokio::test]
async fn where_nobody_is_asked_plan_mode_is_no_way_to_be_asked() {
    let mut world = world(
        Mode::DontAsk,
        "agent main\nreply\n  call EnterPlanMode\nreply\n  call Bash command=frobnicate\nreply \"done\"\n",
    );
    world.config.leave.by_host = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    // A question would be put to the host, and hang here.
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    assert_eq!(session.mode(), Mode::DontAsk);
    let given = results(&entries(&session).await);
    assert!(given[0].1 && given[0].0.contains("was not turned on"), "{given:?}");
    assert!(given[1].1 && given[1].0.contains("nobody is asked in this mode"), "{given:?}");
    while let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        assert!(!matches!(event.kind, EventKind::QuestionOpened(_)));
    }
    close(session).await;
}

// proves: S1, S2
#[tokio::test]
async fn a_plan_is_written_shown_approved_and_acted_on_in_the_chosen_mode() {
    let mut world = world(Mode::Default, "agent main\n");
    world.model = planning(
        &world,
        "reply\n  expect \"acceptEdits\"\n  call Write file_path=late.txt content=x\nreply \"done\"\n",
    );
    let session = world.start().await;
    let (mut events, mut heard) = (session.subscribe(false), session.subscribe(false));
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    let file = plan_file(&world).display().to_string();
    assert_eq!(asked.tool, "ExitPlanMode");
    assert!(asked.interactive && asked.hard && asked.suggestions.is_empty());
    assert_eq!(asked.input, json!({"plan": "1. do it", "planFilePath": file}));
    answer(&session, &asked, allow(None, vec![set(Mode::AcceptEdits)])).await;
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);

    let all = entries(&session).await;
    let given = results(&all);
    assert!(given[1].1 && given[1].0.contains("while planning"), "{given:?}");
    assert!(!given[2].1, "{given:?}");
    assert_eq!((world.read("early.txt"), world.read("late.txt")), (String::new(), "x".into()));
    let told = data(&mut heard).await.into_iter().find(|data| data.get("isAgent").is_some()).unwrap();
    assert_eq!(told, json!({"plan": "1. do it", "isAgent": false, "filePath": file}));
    let reminders = reminders(&all);
    assert_eq!(reminders.len(), 2, "once for the beginning, once for the end: {reminders:?}");
    assert!(reminders[0].contains(&file) && reminders[1].contains("is over"), "{reminders:?}");
    assert_eq!(session.mode(), Mode::AcceptEdits);
    close(session).await;
    // What was folded while it happened is what is folded of the transcript.
    world.config.leave.mode = None;
    let again = world.resume().await;
    assert_eq!(again.mode(), Mode::AcceptEdits);
    close(again).await;
}

// proves: S1
#[tokio::test]
async fn a_refused_plan_keeps_plan_mode_and_a_changed_one_is_what_is_approved() {
    let mut world = world(Mode::AcceptEdits, "agent main\n");
    world.model = planning(
        &world,
        "reply\n  expect \"use less\"\n  call Write file_path=early.txt content=x\nreply\n  call ExitPlanMode plan=\"2. do less\"\nreply\n  expect \"3. do it so\"\n  text \"done\"\n",
    );
    let session = world.start().await;
    let (mut events, mut heard) = (session.subscribe(false), session.subscribe(false));
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    answer(&session, &asked, Answer::Deny { message: "use less".into(), interrupt: false }).await;
    let asked = question(&mut events).await;
    assert_eq!(asked.input["plan"], "2. do less");
    assert_eq!(std::fs::read_to_string(plan_file(&world)).unwrap(), "2. do less", "it is in the file too");
    // What a host changes besides the plan has no effect: least of all where it is written.
    let stray = world.folder().join("stray.md");
    let changed = json!({"plan": "3. do it so", "planFilePath": stray.display().to_string()});
    answer(&session, &asked, allow(Some(changed), vec![])).await;
    assert_eq!(ended(&mut events).await.text, "done");
    assert!(!stray.exists());
    assert_eq!(std::fs::read_to_string(plan_file(&world)).unwrap(), "3. do it so");
    assert_eq!(world.read("early.txt"), "", "plan mode held after the refusal");
    let told = data(&mut heard).await.pop().unwrap();
    assert_eq!((&told["plan"], &told["planWasEdited"]), (&json!("3. do it so"), &json!(true)));
    assert_eq!(session.mode(), Mode::AcceptEdits, "the mode before planning");
    close(session).await;
}

// proves: S1
#[tokio::test]
async fn without_plan_mode_or_without_a_plan_nobody_is_asked() {
    let world = world(
        Mode::Default,
        "agent main\nreply\n  call ExitPlanMode plan=x\nreply\n  call EnterPlanMode\nreply\n  call ExitPlanMode\nreply \"done\"\n",
    );
    let session = world.start().await;
    // A question would hang here.
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    let given = results(&entries(&session).await);
    assert!(given[0].1 && given[0].0.contains("Plan mode is not on"), "{given:?}");
    assert!(given[2].1 && given[2].0.contains("There is no plan yet"), "{given:?}");
    assert_eq!(session.mode(), Mode::Plan);
    assert!(!plan_file(&world).exists());
    close(session).await;
}

// proves: S1
#[tokio::test]
async fn bypass_comes_back_by_approval_alone_and_not_in_another_run() {
    let rest = "reply \"refused\"\nreply\n  call ExitPlanMode\nreply \"done\"\n";
    let mut world = world(Mode::BypassPermissions, "agent main\n");
    world.model = planning(&world, rest);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    answer(&session, &asked, Answer::Deny { message: "no".into(), interrupt: false }).await;
    assert_eq!(ended(&mut events).await.text, "refused");
    assert_eq!(session.mode(), Mode::Plan);
    close(session).await;
    // The next run plans by its own wish, and was never given leave for all.
    world.config.leave.mode = Some(Mode::Plan);
    let session = world.resume().await;
    let mut events = session.subscribe(false);
    say(&session, 1, "again").await;
    let asked = question(&mut events).await;
    answer(&session, &asked, allow(None, vec![])).await;
    ended(&mut events).await;
    assert_eq!(session.mode(), Mode::Default);
    close(session).await;

    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.model = planning(&world, "reply \"done\"\n");
    world.journal = Arc::new(troupe_engine::journal::MemoryJournal::default());
    std::fs::remove_file(plan_file(&world)).unwrap();
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    assert!(entries(&session).await.len() > 3);
    answer(&session, &asked, allow(None, vec![])).await;
    ended(&mut events).await;
    assert_eq!(session.mode(), Mode::BypassPermissions);
    close(session).await;
}

// proves: S1
#[tokio::test]
async fn where_settings_forbid_auto_neither_an_answer_nor_a_resumed_session_turns_it_on() {
    let script = "agent main\nreply\n  call Bash command=\"touch a\"\nreply \"done\"\nreply\n  call Bash command=\"touch b\"\nreply \"done\"\nagent classifier\nreply\n  call decide decision=allow reason=fine\n";
    let mut world = world(Mode::Default, script);
    world.config.leave.auto_disabled = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    answer(&session, &asked, allow(None, vec![set(Mode::Auto)])).await;
    ended(&mut events).await;
    assert_eq!(session.mode(), Mode::Default);
    // However the mode came to be, calls are judged as if it were not there.
    session.send(&AgentId::main(), Input::Set(Setting::Mode(Mode::Auto))).await.unwrap();
    say(&session, 1, "again").await;
    let asked = question(&mut events).await;
    answer(&session, &asked, Answer::Deny { message: "no".into(), interrupt: false }).await;
    ended(&mut events).await;
    close(session).await;
    world.config.leave.mode = None;
    let session = world.resume().await;
    assert_eq!(session.mode(), Mode::Default);
    close(session).await;
}

// proves: S2
#[tokio::test]
async fn where_nobody_answers_the_plan_is_the_answer() {
    let mut world = world(Mode::Plan, "agent main\nreply\n  call ExitPlanMode plan=x\nreply \"the plan\"\n");
    world.config.leave.asks = false;
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "the plan");
    let all = entries(&session).await;
    assert!(results(&all)[0].0.contains("nobody can be asked"), "{:?}", results(&all));
    let told = reminders(&all);
    assert!(told.len() == 1 && told[0].contains("Nobody can approve"), "{told:?}");
    assert_eq!(session.mode(), Mode::Plan);
    close(session).await;
}

// proves: S7
#[tokio::test]
async fn a_link_in_the_place_of_the_plan_leads_nowhere() {
    let mut world = world(Mode::Plan, "agent main\n");
    let file = plan_file(&world);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let victim = world.write("victim.txt", "as it was");
    std::os::unix::fs::symlink(&victim, &file).unwrap();
    let script = format!(
        "agent main\nreply\n  call Read file_path={0}\n  call Write file_path={0} content=bad\n  call ExitPlanMode plan=bad\n  call ExitPlanMode\nreply \"done\"\n",
        json!(file.display().to_string())
    );
    world.model = Arc::new(ScriptModel::parse("test", &script).unwrap());
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    let given = results(&entries(&session).await);
    assert_eq!(given.iter().filter(|(_, is_error)| *is_error).count(), 3, "all but the read: {given:?}");
    assert_eq!(world.read("victim.txt"), "as it was");
    close(session).await;
}

// proves: F182, S1
#[tokio::test]
async fn plan_mode_is_not_escaped_by_delegating() {
    let mut world = world(
        Mode::Plan,
        "agent main\nreply\n  call Agent subagent_type=general-purpose description=d prompt=\"write it\"\n  call Agent subagent_type=eager description=d prompt=\"write it too\"\nreply \"done\"\n\
         agent general-purpose\nreply\n  call Write file_path=a.txt content=x\n  call Bash command=\"echo x > b.txt\"\n  call ExitPlanMode plan=x\n  call EnterPlanMode\n  call AskUserQuestion\nreply \"denied\"\n\
         agent eager\nreply\n  call Write file_path=c.txt content=x\nreply \"asked\"\n",
    );
    let general = world.defs[1].clone();
    world.defs.push(troupe_core::def::AgentDef {
        name: "eager".into(),
        mode: Some(Mode::BypassPermissions),
        ..general
    });
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    // What would act unasked by its definition asks; what has its parent's mode is denied.
    let asked = question(&mut events).await;
    assert_eq!((asked.tool.as_str(), &asked.input["file_path"]), ("Write", &json!("c.txt")));
    answer(&session, &asked, Answer::Deny { message: "not yet".into(), interrupt: false }).await;
    let mut planned = None;
    let envelope = ended(&mut events).await;
    assert_eq!(envelope.text, "done");
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert_eq!(world.read(name), "", "{name}");
    }
    let told = results(&entries(&session).await);
    for (text, _) in &told {
        let id = text.split("agentId: ").nth(1).unwrap().split(';').next().unwrap();
        let child = session.entries(&AgentId::new(id), 0).await.unwrap();
        if results(&child).len() == 5 {
            planned = Some(child);
        }
    }
    let child = planned.unwrap();
    let given = results(&child);
    let with = |words: &str| given.iter().filter(|(text, _)| text.contains(words)).count();
    assert_eq!((with("while planning"), with("There is no tool")), (2, 3), "{given:?}");
    assert!(reminders(&child).iter().all(|text| text.contains("Nobody can approve")));
    assert_eq!(reminders(&child).len(), 1);
    close(session).await;
}

// proves: F182, S1
#[tokio::test]
async fn a_child_at_work_asks_from_the_moment_its_lead_plans() {
    let script = Arc::new(
        ScriptModel::parse(
            "test",
            "agent main\nreply\n  call Agent description=d prompt=p\nreply \"done\"\n\
             agent general-purpose\nreply\n  call Write file_path=a.txt content=x\nreply\n  gate planning\n  call Write file_path=b.txt content=x\nreply \"child done\"\n",
        )
        .unwrap(),
    );
    let mut world = World::new(Arc::clone(&script) as _);
    world.config.leave.mode = Some(Mode::AcceptEdits);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    script.reached("planning").await;
    assert_eq!(world.read("a.txt"), "x");
    session.send(&AgentId::main(), Input::Set(Setting::Mode(Mode::Plan))).await.unwrap();
    let set = async {
        while session.mode() != Mode::Plan {
            events.next().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), set).await.unwrap();
    script.release("planning");
    let asked = question(&mut events).await;
    assert_eq!(asked.input["file_path"], "b.txt");
    answer(&session, &asked, allow(None, vec![])).await;
    assert_eq!(ended(&mut events).await.text, "done");
    assert_eq!(world.read("b.txt"), "x");
    close(session).await;
}

const ASK: &str = "agent main\nreply\n  call AskUserQuestion {\"questions\":[{\"question\":\"Which?\",\"header\":\"Way\",\"multiSelect\":false,\"options\":[{\"label\":\"a\",\"description\":\"d\"},{\"label\":\"b\",\"description\":\"d\"}]}]}\n";

// proves: S2
#[tokio::test]
async fn an_answer_reaches_the_model_in_every_mode_that_asks_anybody() {
    for mode in [Mode::Default, Mode::BypassPermissions, Mode::Plan, Mode::Auto] {
        let world = world(mode, &format!("{ASK}reply\n  expect \"b\"\n  text \"done\"\n"));
        let session = world.start().await;
        let (mut events, mut heard) = (session.subscribe(false), session.subscribe(false));
        say(&session, 0, "go").await;
        let asked = question(&mut events).await;
        assert!(asked.interactive && asked.title == "Which?", "{asked:?}");
        let mut input = asked.input.clone();
        input["answers"] = json!({"Which?": "b"});
        answer(&session, &asked, allow(Some(input.clone()), vec![])).await;
        assert_eq!(ended(&mut events).await.text, "done");
        assert_eq!(data(&mut heard).await, [input]);
        close(session).await;
    }
}

// proves: S2
#[tokio::test]
async fn leave_without_an_answer_says_so_and_nobody_to_ask_is_a_denial() {
    let answered = world(Mode::Default, &format!("{ASK}reply \"done\"\n"));
    let session = answered.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    answer(&session, &asked, allow(None, vec![])).await;
    ended(&mut events).await;
    let given = results(&entries(&session).await);
    assert!(given[0].1 && given[0].0.starts_with("No answer was given"), "{given:?}");
    close(session).await;

    for (mode, asks, words) in
        [(Mode::DontAsk, true, "nobody is asked in this mode"), (Mode::Default, false, "nobody can be asked")]
    {
        let mut world = world(mode, &format!("{ASK}reply \"done\"\n"));
        world.config.leave.asks = asks;
        let session = world.start().await;
        turn(&session, 0, "go").await;
        let given = results(&entries(&session).await);
        assert!(given[0].1 && given[0].0.contains(words), "{given:?}");
        close(session).await;
    }
}

// proves: S8
#[tokio::test]
async fn work_on_an_approved_plan_is_to_be_checked_and_leaving_that_out_is_told() {
    let checked = "reply\n  call Agent description=check prompt=\"check it\" subagent_type=verification\nreply \"done\"\nreply \"never\"\n\
         agent verification\nreply \"VERDICT: FAIL\"\n";
    let cases = [
        // Reminded once, then it ends as it is.
        (
            true,
            "reply \"done\"\nreply\n  expect \"has not been checked\"\n  text \"no need\"\n",
            "no need",
            true,
        ),
        (true, checked, "done", false),
        (false, "reply \"done\"\n", "done", false),
    ];
    for (wanted, rest, last, told) in cases {
        let mut world = world(Mode::Default, "agent main\n");
        world.config.contexts.verify_plan = wanted;
        world.model = planning(&world, &format!("reply\n  call Write file_path=late.txt content=x\n{rest}"));
        let session = world.start().await;
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        let asked = question(&mut events).await;
        answer(&session, &asked, allow(None, vec![set(Mode::AcceptEdits)])).await;
        let end = ended(&mut events).await;
        assert_eq!(end.text, last);
        assert_eq!(
            end.remarks.iter().any(|remark| remark.contains("was not checked")),
            told,
            "{:?}",
            end.remarks
        );
        close(session).await;
    }
}
