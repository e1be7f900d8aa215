//! Coordinator mode, through the whole engine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use troupe_core::block::{Block, text_of};
use troupe_core::coordinator;
use troupe_core::def::{AgentDef, Source};
use troupe_core::entry::{Body, Entry, Origin};
use troupe_core::ids::AgentId;
use troupe_core::outcome::{EndReason, Ending};
use troupe_core::policy::{Behaviour, Mode, Rules, Scope};
use troupe_core::ports::model::{Message, Request};
use troupe_engine::Session;
use troupe_engine::bus::Subscription;
use troupe_models::script::ScriptModel;
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{SESSION, World, ended, say, turn};

/// A coordinator whose worker reports, and which then says so.
const REPORTS: &str = "agent coordinator\nreply\n  call Agent description=look prompt=\"LOOK\"\nreply \"waiting\"\nreply\n  expect \"<task-notification>\"\n  expect \"two lines\"\n  text \"it has two lines\"\nreply \"more\"\n";

/// Lets a world play a script.
fn play(world: &mut World, script: &str) -> (Arc<Recorder>, ScriptModel) {
    let model = ScriptModel::parse("test", script).unwrap();
    let recorder = Recorder::of(Arc::new(model.clone()));
    world.model = Arc::clone(&recorder) as _;
    (recorder, model)
}

fn world(script: &str) -> (World, Arc<Recorder>, ScriptModel) {
    let mut world = World::new(Arc::new(ScriptModel::parse("test", script).unwrap()));
    let (recorder, model) = play(&mut world, script);
    let own = AgentDef {
        name: "reviewer".into(),
        when: "reviews".into(),
        prompt: "You review.".into(),
        source: Source::Project("/w/reviewer.md".into()),
        ..AgentDef::default()
    };
    world.defs = vec![coordinator::definition(), coordinator::worker(), own];
    world.config.leave.mode = Some(Mode::Default);
    (world, recorder, model)
}

fn scratch(world: &World) -> PathBuf {
    world.config.place.root.join("projects/-ws").join(SESSION).join("scratch")
}

async fn entries(session: &Session) -> Vec<Arc<Entry>> {
    session.entries(&AgentId::main(), 0).await.unwrap()
}

/// Says one thing; each time that the coordinator has come to rest, lets one of the workers go on.
async fn turns(session: &Session, model: &ScriptModel, text: &str, gates: &[&str]) -> String {
    let mut events = session.subscribe(false);
    say(session, 0, text).await;
    let mut last = ended(&mut events).await;
    for gate in gates {
        model.release(gate);
        last = ended(&mut events).await;
    }
    last.text.clone()
}

fn names(request: &Request) -> Vec<String> {
    request.tools.iter().map(|tool| tool.name.to_string()).collect()
}

fn of<'r>(requests: &'r [Request], definition: &str) -> &'r Request {
    requests.iter().find(|request| request.definition == definition).unwrap()
}

fn all_text(request: &Request) -> String {
    text_of(&request.messages.iter().flat_map(Message::blocks).cloned().collect::<Vec<Block>>())
}

// proves: O1, O2, O4
#[tokio::test]
async fn a_coordinator_starts_workers_in_the_background_and_hears_of_their_ends() {
    let script = format!("{REPORTS}agent worker\nreply\n  gate look\n  text \"two lines\"\n");
    let (world, recorder, model) = world(&script);
    let session = world.start().await;
    assert_eq!(turns(&session, &model, "how many?", &["look"]).await, "it has two lines");
    let requests = recorder.requests();
    let main = of(&requests, "coordinator");
    let has = names(main);
    assert!(has.contains(&"Agent".to_owned()) && has.contains(&"TaskStop".to_owned()), "{has:?}");
    assert!(has.iter().all(|tool| coordinator::TOOLS.contains(&tool.as_str())), "{has:?}");
    assert_eq!(text_of(&main.system), coordinator::definition().prompt);
    let told = all_text(main);
    assert!(told.contains("- worker: ") && told.contains("- reviewer: reviews"), "{told}");
    assert!(!told.contains("general-purpose"), "{told}");
    // What a worker has is all the rest.
    let worker = names(of(&requests, "worker"));
    for tool in ["Bash", "Read", "Edit", "Write", "Grep", "Glob", "Agent"] {
        assert!(worker.contains(&tool.to_owned()), "{tool}: {worker:?}");
    }
    let notices = entries(&session).await;
    let notices =
        notices.iter().filter(|entry| matches!(entry.body, Body::User { from: Origin::Job(_), .. }));
    assert_eq!(notices.count(), 1);
    session.close(std::time::Duration::from_secs(10)).await;
}

// proves: O2, X5
#[tokio::test]
async fn the_mode_is_kept_across_a_resume_and_the_request_goes_on_where_it_was() {
    let script = format!("{REPORTS}agent worker\nreply\n  gate look\n  text \"two lines\"\n");
    let (world, recorder, model) = world(&script);
    let session = world.start().await;
    turns(&session, &model, "how many?", &["look"]).await;
    session.close(std::time::Duration::from_secs(10)).await;
    let before =
        recorder.requests().into_iter().rfind(|request| request.definition == "coordinator").unwrap();
    let session = world.resume().await;
    assert_eq!(session.header().unwrap().definition, coordinator::NAME);
    assert_eq!(session.tools().iter().filter(|tool| !coordinator::TOOLS.contains(&tool.as_str())).count(), 0);
    assert_eq!(turn(&session, 1, "and now?").await.text, "more");
    let after = recorder.requests().pop().unwrap();
    assert!(prefix(&after).starts_with(&prefix(&before)));
    session.close(std::time::Duration::from_secs(10)).await;
}

// proves: O3
#[tokio::test]
async fn workers_share_a_private_scratch_folder_that_needs_no_leave_and_obeys_the_rules() {
    let (mut world, ..) = world("agent main\n");
    let folder = scratch(&world);
    let file = |name: &str| json!(folder.join(name).display().to_string()).to_string();
    let script = format!(
        "agent coordinator\nreply\n  call Agent description=write prompt=WRITE\nreply \"waiting\"\nreply\n  call Agent \
         subagent_type=reviewer description=read prompt=READ\nreply \"waiting\"\nreply \"done\"\nagent worker /WRITE/\nreply\n  \
         call Write file_path={} content=found\n  call Write file_path={} content=x\n  call Write file_path=in_workspace \
         content=x\nreply\n  gate write\n  text \"written\"\nagent reviewer\nreply\n  call Bash command={}\nreply\n  gate read\n  text \"read\"\n",
        file("notes.md"),
        file("secret.md"),
        json!(format!("cat {} >> {}", folder.join("notes.md").display(), folder.join("more.md").display())),
    );
    let (recorder, model) = play(&mut world, &script);
    let mut rules = Rules::default();
    rules.add("Edit(**/secret.md)", Behaviour::Deny, Scope::User, world.workspace().to_owned()).unwrap();
    world.config.leave.rules = rules;
    let session = world.start().await;
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(turns(&session, &model, "go", &["write", "read"]).await, "done");
    assert_eq!(std::fs::read_to_string(folder.join("notes.md")).unwrap(), "found");
    assert_eq!(std::fs::read_to_string(folder.join("more.md")).unwrap(), "found", "a command may as well");
    assert!(!world.workspace().join("in_workspace").exists(), "nobody gave leave for that");
    let requests = recorder.requests();
    for definition in ["coordinator", "worker", "reviewer"] {
        let told = all_text(of(&requests, definition));
        assert!(told.contains(&format!("scratch folder: {}", folder.display())), "{definition}: {told}");
    }
    session.close(std::time::Duration::from_secs(10)).await;
}

// proves: O3
#[tokio::test]
async fn a_rule_that_denies_holds_in_the_scratch_folder() {
    let (mut world, ..) = world("agent main\n");
    let file = scratch(&world).join("secret.md");
    let script = format!(
        "agent coordinator\nreply\n  call Agent description=write prompt=WRITE\nreply \"waiting\"\nreply \"done\"\nagent \
         worker\nreply\n  call Write file_path={} content=x\nreply\n  gate write\n  text \"tried\"\n",
        json!(file.display().to_string())
    );
    let (_, model) = play(&mut world, &script);
    let rule = format!("Edit(/{})", file.display());
    let base = world.workspace().to_owned();
    world.config.leave.rules.add(&rule, Behaviour::Deny, Scope::User, base).unwrap();
    let session = world.start().await;
    assert_eq!(turns(&session, &model, "go", &["write"]).await, "done");
    assert!(!file.exists());
    session.close(std::time::Duration::from_secs(10)).await;
}

// proves: O1
#[tokio::test]
async fn flags_that_name_tools_are_for_the_workers() {
    let (mut world, recorder, model) =
        world(&format!("{REPORTS}agent worker\nreply\n  gate look\n  text \"two lines\"\n"));
    world.config.pool.only = Some(vec!["Read".into()]);
    let session = world.start().await;
    turns(&session, &model, "how many?", &["look"]).await;
    assert!(session.tools().contains(&"Agent".to_owned()));
    assert_eq!(names(of(&recorder.requests(), "worker")), ["Read"]);
    session.close(std::time::Duration::from_secs(10)).await;
}

/// What a person's interrupt ends is the coordinator's turn; every call stays answered, and the session goes on.
// proves: O2, E7
#[tokio::test]
async fn interrupted_at_any_event_every_call_is_answered_and_the_session_goes_on() {
    use troupe_core::event::EventKind;
    use troupe_core::input::Input;
    use troupe_engine::bus::Heard;

    async fn until_end(session: &Session, events: &mut Subscription, model: &ScriptModel, at: usize) -> bool {
        let mut heard = 0;
        loop {
            let Heard::Event(event) = events.next().await else { continue };
            heard += 1;
            if heard == at {
                session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
            }
            if let EventKind::Ended(envelope) = &event.kind
                && event.agent.is_main()
            {
                model.release("look");
                if heard >= at || envelope.text == "it has two lines" {
                    return heard >= at;
                }
            }
        }
    }
    for at in 1..500 {
        let (world, _, model) =
            world(&format!("{REPORTS}agent worker\nreply\n  gate look\n  text \"two lines\"\n"));
        let session = world.start().await;
        let mut events = session.subscribe(true);
        say(&session, 0, "how many?").await;
        let wait = until_end(&session, &mut events, &model, at);
        let reached = tokio::time::timeout(troupe_testkit::world::LIMIT, wait).await.unwrap();
        session.close(std::time::Duration::from_secs(10)).await;
        let session = world.resume().await;
        troupe_testkit::ways::check_answers(&format!("interrupt {at}"), &entries(&session).await);
        assert_eq!(session.header().unwrap().definition, coordinator::NAME);
        session.close(std::time::Duration::from_secs(10)).await;
        if !reached {
            return;
        }
    }
    panic!("the sweep does not end");
}

/// A crash after each append leaves a coordinator's session, whose open calls are answered once.
// proves: O2, E7
#[tokio::test]
async fn crashed_after_any_append_it_goes_on_as_a_coordinator() {
    use troupe_engine::Start;
    use troupe_testkit::faults::Death;
    use troupe_testkit::world::session as id;

    for appends in 2..200 {
        let (world, _, model) =
            world(&format!("{REPORTS}agent worker\nreply\n  gate look\n  text \"two lines\"\n"));
        let death = Death::after(appends);
        let journal = death.journal(Arc::clone(&world.journal));
        let parts = world.parts(Arc::clone(&journal));
        let play = async {
            let session = Session::open(parts, world.config.clone(), Start::New(id())).await.ok()?;
            let text = turns(&session, &model, "how many?", &["look"]).await;
            session.close(std::time::Duration::from_secs(10)).await;
            Some(text)
        };
        let whole = tokio::select! {
            biased;
            text = play => text,
            () = death.comes() => None,
        };
        if whole.as_deref() == Some("it has two lines") {
            return;
        }
        let session = world.resume().await;
        assert!(session.tools().iter().all(|tool| coordinator::TOOLS.contains(&tool.as_str())));
        let entries = entries(&session).await;
        session.close(std::time::Duration::from_secs(10)).await;
        let closed = entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Closed(envelope) => Some((envelope.ending, envelope.reason.clone())),
            _ => None,
        });
        assert!(!matches!(closed, Some((Ending::Failed, EndReason::Store))), "append {appends}");
    }
    panic!("the sweep does not end");
}
