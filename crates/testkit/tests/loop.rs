//! The loop at its edges: limits, interrupts, faults of the model and of the disk, compaction, resume.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Stop};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::ids::AgentId;
use troupe_core::input::{Input, When};
use troupe_core::outcome::{EndReason, Ending};
use troupe_core::policy::{Answer, Behaviour, Destination, Mode, Update};
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::prompt::Instructions;
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_models::script::ScriptModel;
use troupe_testkit::faults::FullJournal;
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{World, ended, prompt, say, session, turn};

fn world(script: &str) -> World {
    let mut world = World::new(Arc::new(ScriptModel::parse("test", script).unwrap()));
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world
}

async fn entries(session: &Session) -> Vec<Arc<Entry>> {
    session.entries(&AgentId::main(), 0).await.unwrap()
}

fn results(entries: &[Arc<Entry>]) -> Vec<String> {
    let result = |entry: &Arc<Entry>| match &entry.body {
        Body::Result { blocks, .. } => match blocks.first() {
            Some(Block::ToolResult { content, .. }) => Some(text_of(content)),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(result).collect()
}

async fn until<T>(events: &mut Subscription, wanted: impl Fn(&EventKind) -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && let Some(found) = wanted(&event.kind)
            {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap()
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

// proves: E4, F009
#[tokio::test]
async fn the_limit_of_turns_ends_the_run_and_says_so() {
    let mut world = world(
        "agent main\nreply\n  call Bash command=true\nreply\n  call Bash command=true\nreply \"never\"\n",
    );
    world.config.limits.turns = Some(2);
    let session = world.start().await;
    let envelope = turn(&session, 0, "go").await;
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Failed, &EndReason::MaxTurns));
    assert_eq!(envelope.requests, 2);
    assert_eq!(results(&entries(&session).await).len(), 2, "what was called is answered");
    close(session).await;
}

// proves: E4
#[tokio::test]
async fn a_child_can_not_outspend_its_parent() {
    let mut world = world(
        "agent main\nreply\n  call Agent description=d prompt=p\nreply \"done\"\nagent general-purpose\nreply\n  call Bash command=true\nreply\n  call Bash command=true\nreply \"x\"\n",
    );
    // Each scripted reply costs 110 tokens: the parent's first and the child's first two are within it.
    world.config.limits.tokens = Some(300);
    let session = world.start().await;
    let envelope = turn(&session, 0, "go").await;
    assert_eq!(envelope.reason, EndReason::MaxTokens, "{envelope:?}");
    let told = results(&entries(&session).await).join("\n");
    assert!(told.contains("max_tokens"), "the parent sees why its child ended: {told}");
    close(session).await;
}

// proves: E6
#[tokio::test]
async fn a_cut_stream_is_tried_again_and_what_it_showed_is_kept_for_people() {
    let world = world("agent main\nreply\n  cut 3\n  text \"one two three four five\"\n");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let envelope = ended(&mut events).await;
    // The bare script has no retry around it: the run fails, and what was shown is there.
    assert_eq!(envelope.reason, EndReason::Model);
    let all = entries(&session).await;
    let cut = all.iter().find_map(|entry| match &entry.body {
        Body::Assistant { stop: Stop::Cut, blocks, .. } => Some(text_of(blocks)),
        _ => None,
    });
    assert!(cut.is_some_and(|text| text.starts_with("one")));
    close(session).await;
}

// proves: E8, F207, F210
#[tokio::test]
async fn a_full_context_is_shortened_and_the_instructions_stay() {
    let long = "word ".repeat(6_000);
    let script =
        format!("agent main\nreply \"{long}\"\nreply \"after\"\nagent summary\nreply \"they said hello\"\n");
    let inner: Arc<dyn troupe_core::ports::model::Model> =
        Arc::new(ScriptModel::parse("t", &script).unwrap());
    let recorder = Recorder::with_window(inner, 20_000);
    let mut world = World::new(Arc::clone(&recorder) as _);
    let zebra = Instructions { path: "/w/AGENTS.md".into(), text: "always answer with token ZEBRA".into() };
    world.config.prompting.instructions = Arc::new(move || vec![zebra.clone()]);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "hello").await;
    turn(&session, 1, &long).await;
    let compacted = until(&mut events, |kind| match kind {
        EventKind::Notice(Notice::Compacted { auto, .. }) => Some(*auto),
        _ => None,
    });
    assert!(compacted.await, "by itself");
    let requests = recorder.requests();
    let last = prefix(requests.last().unwrap());
    assert!(last.contains("they said hello") && last.contains("ZEBRA"), "{}", &last[last.len() - 800..]);
    assert!(!last.contains(&long[..2_000]) || requests.len() == 3, "the old reply is not sent again");
    let summary = requests.iter().find(|request| request.definition == "summary").unwrap();
    let before = prefix(&requests[0]);
    assert!(prefix(summary).starts_with(&before), "the summary is asked on the same prefix");

    // Nothing new: a second one by wish does nothing.
    session.send(&AgentId::main(), Input::Compact(None)).await.unwrap();
    let count = requests.len();
    session.send(&AgentId::main(), Input::Compact(None)).await.unwrap();
    until(&mut events, |kind| matches!(kind, EventKind::Notice(Notice::Warning(_))).then_some(())).await;
    assert!(recorder.requests().len() <= count + 1);
    close(session).await;
}

// proves: X5, E7
#[tokio::test]
async fn a_resumed_session_sends_the_earlier_request_as_a_prefix() {
    let script = "agent main\nreply\n  think \"hm\"\n  text \"a\"\n  call Bash command=\"echo é; false\"\n  call Bash command=true\nreply \"done\"\nreply \"again\"\n";
    let recorder = Recorder::of(Arc::new(ScriptModel::parse("t", script).unwrap()));
    let mut world = World::new(Arc::clone(&recorder) as _);
    world.config.leave.mode = Some(Mode::AcceptEdits);
    let folder = world.folder().join("state");
    let journal = troupe_engine::journal::FileJournal::new(folder, troupe_engine::journal::Locking::Leased);
    world.journal = Arc::new(journal);
    let first = world.start().await;
    turn(&first, 0, "go").await;
    close(first).await;
    // Whatever the configuration is by now.
    world.config.prompting.append = Some("Be brief.".into());
    world.config.prompting.platform = "macos".into();
    let second = world.resume().await;
    turn(&second, 1, "and again").await;
    let requests = recorder.requests();
    let texts: Vec<String> = requests.iter().map(prefix).collect();
    for pair in texts.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{}\n---\n{}", pair[0], pair[1]);
    }
    assert_eq!(requests.len(), 3);
    close(second).await;
}

// proves: S2, F023
#[tokio::test]
async fn with_nobody_to_ask_a_question_is_a_denial_that_says_why() {
    let mut world = world("agent main\nreply\n  call Write file_path=new.txt content=x\nreply \"denied\"\n");
    world.config.leave.mode = Some(Mode::Default);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    assert!(results(&entries(&session).await)[0].contains("nobody can be asked"));
    until(&mut events, |kind| matches!(kind, EventKind::Notice(Notice::Denied { .. })).then_some(())).await;
    assert!(!world.workspace().join("new.txt").exists());
    close(session).await;
}

// proves: S2, F178
#[tokio::test]
async fn each_answer_reaches_its_asker_in_any_order() {
    let mut world = world(
        "agent main\nreply\n  call Write file_path=a.txt content=a\n  call Write file_path=b.txt content=b\n  call Write file_path=c.txt content=c\nreply \"done\"\n",
    );
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let mut questions = Vec::new();
    for _ in 0..3 {
        let question = until(&mut events, |kind| match kind {
            EventKind::QuestionOpened(question) => Some(Arc::clone(question)),
            _ => None,
        });
        questions.push(question.await);
    }
    questions.reverse();
    for question in questions {
        let path = question.input["file_path"].as_str().unwrap();
        let answer = match path {
            "a.txt" => Answer::Allow { input: None, updates: vec![] },
            "b.txt" => Answer::Deny { message: "not b".into(), interrupt: false },
            // A person may change what is written.
            _ => {
                Answer::Allow { input: Some(json!({"file_path": "d.txt", "content": "d"})), updates: vec![] }
            }
        };
        session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer.clone())).await.unwrap();
        assert!(session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.is_err());
    }
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("a".into(), String::new()));
    assert_eq!((world.read("c.txt"), world.read("d.txt")), (String::new(), "d".into()));
    assert!(results(&entries(&session).await).contains(&"not b".to_owned()));
    close(session).await;
}

// proves: S1
#[tokio::test]
async fn always_holds_for_the_rest_of_the_session() {
    let mut world = world(
        "agent main\nreply\n  call Bash command=\"touch a\"\nreply\n  call Bash command=\"touch a\"\nreply \"done\"\n",
    );
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let question = until(&mut events, |kind| match kind {
        EventKind::QuestionOpened(question) => Some(Arc::clone(question)),
        _ => None,
    })
    .await;
    let update = Update::AddRules {
        rules: vec!["Bash(touch a)".into()],
        behaviour: Behaviour::Allow,
        destination: Destination::Session,
    };
    let answer = Answer::Allow { input: None, updates: vec![update] };
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.unwrap();
    // A second question would hang here.
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    close(session).await;
}

// proves: B13, E2
#[tokio::test]
async fn what_comes_in_mid_turn_is_read_at_the_next_safe_point_or_after_the_turn() {
    let script = Arc::new(
        ScriptModel::parse(
            "t",
            "agent main\nreply\n  gate one\n  call Bash command=true\nreply\n  expect \"steer\"\n  text \"steered\"\nreply \"later done\"\n",
        )
        .unwrap(),
    );
    let mut world = World::new(Arc::clone(&script) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    script.reached("one").await;
    say(&session, 1, "later").await;
    let Input::Prompt(mut steer) = prompt(2, "steer") else { panic!("a prompt") };
    steer.when = When::Next;
    session.send(&AgentId::main(), Input::Prompt(steer)).await.unwrap();
    script.release("one");
    assert_eq!(ended(&mut events).await.text, "steered");
    assert_eq!(ended(&mut events).await.text, "later done", "one turn after another");
    close(session).await;
}

// proves: E3
#[tokio::test]
async fn an_interrupt_in_mid_stream_keeps_what_was_shown_and_the_session_goes_on() {
    let script = Arc::new(
        ScriptModel::parse(
            "t",
            "agent main\nreply\n  text \"so far \"\n  gate never\n  text \"more\"\nreply \"next\"\n",
        )
        .unwrap(),
    );
    let world = World::new(Arc::clone(&script) as _);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    script.reached("never").await;
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    let envelope = ended(&mut events).await;
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Stopped, &EndReason::Interrupted));
    let shown = entries(&session)
        .await
        .iter()
        .any(|entry| matches!(&entry.body, Body::Assistant { stop: Stop::Cut, .. }));
    assert!(shown);
    script.release("never");
    // The interrupted try was no reply, so the script plays it again.
    assert_eq!(turn(&session, 1, "again").await.ending, Ending::Completed);
    close(session).await;
}

/// A tool that misbehaves as it is told.
struct Wild(ToolSpec);

impl Tool for Wild {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _: &Place, _: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, _: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match input["how"].as_str() {
                Some("panic") => panic!("wild"),
                Some("hang") => std::future::pending().await,
                Some("huge") => ToolOutput::text("x".repeat(5_000_000)),
                _ => ToolOutput::text(""),
            }
        })
    }
}

fn wild() -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: "Wild".into(),
        description: "".into(),
        input_schema: Arc::new(json!({"type":"object"})),
    };
    Arc::new(Wild(spec))
}

async fn wild_session(script: &str) -> (World, Session) {
    let world = world(script);
    let mut parts = world.parts(Arc::clone(&world.journal));
    parts.tools.push(wild());
    let start = troupe_engine::Start::New(session());
    let session = Session::open(parts, world.config.clone(), start).await.unwrap();
    (world, session)
}

// proves: E3
#[tokio::test]
async fn a_tool_that_panics_is_answered_and_so_is_a_huge_or_empty_result() {
    let (_world, session) =
        wild_session("agent main\nreply\n  call Wild how=panic\n  call Wild how=huge\n  call Wild how=nothing\nreply \"went on\"\n").await;
    assert_eq!(turn(&session, 0, "go").await.text, "went on");
    let results = results(&entries(&session).await);
    assert!(results[0].contains("failed inside (wild)"), "{}", results[0]);
    assert!(results[1].len() < 201_000 && results[1].contains("[cut:"));
    assert_eq!(results[2], "(no output)");
    close(session).await;
}

// proves: X2, F194
#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_does_not_hold_an_interrupt() {
    let (_world, session) = wild_session("agent main\nreply\n  call Wild how=hang\nreply \"x\"\n").await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    until(&mut events, |kind| matches!(kind, EventKind::Phase(Phase::Calling)).then_some(())).await;
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    assert_eq!(ended(&mut events).await.reason, EndReason::Interrupted);
    assert_eq!(results(&entries(&session).await), ["[Request interrupted by user for tool use]"]);
    close(session).await;
}

// proves: F231
#[tokio::test]
async fn a_disk_that_fills_stops_the_agent_with_the_reason() {
    let world = world("agent main\nreply\n  call Bash command=true\nreply \"x\"\n");
    let journal = FullJournal::after(Arc::clone(&world.journal), 5);
    let session = world.open_on(journal, troupe_engine::Start::New(session())).await;
    let envelope = turn(&session, 0, "go").await;
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Failed, &EndReason::Store));
    assert!(envelope.error.as_ref().is_some_and(|error| error.contains("no storage space")), "{envelope:?}");
    close(session).await;
}

// proves: A8, A9, F013, F015
#[tokio::test]
async fn agents_nest_so_deep_and_never_repeat_and_a_full_house_is_no_deadlock() {
    let mut world = world(
        "agent main\nreply\n  call Agent description=a prompt=one\n  call Agent description=b prompt=two\n  call Agent description=c prompt=three\nreply \"done\"\n\
         agent general-purpose /one/\nreply\n  call Agent description=d prompt=one\nreply \"first\"\n\
         agent general-purpose\nreply\n  call Bash command=true\nreply \"other\"\n",
    );
    world.config.ceilings.live_agents = 1;
    let session = world.start().await;
    let envelope = turn(&session, 0, "go").await;
    assert_eq!(envelope.text, "done");
    let told = results(&entries(&session).await);
    assert_eq!(told.len(), 3);
    let first = told.iter().find(|text| text.contains("first")).unwrap();
    assert_eq!(told.iter().filter(|text| text.contains("other")).count(), 2, "{told:?}");
    let id = first.split("agentId: ").nth(1).unwrap().split(';').next().unwrap();
    let inner = results(&session.entries(&AgentId::new(id), 0).await.unwrap());
    assert!(inner[0].contains("same type and prompt"), "{inner:?}");
    assert_eq!(session.roster().len(), 1);
    close(session).await;

    world.config.ceilings.depth = 0;
    let session = world.open(troupe_engine::Start::New("00000000-0000-4000-8000-00000000beef".into())).await;
    turn(&session, 0, "go").await;
    let told = results(&entries(&session).await);
    assert!(told[0].contains("no tool `Agent`"), "at the limit there is no such tool: {}", told[0]);
    close(session).await;
}

// proves: F226
#[tokio::test]
async fn a_session_has_one_writer() {
    let world = world("agent main\nreply \"x\"\n");
    let first = world.start().await;
    let second = Session::open(
        world.parts(Arc::clone(&world.journal)),
        world.config.clone(),
        troupe_engine::Start::Resume(session()),
    )
    .await;
    let error = second.err().unwrap().to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    close(first).await;
}

// proves: E7, F241
#[tokio::test]
async fn an_interrupt_holds_also_after_a_turn_that_was_interrupted_before_any_reply() {
    let script = Arc::new(ScriptModel::parse("t", "agent main\nreply\n  gate one\n  text \"x\"\n").unwrap());
    let world = World::new(Arc::clone(&script) as _);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    for number in 0..2 {
        say(&session, number, "go").await;
        until(&mut events, |kind| matches!(kind, EventKind::Phase(Phase::Sampling)).then_some(())).await;
        session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
        assert_eq!(ended(&mut events).await.reason, EndReason::Interrupted, "turn {number}");
    }
    close(session).await;
}

// proves: S7
#[tokio::test]
async fn a_call_is_judged_by_what_those_before_it_changed() {
    let mut world = world(
        "agent main\nreply\n  call Bash command=\"cd ../out\"\n  call Write file_path=evil.txt content=x\nreply\n  call Bash command=\"ln -s ../out link\"\n  call Write file_path=../ws/link/evil.txt content=x\nreply \"done\"\n",
    );
    let out = world.workspace().join("../out");
    std::fs::create_dir(&out).unwrap();
    let out = std::fs::canonicalize(out).unwrap();
    world.config.place.roots = vec![out.clone()];
    world.config.leave.mode = Some(Mode::BypassPermissions);
    let rule = format!("Edit(/{}/**)", out.display());
    let scope = troupe_core::policy::Scope::CommandLine;
    world.config.leave.rules.add(&rule, Behaviour::Deny, scope, world.workspace().into()).unwrap();
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert!(!out.join("evil.txt").exists(), "{:?}", results(&entries(&session).await));
    close(session).await;
}

// proves: E7
#[tokio::test(start_paused = true)]
async fn a_session_killed_while_an_interrupt_was_answered_ends_its_turn_on_resume() {
    let world = world("agent main\nreply\n  call Wild how=hang\nreply \"never\"\n");
    let open = |journal, start| {
        let mut parts = world.parts(journal);
        parts.tools.push(wild());
        Session::open(parts, world.config.clone(), start)
    };
    {
        // Header, environment, inbox, prompt, agent types, reply, start of the call: the eighth append is the mark.
        let journal = troupe_testkit::faults::DyingJournal::after(Arc::clone(&world.journal), 8);
        let session = open(Arc::clone(&journal) as _, troupe_engine::Start::New(session())).await.unwrap();
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        let started = |kind: &EventKind| match kind {
            EventKind::Appended(entry) => matches!(entry.body, Body::Started { .. }).then_some(()),
            _ => None,
        };
        until(&mut events, started).await;
        session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
        journal.died().await;
    }
    let session = open(Arc::clone(&world.journal), troupe_engine::Start::Resume(session())).await.unwrap();
    assert!(session.is_pending());
    assert_eq!(ended(&mut session.subscribe(false)).await.reason, EndReason::Interrupted);
    assert_eq!(results(&entries(&session).await), ["[Request interrupted by user for tool use]"]);
    close(session).await;
}

// proves: S1
#[tokio::test]
async fn an_answer_adds_folders_and_can_not_turn_on_what_was_not_enabled() {
    let mut world = world(
        "agent main\nreply\n  call Write file_path=a.txt content=a\nreply\n  call Read file_path=../out/b.txt\nreply \"done\"\n",
    );
    let out = world.workspace().join("../out");
    std::fs::create_dir(&out).unwrap();
    let out = std::fs::canonicalize(out).unwrap();
    std::fs::write(out.join("b.txt"), "beside").unwrap();
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let question = until(&mut events, |kind| match kind {
        EventKind::QuestionOpened(question) => Some(Arc::clone(question)),
        _ => None,
    })
    .await;
    let destination = Destination::Session;
    let updates = vec![
        Update::SetMode { mode: Mode::BypassPermissions, destination },
        Update::AddDirectories { directories: vec![out.display().to_string()], destination },
    ];
    let answer = Answer::Allow { input: None, updates };
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.unwrap();
    // Reading beside the workspace would ask, and hang here, had the folder not been added.
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!(session.mode(), Mode::Default);
    assert!(results(&entries(&session).await)[1].contains("beside"));
    close(session).await;
}

// proves: E4
#[tokio::test]
async fn what_a_broken_stream_cost_is_booked() {
    let world = world("agent main\nreply\n  usage input=1000 output=10\n  cut 1\n  text \"one two three\"\n");
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.reason, EndReason::Model);
    let usage: u64 = session.totals().models.values().map(|model| model.usage.input_tokens).sum();
    assert_eq!(usage, 1_000);
    close(session).await;
}
