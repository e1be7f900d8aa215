//! What is on the way to a member when it or its team ends.

use std::time::Duration;

use troupe_core::team::{Change, LEAVES, Member, Team};
use troupe_engine::team::{TeamError, Teams};
use troupe_testkit::reading::{close, entries, entries_of, eventually, mails, results, told};
use troupe_testkit::world::{say, turn};

use super::stage::{lead_says, member, names, playing, quiet};

const MADE: &str = "agent main\n\
     reply\n  call TeamCreate team_name=blue\n\
     reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
     reply \"made\"\n";

// proves: M4, T7
#[tokio::test]
async fn a_team_is_not_deleted_while_mail_to_a_member_is_on_its_way() {
    let (world, model) = playing(&format!(
        "{MADE}\
         reply\n  call SendMessage to=ann message=\"paint it\" summary=hi\n  call TeamDelete\n\
         reply \"kept\"\n\
         agent general-purpose\n\
         reply \"idle\"\n\
         reply\n  expect \"paint it\"\n  gate work\n  text \"painted\"\n"
    ));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    quiet(&session).await;
    say(&session, 1, "end it").await;
    lead_says(&mut events, "kept").await;
    let all = results(&entries(&session).await);
    assert!(all[3].contains("at work: ann"), "{all:?}");
    model.release("work");
    quiet(&session).await;
    assert_eq!(mails(&entries_of(&session, &member("ann")).await).len(), 1);
    close(session).await;
}

// proves: T7
#[tokio::test]
async fn a_member_that_waits_for_its_own_command_is_at_work() {
    let (world, _) = playing(&format!(
        "{MADE}\
         reply\n  call TeamDelete\n\
         reply \"kept\"\n\
         agent general-purpose\n\
         reply\n  call Bash command=\"read go < hold\" run_in_background=true\n\
         reply \"waiting\"\nreply \"over\"\n"
    ));
    let hold = world.pipe("hold");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    eventually("ann waits for her command", async || {
        let read = entries_of(&session, &member("ann")).await;
        results(&read).len() == 1 && session.jobs().iter().any(|job| job.background)
    })
    .await;
    say(&session, 1, "end it").await;
    lead_says(&mut events, "kept").await;
    let all = results(&entries(&session).await);
    assert!(all[2].contains("at work: ann"), "{all:?}");
    std::fs::write(hold, "go\n").unwrap();
    quiet(&session).await;
    close(session).await;
}

// proves: X17, T7
#[tokio::test]
async fn the_commands_of_a_member_end_with_it_also_where_it_was_idle() {
    let (mut world, _) = playing(&format!(
        "{MADE}\
         agent general-purpose\n\
         reply\n  call Bash command=\"read go < hold\" run_in_background=true\n\
         reply \"waiting\"\nreply \"over\"\n"
    ));
    world.config.teams.shutdown = Duration::from_millis(200);
    let _hold = world.pipe("hold");
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let running = || session.jobs().iter().filter(|one| one.job.outcome.borrow().is_none()).count();
    eventually("her command runs", async || running() == 1).await;
    eventually("ann waits", async || {
        session.roster().iter().any(|one| {
            one.header.agent == member("ann") && matches!(one.phase, troupe_core::event::Phase::Idle(_))
        })
    })
    .await;
    assert!(session.stop_job(&member("ann").as_str().into()).await);
    eventually("ann is gone", async || names(&world) == ["team-lead"]).await;
    eventually("and so is her command", async || running() == 0).await;
    close(session).await;
}

// proves: M4, F058
#[tokio::test]
async fn mail_that_a_member_did_not_read_before_it_was_ended_is_told() {
    let (mut world, _) = playing(&format!(
        "{MADE}\
         reply\n  call SendMessage to=ann message=\"paint it\" summary=hi\n\
         \x20 call SendMessage to=ann message={{\"type\":\"shutdown_request\",\"request_id\":\"r1\"}}\n\
         reply \"asked\"\n\
         reply \"well\"\n\
         agent general-purpose\n\
         reply\n  gate never\n  text \"x\"\n"
    ));
    world.config.teams.shutdown = Duration::from_millis(200);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    turn(&session, 1, "end her").await;
    eventually("ann is gone", async || names(&world) == ["team-lead"] && session.roster().len() == 1).await;
    turn(&session, 2, "and?").await;
    let read = told(&entries(&session).await, |_| true);
    assert!(
        read.iter().any(|text| text.contains("ann: has left the team and did not read 1 message\n")),
        "{read:?}"
    );
    close(session).await;
}

// proves: M5
#[tokio::test]
async fn nobody_writes_to_a_member_that_is_leaving() {
    let (world, _) = playing(&format!(
        "{MADE}\
         reply\n  call SendMessage to=ann message={{\"type\":\"shutdown_request\",\"request_id\":\"r1\"}}\n\
         reply \"asked\"\n\
         reply\n  call SendMessage to=ann message=\"one thing more\" summary=hi\n\
         reply \"late\"\n\
         reply \"well\"\n\
         agent general-purpose\n\
         reply \"idle\"\n\
         reply\n  call SendMessage to=team-lead message={{\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":true}}\n\
         \x20 call Bash command=\"read go < hold\"\n\
         reply \"gone\"\n"
    ));
    let hold = world.pipe("hold");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    quiet(&session).await;
    say(&session, 1, "end her").await;
    lead_says(&mut events, "late").await;
    let all = results(&entries(&session).await);
    let late = all.last().unwrap();
    assert!(late.contains("leaving"), "{all:?}");
    std::fs::write(hold, "go\n").unwrap();
    eventually("ann is gone", async || names(&world) == ["team-lead"]).await;
    close(session).await;
}

// proves: M5, T3
#[tokio::test]
async fn nobody_writes_to_a_member_of_another_process_that_has_agreed_to_end() {
    let (world, _) = playing(&format!(
        "{MADE}\
         reply\n  call SendMessage to=bob message=\"paint it\" summary=hi\n\
         \x20 call SendMessage to=* message=\"all of you\" summary=hi\n\
         reply \"tried\"\n\
         agent general-purpose\nreply \"idle\"\nreply \"heard\"\n"
    ));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let place = Teams::new(world.config.place.root.clone()).find("blue").await.unwrap();
    let other = [(LEAVES.to_owned(), true.into())].into_iter().collect();
    let bob = Member { name: "bob".into(), agent_id: "bob@blue".into(), other, ..Member::default() };
    let joined = |_: Option<&Team>| Ok(vec![Change::Joined { member: Box::new(bob.clone()) }]);
    place.members.change::<TeamError>(joined).await.unwrap();
    turn(&session, 1, "write").await;
    let all = results(&entries(&session).await);
    assert!(all[2].contains("has agreed to end and is leaving its team"), "{all:?}");
    assert!(all[3].ends_with("1 of the team: ann."), "{all:?}");
    assert!(!world.config.place.root.join("teams/blue/inboxes/bob.jsonl").exists());
    quiet(&session).await;
    close(session).await;
}
