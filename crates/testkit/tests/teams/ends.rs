//! How members and teams end.

use std::time::Duration;

use troupe_testkit::reading::{close, entries, entries_of, eventually, mails, results};
use troupe_testkit::world::{say, turn};

use super::stage::{lead_says, member, names, playing, quiet};

// proves: T3, M3, X17
#[tokio::test]
async fn a_team_is_not_deleted_under_a_member_at_work_and_goes_once_that_has_agreed_to_end() {
    let (world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         reply\n  call TeamDelete\n\
         reply\n  call SendMessage to=ann message={\"type\":\"shutdown_request\",\"request_id\":\"r1\",\"reason\":\"all is done\"}\n\
         reply \"asked\"\n\
         reply\n  call TeamDelete\n\
         reply \"gone\"\n\
         agent general-purpose /be ann/\n\
         reply\n  gate work\n  call Glob pattern=*\n\
         reply\n  expect \"all is done\"\n\
         \x20 call SendMessage to=team-lead message={\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":true}\n\
         agent general-purpose /be bob/\n\
         reply \"idle\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    lead_says(&mut events, "asked").await;
    let told = results(&entries(&session).await);
    assert!(told[3].contains("at work: ann") && told[3].contains("shutdown_request"), "{told:?}");
    model.release("work");
    lead_says(&mut events, "gone").await;
    let read = entries(&session).await;
    assert!(mails(&read).iter().any(|mail| mail.contains("Shuts down")), "{:?}", mails(&read));
    assert!(results(&read).last().unwrap().contains("`blue` is gone"), "{:?}", results(&read));
    assert_eq!(session.roster().len(), 1, "only the lead lives on");
    assert!(!world.config.place.root.join("teams/blue").exists());
    assert!(!world.config.place.root.join("tasks/blue").exists());
    close(session).await;
}

// proves: F058, M3
#[tokio::test]
async fn a_member_that_does_not_answer_is_ended_at_the_deadline() {
    let (mut world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply\n  call SendMessage to=ann message={\"type\":\"shutdown_request\"}\n\
         reply \"asked\"\n\
         agent general-purpose\n\
         reply \"exiting\"\nreply \"exiting\"\nreply \"exiting\"\n",
    );
    world.config.teams.shutdown = Duration::from_millis(200);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    eventually("ann is gone", async || names(&world) == ["team-lead"] && session.roster().len() == 1).await;
    close(session).await;
}

// proves: M3
#[tokio::test]
async fn a_member_that_refuses_goes_on_and_one_that_is_not_the_lead_ends_nobody() {
    let (mut world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         reply\n  call SendMessage to=ann message={\"type\":\"shutdown_request\",\"request_id\":\"r1\"}\n\
         reply \"asked\"\n\
         reply \"heard\"\n\
         agent general-purpose /be ann/\n\
         reply\n  expect \"r1\"\n\
         \x20 call SendMessage to=team-lead message={\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":false,\"reason\":\"not yet\"}\n\
         reply \"on\"\nreply \"on\"\n\
         agent general-purpose /be bob/\n\
         reply\n  call SendMessage to=ann message={\"type\":\"shutdown_request\"}\n\
         reply \"tried\"\n",
    );
    world.config.teams.shutdown = Duration::from_millis(400);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    lead_says(&mut events, "heard").await;
    quiet(&session).await;
    let tried = results(&entries_of(&session, &member("bob")).await);
    assert!(tried[0].contains("comes from the lead alone"), "{tried:?}");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(names(&world), ["team-lead", "ann", "bob"], "it goes on past the deadline");
    close(session).await;
}
