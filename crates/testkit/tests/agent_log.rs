//! The log of agents has a line for each run that ended and for each team, and is part of no conversation.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use troupe_core::def::{AgentDef, Source};
use troupe_core::ids::AgentId;
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};
use troupe_core::ports::model::{Delta, Model, ModelError, ModelInfo, Request};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::export::LogLine;
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{close, eventually, is_at_rest};
use troupe_testkit::world::{LIMIT, SESSION, World, say, session, turn};

/// The lines of the log.
async fn log(world: &World) -> Vec<Value> {
    let key = Key::new(format!("projects/-ws/{SESSION}/agents")).unwrap();
    let mut lines: Vec<Value> = Vec::new();
    for found in world.journal.read(&key, 0).await.unwrap() {
        let Found::Record(_, Record(maps)) = found else { panic!("{found:?}") };
        lines.extend(maps.into_iter().map(Value::Object));
    }
    lines
}

/// A session that exports, on a journal, and what it exports.
async fn exporting(world: &World, journal: Arc<dyn Journal>) -> (Session, Arc<Mutex<Vec<LogLine>>>) {
    let exported = Arc::new(Mutex::new(Vec::new()));
    let mut parts = world.parts(journal);
    let lines = Arc::clone(&exported);
    parts.export = Some(Arc::new(move |line| lines.lock().unwrap().push(line)));
    let session = Session::open(parts, world.config.clone(), Start::New(session())).await.unwrap();
    (session, exported)
}

// proves: B10
#[tokio::test]
async fn each_agent_that_ended_has_a_line() {
    let script = "agent main\nreply\n  call Agent description=\"a part\" prompt=\"do it\"\n  call Agent description=\"look\" prompt=\"look\" subagent_type=Explore\nreply \"done\"\nagent general-purpose\nreply \"a report\"\nagent Explore\nreply\n  call Glob pattern=\"*\"\nreply \"nothing\"\n";
    let world = World::new(Arc::new(ScriptModel::parse("log", script).unwrap()));
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    session.close(LIMIT).await;
    let mut lines = log(&world).await;
    lines.sort_by_key(|line| line["agentType"].to_string());
    let short = |line: &Value| {
        ["agentType", "builtIn", "promptChars", "responseChars", "messages", "requests", "toolUses", "ending"]
            .map(|key| line[key].clone())
    };
    let all: Vec<_> = lines.iter().map(short).collect();
    let explore = ["Explore", "general-purpose"].map(Value::from);
    assert_eq!(
        all,
        [
            [
                explore[0].clone(),
                json!(true),
                json!(4),
                json!(7),
                json!(4),
                json!(2),
                json!(1),
                json!("completed")
            ],
            [
                explore[1].clone(),
                json!(true),
                json!(5),
                json!(8),
                json!(2),
                json!(1),
                json!(0),
                json!("completed")
            ],
        ]
    );
}

const TEAM: &str = "agent main\n\
     reply\n  call TeamCreate team_name=secret-team\n\
     reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=secret-ann subagent_type=secret-type model=secret-model\n\
     reply \"started\"\n\
     reply\n  call SendMessage to=secret-ann summary=\"go on\" message=\"one more\"\n\
     reply \"sent\"\n\
     reply\n  call TeamDelete\n\
     reply \"gone\"\n\
     agent secret-type\n\
     reply\n  call Glob pattern=\"*\"\n\
     reply \"painted\"\n\
     reply \"once more\"\n";

/// A world with teams, and a definition that lies in a repository.
fn team_world() -> World {
    let (mut world, _) = World::playing(TEAM);
    world.config.teams.enabled = true;
    let source = Source::Project("/ws/.claude/agents/secret-type.md".into());
    world.defs.push(AgentDef { name: "secret-type".to_owned(), source, ..AgentDef::default() });
    world
}

/// Plays it to its end.
async fn play(session: Session) {
    for number in 0..3 {
        say(&session, number, "go").await;
        eventually("all rest", || async { !session.members_at_work() && is_at_rest(&session).await }).await;
    }
    close(session).await;
}

// proves: B10
#[tokio::test]
async fn each_run_of_a_member_has_a_line_and_so_has_a_team_that_comes_and_goes() {
    let world = team_world();
    play(world.start().await).await;
    let lines = log(&world).await;
    let short = |line: &Value| {
        ["type", "agentId", "promptChars", "messages", "responseChars"].map(|key| line[key].clone())
    };
    let ann = json!("secret-ann@secret-team");
    let all: Vec<_> = lines.iter().map(short).collect();
    assert_eq!(all[0], [json!("team_created"), Value::Null, Value::Null, Value::Null, Value::Null]);
    assert_eq!(all[1], [json!("agent_ended"), ann.clone(), json!(6), json!(4), json!(7)]);
    // The mail is in its tag.
    assert_eq!([&all[2][1], &all[2][3], &all[2][4]], [&ann, &json!(2), &json!(9)]);
    assert_eq!(all[3][0], "team_deleted");
    assert_eq!(all.len(), 4, "{lines:?}");
    assert_eq!((&lines[0]["team"], &lines[3]["team"]), (&json!("secret-team"), &json!("secret-team")));
}

// proves: B10
#[tokio::test]
async fn a_team_that_goes_with_its_session_has_a_line_too() {
    let world = team_world();
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "started");
    close(session).await;
    let events: Vec<_> = log(&world).await.iter().map(|line| line["type"].clone()).collect();
    assert_eq!((&events[0], events.last().unwrap()), (&json!("team_created"), &json!("team_deleted")));
}

// proves: B10
#[tokio::test]
async fn no_name_leaves_that_a_model_or_a_repository_chose() {
    let mut world = team_world();
    world.model = Arc::new(Named(Arc::clone(&world.model)));
    let (session, exported) = exporting(&world, Arc::clone(&world.journal)).await;
    play(session).await;
    let exported = exported.lock().unwrap().clone();
    assert_eq!(exported.len(), 4);
    let text = format!("{exported:?}");
    assert!(!text.contains("secret"), "{text}");
    let of = |line: usize, field: &str| exported[line].fields[field].as_str().unwrap();
    assert!(of(1, "agentId").starts_with("sha256:") && of(1, "agentId").len() == 19, "{text}");
    assert_eq!(of(1, "agentId"), of(2, "agentId"), "lines of one member can be put together");
    assert_eq!(of(0, "team"), of(3, "team"));
    assert_eq!(of(1, "parentAgentId"), AgentId::main().as_str(), "nobody chose that");
    // The local log keeps the names.
    let local = &log(&world).await[1];
    assert_eq!((&local["agentType"], &local["model"]), (&json!("secret-type"), &json!("secret-model")));
}

// proves: B10
#[tokio::test]
async fn names_of_the_program_and_the_person_are_exported_as_they_are() {
    let script = "agent main\nreply\n  call Agent description=\"look\" prompt=\"look\" subagent_type=Explore\nreply \"done\"\n\
                  agent Explore\nreply \"nothing\"\n";
    let (mut world, _) = World::playing(script);
    world.model = Arc::new(Named(Arc::clone(&world.model)));
    let (session, exported) = exporting(&world, Arc::clone(&world.journal)).await;
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    close(session).await;
    let exported = exported.lock().unwrap().clone();
    let local = &log(&world).await[0];
    for field in ["agentId", "parentAgentId", "agentType", "model"] {
        assert_eq!(exported[0].fields[field], local[field], "{field}");
    }
}

/// A provider that takes every model's name at its word.
struct Named(Arc<dyn Model>);

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
        ModelInfo { id: name.to_owned(), ..self.0.info(name) }
    }
}

/// A journal whose log of agents takes nothing, and how often it did not.
struct NoLog(Arc<dyn Journal>, AtomicUsize);

impl Journal for NoLog {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        if key.as_str().ends_with("/agents") {
            self.1.fetch_add(1, Ordering::SeqCst);
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            let path = key.as_str().to_owned();
            return Box::pin(std::future::ready(Err(JournalError::Io { action: "append to", path, source })));
        }
        self.0.append(key, expect, record)
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.0.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.0.read(key, after)
    }
}

// proves: B10
#[tokio::test]
async fn what_the_log_did_not_take_is_not_exported() {
    let world = team_world();
    let full = Arc::new(NoLog(Arc::clone(&world.journal), AtomicUsize::new(0)));
    let (session, exported) = exporting(&world, Arc::clone(&full) as _).await;
    play(session).await;
    assert_eq!(full.1.load(Ordering::SeqCst), 4);
    assert_eq!(*exported.lock().unwrap(), []);
}
