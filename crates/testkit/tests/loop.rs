//! The loop at its edges: limits, faults of the model, of tools and of the disk, compaction, resume.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::text_of;
use troupe_core::entry::{Body, Stop};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::{EndReason, Ending};
use troupe_core::policy::Mode;
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::prompt::Instructions;
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::faults::FullJournal;
use troupe_testkit::reading::{close, entries, entries_of, results, until};
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{World, ended, say, session, turn};

// proves: E4, F009
#[tokio::test]
async fn the_limit_of_turns_ends_the_run_and_says_so() {
    let (mut world, _) = World::playing(
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
    let (mut world, _) = World::playing(
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
    let (world, _) = World::playing("agent main\nreply\n  cut 3\n  text \"one two three four five\"\n");
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
    let compacted = until(&mut events, |_, kind| match kind {
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
    until(&mut events, |_, kind| matches!(kind, EventKind::Notice(Notice::Warning(_))).then_some(())).await;
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

// proves: F231
#[tokio::test]
async fn a_disk_that_fills_stops_the_agent_with_the_reason() {
    let (world, _) = World::playing("agent main\nreply\n  call Bash command=true\nreply \"x\"\n");
    let journal = FullJournal::after(Arc::clone(&world.journal), 5);
    let session = world.open_on(journal, Start::New(session())).await;
    let envelope = turn(&session, 0, "go").await;
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Failed, &EndReason::Store));
    assert!(envelope.error.as_ref().is_some_and(|error| error.contains("no storage space")), "{envelope:?}");
    close(session).await;
}

// proves: A8, A9, F013, F015
#[tokio::test]
async fn agents_nest_so_deep_and_never_repeat_and_a_full_house_is_no_deadlock() {
    let (mut world, _) = World::playing(
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
    let inner = results(&entries_of(&session, &AgentId::new(id)).await);
    assert!(inner[0].contains("same type and prompt"), "{inner:?}");
    assert_eq!(session.roster().len(), 1);
    close(session).await;

    world.config.ceilings.depth = 0;
    let session = world.open(Start::New("00000000-0000-4000-8000-00000000beef".into())).await;
    turn(&session, 0, "go").await;
    let told = results(&entries(&session).await);
    assert!(told[0].contains("no tool `Agent`"), "at the limit there is no such tool: {}", told[0]);
    close(session).await;
}

// proves: F226
#[tokio::test]
async fn a_session_has_one_writer() {
    let (world, _) = World::playing("agent main\nreply \"x\"\n");
    let first = world.start().await;
    let second = Session::open(
        world.parts(Arc::clone(&world.journal)),
        world.config.clone(),
        Start::Resume(session()),
    )
    .await;
    let error = second.err().unwrap().to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    close(first).await;
}

// proves: E4
#[tokio::test]
async fn what_a_broken_stream_cost_is_booked() {
    let (world, _) = World::playing(
        "agent main\nreply\n  usage input=1000 output=10\n  cut 1\n  text \"one two three\"\n",
    );
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.reason, EndReason::Model);
    let usage: u64 = session.totals().models.values().map(|model| model.usage.input_tokens).sum();
    assert_eq!(usage, 1_000);
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
                Some("huge") => ToolOutput::text("x".repeat(5_000_000)),
                _ => ToolOutput::text(""),
            }
        })
    }
}

// proves: E3
#[tokio::test]
async fn a_tool_that_panics_is_answered_and_so_is_a_huge_or_empty_result() {
    let (world, _) = World::playing(
        "agent main\nreply\n  call Wild how=panic\n  call Wild how=huge\n  call Wild how=nothing\nreply \"went on\"\n",
    );
    let mut parts = world.parts(Arc::clone(&world.journal));
    let input_schema = Arc::new(json!({"type": "object"}));
    parts.tools.push(Arc::new(Wild(ToolSpec { name: "Wild".into(), description: "".into(), input_schema })));
    let session = Session::open(parts, world.config.clone(), Start::New(session())).await.unwrap();
    assert_eq!(turn(&session, 0, "go").await.text, "went on");
    let results = results(&entries(&session).await);
    assert!(results[0].contains("failed inside (wild)"), "{}", results[0]);
    assert!(results[1].len() < 201_000 && results[1].contains("[cut:"));
    assert_eq!(results[2], "(no output)");
    close(session).await;
}
