//! Which model an agent uses and how much it thinks, through the whole engine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_core::def::{AgentDef, Effort, ModelChoice};
use troupe_core::entry::{Body, Setting};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::policy::Mode;
use troupe_core::ports::model::{Delta, Message, Model, ModelError, ModelInfo, Request, UnknownModel};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_models::script::ScriptModel;
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{World, turn};

/// A provider with names of its own; `small` knows one level of effort and the others all.
struct Named(ScriptModel);

const KNOWN: [&str; 4] = ["big", "small", "opus", "sonnet"];

impl Model for Named {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.0.stream(request, cancel)
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        self.0.count(request)
    }

    fn info(&self, name: &str) -> ModelInfo {
        let mut info = ModelInfo { id: name.to_owned(), ..self.0.info(name) };
        if name == "small" {
            info.efforts.truncate(1);
        }
        info
    }

    fn choose<'a>(&'a self, name: &'a str, _: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        let known = KNOWN.map(str::to_owned).to_vec();
        Box::pin(async move {
            let there = KNOWN.contains(&name) || name == "opusplan";
            if there { Ok(name.to_owned()) } else { Err(UnknownModel { name: name.to_owned(), known }) }
        })
    }
}

fn world(script: &str) -> (World, Arc<Recorder>) {
    let recorder = Recorder::of(Arc::new(Named(ScriptModel::parse("test", script).unwrap())));
    let mut world = World::new(Arc::clone(&recorder) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    "big".clone_into(&mut world.config.default_model);
    let named = |name: &str, model: &str, effort| AgentDef {
        name: name.to_owned(),
        prompt: name.to_owned(),
        model: ModelChoice::Named(model.to_owned()),
        effort,
        ..AgentDef::default()
    };
    world.defs.push(named("smaller", "small", Some(Effort::Max)));
    world.defs.push(named("planner", "opusplan", None));
    (world, recorder)
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

/// The model and effort of each request, in order.
fn asked(recorder: &Recorder) -> Vec<(String, Option<String>)> {
    let effort = |request: &Request| {
        let (_, value) = request.extra.iter().find(|(key, _)| key == "output_config")?;
        value["effort"].as_str().map(str::to_owned)
    };
    recorder.requests().iter().map(|request| (request.model.clone(), effort(request))).collect()
}

fn models(recorder: &Recorder) -> Vec<String> {
    asked(recorder).into_iter().map(|(model, _)| model).collect()
}

async fn warnings(events: &mut Subscription) -> Vec<String> {
    let mut told = Vec::new();
    while let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        if let EventKind::Notice(Notice::Warning(line)) = &event.kind {
            told.push(line.clone());
        }
    }
    told
}

/// A script of a main agent that makes one call after the other, and of agents that answer at once.
fn calls(calls: &[&str]) -> String {
    let mut script = String::from("agent main\n");
    for (number, call) in calls.iter().enumerate() {
        // Writing to a string can't fail.
        let _ = writeln!(script, "reply\n  call Agent description=d prompt=\"job {number}\" {call}");
    }
    script + "reply \"done\"\nagent *\nreply \"ended\"\n"
}

// proves: C2
#[tokio::test]
async fn the_call_the_definition_the_setting_and_the_parent_in_this_order() {
    let script = calls(&["subagent_type=smaller", "subagent_type=smaller model=opus", "model=inherit", ""]);
    let (mut world, recorder) = world(&script);
    world.config.models.subagent = Some("sonnet".to_owned());
    let session = world.start().await;
    turn(&session, 0, "go").await;
    close(session).await;
    assert_eq!(models(&recorder), ["big", "small", "big", "opus", "big", "big", "big", "sonnet", "big"]);
    // The variable goes before them all.
    let (mut world, recorder) = self::world(&script);
    world.config.subagent_model = Some("sonnet".to_owned());
    let session = world.start().await;
    turn(&session, 0, "go").await;
    close(session).await;
    assert_eq!(models(&recorder)[1..8], ["sonnet", "big", "sonnet", "big", "sonnet", "big", "sonnet"]);
}

// proves: C2
#[tokio::test]
async fn the_main_agents_model_is_the_flags_then_its_definitions_then_the_usual_one() {
    let script = "agent main\nreply \"done\"\n";
    for (flag, definition, expected) in [
        (Some("sonnet"), Some("small"), Ok("sonnet")),
        (None, Some("small"), Ok("small")),
        (None, None, Ok("big")),
        (None, Some("nope"), Err("there is no model `nope`; there are: big, small, opus, sonnet")),
    ] {
        let (mut world, recorder) = world(script);
        world.config.model = flag.map(str::to_owned);
        world.defs[0].model =
            definition.map_or(ModelChoice::Inherit, |name| ModelChoice::Named(name.to_owned()));
        let parts = world.parts(Arc::clone(&world.journal));
        let start = troupe_engine::Start::New(troupe_testkit::world::SESSION.into());
        match Session::open(parts, world.config.clone(), start).await {
            Ok(session) => {
                turn(&session, 0, "go").await;
                assert_eq!(expected, Ok(models(&recorder)[0].as_str()));
                close(session).await;
            }
            Err(error) => assert_eq!(expected.map_err(str::to_owned), Err(error.to_string())),
        }
    }
}

// proves: C2
#[tokio::test]
async fn an_alias_means_the_model_in_use_also_when_it_is_chosen_later() {
    // A script is one model, and each alias means it.
    let script = ScriptModel::parse("test", "agent main\nreply \"one\"\nreply \"two\"\n").unwrap();
    let mut world = World::new(Arc::new(script));
    let session = world.start().await;
    for (name, expected) in [("haiku", "script"), ("other", "other"), ("opusplan", "other")] {
        session.send(&AgentId::main(), Input::Set(Setting::Model(name.to_owned()))).await.unwrap();
        if name == expected {
            turn(&session, 0, "go").await;
        }
    }
    turn(&session, 1, "go").await;
    assert_eq!(session.model(), "other");
    close(session).await;
    world.config.model = Some("sonnet".to_owned());
    let session = world.resume().await;
    assert_eq!(session.model(), "other");
    close(session).await;
}

// proves: A8
#[tokio::test]
async fn a_model_that_the_provider_has_not_is_an_error_that_lists_what_it_has() {
    let (world, recorder) = world(&calls(&["model=nope"]));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let entries = session.entries(&AgentId::main(), 0).await.unwrap();
    let given = entries.iter().find_map(|entry| match &entry.body {
        Body::Result { blocks, .. } => serde_json::to_string(&**blocks).ok(),
        _ => None,
    });
    let given = given.unwrap();
    assert!(given.contains("there is no model `nope`; there are: big, small, opus, sonnet"), "{given}");
    assert_eq!(models(&recorder), ["big", "big"], "no agent was started");
    close(session).await;
}

// proves: C2
#[tokio::test]
async fn opusplan_follows_the_mode_of_each_agent() {
    let script = "agent main\nreply\n  think \"hm\"\n  call Agent description=d prompt=a subagent_type=planner\nreply \
                  \"planned\"\nreply \"working\"\nagent planner\nreply \"ended\"\n";
    let (mut world, recorder) = world(script);
    world.config.model = Some("opusplan".to_owned());
    world.config.leave.mode = Some(Mode::Plan);
    world.defs.iter_mut().filter(|def| def.name == "planner").for_each(|def| def.mode = Some(Mode::Plan));
    let session = world.start().await;
    turn(&session, 0, "plan").await;
    session.send(&AgentId::main(), Input::Set(Setting::Mode(Mode::AcceptEdits))).await.unwrap();
    turn(&session, 1, "work").await;
    assert_eq!(models(&recorder), ["opus", "opus", "opus", "sonnet"]);
    // Reasoning of one model is not sent to the other.
    let thought = |request: &Request| {
        request.messages.iter().flat_map(Message::blocks).any(|block| block.kind() == "thinking")
    };
    let requests = recorder.requests();
    assert!(thought(&requests[2]) && !thought(&requests[3]));
    close(session).await;
}

// proves: D2
#[tokio::test]
async fn an_effort_reaches_the_request_and_a_resume_sends_the_same() {
    let (mut world, recorder) = world("agent main\nreply \"a\"\nreply \"b\"\nreply \"c\"\nreply \"d\"\n");
    world.config.models.effort = Some(Effort::High);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    close(session).await;
    // Neither a missing flag nor another default changes it.
    world.config.models.effort = None;
    world.config.models.default_effort = Some(Effort::Low);
    let session = world.resume().await;
    turn(&session, 1, "on").await;
    close(session).await;
    world.config.models.effort = Some(Effort::Max);
    let session = world.resume().await;
    turn(&session, 2, "more").await;
    close(session).await;
    world.config.models.effort = None;
    let session = world.resume().await;
    turn(&session, 3, "and on").await;
    close(session).await;
    let efforts: Vec<String> = asked(&recorder).into_iter().filter_map(|(_, effort)| effort).collect();
    assert_eq!(efforts, ["high", "high", "max", "max"]);
    let requests = recorder.requests();
    assert!(prefix(&requests[1]).starts_with(&prefix(&requests[0])));
    assert_eq!(requests[0].extra, requests[1].extra);
}

// proves: D2
#[tokio::test]
async fn an_agent_thinks_as_much_as_its_definition_says_or_its_parent_and_what_a_model_does_not_know_is_told_once()
 {
    let (mut world, recorder) = world(&calls(&["", "subagent_type=smaller", "subagent_type=smaller cwd=."]));
    world.config.models.default_effort = Some(Effort::Medium);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let told = warnings(&mut events).await;
    close(session).await;
    let with = |model: &str, effort: Option<&str>| (model.to_owned(), effort.map(str::to_owned));
    let medium = with("big", Some("medium"));
    let expected = [&medium, &medium, &medium, &with("small", None), &medium, &with("small", None), &medium];
    assert_eq!(asked(&recorder).iter().collect::<Vec<_>>(), expected);
    assert_eq!(told, ["the effort max is left out: the model small knows low"]);
    let high: Value = json!({"effort": "medium"});
    assert_eq!(recorder.requests()[0].extra, [("output_config".to_owned(), high)]);
}
