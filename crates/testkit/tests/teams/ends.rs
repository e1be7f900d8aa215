//! How members and teams end.

use std::time::Duration;

use troupe_core::event::Phase;
use troupe_core::input::Input;
use troupe_testkit::reading::{close, entries, entries_of, eventually, mails, results};
use troupe_testkit::world::{say, turn};

use super::stage::{config, lead_says, member, names, playing, quiet};

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

// proves: T3, X9
#[tokio::test]
async fn a_member_that_the_person_has_paused_counts_as_at_work() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply\n  call TeamDelete\nreply \"tried\"\n\
         reply\n  call TeamDelete\nreply \"gone\"\n\
         agent general-purpose\nreply \"idle\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let phase = || {
        let all = session.roster();
        all.iter().find(|one| one.header.agent == member("ann")).map(|one| one.phase)
    };
    session.send(&member("ann"), Input::Pause).await.unwrap();
    eventually("ann is paused", async || phase() == Some(Phase::Paused)).await;
    turn(&session, 1, "end it").await;
    let told = results(&entries(&session).await);
    assert!(told[2].contains("at work: ann"), "{told:?}");
    session.send(&member("ann"), Input::Continue).await.unwrap();
    quiet(&session).await;
    turn(&session, 2, "end it").await;
    assert!(results(&entries(&session).await)[3].contains("`blue` is gone"));
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
    let (mut world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         reply\n  gate ask\n  call SendMessage to=ann message={\"type\":\"shutdown_request\",\"request_id\":\"r1\"}\n\
         reply \"asked\"\n\
         reply \"heard\"\n\
         reply\n  call SendMessage to=bob message={\"type\":\"shutdown_request\",\"request_id\":\"r2\"}\n\
         reply \"asked bob\"\n\
         agent general-purpose /be ann/\n\
         reply \"idle\"\n\
         reply\n  expect \"r1\"\n  gate answer\n\
         \x20 call SendMessage to=team-lead message={\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":false,\"reason\":\"not yet\"}\n\
         reply \"on\"\nreply \"on\"\n\
         agent general-purpose /be bob/\n\
         reply\n  call SendMessage to=ann message={\"type\":\"shutdown_request\"}\n\
         reply \"tried\"\nreply \"exiting\"\n",
    );
    world.config.teams.shutdown = Duration::from_millis(500);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    eventually("ann is idle", async || config(&world)["members"][1]["isActive"] == false).await;
    model.release("ask");
    lead_says(&mut events, "asked").await;
    model.release("answer");
    lead_says(&mut events, "heard").await;
    quiet(&session).await;
    let tried = results(&entries_of(&session, &member("bob")).await);
    assert!(tried[0].contains("comes from the lead alone"), "{tried:?}");
    say(&session, 1, "bob too").await;
    eventually("bob is ended, later than ann would have been", async || {
        !names(&world).contains(&"bob".to_owned())
    })
    .await;
    assert_eq!(names(&world), ["team-lead", "ann"], "it goes on past the deadline");
    close(session).await;
}

// proves: T7, X17
#[tokio::test]
async fn a_session_that_closes_takes_its_team_with_it_and_nothing_of_others() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         agent general-purpose\n\
         reply\n  gate never\n  text \"x\"\n",
    );
    let others = world.config.place.root.join("teams/green");
    std::fs::create_dir_all(&others).unwrap();
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert_eq!(session.roster().len(), 2);
    close(session).await;
    assert!(!world.config.place.root.join("teams/blue").exists());
    assert!(others.exists());
}

// proves: T3
#[tokio::test]
async fn a_second_team_may_have_the_first_ones_name_and_its_members_are_others() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply\n  call TeamDelete\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply\n  call SendMessage to=ann message=hi summary=hi\n\
         \x20 call SendMessage to=ann-2 message=hi summary=hi\n\
         reply \"again\"\n\
         agent general-purpose\n\
         reply \"idle\"\nreply \"idle\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    turn(&session, 1, "again").await;
    quiet(&session).await;
    let told = results(&entries(&session).await);
    assert!(told[4].contains("ann-2 (ann-2@blue)"), "{told:?}");
    assert!(told[5].contains("has left its team"), "{told:?}");
    assert!(told[6].contains("Sent to ann-2"), "{told:?}");
    assert_eq!(mails(&entries_of(&session, &member("ann-2")).await).len(), 1);
    close(session).await;
}
