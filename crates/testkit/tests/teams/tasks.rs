//! The team's task list: who hears of a move, who takes the next task by itself, what becomes of what one leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use troupe_core::board::{Move, New, Status, Task, TaskId, Who};
use troupe_core::ports::gatekeeper::Moment;
use troupe_core::team::{Change, Team};
use troupe_engine::Session;
use troupe_engine::session::Gate;
use troupe_engine::team::board::Mover;
use troupe_engine::team::{TeamError, Teams};
use troupe_testkit::gatekeeper::Doorkeeper;
use troupe_testkit::reading::{close, entries, entries_of, eventually, mails, results, told};
use troupe_testkit::world::{World, say, turn};

use super::stage::{config, lead_says, member, message, names, playing, quiet};

async fn task(session: &Session, id: u64) -> Task {
    session.tasks().await.unwrap().board.task(TaskId(id)).unwrap().clone()
}

/// What the harness told a member.
async fn told_to(session: &Session, name: &str) -> Vec<String> {
    told(&entries_of(session, &member(name)).await, |_| true)
}

// proves: K1, K3, T2, M2
#[tokio::test]
async fn a_team_has_one_list_and_its_members_hear_of_it_by_mail() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TaskCreate subject=own description=x\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply\n  call TaskCreate subject=look description=\"at the wall\"\n\
         reply\n  call TaskUpdate taskId=\"1\" owner=Ann@blue\n\
         reply\n  call TaskUpdate taskId=\"1\" owner=bob\n\
         reply \"given\"\n\
         reply\n  call TeamDelete\n\
         reply \"gone\"\n\
         agent general-purpose\n\
         reply \"idle\"\n\
         reply\n  expect \"Task 1 is yours: look\"\n  call TaskUpdate taskId=\"1\" status=completed\n\
         reply \"done\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    turn(&session, 1, "give it").await;
    quiet(&session).await;
    assert_eq!(session.tasks().await.unwrap().list, "blue");
    let look = task(&session, 1).await;
    assert_eq!(
        (look.subject.as_str(), look.status, look.owner.as_deref()),
        ("look", Status::Completed, Some("ann"))
    );
    let all = results(&entries(&session).await);
    assert!(all[5].ends_with("nobody here is called `bob`; there are: team-lead, ann"), "{all:?}");
    assert_eq!(mails(&entries_of(&session, &member("ann")).await).len(), 1);
    turn(&session, 2, "end it").await;
    assert_eq!(task(&session, 1).await.subject, "own", "the session's own list is there again");
    close(session).await;
}

// proves: K1, K3
#[tokio::test]
async fn a_second_team_of_the_same_name_has_news_of_its_own() {
    let round = |name: &str| {
        format!(
            "reply\n  call TeamCreate team_name=blue\n\
             reply\n  call TaskCreate subject=look description=x\n\
             reply\n  call Agent description=\"paint\" prompt=\"be {name}\" name={name}\n\
             reply \"made\"\n\
             reply\n  call SendMessage to={name} message={{\"type\":\"shutdown_request\",\"request_id\":\"r1\"}}\n\
             reply \"asked\"\n\
             reply\n  expect \"{name} was shut down; the tasks\"\n  call TeamDelete\n\
             reply \"gone\"\n"
        )
    };
    let of = |name: &str| {
        format!(
            "agent general-purpose /be {name}/\n\
             reply\n  call TaskUpdate taskId=\"1\" status=in_progress\n\
             reply \"I stop here\"\n\
             reply\n  call SendMessage to=team-lead message={{\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":true}}\n"
        )
    };
    let script = format!("agent main\n{}{}{}{}", round("ann"), round("bob"), of("ann"), of("bob"));
    let (world, _) = playing(&script);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    for number in [0, 2] {
        turn(&session, number, "go").await;
        quiet(&session).await;
        say(&session, number + 1, "end it").await;
        lead_says(&mut events, "gone").await;
    }
    let read = mails(&entries(&session).await);
    let left =
        read.iter().filter(|mail| mail.contains("the tasks that it has not done can be claimed again"));
    assert_eq!(left.count(), 2, "the second has the place on its list that the first had: {read:?}");
    close(session).await;
}

// proves: T5, K2
#[tokio::test]
async fn a_member_that_was_told_to_takes_one_task_after_the_other_and_one_that_was_not_takes_none() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call TaskCreate subject=first description=x\n  call TaskCreate subject=second description=y\n\
         reply\n  call TaskUpdate taskId=\"1\" addBlockedBy=[\"2\"]\n\
         reply\n  call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         \x20 call Agent description=\"paint\" prompt=\"be ann\" name=ann claim_tasks=true\n\
         reply \"made\"\n\
         reply\n  expect \"ann: available; last task: 1\"\n  call TaskCreate subject=third description=z\n\
         reply \"more\"\n\
         agent general-purpose /be ann/\n\
         reply \"ready\"\n\
         reply\n  expect \"Task 2 is yours now: second\"\n  call TaskUpdate taskId=\"2\" status=completed\n\
         reply \"two\"\n\
         reply\n  expect \"Task 1 is yours now: first\"\n  call TaskUpdate taskId=\"1\" status=completed\n\
         reply \"one\"\n\
         reply\n  expect \"Task 3 is yours now: third\"\n  call TaskUpdate taskId=\"3\" status=completed\n\
         reply \"three\"\n\
         agent general-purpose /be bob/\n\
         reply \"ready\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    for id in [1, 2] {
        assert_eq!(
            task(&session, id).await.status,
            Status::Completed,
            "{:?}",
            told_to(&session, "ann").await
        );
    }
    turn(&session, 1, "one more").await;
    quiet(&session).await;
    assert_eq!(task(&session, 3).await.status, Status::Completed, "one that is idle takes what comes");
    let bob = told_to(&session, "bob").await;
    assert!(!bob.iter().any(|text| text.contains("yours")), "{bob:?}");
    close(session).await;
}

// proves: K3, T5
#[tokio::test]
async fn what_a_member_leaves_undone_is_given_back_and_the_lead_told() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call TaskCreate subject=look description=x\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply\n  call SendMessage to=ann message={\"type\":\"shutdown_request\",\"request_id\":\"r1\"}\n\
         reply \"asked\"\n\
         reply \"heard\"\nreply \"heard\"\n\
         agent general-purpose\n\
         reply\n  call TaskUpdate taskId=\"1\" status=in_progress\n\
         reply \"I stop here\"\n\
         reply\n  call SendMessage to=team-lead message={\"type\":\"shutdown_response\",\"request_id\":\"r1\",\"approve\":true}\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    assert_eq!(task(&session, 1).await.owner.as_deref(), Some("ann"));
    say(&session, 1, "end her").await;
    eventually("ann is gone", async || names(&world) == ["team-lead"]).await;
    quiet(&session).await;
    let look = task(&session, 1).await;
    assert_eq!((look.status, look.owner), (Status::Pending, None));
    let read = mails(&entries(&session).await);
    let left = read.iter().filter(|mail| {
        mail.contains("ann was shut down; the tasks that it has not done can be claimed again")
    });
    assert_eq!(left.count(), 1, "{read:?}");
    close(session).await;
}

// proves: K3
#[tokio::test]
async fn a_hook_that_objects_to_being_idle_gives_a_member_something_to_do_but_not_for_ever() {
    let script = "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         agent general-purpose\n\
         reply \"idle\"\n";
    for (objects, requests) in [(1, 2), (usize::MAX, 9)] {
        let again = "reply\n  expect \"run the tests\"\n  text \"ran\"\n".repeat(requests - 1);
        let (mut world, _) = playing(&format!("{script}{again}"));
        let asked = AtomicUsize::new(0);
        let keeper = Doorkeeper::new().objects(move |moment| match moment {
            Moment::TeammateIdle { member, team } => {
                assert_eq!((member.as_str(), team.as_str()), ("ann", "blue"));
                (asked.fetch_add(1, Ordering::Relaxed) < objects).then(|| "run the tests".to_owned())
            }
            _ => None,
        });
        world.config.leave.gate = Some(Gate::of(Arc::new(keeper)));
        let session = world.start().await;
        turn(&session, 0, "go").await;
        quiet(&session).await;
        let told = told_to(&session, "ann").await;
        assert_eq!(
            told.iter().filter(|text| text.contains("run the tests")).count(),
            requests - 1,
            "{told:?}"
        );
        assert_eq!(config(&world)["members"][1]["isActive"], false);
        close(session).await;
    }
}

/// Moves on the team's list of another process, as `who`.
async fn move_as(world: &World, who: &str, steps: &[Move]) {
    let list = Teams::new(world.config.place.root.clone()).tasks("blue").unwrap();
    let nobody = |_: &str| None;
    let who = Who::member(who.to_owned());
    let mover = Mover { who: &who, listeners: &[], gone: &nobody, now_ms: 1, mark: None };
    for step in steps {
        list.make(step, &mover).await.unwrap();
    }
}

fn add() -> Move {
    Move::Add(New { subject: "look".into(), description: "x".into(), ..New::default() })
}

// proves: T5, T8
#[tokio::test]
async fn a_member_that_comes_back_does_the_task_that_it_took_or_takes_the_next() {
    // What happened to the list while no process ran, and whether she has something to do then.
    let cases = [
        (vec![add(), Move::ClaimNext], true),
        (vec![add()], true),
        // She took it herself, and knows.
        (vec![add(), Move::Claim(TaskId(1))], false),
        (vec![], false),
    ];
    for (steps, works) in cases {
        let (world, _) = playing(
            "agent main\n\
             reply\n  call TeamCreate team_name=blue\n\
             reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann claim_tasks=true\n\
             reply \"made\"\n\
             reply \"well\"\n\
             reply \"well\"\n\
             agent general-purpose\n\
             reply \"ready\"\n\
             reply\n  expect \"Task 1 is yours now: look\"\n  call TaskUpdate taskId=\"1\" status=completed\n\
             reply \"done\"\n",
        );
        let session = world.start().await;
        turn(&session, 0, "go").await;
        quiet(&session).await;
        drop(session);
        move_as(&world, "ann", &steps).await;
        for works in [works, false] {
            let session = world.resume().await;
            assert_eq!(session.has_members_to_go_on(), works, "{steps:?}");
            quiet(&session).await;
            if works {
                assert_eq!(task(&session, 1).await.status, Status::Completed);
            }
            drop(session);
        }
    }
}

// proves: K3, T5
#[tokio::test]
async fn members_take_over_what_one_that_is_gone_had_and_do_not_wait_for_each_other() {
    let member = |name: &str| {
        format!(
            "agent general-purpose /be {name};/\nreply \"ready\"\nreply\n  expect \"is yours now\"\n  text \"on\"\n"
        )
    };
    let members = ["ann", "bob", "cat"].map(member).concat();
    let (world, _) = playing(&format!(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann;\" name=ann claim_tasks=true\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob;\" name=bob claim_tasks=true\n\
         \x20 call Agent description=\"paint\" prompt=\"be cat;\" name=cat claim_tasks=true\n\
         reply \"made\"\n\
         reply\n  call TaskCreate subject=own description=x\n  call TaskUpdate taskId=\"4\" owner=team-lead\n\
         reply \"poked\"\n\
         {members}"
    ));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let claims = (1..=3).map(|id| Move::Claim(TaskId(id)));
    let steps: Vec<Move> = std::iter::repeat_with(add).take(3).chain(claims).collect();
    move_as(&world, "zed", &steps).await;
    turn(&session, 1, "one more").await;
    eventually("nothing is zed's", async || {
        let board = session.tasks().await.unwrap().board;
        let owners: Vec<_> = (1..=3).map(|id| board.task(TaskId(id)).unwrap().owner.clone()).collect();
        owners.iter().flatten().filter(|owner| ["ann", "bob", "cat"].contains(&owner.as_str())).count() >= 2
            && !owners.contains(&Some("zed".to_owned()))
    })
    .await;
    quiet(&session).await;
    close(session).await;
}

// proves: T3, M1, M4
#[tokio::test]
async fn what_the_lead_had_not_read_comes_after_the_end_of_its_team() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply\n  call Bash command=\"read go < hold\"\n  call TeamDelete\n\
         reply\n  expect \"the answer is 299\"\n  text \"gone\"\n\
         agent general-purpose\n\
         reply \"idle\"\n",
    );
    let hold = world.pipe("hold");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    eventually("ann is idle", async || config(&world)["members"][1]["isActive"] == false).await;
    // More than a mailbox is read of at once.
    let mail = Teams::new(world.config.place.root.clone()).find("blue").await.unwrap().mail(false);
    for n in 0..300 {
        let from = message(&format!("m{n}"), "team-lead", &format!("the answer is {n}"));
        mail.send(&from).await.unwrap();
    }
    std::fs::write(hold, "go\n").unwrap();
    lead_says(&mut events, "gone").await;
    let all = results(&entries(&session).await);
    assert!(all[3].contains("`blue` is gone"), "{all:?}");
    assert!(!world.config.place.root.join("teams/blue").exists());
    let read = mails(&entries(&session).await);
    let answers =
        |n: usize| read.iter().filter(|mail| mail.contains(&format!("the answer is {n}\n"))).count();
    assert!((0..300).all(|n| answers(n) == 1), "{read:?}");
    close(session).await;
}

// proves: X6, E6
#[tokio::test]
async fn the_lead_hears_why_a_member_failed() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply \"well\"\n\
         agent general-purpose\n\
         reply\n  error 400 \"the colour is out\"\n  text \"x\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    turn(&session, 1, "and?").await;
    let read = told(&entries(&session).await, |_| true);
    assert!(
        read.iter().any(|text| text.contains("ann: failed") && text.contains("the colour is out")),
        "{read:?}"
    );
    close(session).await;
}

// proves: T2
#[tokio::test]
async fn who_follows_a_member_hears_of_its_changes_by_mail() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         reply \"made\"\n\
         reply\n  call SendMessage to=ann message=hi summary=hi\n\
         reply \"sent\"\n\
         agent general-purpose /be ann/\n\
         reply \"idle\"\nreply \"idle\"\n\
         agent general-purpose /be bob/\n\
         reply \"idle\"\nreply \"heard\"\nreply \"heard\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let team = Teams::new(world.config.place.root.clone()).find("blue").await.unwrap();
    let follow = |_: Option<&Team>| {
        let fields = [("subscriptions".to_owned(), serde_json::json!(["member:ann"]))].into_iter().collect();
        Ok::<_, TeamError>(vec![Change::Altered { name: "bob".to_owned(), fields }])
    };
    team.members.change(follow).await.unwrap();
    turn(&session, 1, "write").await;
    quiet(&session).await;
    let read = mails(&entries_of(&session, &member("bob")).await).join("\n");
    assert!(read.contains("ann is at work.") && read.contains("ann is idle."), "{read}");
    close(session).await;
}
