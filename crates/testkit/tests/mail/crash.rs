//! The program dies in the middle of a send.

use std::sync::Arc;

use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::ports::journal::Key;
use troupe_engine::Start;
use troupe_testkit::World;
use troupe_testkit::faults::DyingJournal;
use troupe_testkit::reading::{close, ends, entries_of, mails, notices, results};
use troupe_testkit::world::{ended, prompt, say, session};

use super::stage::{gone, open_on, reopen};

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
        let journal = DyingJournal::after(Arc::clone(&world.journal), appends);
        let played = async {
            let session = open_on(&world, Arc::clone(&journal) as _, Start::New(session())).await;
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
            () = journal.died() => false,
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
        if session.roster().iter().all(|member| member.header.agent != id) {
            // Whoever takes it up finds the message.
            let Input::Prompt(prompt) = prompt(1, "go on") else { unreachable!("a prompt is one") };
            session.resume_agent(&id, prompt).await.unwrap();
        }
        gone(&session, &id).await;
        let read = mails(&entries_of(&session, &id).await);
        assert_eq!(read.len(), 1, "after {appends}: it arrives once: {read:?}");
    }
    close(session).await;
}
