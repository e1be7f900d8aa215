//! Members whose plans the lead approves.

use troupe_core::board::{Status, TaskId};
use troupe_core::policy::Mode;
use troupe_testkit::reading::{close, data, entries, entries_of, mails, results};
use troupe_testkit::world::{say, turn};

use super::stage::{lead_says, member, playing, quiet};

// proves: S6, P2
#[tokio::test]
async fn a_plan_waits_for_the_lead_and_its_answer_sets_the_mode() {
    let (world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann mode=plan\n\
         reply \"made\"\n\
         reply\n  expect \"paint it red\"\n\
         \x20 call SendMessage to=ann message={\"type\":\"plan_approval_response\",\"request_id\":\"plan-ann-toolu_ann_blue_0_0\",\"approve\":false,\"feedback\":\"not red\"}\n\
         reply \"no\"\n\
         reply\n  expect \"paint it blue\"\n\
         \x20 call SendMessage to=ann message={\"type\":\"plan_approval_response\",\"request_id\":\"plan-ann-toolu_ann_blue_1_0\",\"approve\":true}\n\
         reply \"yes\"\n\
         reply \"fine\"\n\
         agent general-purpose\n\
         reply\n  gate first\n  call ExitPlanMode plan=\"paint it red\"\n\
         reply\n  expect \"not red\"\n  gate second\n  call ExitPlanMode plan=\"paint it blue\"\n\
         reply\n  expect \"Your plan is approved\"\n  call Write file_path=wall.txt content=blue\n\
         reply \"painted\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    lead_says(&mut events, "made").await;
    model.release("first");
    lead_says(&mut events, "no").await;
    let spawned = data(&entries(&session).await);
    assert_eq!(spawned[1]["plan_mode_required"], true);
    let of_ann = data(&entries_of(&session, &member("ann")).await);
    assert_eq!(of_ann[0]["awaitingLeaderApproval"], true, "{of_ann:?}");
    assert!(of_ann[0]["requestId"].is_string());
    model.release("second");
    lead_says(&mut events, "yes").await;
    quiet(&session).await;
    let read = entries_of(&session, &member("ann")).await;
    assert_eq!(world.read("wall.txt"), "blue", "{:?}", results(&read));
    let told = mails(&read);
    assert!(told[0].contains("not red") && told[1].contains("bypassPermissions"), "{told:?}");
    assert_eq!(session.mode(), Mode::BypassPermissions);
    close(session).await;
}

// proves: S6, T5
#[tokio::test]
async fn whoever_has_a_plan_with_the_lead_takes_no_task() {
    let (world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann mode=plan claim_tasks=true\n\
         reply \"made\"\n\
         reply\n  expect \"paint it red\"\n  call TaskCreate subject=look description=x\n\
         reply \"more\"\n\
         reply\n  call SendMessage to=ann message={\"type\":\"plan_approval_response\",\"request_id\":\"plan-ann-toolu_ann_blue_0_0\",\"approve\":true}\n\
         reply \"yes\"\n\
         agent general-purpose\n\
         reply\n  gate first\n  call ExitPlanMode plan=\"paint it red\"\n\
         reply\n  expect \"Your plan is approved\"\n  text \"painted\"\n\
         reply\n  expect \"Task 1 is yours now: look\"\n  call TaskUpdate taskId=\"1\" status=completed\n\
         reply \"looked\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    lead_says(&mut events, "made").await;
    model.release("first");
    lead_says(&mut events, "more").await;
    quiet(&session).await;
    let look = async || session.tasks().await.unwrap().board.task(TaskId(1)).unwrap().clone();
    assert_eq!((look().await.status, look().await.owner), (Status::Pending, None), "it waits for the answer");
    turn(&session, 1, "approve").await;
    quiet(&session).await;
    assert_eq!(look().await.status, Status::Completed, "then it takes what is free");
    close(session).await;
}
