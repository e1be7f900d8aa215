//! What a model is asked about agents in the background, beside their work.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::text_of;
use troupe_core::entry::{Body, Origin};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_engine::bus::Heard;
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{LIMIT, World, ended, say};

const START: &str = "agent main\nreply\n  call Agent description=\"a part\" prompt=\"tidy the docs\" \
                     run_in_background=true\nreply \"sent off\"\nreply \"heard\"\n";

async fn notice(script: &str) -> String {
    let mut world = World::new(Arc::new(ScriptModel::parse("watching", script).unwrap()));
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.config.watching.handoff = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    while ended(&mut events).await.text != "heard" {}
    let entries = session.entries(&AgentId::main(), 0).await.unwrap();
    let told = entries.iter().find_map(|entry| match &entry.body {
        Body::User { blocks, from: Origin::Job(_), .. } => Some(text_of(blocks)),
        _ => None,
    });
    session.close(LIMIT).await;
    told.unwrap()
}

// proves: B8
#[tokio::test]
async fn what_is_handed_over_is_checked_first_and_never_changed() {
    let work = "agent general-purpose\nreply\n  call Bash command=\"rm -f docs\"\nreply \"All tidy.\"\n";
    let checked = |reply: &str| format!("{START}{work}agent handoff\n{reply}");
    let look = notice(&checked("reply\n  call judge verdict=look reason=\"It deleted the docs.\"\n")).await;
    let remark = look.find("<remark>Check before you rely on this: It deleted the docs.</remark>");
    assert!(remark.is_some() && remark < look.find("<result>All tidy.</result>"), "{look}");
    let fine = notice(&checked("reply\n  call judge verdict=in_order reason=\"\"\n")).await;
    assert!(!fine.contains("<remark>") && fine.contains("<result>All tidy.</result>"), "{fine}");
    let failed = notice(&checked("reply \"looks good\"\n")).await;
    assert!(failed.contains("<remark>What it did was not checked"), "{failed}");
}

// proves: B6
#[tokio::test(start_paused = true)]
async fn what_an_agent_does_is_told_each_half_minute_in_which_it_did_something() {
    let script = format!(
        "{START}agent general-purpose\nreply\n  call Glob pattern=\"*\"\nreply\n  gate more\n  text \"done\"\n\
         agent activity\nreply \"Reading the docs\\nand more\"\n"
    );
    let model = Arc::new(ScriptModel::parse("watching", &script).unwrap());
    let mut world = World::new(Arc::clone(&model) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.config.watching.activity = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let mut told = Vec::new();
    let began = tokio::time::Instant::now();
    while began.elapsed() < Duration::from_secs(200) {
        let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::from_secs(100), events.next()).await
        else {
            break;
        };
        if let EventKind::Notice(Notice::Activity(line)) = &event.kind {
            assert!(!event.agent.is_main());
            told.push(line.clone());
        }
    }
    assert_eq!(told, ["Reading the docs"], "once: it did nothing since");
    model.release("more");
    session.close(LIMIT).await;
}
