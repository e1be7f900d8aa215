//! Forks: what they send, what they may do, and how they come back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::outcome::{Ending, Envelope};
use troupe_core::policy::Mode;
use troupe_core::ports::model::{Request, Role};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_models::script::ScriptModel;
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{LIMIT, World, say, turn};

/// A call of the Agent tool that waits.
const WAIT: &str = "run_in_background=false";

fn world(script: &str) -> (World, Arc<Recorder>, Arc<ScriptModel>) {
    let script = Arc::new(ScriptModel::parse("test", script).unwrap());
    let recorder = Recorder::of(Arc::clone(&script) as _);
    let mut world = World::new(Arc::clone(&recorder) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.config.forks.enabled = true;
    (world, recorder, script)
}

async fn entries(session: &Session, agent: &AgentId) -> Vec<Arc<Entry>> {
    session.entries(agent, 0).await.unwrap()
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

/// Waits for the end of an agent below the main one.
async fn child_ended(events: &mut Subscription) -> (AgentId, Arc<Envelope>) {
    let wait = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && let EventKind::Ended(envelope) = &event.kind
                && !event.agent.is_main()
            {
                return (event.agent.clone(), Arc::clone(envelope));
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap()
}

fn of<'r>(requests: &'r [Request], definition: &str) -> Vec<&'r Request> {
    requests.iter().filter(|request| request.definition == definition).collect()
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

// proves: C6, A3, F199, F202
#[tokio::test]
async fn a_fork_sends_its_parents_request_and_reply_then_placeholders_and_its_directive() {
    let script = format!(
        "agent main\nreply\n  call Read file_path=a.txt\nreply\n  think \"two parts\"\n  text \"I split it.\"\n  call Read file_path=a.txt\n  call Agent description=one prompt=\"part one\" {WAIT}\n  call Agent description=two subagent_type=fork prompt=\"part two\" {WAIT}\nreply \"done\"\nagent fork\nreply \"Scope: it.\"\n"
    );
    let (world, recorder, _) = world(&script);
    world.write("a.txt", "one\n");
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.ending, Ending::Completed);
    let requests = recorder.requests();
    let parent =
        requests.iter().rfind(|request| request.definition == "main" && request.replies == 1).unwrap();
    let forks = of(&requests, "fork");
    assert_eq!(forks.len(), 2);
    for fork in &forks {
        assert!(prefix(fork).starts_with(&prefix(parent)));
        assert_eq!(
            (&fork.model, fork.max_tokens, &fork.extra),
            (&parent.model, parent.max_tokens, &parent.extra)
        );
        let [before @ .., reply, last] = fork.messages.as_slice() else { panic!("messages") };
        assert_eq!(before, parent.messages.as_slice());
        let kinds: Vec<&str> = reply.blocks().map(Block::kind).collect();
        assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use", "tool_use"], "the whole reply");
        assert_eq!(last.role, Role::User);
        let answers: Vec<&Block> = last.blocks().take(3).collect();
        let texts = answers.iter().map(|block| match block {
            Block::ToolResult { content, is_error: false, .. } => text_of(content),
            other => panic!("{other:?}"),
        });
        let mut texts: Vec<String> = texts.collect();
        texts.dedup();
        assert_eq!(texts.len(), 1, "placeholders are identical");
    }
    let [one, two] = forks.as_slice() else { panic!("two forks") };
    let task = |request: &Request| request.messages.last().unwrap().blocks().last().cloned();
    let mut tasks = [task(one), task(two)].map(|task| task.unwrap().as_text().unwrap().to_owned());
    tasks.sort();
    assert_eq!(tasks, ["part one", "part two"]);
    let shared = |request: &Request| {
        let text = prefix(request);
        text[..text.rfind('\n').unwrap()].to_owned()
    };
    assert_eq!(shared(one), shared(two), "the task is all that differs");
    close(session).await;
}

// proves: A3, C8, F014, c014-1
#[tokio::test]
async fn both_forks_run_in_the_background_and_a_forks_own_fork_is_refused_for_good() {
    let script = "agent main\nreply\n  call Agent description=one prompt=\"F1 tries\"\nreply\n  call Agent description=two prompt=\"F2 works\"\nreply \"both started\"\nreply \"told\"\nreply \"told\"\nagent fork /F2 works/\nreply \"Scope: two.\"\nagent fork\nreply\n  call Agent description=three prompt=\"F3\"\nreply\n  call Agent description=four subagent_type=fork prompt=\"F4\"\nreply \"Scope: one.\"\n";
    // The list of a script is found by the first message, which both forks share: one is told apart by its task.
    let (world, recorder, _) = world(&script.replace(" /F2 works/", " /nobody/"));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go <fork> go").await;
    let mut ended = Vec::new();
    for _ in 0..2 {
        ended.push(child_ended(&mut events).await);
    }
    for (agent, envelope) in &ended {
        assert_eq!((envelope.ending, envelope.text.as_str()), (Ending::Completed, "Scope: one."), "{agent}");
        let told = results(&entries(&session, agent).await);
        assert_eq!(told.len(), 2);
        assert!(
            told.iter().all(|text| text.contains("can't fork") && text.contains("permanent")),
            "{told:?}"
        );
    }
    let main = results(&entries(&session, &AgentId::main()).await);
    assert!(main.iter().all(|text| text.contains("background")), "{main:?}");
    let marked =
        of(&recorder.requests(), "main").iter().any(|request| prefix(request).contains("You are a fork"));
    assert!(!marked, "the mark never stands in the parent");
    close(session).await;
}
