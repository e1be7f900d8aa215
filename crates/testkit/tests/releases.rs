//! A thousand agents of each kind and with each end, in one process: what is left of them afterwards.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use troupe_core::budget::Limits;
use troupe_core::entry::Body;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::input::Input;
use troupe_core::outcome::EndReason;
use troupe_engine::Session;
use troupe_engine::journal::{FileJournal, Locking};
use troupe_testkit::process::{Figures, poll};
use troupe_testkit::puppet::{NOTED, Puppet};
use troupe_testkit::reading::{close, entries_of, eventually, is_at_rest, result, until};
use troupe_testkit::world::{World, say};

/// What an agent holds when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Nothing,
    /// The messages of the agent that it is a fork of.
    Messages,
    Shell,
    Monitor,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Success,
    Error,
    Stop,
    Limit,
    /// With the turn of the agent that waits for it.
    Interrupt,
}

const HELD: [Held; 4] = [Held::Nothing, Held::Messages, Held::Shell, Held::Monitor];
const ENDS: [End; 5] = [End::Success, End::Error, End::Stop, End::Limit, End::Interrupt];
/// Agents of one batch: one of each kind with each end.
const BATCH: usize = HELD.len() * ENDS.len();
const BATCHES: usize = 50;
/// What the first of them leave is not counted: caches and pools fill up once.
const WARM: usize = 10;
/// Replies of an agent at most.
const TURNS: u32 = 4;
/// Most memory that an agent may add to the process. What it leaves is less: its call, result and notice in the
/// transcript of the main agent, and its end, for people to look up. The rest is the allocator's, which keeps what the
/// reading of that transcript took; each fork reads it, and so does this test.
const KB_EACH: u64 = 60;
/// How long the system may take to close what was let go.
const CLOSED: Duration = Duration::from_secs(30);

fn all() -> impl Iterator<Item = (String, Held, End)> {
    let of = |end: End| HELD.into_iter().map(move |held| (format!("{held:?}-{end:?}"), held, end));
    ENDS.into_iter().flat_map(of)
}

/// The main agent's calls for one batch.
fn calls(batch: usize) -> String {
    let mut words = String::new();
    for (name, held, end) in all() {
        let kind = if held == Held::Messages { "" } else { "subagent_type=general-purpose" };
        let background = end != End::Interrupt;
        writeln!(
            words,
            "call Agent description={name} name={name} prompt=\"{name} {batch}\" run_in_background={background} {kind}"
        )
        .unwrap();
    }
    words
}

/// Has an agent make a call, and waits for the result.
async fn does(session: &Session, puppet: &Puppet, agent: &AgentId, call: &str) {
    let mut events = session.subscribe(false);
    puppet.reply(agent, call);
    until(&mut events, |whose, kind| match kind {
        EventKind::Appended(entry) if whose == agent => result(entry),
        _ => None,
    })
    .await;
}

/// Lets an agent take hold of something, and brings it to its end, unless that comes with another's.
async fn play(session: &Session, puppet: &Puppet, agent: &AgentId, held: Held, end: End) {
    let call = match held {
        Held::Nothing | Held::Messages => "call Glob pattern=\"*\"",
        Held::Shell => "call Bash command=\"sleep 600 & sleep 600\" run_in_background=true",
        Held::Monitor => "call Monitor command=\"sleep 600 & sleep 600\" description=d",
    };
    does(session, puppet, agent, call).await;
    match end {
        End::Success => {
            puppet.free(agent, "text \"done\"");
            // It ends when what it has started has.
            let own = |job: &troupe_core::ports::supervisor::Job| job.owner == *agent;
            for job in session.background_jobs().into_iter().filter(own) {
                session.stop_job(&job.id).await;
            }
        }
        End::Error => puppet.reply(agent, "error 400 \"bad request\""),
        End::Stop => assert!(session.stop_job(&JobId::new(agent.as_str())).await),
        End::Limit => {
            for turn in 1..TURNS {
                puppet.reply(agent, &format!("call Glob pattern=\"{turn}*\""));
            }
        }
        End::Interrupt => puppet.asked(agent).await,
    }
}

/// Starts one agent of each kind for each end, and waits until all have ended as they should.
async fn batch(session: &Session, puppet: &Puppet, number: usize) {
    let main = AgentId::main();
    let mut events = session.subscribe(false);
    puppet.reply(&main, &calls(number));
    say(session, number, "go").await;
    let mut agents = BTreeMap::new();
    while agents.len() < BATCH {
        let opened = until(&mut events, |agent, kind| match kind {
            EventKind::Opened(header) => header.name.clone().map(|name| (name, agent.clone())),
            _ => None,
        });
        agents.extend([opened.await]);
    }
    let plays = all().map(|(name, held, end)| {
        let agent = agents[&name].clone();
        async move { play(session, puppet, &agent, held, end).await }
    });
    futures_util::future::join_all(plays).await;
    session.send(&main, Input::Interrupt).await.unwrap();
    eventually("all have ended", || async {
        session.roster().len() == 1 && session.background_jobs().is_empty() && is_at_rest(session).await
    })
    .await;
    // Nobody needs to send all of it again and again.
    session.send(&main, Input::Compact(None)).await.unwrap();
    until(&mut events, |_, kind| matches!(kind, EventKind::Notice(Notice::Compacted { .. })).then_some(()))
        .await;
    for (name, _, end) in all() {
        let last = entries_of(session, &agents[&name]).await.pop().unwrap();
        let Body::Closed(envelope) = &last.body else { panic!("{name}: {last:?}") };
        let wanted: &[EndReason] = match end {
            End::Success => &[EndReason::Done],
            End::Error => &[EndReason::Model],
            End::Stop => &[EndReason::Cancelled],
            End::Limit => &[EndReason::MaxTurns],
            End::Interrupt => &[EndReason::Cancelled, EndReason::Interrupted],
        };
        assert!(wanted.contains(&envelope.reason), "{name}: {envelope:?}");
    }
}

/// Processes that work in a folder.
fn processes(folder: &Path) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .count()
}

/// What this process costs once what was let go is closed: no more handles and threads than before.
fn look(world: &World, before: Option<Figures>) -> Figures {
    poll("as many processes, handles and threads as before", CLOSED, || {
        let now = Figures::of(std::process::id()).unwrap();
        let settled = before.is_none_or(|before| now.fds <= before.fds && now.threads <= before.threads);
        (settled && processes(world.workspace()) == 0).then_some(now)
    })
}

// proves: C12, X3, C3
#[test]
#[expect(clippy::print_stderr, reason = "the figures are for who reads the test's output")]
fn a_thousand_agents_of_each_kind_and_end_leave_nothing_behind() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        // Threads for files end soon after their work.
        .thread_keep_alive(Duration::from_millis(100))
        .enable_all()
        .build()
        .unwrap();
    let puppet = Puppet::default();
    let mut world = World::unasked(Arc::new(puppet.clone()));
    world.journal = Arc::new(FileJournal::new(world.config.place.root.clone(), Locking::Leased));
    world.config.forks.enabled = true;
    world.config.ceilings.agents = BATCHES * BATCH;
    world.config.guards.each = Limits { turns: Some(TURNS), ..Limits::default() };
    puppet.free(&AgentId::main(), NOTED);
    let session = runtime.block_on(world.start());
    let mut before = None;
    for number in 0..BATCHES {
        runtime.block_on(batch(&session, &puppet, number));
        if number + 1 == WARM {
            before = Some(look(&world, None));
        }
    }
    let before = before.unwrap();
    let after = look(&world, Some(before));
    let each = after.rss_kb.saturating_sub(before.rss_kb) / ((BATCHES - WARM) * BATCH) as u64;
    eprintln!("{each} kB for each agent: {before:?}, {after:?}");
    assert!(each < KB_EACH, "{each} kB for each agent: {before:?}, {after:?}");
    runtime.block_on(close(session));
}
