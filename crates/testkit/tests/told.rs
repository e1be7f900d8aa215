//! What an agent is told of the ends of its jobs: each once, by a result or by a notice, wherever the program dies.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Origin};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_core::ports::journal::Journal;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::session::OpenError;
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::faults::Death;
use troupe_testkit::world::{LIMIT, World, ended, say, session, turn};

const CLOSE: Duration = Duration::from_secs(10);

fn world(script: &str) -> (World, Arc<ScriptModel>) {
    let model = Arc::new(ScriptModel::parse("test", script).unwrap());
    let mut world = World::new(Arc::clone(&model) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    // What a later process finds of agents are their files.
    world.journal = Arc::new(FileJournal::new(world.config.place.root.clone(), Locking::Leased));
    (world, model)
}

async fn open(world: &World, journal: Arc<dyn Journal>, start: Start) -> Result<Session, OpenError> {
    Session::open(world.parts(journal), world.config.clone(), start).await
}

async fn entries(session: &Session) -> Vec<Arc<Entry>> {
    session.entries(&AgentId::main(), 0).await.unwrap()
}

/// How often results and notices of the main agent have these words.
async fn times(session: &Session, words: &str) -> (usize, usize) {
    let (mut results, mut notices) = (0, 0);
    for entry in entries(session).await {
        match &entry.body {
            Body::Result { blocks, .. } => {
                let text = serde_json::to_string(&blocks.iter().map(Block::to_value).collect::<Vec<_>>());
                results += usize::from(text.unwrap().contains(words));
            }
            Body::User { from: Origin::Job(_), blocks, .. } => {
                notices += usize::from(text_of(blocks).contains(words));
            }
            _ => {}
        }
    }
    (results, notices)
}

/// Waits until the main agent is idle and has nothing to read.
async fn idle(session: &Session, events: &mut Subscription) {
    let wait = async {
        loop {
            match events.next().await {
                Heard::Event(event) if event.agent.is_main() => {
                    let rests = matches!(event.kind, EventKind::Phase(troupe_core::event::Phase::Idle(_)));
                    if rests
                        && session.waiting(&AgentId::main()).is_empty()
                        && session.background_jobs().is_empty()
                    {
                        return;
                    }
                }
                Heard::Closed => return,
                Heard::Event(_) | Heard::Missed(_) => {}
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap();
}

/// The main agent starts one, and waits for it by a look; the agent ends once the look has begun.
const LOOK: &str = "agent main\n\
    reply\n  call Agent description=look name=bob run_in_background=true prompt=look\n\
    reply\n  call TaskOutput task_id=bob\n\
    reply \"done\"\nreply \"noted\"\nreply \"noted\"\n\
    agent general-purpose\nreply\n  gate go\n  text \"found it\"\n";

/// Plays until the main agent is idle, and lets the agent end once a second call has started.
async fn play(session: &Session, model: &ScriptModel) {
    let mut events = session.subscribe(false);
    say(session, 0, "go").await;
    let mut starts = session.subscribe(false);
    let started =
        entries(session).await.iter().filter(|entry| matches!(entry.body, Body::Started { .. })).count();
    let release = async {
        let mut left = 2_usize.saturating_sub(started);
        while left > 0 {
            match starts.next().await {
                Heard::Event(event) if event.agent.is_main() => {
                    let EventKind::Appended(entry) = &event.kind else { continue };
                    left -= usize::from(matches!(entry.body, Body::Started { .. }));
                }
                Heard::Closed => return,
                Heard::Event(_) | Heard::Missed(_) => {}
            }
        }
        model.release("go");
    };
    tokio::join!(release, idle(session, &mut events));
}

// proves: X1, E7
#[tokio::test]
async fn a_look_at_an_end_tells_of_it_once_wherever_the_program_dies() {
    let mut results_and_notices = Vec::new();
    for appends in 1..200 {
        let (world, model) = world(LOOK);
        let death = Death::after(appends);
        let journal = death.journal(Arc::clone(&world.journal));
        let played = async {
            let Ok(session) = open(&world, Arc::clone(&journal), Start::New(session())).await else {
                return;
            };
            play(&session, &model).await;
            session.close(CLOSE).await;
        };
        let whole = tokio::select! {
            biased;
            () = played => true,
            () = death.comes() => false,
        };
        let again = open(&world, Arc::clone(&world.journal), Start::Resume(session())).await;
        let Ok(session) = again else { continue };
        if !whole {
            play(&session, &model).await;
        }
        let told = times(&session, "found it").await;
        assert_eq!(told.0 + told.1, 1, "after {appends}: (results, notices) {told:?}");
        results_and_notices.push(told);
        session.close(CLOSE).await;
        if whole {
            assert!(results_and_notices.contains(&(1, 0)));
            return;
        }
    }
    panic!("the sweep came to no end");
}

/// A call that waits for an agent.
const WAIT: &str = "agent main\n\
    reply\n  call Agent description=look prompt=look\n\
    reply \"done\"\n\
    agent general-purpose\nreply \"found it\"\n";

// proves: A6, E7
#[tokio::test]
async fn a_call_is_recorded_with_the_agent_that_it_starts_wherever_the_program_dies() {
    let mut made_again = 0;
    for appends in 1..200 {
        let (world, _) = world(WAIT);
        let death = Death::after(appends);
        let journal = death.journal(Arc::clone(&world.journal));
        let played = async {
            let Ok(session) = open(&world, Arc::clone(&journal), Start::New(session())).await else {
                return;
            };
            turn(&session, 0, "go").await;
            session.close(CLOSE).await;
        };
        let whole = tokio::select! {
            biased;
            () = played => true,
            () = death.comes() => false,
        };
        let again = open(&world, Arc::clone(&world.journal), Start::Resume(session())).await;
        let Ok(session) = again else { continue };
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        if !whole && session.is_pending() {
            ended(&mut events).await;
        }
        let entries = entries(&session).await;
        let started = entries.iter().filter_map(|entry| match &entry.body {
            Body::Started { job, .. } => Some(job.clone().unwrap()),
            _ => None,
        });
        let result = entries.iter().find_map(|entry| match &entry.body {
            Body::Result { data, .. } => Some(data.as_deref().cloned().unwrap_or_default()),
            _ => None,
        });
        let started: Vec<_> = started.collect();
        let agents = std::fs::read_dir(
            world.folder().join("state/projects/-ws").join(session.id().as_str()).join("subagents"),
        );
        let agents = agents
            .into_iter()
            .flatten()
            .flatten()
            .filter(|file| file.path().extension().is_some_and(|is| is == "jsonl"));
        let agents: Vec<_> = agents.map(|file| file.file_name().into_string().unwrap()).collect();
        session.close(CLOSE).await;
        let Some(result) = result else { continue };
        assert_eq!(result["status"], "completed", "after {appends}");
        if let [one] = &agents[..] {
            assert_eq!(*one, format!("agent-{}.jsonl", started[0]), "after {appends}");
            assert_eq!(result["agentId"], started[0].as_str(), "after {appends}");
            made_again += 1;
        } else {
            // It died when the agent had a header, and no task yet.
            assert_eq!(agents.len(), 2, "after {appends}: {agents:?}");
        }
        if whole {
            assert!(made_again > 3, "{made_again}");
            return;
        }
    }
    panic!("the sweep came to no end");
}
