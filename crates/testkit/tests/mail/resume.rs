//! Agents that have ended and are taken up again.

use std::sync::Arc;

use troupe_core::entry::{Body, Setting};
use troupe_core::ids::AgentId;
use troupe_core::input::{Input, Prompt};
use troupe_core::outcome::Ending;
use troupe_core::policy::Mode;
use troupe_engine::Session;
use troupe_engine::session::ResumeError;
use troupe_testkit::reading::{close, ends, entries_of, mails, notices, opened, results};
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{World, prompt, say, turn};

use super::stage::{end_of, main_says, open, reopen};

fn persons(number: usize, text: &str) -> Prompt {
    match prompt(number, text) {
        Input::Prompt(prompt) => prompt,
        _ => unreachable!("a prompt is one"),
    }
}

async fn main_entries(session: &Session) -> Vec<Arc<troupe_core::entry::Entry>> {
    entries_of(session, &AgentId::main()).await
}

/// The main agent starts one that ends, and writes to it as often as it has replies for.
const WAKES: &str = "agent main\n\
     reply\n  call Launch name=w prompt=\"read it all\"\n\
     reply \"started\"\n\
     reply\n  call SendMessage to=w message=\"first\"\n\
     reply \"sent\"\n\
     reply \"told\"\n\
     reply\n  call SendMessage to=w message=\"second\"\n\
     reply \"sent\"\n\
     reply \"told\"\n\
     agent general-purpose\n\
     reply\n  think \"hm\"\n  call Glob pattern=\"*\"\n\
     reply \"have read\"\n\
     reply\n  expect \"first\"\n  gate one\n  text \"one\"\n\
     reply\n  expect \"second\"\n  gate two\n  text \"two\"\n";

// proves: B7, F197, F201, X5
#[tokio::test]
async fn an_ended_agent_goes_on_with_the_same_id_and_prefix_and_each_end_is_told_once() {
    let (_, model) = World::playing(WAKES);
    let recorder = Recorder::of(Arc::new(model.clone()));
    let world = World::unasked(recorder.clone());
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let w = opened(&mut events, "w").await;
    main_says(&mut events, "started").await;
    for (number, gate) in [(1, "one"), (2, "two")] {
        say(&session, number, "ask it").await;
        main_says(&mut events, "sent").await;
        model.release(gate);
        main_says(&mut events, "told").await;
    }
    let read = entries_of(&session, &w).await;
    assert_eq!((ends(&read), mails(&read).len()), (3, 2));
    let all = main_entries(&session).await;
    let notices = notices(&all);
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].1.contains("<result>one</result>") && notices[1].1.contains("<result>two</result>"));
    assert!(
        results(&all)[1].contains(&format!("goes on in the background as task {w}")),
        "{:?}",
        results(&all)
    );
    let requests = recorder.requests();
    let own: Vec<String> = requests.iter().filter(|request| request.agent == w).map(prefix).collect();
    assert_eq!(own.len(), 4);
    for pair in own.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "the earlier request is a prefix of the next");
    }
    assert_eq!(session.roster().len(), 1);
    close(session).await;
}

// proves: B7, A10
#[tokio::test]
async fn an_agent_of_an_earlier_process_is_rebuilt_from_its_transcript_and_reached_by_name() {
    let (world, model) = World::playing(WAKES);
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let w = opened(&mut events, "w").await;
    main_says(&mut events, "started").await;
    close(session).await;
    for (number, gate) in [(1, "one"), (2, "two")] {
        let session = reopen(&world).await;
        let mut events = session.subscribe(false);
        say(&session, number, "ask it").await;
        assert_eq!(opened(&mut events, "w").await, w);
        main_says(&mut events, "sent").await;
        model.release(gate);
        main_says(&mut events, "told").await;
        assert_eq!(ends(&entries_of(&session, &w).await), number + 1);
        assert_eq!(notices(&main_entries(&session).await).len(), number);
        close(session).await;
    }
}

// proves: S1
#[tokio::test]
async fn its_mode_follows_from_what_holds_now() {
    let (world, model) = World::playing(WAKES);
    model.release("one");
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let w = opened(&mut events, "w").await;
    main_says(&mut events, "started").await;
    session.send(&AgentId::main(), Input::Set(Setting::Mode(Mode::Plan))).await.unwrap();
    say(&session, 1, "ask it").await;
    end_of(&mut events, &w).await;
    let read = entries_of(&session, &w).await;
    let modes: Vec<_> = read.iter().filter(|entry| matches!(entry.body, Body::Set(_))).collect();
    assert!(matches!(modes[..], [set] if set.body == Body::Set(Setting::Mode(Mode::Plan))), "{modes:?}");
    close(session).await;
}

// proves: B7
#[tokio::test]
async fn what_can_not_go_on_is_refused_with_the_reason() {
    let (mut world, model) = World::playing(
        "agent main\n\
         reply\n  call Launch name=look type=Explore\n  call Launch name=w\n  call Launch name=deep\n\
         reply\n  call SendMessage to=look message=\"more\"\n\
         reply \"x\"\n\
         reply\n  call SendMessage to=w message=\"more\"\n  call SendMessage to=deep message=\"more\"\n\
         reply \"y\"\n\
         agent Explore\nreply \"seen\"\n\
         agent general-purpose\nreply \"done\"\nreply \"done\"\n",
    );
    drop(model);
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    opened(&mut events, "look").await;
    let w = opened(&mut events, "w").await;
    main_says(&mut events, "x").await;
    let told = results(&main_entries(&session).await);
    assert!(told[3].contains("`Explore` are done with their report; start a new one"), "{told:?}");
    close(session).await;
    // Now agents may nest less deep than that one, and its type is gone.
    world.config.ceilings.depth = 0;
    let session = reopen(&world).await;
    assert_eq!(turn(&session, 1, "again").await.text, "y");
    let told = results(&main_entries(&session).await);
    assert!(told[4].contains("nest 0 deep") && told[5].contains("nest 0 deep"), "{told:?}");
    close(session).await;
    world.defs.retain(|def| def.name != "general-purpose");
    let session = reopen(&world).await;
    let gone = session.resume_agent(&w, persons(2, "go on")).await.unwrap_err();
    assert!(matches!(gone, ResumeError::NoDefinition { .. }), "{gone}");
    let unknown = session.resume_agent(&AgentId::new("a000000000"), persons(3, "go on")).await.unwrap_err();
    assert!(matches!(unknown, ResumeError::NoTranscript(_)), "{unknown}");
    let main = session.resume_agent(&AgentId::main(), persons(4, "go on")).await.unwrap_err();
    assert!(matches!(main, ResumeError::Alive(_)), "{main}");
    close(session).await;
}

// proves: B7, F019
#[tokio::test]
async fn what_the_person_stopped_only_the_person_takes_up_again() {
    let (world, model) = World::playing(
        "agent main\n\
         reply\n  call Launch name=one background=true\n  call Launch name=two background=true\n\
         reply \"started\"\n\
         reply\n  call SendMessage to=one message=\"go on\"\n\
         reply \"refused\"\n\
         reply\n  call SendMessage to=one message=\"go on\"\n\
         reply \"refused\"\n\
         reply \"told\"\nreply \"told\"\nreply \"told\"\nreply \"told\"\n\
         agent general-purpose\n\
         reply\n  gate work\n  text \"first\"\n\
         reply \"second\"\n",
    );
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let one = opened(&mut events, "one").await;
    let two = opened(&mut events, "two").await;
    main_says(&mut events, "started").await;
    model.reached("work").await;
    let mut said = session.subscribe(false);
    assert!(session.stop_job(&one.as_str().into()).await);
    end_of(&mut said, &one).await;
    // What is typed to the main agent ends no other.
    main_says(&mut events, "refused").await;
    assert!(session.roster().iter().any(|member| member.header.agent == two), "the other works on");
    let told = results(&main_entries(&session).await);
    assert!(told[2].contains("the person stopped it"), "{told:?}");
    close(session).await;
    // A later process knows it too.
    let session = reopen(&world).await;
    let mut events = session.subscribe(false);
    assert_eq!(turn(&session, 1, "again").await.text, "refused");
    let told = results(&main_entries(&session).await);
    assert!(told[3].contains("the person stopped it"), "{told:?}");
    model.release("work");
    session.resume_agent(&one, persons(2, "go on after all")).await.unwrap();
    assert_eq!(end_of(&mut events, &one).await, "first");
    main_says(&mut events, "told").await;
    let last = entries_of(&session, &one).await.pop().unwrap();
    assert!(matches!(&last.body, Body::Closed(envelope) if envelope.ending == Ending::Completed));
    // And from then on it is an agent like others.
    close(session).await;
    let session = reopen(&world).await;
    session.resume_agent(&one, persons(3, "once more")).await.unwrap();
    close(session).await;
}
