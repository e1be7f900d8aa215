//! How commands end: by themselves, by a limit, by whoever stops them. Nothing is left of them.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use troupe_core::CancellationToken;
use troupe_core::outcome::Ending;
use troupe_core::ports::supervisor::Release;
use troupe_tools::shell::{Bash, Options};

use crate::supervisor::{Agent, World, alive, field, fifo, hear, shell_end, text};

/// A limit on what must not hang; far above what it takes.
const HANG: Duration = Duration::from_mins(1);

fn bash() -> Bash {
    Bash::new(Options::default())
}

/// Runs a command that writes to the pipe `ready` once it is under way, and cancels its call then.
async fn cancelled(world: &std::sync::Arc<World>, command: &str) -> String {
    let mut agent = Agent::main(world);
    let ready = fifo(&world.work(), "ready");
    let cancel = agent.cancel.clone();
    let tool = bash();
    let (out, ()) = timeout(HANG, async {
        tokio::join!(agent.run(&tool, command), async {
            hear(&ready).await;
            cancel.cancel();
        })
    })
    .await
    .unwrap();
    assert!(out.is_error);
    assert_eq!(field(&out, "interrupted"), true);
    text(&out)
}

/// The folder's name stands in the command line of every fixture.
fn name(world: &World) -> String {
    world.work().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

// A trap's own programs are asked to end no second time.
// proves: F238
#[tokio::test]
async fn a_cancelled_script_runs_its_exit_trap_and_leaves_no_child() {
    let world = World::new();
    let clean = world.work().join("CLEAN");
    let script = format!(
        "trap 'seq 1 100000 | tail -n 1 >/dev/null; touch {}' EXIT; bash -c 'sleep 1000; : {}' & echo > ready; wait",
        clean.display(),
        name(&world)
    );
    let shown = cancelled(&world, &script).await;
    assert!(shown.starts_with("Interrupted"), "{shown}");
    assert!(clean.exists());
    assert_eq!(alive(&name(&world)), Vec::<String>::new());
}

#[tokio::test]
async fn what_ignores_term_is_killed() {
    let world = World::new();
    let script =
        format!("trap '' TERM; echo so far; echo > ready; while :; do sleep 1; done; : {}", name(&world));
    let shown = cancelled(&world, &script).await;
    assert!(shown.contains("so far"), "{shown}");
    assert_eq!(alive(&name(&world)), Vec::<String>::new());
}

// proves: C12
#[tokio::test]
async fn grandchildren_in_sessions_of_their_own_are_ended_on_cancel() {
    let world = World::new();
    let name = name(&world);
    let script = format!(
        "setsid bash -c 'trap \"\" TERM HUP; echo up > ready; while :; do sleep 5; done; : {name}' >/dev/null 2>&1 &\n\
         setsid setsid sleep 1000 & wait; : {name}"
    );
    cancelled(&world, &script).await;
    assert_eq!(alive(&name), Vec::<String>::new());
}

#[tokio::test]
async fn a_stopped_process_is_ended_in_the_same_way() {
    let world = World::new();
    let clean = world.work().join("CLEAN");
    let script = format!(
        "trap 'touch {}' EXIT\n\
         (until grep -q '^State:.T' /proc/$$/status; do :; done; echo > ready) &\n\
         kill -STOP $$; : {}",
        clean.display(),
        name(&world)
    );
    cancelled(&world, &script).await;
    assert!(clean.exists());
    assert_eq!(alive(&name(&world)), Vec::<String>::new());
}

#[tokio::test]
async fn a_flood_can_be_cancelled() {
    let world = World::new();
    cancelled(&world, &format!("echo > ready; yes {}", name(&world))).await;
    assert_eq!(alive(&name(&world)), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_foreground_command_leaves_running_is_ended_with_it() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    for leftover in [
        format!("bash -c 'sleep 1000; : {}' & echo started", name(&world)),
        format!("bash -c 'sleep 1000; : {}' >/dev/null 2>&1 & echo started", name(&world)),
        format!("setsid bash -c 'sleep 1000; : {}' & echo started", name(&world)),
        format!("(trap '' TERM HUP; sleep 1000; : {}) & echo started", name(&world)),
    ] {
        let out = timeout(HANG, agent.run(&bash(), &leftover)).await.unwrap();
        let shown = text(&out);
        assert!(shown.starts_with("started\n") && shown.contains("left running"), "{shown}");
        assert!(!out.is_error);
        assert_eq!(alive(&name(&world)), Vec::<String>::new(), "{leftover}");
    }
}

#[tokio::test]
async fn output_of_a_process_substitution_is_awaited() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let out = agent.run(&bash(), "echo through > >(sed 's/^/came /')").await;
    assert_eq!(text(&out), "came through");
}

// proves: X2
#[tokio::test(start_paused = true)]
async fn a_command_that_takes_too_long_goes_on_in_the_background() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let go = fifo(&world.work(), "go");
    let out = agent.call(&bash(), json!({"command": "read -r x < go; echo \"got $x\"", "timeout": 50})).await;
    assert!(!out.is_error);
    assert_eq!(field(&out, "backgroundTaskId"), "b1");
    assert_eq!(field(&out, "timedOutAfterMs"), 50);
    let job = world.job_of("b1");
    assert!(text(&out).contains("b1") && text(&out).contains(job.output.to_str().unwrap()), "{}", text(&out));
    assert!(job.output.exists());
    assert_eq!(*world.released.lock().unwrap(), [("b1".into(), Release::Detached)]);
    // From here on in real time: the command's end is a real event.
    tokio::time::resume();
    tokio::fs::write(&go, "word\n").await.unwrap();
    let end = shell_end(timeout(HANG, job.ended()).await.unwrap());
    assert_eq!((end.ending, end.code), (Ending::Completed, Some(0)));
    assert_eq!(std::fs::read_to_string(&job.output).unwrap(), "got word\n");
}

#[tokio::test(start_paused = true)]
async fn what_has_no_use_in_the_background_is_killed_at_its_limit() {
    let world = World::new();
    let name = name(&world);
    for command in [
        format!("sleep 1000; : {name}"),
        format!("read -r x < go; git status {name}"),
        format!("cat <> go; : {name}"),
    ] {
        let mut agent = Agent::main(&world);
        let _ = std::fs::remove_file(world.work().join("go"));
        fifo(&world.work(), "go");
        let out = agent.call(&bash(), json!({"command": command, "timeout": 50})).await;
        assert!(out.is_error, "{command}");
        assert!(text(&out).starts_with("Timed out after 50 ms and was killed."), "{}", text(&out));
        assert_eq!(field(&out, "timedOutAfterMs"), 50);
    }
    let options = Options { background: false, ..Options::default() };
    let mut agent = Agent::main(&world);
    let out =
        agent.call(&Bash::new(options), json!({"command": format!("cat go; : {name}"), "timeout": 50})).await;
    assert!(text(&out).starts_with("Timed out"), "{}", text(&out));
    tokio::time::resume();
    assert_eq!(alive(&name), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_background_command_has_a_limit_too() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    fifo(&world.work(), "go");
    let input = json!({"command": "cat go", "run_in_background": true, "timeout": 10});
    let out = agent.call(&bash(), input).await;
    assert_eq!(field(&out, "backgroundTaskId"), "b1");
    let end = shell_end(world.job_of("b1").ended().await);
    assert_eq!(end.ending, Ending::Failed);
    assert_eq!(end.error.as_deref(), Some("timed out after 10 ms"));
}

// A background job ends with its last process, not with its shell.
#[tokio::test(start_paused = true)]
async fn a_background_job_lives_as_long_as_its_processes() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let (name, go) = (name(&world), fifo(&world.work(), "go"));
    let ready = fifo(&world.work(), "ready");
    let child = "while kill -0 $0 2>/dev/null; do :; done; echo > ready; read -r x < go; echo $x";
    let command = format!("bash -c '{child}; : {name}' $$ &\n echo shell done");
    let out = agent.call(&bash(), json!({"command": command, "run_in_background": true})).await;
    assert_eq!(field(&out, "backgroundTaskId"), "b1");
    // The shell is gone; every limit that might follow from it passes.
    hear(&ready).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let job = world.job_of("b1");
    assert!(job.outcome.borrow().is_none());
    tokio::time::resume();
    tokio::fs::write(&go, "late\n").await.unwrap();
    let end = shell_end(timeout(HANG, job.ended()).await.unwrap());
    assert_eq!(end.ending, Ending::Completed);
    assert_eq!(std::fs::read_to_string(&job.output).unwrap(), "shell done\nlate\n");
    assert_eq!(alive(&name), Vec::<String>::new());
}

// Wherever the cancellation falls, and also when the call is dropped: nothing is left.
#[tokio::test]
async fn a_cancel_at_any_moment_leaves_nothing() {
    let world = World::new();
    let name = name(&world);
    let command = format!(
        "for i in 1 2 3; do bash -c ': {name}'; done; (sleep 1000 &) ; setsid bash -c 'sleep 1000; : {name}' & wait"
    );
    for step in (0..10_u32).chain((4..34).map(|power| (power % 2 + 2) << (power / 2))) {
        let agent = Agent::main(&world);
        let tool = bash();
        let cx = agent.cx();
        let call = troupe_core::ports::tool::Tool::call(&tool, &cx, json!({"command": command}));
        let mut call = std::pin::pin!(call);
        // A number of polls stands for the moment.
        let mut polls = 0;
        let early = std::future::poll_fn(|context| {
            polls += 1;
            if polls > step {
                return std::task::Poll::Ready(None);
            }
            context.waker().wake_by_ref();
            call.as_mut().poll(context).map(Some)
        })
        .await;
        assert!(early.is_none(), "the command waits for ever");
        agent.cancel.cancel();
        let out = timeout(HANG, call).await.unwrap();
        assert!(out.is_error);
    }
    let found = alive(&name);
    assert_eq!(found, Vec::<String>::new());
}

#[tokio::test]
async fn a_dropped_call_ends_its_command() {
    let world = World::new();
    let name = name(&world);
    let agent = Agent::main(&world);
    let ready = fifo(&world.work(), "ready");
    let tool = bash();
    let cx = agent.cx();
    let command = format!("echo > ready; setsid bash -c 'sleep 1000; : {name}'; : {name}");
    let call = troupe_core::ports::tool::Tool::call(&tool, &cx, json!({"command": command}));
    tokio::select! {
        _ = call => panic!("the command waits for ever"),
        _ = hear(&ready) => {}
    }
    let end = shell_end(timeout(HANG, world.job_of("b1").ended()).await.unwrap());
    assert_eq!(end.ending, Ending::Stopped);
    assert_eq!(alive(&name), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_at_once_each_get_their_own_output() {
    let world = World::new();
    let tool = std::sync::Arc::new(bash());
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    text(&Agent::main(&world).run(&*tool, "true").await);
    let before = files();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (world, tool) = (world.clone(), tool.clone());
        calls.spawn(async move {
            let mut agent = Agent::main(&world);
            let command = format!("mkdir d{number}; cd d{number}; seq {number} {}; pwd", number + 50);
            let out = agent.run(&*tool, &command).await;
            let cwd = world.work().join(format!("d{number}"));
            let lines: Vec<String> = (number..=number + 50).map(|line| line.to_string()).collect();
            assert_eq!(text(&out), format!("{}\n{}", lines.join("\n"), cwd.display()));
            assert_eq!(agent.place.cwd, cwd);
        });
    }
    while let Some(call) = timeout(HANG, calls.join_next()).await.unwrap() {
        call.unwrap();
    }
    assert_eq!(files(), before);
}

#[tokio::test]
async fn a_call_that_is_cancelled_already_ends_at_once() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    agent.cancel = CancellationToken::new();
    agent.cancel.cancel();
    let out = timeout(HANG, agent.run(&bash(), "sleep 1000")).await.unwrap();
    assert!(out.is_error);
}

// proves: F235
#[tokio::test]
async fn a_command_that_kills_its_group_does_not_reach_the_harness() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let out = agent.run(&bash(), "echo before; kill -KILL 0").await;
    assert!(text(&out).starts_with("Exit code 137 (signal 9)\nbefore"), "{}", text(&out));
}
