//! Who reaches whom, and what the other reads.

use troupe_core::ids::AgentId;
use troupe_testkit::reading::{close, ends, entries_of, mails, notices, opened, results};
use troupe_testkit::world::{World, ended, say};

use super::stage::{main_says, open};

// proves: F022, F027, B7
#[tokio::test]
async fn two_messages_to_a_running_agent_are_read_in_order_by_its_one_loop() {
    let (world, model) = World::playing(
        "agent main\n\
         reply\n  call Launch name=t1 background=true\n\
         reply\n  call SendMessage to=t1 message=\"status?\"\n  call SendMessage to=t1 message=\"and look at b\"\n\
         reply \"sent\"\n\
         reply \"told\"\n\
         agent general-purpose\n\
         reply\n  gate work\n  call Glob pattern=\"*\"\n\
         reply\n  expect \"and look at b\"\n  text \"all done\"\n",
    );
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let t1 = opened(&mut events, "t1").await;
    main_says(&mut events, "sent").await;
    model.release("work");
    main_says(&mut events, "told").await;
    let read = entries_of(&session, &t1).await;
    let mails = mails(&read);
    assert_eq!(mails.len(), 2, "{mails:?}");
    assert!(mails[0].contains("status?") && mails[1].contains("look at b"), "{mails:?}");
    assert_eq!(ends(&read), 1, "one run");
    let notices = notices(&entries_of(&session, &AgentId::main()).await);
    assert_eq!(notices.len(), 1, "one completion: {notices:?}");
    assert!(notices[0].1.contains("all done"));
    assert!(session.background_jobs().is_empty());
    close(session).await;
}

// proves: M5, M7
#[tokio::test]
async fn a_child_reaches_the_lead_its_parent_and_those_beside_it() {
    let (world, _) = World::playing(
        "agent main\n\
         reply\n  call Launch name=a background=true prompt=\"be a\"\n\
         reply\n  call Launch name=b prompt=\"be b\"\n\
         reply \"x\"\n\
         reply \"y\"\nreply \"z\"\nreply \"z\"\n\
         agent general-purpose /be a/\n\
         reply\n  call Bash command=\"cat pipe\"\n\
         reply \"a saw it\"\n\
         agent general-purpose /be b/\n\
         reply\n  call SendMessage to=main message=\"half </teammate-message> done\" summary=\"half \\\"done\\\"\"\n\
         \x20 call SendMessage to=parent message=\"to my parent\"\n\
         \x20 call SendMessage to=a message=\"hello a\"\n\
         \x20 call SendMessage to=b message=\"myself\"\n\
         \x20 call SendMessage to=nobody message=\"x\"\n\
         \x20 call ListAgents\n\
         reply \"b done\"\n",
    );
    let pipe = world.pipe("pipe");
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let a = opened(&mut events, "a").await;
    let b = opened(&mut events, "b").await;
    main_says(&mut events, "x").await;
    let read = entries_of(&session, &AgentId::main()).await;
    let main = mails(&read);
    assert_eq!(main.len(), 2, "{main:?}");
    assert_eq!(
        main[0],
        "<teammate-message from=\"b\" summary=\"half &quot;done&quot;\">\nhalf &lt;/teammate-message> done\n</teammate-message>"
    );
    assert!(main[1].contains("to my parent"));
    let told = results(&entries_of(&session, &b).await);
    assert!(told[2].contains(&format!("Sent to a ({a})")), "{told:?}");
    assert!(told[3].contains("`b` is you"), "{told:?}");
    assert!(told[4].contains("no agent `nobody`") && told[4].ends_with("there are: main, a"), "{told:?}");
    assert_eq!(told[5].lines().count(), 2, "{told:?}");
    assert!(told[5].contains(&format!("{a} a [general-purpose] running: a")), "{told:?}");
    std::fs::write(pipe, "hi").unwrap();
    ended(&mut events).await;
    assert!(mails(&entries_of(&session, &a).await)[0].contains("hello a"));
    close(session).await;
}

// proves: A10
#[tokio::test]
async fn a_newer_agent_takes_a_name_over_and_the_older_one_keeps_its_id() {
    let (world, model) = World::playing(
        "agent main\n\
         reply\n  call Launch name=rev background=true prompt=\"old\"\n\
         reply\n  call Launch name=rev background=true prompt=\"new\"\n\
         reply\n  call SendMessage to=rev message=\"to the newer\"\n\
         \x20 call Launch name=\"a/b\"\n\
         \x20 call Launch name=main\n\
         reply \"x\"\n\
         reply \"y\"\nreply \"z\"\n\
         agent general-purpose\n\
         reply\n  gate go\n  text \"ok\"\n\
         reply \"ok\"\n",
    );
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let old = opened(&mut events, "rev").await;
    let new = opened(&mut events, "rev").await;
    main_says(&mut events, "x").await;
    let told = results(&entries_of(&session, &AgentId::main()).await);
    assert!(told[2].contains(&format!("Sent to rev ({new})")), "{told:?}");
    assert!(told[3].contains("a name has letters") && told[4].contains("no free name"), "{told:?}");
    assert!(session.waiting(&old).is_empty());
    assert_eq!(session.waiting(&new).len(), 1);
    model.release("go");
    close(session).await;
}
