//! Who may answer what: requests to end and plans.

use std::time::Duration;

use troupe_core::policy::Mode;
use troupe_testkit::reading::{close, entries_of, eventually, mails, results};
use troupe_testkit::world::{say, turn};

use super::stage::{lead_says, member, names, playing, quiet};

const TWO: &str = "agent main\n\
     reply\n  call TeamCreate team_name=blue\n\
     reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
     \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
     reply \"made\"\n";

// proves: M3, F058
#[tokio::test]
async fn one_members_refusal_is_not_anothers_though_the_request_has_one_id() {
    let (mut world, _) = playing(&format!(
        "{TWO}\
         reply\n  call SendMessage to=ann message={{\"type\":\"shutdown_request\",\"request_id\":\"r1\"}}\n\
         \x20 call SendMessage to=bob message={{\"type\":\"shutdown_request\",\"request_id\":\"r1\"}}\n\
         reply \"asked\"\n\
         reply \"heard\"\nreply \"heard\"\n\
         agent general-purpose /be ann/\n\
         reply \"idle\"\n\
         reply\n  call SendMessage to=team-lead message={{\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":false,\"reason\":\"not yet\"}}\n\
         reply \"on\"\n\
         agent general-purpose /be bob/\n\
         reply \"idle\"\nreply \"silent\"\nreply \"silent\"\n"
    ));
    world.config.teams.shutdown = Duration::from_millis(500);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    say(&session, 1, "end both").await;
    eventually("bob is ended", async || names(&world) == ["team-lead", "ann"]).await;
    close(session).await;
}

// proves: M3, F058
#[tokio::test]
async fn a_member_refuses_for_itself_alone() {
    let (mut world, _) = playing(&format!(
        "{TWO}\
         reply\n  call SendMessage to=ann message={{\"type\":\"shutdown_request\",\"request_id\":\"r1\"}}\n\
         \x20 call SendMessage to=bob message=\"save her\" summary=hi\n\
         reply \"asked\"\n\
         reply \"heard\"\nreply \"heard\"\n\
         agent general-purpose /be ann/\n\
         reply \"idle\"\nreply \"silent\"\nreply \"silent\"\n\
         agent general-purpose /be bob/\n\
         reply \"idle\"\n\
         reply\n  call SendMessage to=team-lead message={{\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":false,\"reason\":\"spare her\"}}\n\
         reply \"tried\"\n"
    ));
    world.config.teams.shutdown = Duration::from_millis(500);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    say(&session, 1, "end ann").await;
    eventually("ann is ended", async || names(&world) == ["team-lead", "bob"]).await;
    close(session).await;
}

// proves: S6
#[tokio::test]
async fn an_approval_of_no_plan_changes_nothing() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann mode=plan\n\
         reply \"made\"\n\
         reply\n  call SendMessage to=ann message={\"type\":\"plan_approval_response\",\"request_id\":\"plan-of-nobody\",\"approve\":true}\n\
         reply \"sent\"\n\
         agent general-purpose\n\
         reply \"idle\"\n\
         reply\n  call Write file_path=wall.txt content=blue\n\
         reply \"tried\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    quiet(&session).await;
    say(&session, 1, "approve").await;
    lead_says(&mut events, "sent").await;
    quiet(&session).await;
    let read = entries_of(&session, &member("ann")).await;
    assert_eq!(mails(&read).len(), 1, "what the lead wrote is told: {:?}", mails(&read));
    assert!(!world.workspace().join("wall.txt").exists(), "{:?}", results(&read));
    assert_eq!(session.mode(), Mode::BypassPermissions);
    close(session).await;
}
