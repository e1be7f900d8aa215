//! Mail between members.

use troupe_core::ids::AgentId;
use troupe_testkit::reading::{close, entries, entries_of, eventually, mails, results};
use troupe_testkit::world::{say, turn};

use super::stage::{lead_says, member, playing, position, quiet};

// proves: M5, M7, F047, F050
#[tokio::test]
async fn members_write_to_each_other_by_name_by_id_and_to_all() {
    let long = "x".repeat(2_000);
    let (world, model) = playing(&format!(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         reply\n  call SendMessage to=* message=\"to each\" summary=\"for all\"\n\
         \x20 call SendMessage to=enginer message=hello summary=hi\n\
         \x20 call SendMessage to=../../x message=hello summary=hi\n\
         \x20 call SendMessage to=a/b message=hello summary=hi\n\
         \x20 call SendMessage to=. message=hello summary=hi\n\
         \x20 call SendMessage to=Ann message=\"any case\" summary=hi\n\
         \x20 call SendMessage to=bob@blue message=\"by id\" summary=hi\n\
         \x20 call SendMessage to=ann message=\"no summary\"\n\
         reply \"sent\"\n\
         agent general-purpose /be ann/\n\
         reply\n  gate a\n  call SendMessage to=bob message=\"{long}\" summary=\"a lot\"\n\
         reply \"ok\"\nreply \"ok\"\nreply \"ok\"\n\
         agent general-purpose /be bob/\n\
         reply\n  gate b\n  text \"ok\"\n\
         reply \"ok\"\nreply \"ok\"\nreply \"ok\"\n",
    ));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    lead_says(&mut events, "sent").await;
    let told = results(&entries(&session).await);
    assert!(told.iter().any(|text| text.contains("Sent to 2 of the team: ann, bob")), "{told:?}");
    let unknown: Vec<_> = told.iter().filter(|text| text.contains("there is no agent")).collect();
    assert_eq!(unknown.len(), 4, "{told:?}");
    assert!(unknown.iter().all(|text| text.contains("ann") && text.contains("bob")), "{unknown:?}");
    assert!(told.iter().any(|text| text.contains("needs a `summary`")), "{told:?}");
    let inboxes = world.config.place.root.join("teams/blue/inboxes");
    let files: Vec<String> = std::fs::read_dir(&inboxes)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".jsonl"))
        .collect();
    assert!(
        files.iter().all(|name| ["ann.jsonl", "bob.jsonl", "team-lead.jsonl"].contains(&&**name)),
        "{files:?}"
    );
    model.release("a");
    eventually("ann has written", async || session.waiting(&member("bob")).len() == 3).await;
    assert_eq!(position(&world, "bob"), 0, "not read yet");
    model.release("b");
    quiet(&session).await;
    let bob = mails(&entries_of(&session, &member("bob")).await);
    assert_eq!(bob.len(), 3, "{bob:?}");
    assert!(bob[0].contains("to each") && bob[1].contains("by id"), "{bob:?}");
    assert!(bob[2].contains(&long) && bob[2].starts_with("<teammate-message from=\"ann\" color="), "{bob:?}");
    let ann = mails(&entries_of(&session, &member("ann")).await);
    assert!(ann.len() == 2 && ann[1].contains("any case"), "{ann:?}");
    eventually("the mailbox is marked", async || position(&world, "bob") == 3).await;
    close(session).await;
}

// proves: M5
#[tokio::test]
async fn messages_to_all_are_few() {
    let sends = "reply\n  call SendMessage to=* message=\"hello\" summary=hi\n".repeat(7);
    let (world, _) = playing(&format!(
        "agent main\nreply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         {sends}reply \"sent\"\n\
         agent general-purpose\n{}",
        "reply \"ok\"\n".repeat(9)
    ));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let told = results(&entries(&session).await);
    let refused = told.iter().filter(|text| text.contains("messages a minute")).count();
    assert_eq!(refused, 2, "{told:?}");
    quiet(&session).await;
    assert_eq!(mails(&entries_of(&session, &member("ann")).await).len(), 5);
    close(session).await;
}

// proves: F057, M4
#[tokio::test]
async fn mail_waits_while_the_provider_fails_and_comes_in_order() {
    let (world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply\n  gate send\n  call SendMessage to=ann message=m1 summary=hi\n\
         \x20 call SendMessage to=ann message=m2 summary=hi\n\
         \x20 call SendMessage to=ann message=m3 summary=hi\n\
         reply \"sent\"\n\
         agent general-purpose\n\
         reply\n  gate fail\n  cut 0\n  text \"well again\"\n\
         reply \"ok\"\nreply \"ok\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    model.reached("fail").await;
    model.release("send");
    lead_says(&mut events, "sent").await;
    eventually("all wait", async || session.waiting(&member("ann")).len() == 3).await;
    assert_eq!(position(&world, "ann"), 0, "shown undelivered");
    model.release("fail");
    quiet(&session).await;
    let ann = mails(&entries_of(&session, &member("ann")).await);
    assert_eq!(ann.len(), 3, "{ann:?}");
    assert!(ann.iter().zip(["m1", "m2", "m3"]).all(|(mail, text)| mail.contains(text)), "{ann:?}");
    eventually("the mailbox is marked", async || position(&world, "ann") == 3).await;
    assert!(session.waiting(&AgentId::main()).is_empty());
    close(session).await;
}
