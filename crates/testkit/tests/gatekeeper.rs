//! What stands before calls and beside questions: in force for every agent, the strictest where it fails, and
//! never in the way of a person.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::Ending;
use troupe_core::policy::{Answer, Behaviour, Destination, Mode, Question, Scope, Update};
use troupe_core::ports::gatekeeper::{GateFault, Opinion, Ruling};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::session::Gate;
use troupe_models::script::ScriptModel;
use troupe_testkit::gatekeeper::Doorkeeper;
use troupe_testkit::world::{World, ended, say, turn};

fn world(script: &str, mode: Mode, keeper: &Arc<Doorkeeper>) -> World {
    let mut world = World::new(Arc::new(ScriptModel::parse("test", script).unwrap()));
    world.config.leave.mode = Some(mode);
    let ceiling = Duration::from_millis(200);
    world.config.leave.gate = Some(Gate { keeper: Arc::clone(keeper) as _, ceiling });
    world
}

async fn results(session: &Session, agent: &AgentId) -> Vec<String> {
    let entries: Vec<Arc<Entry>> = session.entries(agent, 0).await.unwrap();
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

fn opened(kind: &EventKind) -> Option<Arc<Question>> {
    match kind {
        EventKind::QuestionOpened(question) => Some(Arc::clone(question)),
        _ => None,
    }
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

const READS: &str = "agent main\nreply\n  call Read file_path=a.ts\nreply\n  call Agent description=look prompt=look\nreply \"done\"\nagent general-purpose\nreply\n  call Read file_path=a.ts\nreply \"looked\"\n";

fn ruling(opinion: Opinion, reason: &str) -> Ruling {
    Ruling { opinion, reason: Some(reason.to_owned()), ..Ruling::default() }
}

// proves: F186, X7
#[tokio::test]
async fn it_stops_the_same_call_of_the_lead_and_of_a_child() {
    let keeper = Arc::new(Doorkeeper::new().before(|call| {
        Some(Ok(if call.tool == "Read" { ruling(Opinion::Deny, "no *.ts") } else { Ruling::default() }))
    }));
    let world = world(READS, Mode::BypassPermissions, &keeper);
    world.write("a.ts", "secret");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let child = until(&mut events, |kind| match kind {
        EventKind::Opened(header) if header.depth == 1 => Some(header.agent.clone()),
        _ => None,
    })
    .await;
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    let denied = "A gatekeeper denied this call: no *.ts";
    assert_eq!(results(&session, &AgentId::main()).await[0], denied);
    assert_eq!(results(&session, &child).await, [denied]);
    let seen = keeper.seen();
    let of = |agent: &AgentId| {
        seen.iter().find(|call| call.agent == *agent && call.tool == "Read").unwrap().asker.clone()
    };
    assert_eq!(of(&AgentId::main()).address, "main");
    assert_eq!(
        (of(&child).address.as_str(), of(&child).definition.as_str()),
        ("main/general-purpose-1", "general-purpose")
    );
    close(session).await;
}

// proves: F190
#[tokio::test]
async fn it_stands_before_the_tool_that_starts_agents() {
    for (opinion, said) in [(Opinion::Deny, "denied this call"), (Opinion::Defer, "put this call off")] {
        let keeper = Arc::new(Doorkeeper::new().before(move |call| {
            Some(Ok(if call.tool == "Agent" { ruling(opinion, "alone") } else { Ruling::default() }))
        }));
        let session = world(READS, Mode::BypassPermissions, &keeper).start().await;
        assert_eq!(turn(&session, 0, "go").await.ending, Ending::Completed);
        let result = results(&session, &AgentId::main()).await.remove(1);
        assert!(result.contains(said) && result.ends_with(": alone"), "{result}");
        assert!(keeper.seen().iter().all(|call| call.agent.is_main()), "no child ever started");
        close(session).await;
    }
}

const ONE: &str = "agent main\nreply\n  call Write file_path=a.txt content=a\nreply \"done\"\n";

// proves: F187, F189
#[tokio::test]
async fn a_gate_that_fails_or_hangs_is_shut_and_says_so() {
    for hangs in [true, false] {
        let say = move |_: &_| if hangs { None } else { Some(Err(GateFault("it is not there".to_owned()))) };
        for is_gate in [true, false] {
            let mut keeper = Doorkeeper::new().before(say);
            if !is_gate {
                keeper = keeper.mild();
            }
            let keeper = Arc::new(keeper);
            let world = world(ONE, Mode::BypassPermissions, &keeper);
            let session = world.start().await;
            let mut events = session.subscribe(false);
            troupe_testkit::world::say(&session, 0, "go").await;
            let told = until(&mut events, |kind| match kind {
                EventKind::Notice(Notice::Warning(text)) => Some(text.clone()),
                _ => None,
            })
            .await;
            let why = if hangs { "took longer than 0.2 s" } else { "it is not there" };
            assert!(told.contains("a gatekeeper did not decide on Write") && told.contains(why), "{told}");
            ended(&mut events).await;
            let said = results(&session, &AgentId::main()).await.remove(0);
            assert_eq!(world.read("a.txt"), if is_gate { "" } else { "a" });
            assert_eq!(said.contains(why), is_gate, "{said}");
            assert_eq!(keeper.taken_back(), usize::from(hangs));
            close(session).await;
        }
    }
}

// proves: F186
#[tokio::test]
async fn what_it_allows_overrides_no_rule_and_what_it_changes_is_judged() {
    let keeper = Arc::new(Doorkeeper::new().before(|call| {
        let input =
            (call.input["file_path"] == "b.txt").then(|| json!({"file_path": "c.txt", "content": "c"}));
        Some(Ok(Ruling { opinion: Opinion::Allow, input, ..Ruling::default() }))
    }));
    let script = "agent main\nreply\n  call Write file_path=a.txt content=a\nreply\n  call Write file_path=b.txt content=b\nreply\n  call Write file_path=d.txt content=d\nreply \"done\"\n";
    let mut world = world(script, Mode::Default, &keeper);
    let base = world.workspace().to_owned();
    for (rule, behaviour) in [("Edit(c.txt)", Behaviour::Deny), ("Edit(d.txt)", Behaviour::Ask)] {
        world.config.leave.rules.add(rule, behaviour, Scope::User, base.clone()).unwrap();
    }
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.ending, Ending::Completed);
    let said = results(&session, &AgentId::main()).await;
    assert_eq!(world.read("a.txt"), "a", "allowed as if by a rule");
    assert!(said[1].contains("`Edit(c.txt)` denies"), "the changed input is judged: {}", said[1]);
    assert!(said[2].contains("`Edit(d.txt)` asks"), "an ask rule still asks: {}", said[2]);
    assert_eq!(["b.txt", "c.txt", "d.txt"].map(|path| world.read(path)), [""; 3]);
    close(session).await;
}

// proves: F186
#[tokio::test]
async fn a_changed_input_is_recorded_and_what_it_adds_reaches_the_model() {
    let keeper = Arc::new(Doorkeeper::new().before(|_| {
        Some(Ok(Ruling {
            input: Some(json!({"file_path": "b.txt", "content": "b"})),
            context: Some("written by the rules of the house".to_owned()),
            ..Ruling::default()
        }))
    }));
    let world = world(ONE, Mode::BypassPermissions, &keeper);
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.ending, Ending::Completed);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), (String::new(), "b".to_owned()));
    assert!(results(&session, &AgentId::main()).await[0].contains("rules of the house"));
    let entries = session.entries(&AgentId::main(), 0).await.unwrap();
    let started = entries.iter().find_map(|entry| match &entry.body {
        Body::Started { input, .. } => Some(input.clone()),
        _ => None,
    });
    assert_eq!(started, Some(Some(json!({"file_path": "b.txt", "content": "b"}))));
    close(session).await;
}

// proves: F186
#[tokio::test]
async fn a_changed_input_that_the_tool_can_t_take_makes_no_call() {
    let keeper = Arc::new(
        Doorkeeper::new()
            .before(|_| Some(Ok(Ruling { input: Some(json!({"path": 1})), ..Ruling::default() }))),
    );
    let world = world(ONE, Mode::BypassPermissions, &keeper);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert!(results(&session, &AgentId::main()).await[0].contains("Nothing was done"));
    close(session).await;
}

fn child_that_asks() -> String {
    "agent main\nreply\n  call Agent description=d prompt=p\nreply \"done\"\nagent general-purpose\nreply\n  call Write file_path=a.txt content=a\nreply \"looked\"\n".to_owned()
}

fn yes() -> Answer {
    Answer::Allow { input: None, updates: Vec::new() }
}

// proves: F181, F065
#[tokio::test]
async fn beside_a_child_s_question_the_first_answer_counts_and_the_other_is_taken_back() {
    // It never answers: the person does, and is not kept waiting.
    let keeper = Arc::new(Doorkeeper::new().asked(|_| None));
    let mut first = world(&child_that_asks(), Mode::Default, &keeper);
    first.config.leave.asks = true;
    first.config.leave.gate.as_mut().unwrap().ceiling = Duration::from_hours(1);
    let session = first.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let question = until(&mut events, opened).await;
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), yes())).await.unwrap();
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!(first.read("a.txt"), "a");
    assert_eq!(keeper.taken_back(), 1, "its request was taken back");
    assert_eq!(keeper.questions()[0].asker.address, "main/general-purpose-1");
    close(session).await;

    // It answers: the person's question closes.
    let update = Update::AddRules {
        rules: vec!["Edit".to_owned()],
        behaviour: Behaviour::Allow,
        destination: Destination::Session,
    };
    let keeper = Arc::new(
        Doorkeeper::new()
            .asked(move |_| Some(Some(Answer::Allow { input: None, updates: vec![update.clone()] }))),
    );
    let mut second = world(&child_that_asks(), Mode::Default, &keeper);
    second.config.leave.asks = true;
    let session = second.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let question = until(&mut events, opened).await;
    let closed = until(&mut events, |kind| match kind {
        EventKind::QuestionClosed(id) => Some(id.clone()),
        _ => None,
    })
    .await;
    assert_eq!(closed, question.id);
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!(second.read("a.txt"), "a");
    assert_eq!(keeper.questions().len(), 1, "it was asked once");
    close(session).await;
}

// proves: F065, F023
#[tokio::test]
async fn where_nobody_can_be_asked_its_answer_counts_and_its_silence_denies() {
    for (answers, written) in [(true, "a"), (false, "")] {
        let keeper = Arc::new(Doorkeeper::new().asked(move |_| answers.then(|| Some(yes()))));
        let world = world(&child_that_asks(), Mode::Default, &keeper);
        let session = world.start().await;
        assert_eq!(turn(&session, 0, "go").await.ending, Ending::Completed);
        assert_eq!(world.read("a.txt"), written);
        assert_eq!(keeper.questions().len(), 1);
        close(session).await;
    }
}

// proves: E3, F187
#[tokio::test]
async fn an_interrupt_does_not_wait_for_it() {
    let keeper = Arc::new(Doorkeeper::new().before(|_| None));
    let mut world = world(ONE, Mode::BypassPermissions, &keeper);
    world.config.leave.gate.as_mut().unwrap().ceiling = Duration::from_hours(1);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    until(&mut events, |kind| {
        matches!(kind, EventKind::Phase(troupe_core::event::Phase::Calling)).then_some(())
    })
    .await;
    let start = std::time::Instant::now();
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    ended(&mut events).await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(world.read("a.txt"), "");
    close(session).await;
}
