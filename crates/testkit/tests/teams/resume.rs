//! A lead that comes back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use troupe_core::BoxFuture;
use troupe_core::board::TaskId;
use troupe_core::entry::Body;
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};
use troupe_engine::{Session, Start};
use troupe_testkit::world;

use troupe_engine::team::Teams;
use troupe_testkit::reading::{close, entries, entries_of, eventually, mails, results};
use troupe_testkit::world::{say, turn};

use super::stage::{lead_says, member, message, names, playing, position, quiet};

/// Often enough that both orders come.
const RESUMES: usize = 40;

// proves: T8, F051, M4
#[tokio::test]
async fn a_lead_that_comes_back_has_its_team_and_the_mail_that_came_meanwhile() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply\n  expect \"came meanwhile\"\n  text \"heard\"\n\
         reply\n  call SendMessage to=ann message=\"still there?\" summary=hi\n\
         reply \"asked\"\n\
         reply\n  expect \"I am\"\n  text \"good\"\n\
         agent general-purpose\n\
         reply \"idle\"\n\
         reply\n  expect \"still there?\"\n  call SendMessage to=team-lead message=\"I am\" summary=hi\n\
         reply \"idle\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let before = entries_of(&session, &member("ann")).await.len();
    // Dropped and not closed: as a process that dies.
    drop(session);
    let team = Teams::new(world.config.place.root.clone()).find("blue").await.unwrap();
    let mail = team.mail(false);
    mail.send(&message("m1", "team-lead", "came meanwhile")).await.unwrap();
    let session = world.resume().await;
    let mut events = session.subscribe(false);
    lead_says(&mut events, "heard").await;
    assert_eq!(names(&world), ["team-lead", "ann"]);
    assert_eq!(entries_of(&session, &member("ann")).await.len(), before, "an idle member stays idle");
    say(&session, 1, "ask").await;
    lead_says(&mut events, "good").await;
    quiet(&session).await;
    let read = mails(&entries(&session).await);
    assert_eq!(read.iter().filter(|mail| mail.contains("came meanwhile")).count(), 1, "{read:?}");
    eventually("all is at rest", async || !session.members_at_work()).await;
    close(session).await;
}

// proves: T8, F058
#[tokio::test]
async fn a_member_that_was_asked_to_end_is_ended_by_the_next_process_too() {
    let (mut world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply\n  call SendMessage to=ann message={\"type\":\"shutdown_request\",\"request_id\":\"r1\"}\n\
         reply \"asked\"\n\
         reply \"well\"\n\
         agent general-purpose\n\
         reply\n  gate never\n  text \"x\"\n",
    );
    world.config.teams.shutdown = Duration::from_secs(2);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert_eq!(names(&world), ["team-lead", "ann"]);
    drop(session);
    // The deadline is the one that was set then.
    world.config.teams.shutdown = Duration::from_hours(1);
    let session = world.resume().await;
    eventually("ann is gone", async || names(&world) == ["team-lead"]).await;
    close(session).await;
}

// proves: T8, D10
#[tokio::test]
async fn a_member_that_was_at_work_is_something_to_go_on_with_and_an_idle_one_is_not() {
    let script = |reply: &str| {
        format!(
            "agent main\n\
             reply\n  call TeamCreate team_name=blue\n\
             reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
             reply \"made\"\n\
             agent general-purpose\n\
             reply\n  {reply}\n"
        )
    };
    let (world, _) = playing(&script("gate never\n  text \"x\""));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    drop(session);
    let session = world.resume().await;
    assert!(session.has_members_to_go_on());
    close(session).await;

    let (world, _) = playing(&script("text \"idle\""));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    drop(session);
    let session = world.resume().await;
    assert!(!session.has_members_to_go_on());
    close(session).await;
}

// proves: T8, S6
#[tokio::test]
async fn a_plan_of_before_is_approved_afterwards() {
    let (world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann mode=plan\n\
         reply \"made\"\n\
         reply \"seen\"\n\
         reply\n  call SendMessage to=ann message={\"type\":\"plan_approval_response\",\"request_id\":\"plan-ann-toolu_ann_blue_0_0\",\"approve\":true}\n\
         reply \"yes\"\n\
         agent general-purpose\n\
         reply\n  gate plan\n  call ExitPlanMode plan=\"paint it red\"\n\
         reply\n  expect \"Your plan is approved\"\n  call Write file_path=wall.txt content=red\n\
         reply \"painted\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    model.release("plan");
    lead_says(&mut events, "seen").await;
    quiet(&session).await;
    drop(session);
    let session = world.resume().await;
    let mut events = session.subscribe(false);
    say(&session, 1, "yes").await;
    lead_says(&mut events, "yes").await;
    quiet(&session).await;
    let read = entries_of(&session, &member("ann")).await;
    assert_eq!(world.read("wall.txt"), "red", "{:?} {:?}", mails(&read), results(&read));
    close(session).await;
}

// proves: M1, T7, T8
#[tokio::test]
async fn a_team_with_unread_mail_outlives_the_end_and_the_next_process_reads_it() {
    let (world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply \"heard\"\nreply \"heard\"\nreply \"heard\"\nreply \"heard\"\n\
         agent general-purpose\n\
         reply\n  gate once\n  text \"idle\"\n\
         reply \"first\"\nreply \"second\"\nreply \"third\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let mail = Teams::new(world.config.place.root.clone()).find("blue").await.unwrap().mail(false);
    mail.send(&message("m1", "ann", "came at work")).await.unwrap();
    let told = session.close(Duration::from_secs(10)).await;
    assert!(told.len() == 1 && told[0].contains("blue") && told[0].contains("by ann;"), "{told:?}");
    assert_eq!(names(&world), ["team-lead", "ann"]);

    mail.send(&message("m2", "ann", "came meanwhile")).await.unwrap();
    model.release("once");
    let session = world.resume().await;
    assert!(session.members_at_work(), "its mail is on its way");
    quiet(&session).await;
    // Another process writes to one that is idle.
    mail.send(&message("m3", "ann", "came late")).await.unwrap();
    assert!(session.mail_waits().await || session.members_at_work());
    eventually("all is read", async || !session.mail_waits().await).await;
    quiet(&session).await;
    let read = mails(&entries_of(&session, &member("ann")).await);
    for text in ["came at work", "came meanwhile", "came late"] {
        assert_eq!(read.iter().filter(|mail| mail.contains(text)).count(), 1, "{text}: {read:?}");
    }
    assert_eq!(session.close(Duration::from_secs(10)).await, Vec::<String>::new());
    assert!(!world.config.place.root.join("teams/blue").exists(), "with all read, the team goes");
}

// proves: T8, M1, M4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_that_was_read_and_not_marked_comes_once_and_stops_nothing() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply\n  expect \"it is blue\"\n  text \"heard\"\n\
         reply\n  expect \"go on\"\n  text \"well\"\n\
         agent general-purpose\n\
         reply\n  call SendMessage to=team-lead message=\"it is blue\" summary=done\n\
         reply \"idle\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    lead_says(&mut events, "heard").await;
    quiet(&session).await;
    drop(session);
    let marked = world.config.place.root.join("teams/blue/inboxes/team-lead.position.json");
    // Its reader runs beside the opening, and hands it over before or after that is done.
    for _ in 0..RESUMES {
        std::fs::remove_file(&marked).unwrap();
        let session = world.resume().await;
        assert!(!session.is_pending(), "a host would wait for the end of a turn that never begins");
        eventually("it is marked", async || position(&world, "team-lead") > 0).await;
        drop(session);
    }
    let session = world.resume().await;
    assert_eq!(turn(&session, 1, "go on").await.text, "well");
    quiet(&session).await;
    eventually("it is marked", async || position(&world, "team-lead") > 0).await;
    assert_eq!(mails(&entries(&session).await).len(), 1);
    close(session).await;
}

/// A journal that reads one agent's transcript no sooner than another has gone on, or it is clear that it does not.
struct Late {
    inner: Arc<dyn Journal>,
    on: Arc<Notify>,
}

impl Journal for Late {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        if key.as_str().ends_with("ann@blue") {
            self.on.notify_one();
        }
        self.inner.append(key, expect, record)
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.inner.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        Box::pin(async move {
            if key.as_str().ends_with("bob@blue") {
                // Nothing depends on how long: who waits for the other gets on.
                let _ = timeout(Duration::from_millis(300), self.on.notified()).await;
            }
            self.inner.read(key, after).await
        })
    }
}

// proves: T8, K2, M4
#[tokio::test]
async fn a_member_that_is_not_back_yet_is_not_taken_for_gone() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call TaskCreate subject=one description=d\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         reply \"made\"\n\
         agent general-purpose /be ann/\n\
         reply\n  call Bash command=\"read go < hold\"\n\
         reply\n  call TaskUpdate taskId=\"1\" status=in_progress\n\
         reply\n  call SendMessage to=bob message=\"is it yours?\" summary=hi\n\
         reply \"done\"\n\
         agent general-purpose /be bob/\n\
         reply\n  call TaskUpdate taskId=\"1\" status=in_progress\n\
         reply\n  call Bash command=\"read go < hold\"\n\
         reply \"done\"\nreply \"done\"\n",
    );
    let _hold = world.pipe("hold");
    let (parts, death) = world.dying(usize::MAX);
    let session = Session::open(parts, world.config.clone(), Start::New(world::session())).await.unwrap();
    turn(&session, 0, "go").await;
    let owner = async |session: &Session| {
        session.tasks().await.unwrap().board.task(TaskId(1)).and_then(|task| task.owner.clone())
    };
    let waits = async |name: &str| {
        let entries = entries_of(&session, &member(name)).await;
        let replies = entries.iter().filter(|entry| matches!(entry.body, Body::Assistant { .. })).count();
        (replies, results(&entries).len())
    };
    let both = async || waits("ann").await == (1, 0) && waits("bob").await == (2, 1);
    eventually("both are at work", both).await;
    death.strike();
    drop(session);
    let late = Late { inner: Arc::clone(&world.journal), on: Arc::default() };
    let session = world.open_on(Arc::new(late), Start::Resume(world::session())).await;
    eventually("ann is done", async || results(&entries_of(&session, &member("ann")).await).len() == 3).await;
    let told = results(&entries_of(&session, &member("ann")).await);
    assert!(told[1].contains("already claimed by bob"), "{told:?}");
    assert!(told[2].starts_with("Sent to bob"), "{told:?}");
    assert_eq!(owner(&session).await.as_deref(), Some("bob"));
    close(session).await;
}
