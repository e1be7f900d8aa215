//! A lead that comes back.

use troupe_core::team::{Kind, Message};
use troupe_engine::team::Teams;
use troupe_testkit::reading::{close, entries, entries_of, eventually, mails};
use troupe_testkit::world::{say, turn};

use super::stage::{lead_says, member, names, playing, quiet};

fn message(id: &str, to: &str, text: &str) -> Message {
    Message {
        id: id.into(),
        from: "ann".into(),
        to: to.into(),
        text: text.into(),
        timestamp: "2026-01-01T00:00:00Z".into(),
        color: None,
        summary: None,
        kind: Kind::Text,
    }
}

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
