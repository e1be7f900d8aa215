//! One of ten agents in the background is ended: the other nine lose nothing, and what it had is handed over.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use troupe_core::entry::Body;
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::outcome::{EndReason, Ending};
use troupe_testkit::reading::{
    close, ends, entries, entries_of, eventually, is_at_rest, notices, results, until,
};
use troupe_testkit::world::{World, say};

const AGENTS: usize = 10;
/// The one that is ended.
const ENDED: usize = 3;

/// Ten agents that say something, leave a trace, wait at a gate, and leave another.
fn script() -> String {
    let mut script = String::from("agent main\nreply\n");
    for n in 0..AGENTS {
        writeln!(
            script,
            "  call Agent description=n{n} name=n{n} prompt=\"number {n}.\" run_in_background=true"
        )
        .unwrap();
    }
    script.push_str("reply \"all ten are at work\"\n");
    script.push_str(&"reply \"noted\"\n".repeat(2 * AGENTS));
    for n in 0..AGENTS {
        writeln!(script, "agent general-purpose /number {n}./").unwrap();
        writeln!(script, "reply\n  text \"half of {n}.\"\n  call Bash command=\"echo half {n} >> effects\"")
            .unwrap();
        writeln!(script, "reply\n  gate g{n}\n  call Bash command=\"echo whole {n} >> effects\"").unwrap();
        writeln!(script, "reply \"done {n}.\"").unwrap();
    }
    script
}

// proves: B5, B3, X1, X9, C3, F002
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_one_of_ten_loses_nothing_of_the_nine_and_hands_over_what_it_had() {
    let (world, model) = World::playing(&script());
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let mut by_name: BTreeMap<String, AgentId> = BTreeMap::new();
    while by_name.len() < AGENTS {
        let opened = until(&mut events, |agent, kind| match kind {
            EventKind::Opened(header) => header.name.clone().map(|name| (name, agent.clone())),
            _ => None,
        });
        by_name.extend([opened.await]);
    }
    let agents: Vec<AgentId> = by_name.into_values().collect();
    for n in 0..AGENTS {
        model.reached(&format!("g{n}")).await;
    }
    let job = agents[ENDED].as_str().into();
    assert!(session.stop_job(&job).await);
    session.job(&job).unwrap().ended().await;
    let left: BTreeSet<AgentId> =
        session.background_jobs().into_iter().map(|job| AgentId::new(job.id.as_str())).collect();
    let others: BTreeSet<AgentId> = agents.iter().filter(|agent| **agent != agents[ENDED]).cloned().collect();
    assert_eq!(left, others, "the nine are at work");
    (0..AGENTS).for_each(|n| model.release(&format!("g{n}")));
    eventually("all is told", || async {
        session.background_jobs().is_empty() && is_at_rest(&session).await
    })
    .await;

    let told = notices(&entries(&session).await);
    assert_eq!(told.len(), AGENTS, "each end is told once: {told:?}");
    let effects = world.read("effects");
    for (n, agent) in agents.iter().enumerate() {
        let (status, result) = match n {
            ENDED => ("stopped", format!("half of {n}.")),
            _ => ("completed", format!("done {n}.")),
        };
        let notice = &told.iter().find(|(job, _)| job.as_str() == agent.as_str()).unwrap().1;
        assert!(notice.contains(&format!("<status>{status}</status>")), "{notice}");
        assert!(notice.contains(&format!("<result>{result}</result>")), "{notice}");
        let own = entries_of(&session, agent).await;
        assert_eq!(ends(&own), 1);
        let Body::Closed(envelope) = &own.last().unwrap().body else { panic!("it is closed") };
        let (ending, reason, calls) = match n {
            ENDED => (Ending::Stopped, EndReason::Cancelled, 1),
            _ => (Ending::Completed, EndReason::Done, 2),
        };
        assert_eq!((envelope.ending, &envelope.reason), (ending, &reason), "{n}");
        assert_eq!(results(&own).len(), calls, "{n}");
        let count = |word: &str| effects.lines().filter(|line| *line == format!("{word} {n}")).count();
        assert_eq!((count("half"), count("whole")), (1, usize::from(n != ENDED)), "{n}: {effects}");
    }
    close(session).await;
}
