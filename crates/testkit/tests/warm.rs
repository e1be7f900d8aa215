//! Agents that start together on one prefix: the first warms the cache for the others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use troupe_core::outcome::Ending;
use troupe_core::policy::Mode;
use troupe_engine::Session;
use troupe_models::script::ScriptModel;
use troupe_testkit::recorder::Recorder;
use troupe_testkit::world::{World, ended, say};

/// Three agents of one reply, the first of which answers when a gate is opened.
fn script(cache: &str, kind: &str, first: &str) -> String {
    let call = |n: u32| {
        format!("  call Agent description=part prompt=\"part {n}\" run_in_background=false {kind}\n")
    };
    let agent = if kind.is_empty() { "fork" } else { "Explore" };
    format!(
        "{cache}agent main\nreply\n  usage input=1 output=1 cache_write=9000\n{}{}{}reply \"done\"\nagent {agent} /part 0/\nreply\n{first}  text \"Scope: it.\"\nagent {agent}\nreply \"Scope: it.\"\n",
        call(0),
        call(1),
        call(2)
    )
}

fn world(script: &str) -> (World, Arc<Recorder>, Arc<ScriptModel>) {
    let script = Arc::new(ScriptModel::parse("test", script).unwrap());
    let recorder = Recorder::of(Arc::clone(&script) as _);
    let mut world = World::new(Arc::clone(&recorder) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.config.forks.enabled = true;
    (world, recorder, script)
}

fn below(recorder: &Recorder) -> usize {
    recorder.requests().iter().filter(|request| request.definition != "main").count()
}

/// Lets all that can go on do so.
async fn settle() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

// proves: X21
#[tokio::test(start_paused = true)]
async fn the_others_send_when_the_first_reply_begins() {
    for kind in ["", "subagent_type=Explore"] {
        let (world, recorder, script) = world(&script("cache 1000\n", kind, "  gate first\n"));
        let session = world.start().await;
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        script.reached("first").await;
        settle().await;
        assert_eq!(below(&recorder), 1, "{kind}: one sends, the others wait");
        script.release("first");
        assert_eq!(ended(&mut events).await.ending, Ending::Completed);
        assert_eq!(below(&recorder), 3);
        close(session).await;
    }
}

// proves: X21
#[tokio::test(start_paused = true)]
async fn the_wait_has_a_limit_and_ends_when_the_first_fails() {
    let (mut slow, recorder, script_model) = world(&script("cache 1000\n", "", "  gate never\n"));
    slow.config.cache.warm = Duration::from_secs(3);
    let session = slow.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    script_model.reached("never").await;
    settle().await;
    assert_eq!(below(&recorder), 1);
    tokio::time::advance(Duration::from_millis(3_001)).await;
    settle().await;
    assert_eq!(below(&recorder), 3, "the first is slow; the others don't wait for ever");
    script_model.release("never");
    ended(&mut events).await;
    close(session).await;

    let (failing, recorder, _) = world(&script("cache 1000\n", "", "  error 400 \"no\" times=always\n"));
    let started = tokio::time::Instant::now();
    let session = failing.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!(below(&recorder), 3);
    assert!(started.elapsed() < Duration::from_secs(1), "a failure ends the wait at once");
    close(session).await;
}

// proves: X21
#[tokio::test(start_paused = true)]
async fn nobody_waits_without_a_cache_on_a_short_prefix_or_when_it_is_turned_off() {
    for (cache, warm) in [("", 10), ("cache 1000000\n", 10), ("cache 1000\n", 0)] {
        let (mut world, recorder, script) = world(&script(cache, "", "  gate first\n"));
        world.config.cache.warm = Duration::from_secs(warm);
        let session = world.start().await;
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        script.reached("first").await;
        settle().await;
        assert_eq!(below(&recorder), 3, "{cache:?} {warm}");
        script.release("first");
        ended(&mut events).await;
        close(session).await;
    }
}
