//! The program dies in the middle of a send.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use troupe_core::BoxFuture;
use troupe_core::ids::AgentId;
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};
use troupe_engine::Start;
use troupe_engine::journal::{FileJournal, Locking};
use troupe_testkit::World;
use troupe_testkit::faults::Death;
use troupe_testkit::reading::{close, ends, entries_of, mails, notices, opened, results};
use troupe_testkit::world::{ended, say, session};

use super::stage::{gone, main_says, open_on, reopen};

const SCRIPT: &str = "agent main\n\
     reply\n  call Launch name=w\n\
     reply\n  call SendMessage to=w message=\"the second part\"\n\
     reply \"sent\"\n\
     reply \"told\"\n\
     agent general-purpose\n\
     reply \"the first part is done\"\n\
     reply\n  expect \"the second part\"\n  text \"the second part is done\"\n";

// proves: B7, E7
#[tokio::test]
async fn a_message_arrives_once_wherever_the_program_dies() {
    let mut whole = false;
    for appends in 1..200 {
        let (world, _) = World::playing(SCRIPT);
        let death = Death::after(appends);
        let journal = death.journal(Arc::clone(&world.journal));
        let played = async {
            let session = open_on(&world, Arc::clone(&journal), Start::New(session())).await;
            let mut events = session.subscribe(false);
            say(&session, 0, "go").await;
            // The notice is read within the turn, or begins another.
            while notices(&entries_of(&session, &AgentId::main()).await).is_empty() {
                ended(&mut events).await;
            }
            close(session).await;
        };
        whole = tokio::select! {
            biased;
            () = played => true,
            () = death.comes() => false,
        };
        if whole {
            break;
        }
        after_a_crash(&world, appends).await;
    }
    assert!(whole, "the sweep came to its end");
}

async fn after_a_crash(world: &World, appends: usize) {
    let transcript = Key::new(format!("projects/-ws/{}", session())).unwrap();
    if world.journal.read(&transcript, 0).await.unwrap().is_empty() {
        return;
    }
    let session = reopen(world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let main = AgentId::main();
    // It goes on, or the first run was over and nothing more comes.
    if session.is_pending() || ends(&entries_of(&session, &main).await) == 0 {
        ended(&mut events).await;
    }
    let all = entries_of(&session, &main).await;
    let told = results(&all);
    let sent = told.iter().any(|text| text.starts_with("Sent to w"));
    let lost_child = told.first().is_some_and(|text| text.contains("The program ended"));
    assert!(sent || lost_child || told.len() < 2, "after {appends}: the send was made good: {told:?}");
    if sent {
        let id = told
            .iter()
            .find_map(|text| text.split_once("w (")?.1.split_once(')').map(|(id, _)| AgentId::new(id)));
        let id = id.unwrap();
        // Nobody has to take it up once more.
        gone(&session, &id).await;
        let read = mails(&entries_of(&session, &id).await);
        assert_eq!(read.len(), 1, "after {appends}: it arrives once: {read:?}");
    }
    close(session).await;
}

/// A journal in whose process no agent below the main one writes anything after its first end.
struct Mute {
    inner: Arc<dyn Journal>,
    is_mute: AtomicBool,
}

impl Journal for Mute {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        Box::pin(async move {
            if key.as_str().contains("/subagents/") {
                if self.is_mute.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                let is_end =
                    record.0.iter().any(|line| line.get("kind").is_some_and(|kind| kind == "closed"));
                self.is_mute.store(is_end, Ordering::SeqCst);
            }
            self.inner.append(key, expect, record).await
        })
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.inner.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.inner.read(key, after)
    }
}

/// A session whose process died once the main agent had heard that the ended agent goes on, and before that one wrote
/// anything; and that agent.
async fn woken_and_killed(world: &World) -> AgentId {
    let journal = Mute { inner: Arc::clone(&world.journal), is_mute: AtomicBool::new(false) };
    let session = open_on(world, Arc::new(journal), Start::New(session())).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let w = opened(&mut events, "w").await;
    main_says(&mut events, "sent").await;
    let told = results(&entries_of(&session, &AgentId::main()).await);
    assert!(told[1].contains("goes on in the background"), "{told:?}");
    assert_eq!(mails(&entries_of(&session, &w).await), [""; 0]);
    w
}

// proves: B7, E7
#[tokio::test]
async fn an_ended_agent_that_was_to_go_on_does_so_in_the_next_process() {
    for by_digest in [true, false] {
        let (mut world, _) = World::playing(SCRIPT);
        if by_digest {
            // One in memory has all of a transcript read.
            world.journal = Arc::new(FileJournal::new(world.config.place.root.clone(), Locking::Leased));
        }
        let w = woken_and_killed(&world).await;
        let session = reopen(&world).await;
        let mut events = session.subscribe(false);
        main_says(&mut events, "told").await;
        let read = entries_of(&session, &w).await;
        assert_eq!((mails(&read).len(), ends(&read)), (1, 2), "{by_digest}");
        let told = notices(&entries_of(&session, &AgentId::main()).await);
        assert!(matches!(&told[..], [(_, text)] if text.contains("the second part is done")), "{told:?}");
        close(session).await;
        // And that once: nothing is left that begins a further run.
        let session = reopen(&world).await;
        assert!(!session.is_pending() && session.roster().len() == 1);
        close(session).await;
    }
}

// proves: B7
#[tokio::test]
async fn it_does_not_where_the_person_stopped_it_before_it_began() {
    let (world, _) = World::playing(SCRIPT);
    let w = woken_and_killed(&world).await;
    let inbox = Key::new(format!("projects/-ws/{}/inbox/{w}", session())).unwrap();
    let stop = [("stopped".to_owned(), true.into())].into_iter().collect();
    world.journal.append(&inbox, None, Record(vec![stop])).await.unwrap();
    let session = reopen(&world).await;
    assert_eq!(session.roster().len(), 1, "only the main agent lives");
    close(session).await;
    assert_eq!(world.journal.read(&inbox, 0).await.unwrap().len(), 3, "the run, its message, and the stop");
}
