//! Many ends of agents in the background, at every point of their owner's cycle.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use troupe_core::block::Block;
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, JobId};
use troupe_core::outcome::Ending;
use troupe_core::ports::model::{Delta, Message, Model, ModelError, ModelInfo, Request};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{close, entries, notices};
use troupe_testkit::world::{LIMIT, World, say};

/// A lead that starts as many agents as a prompt says, and takes note of whatever comes; every third note takes a
/// call. Agents wait at a gate of their own.
struct Lead {
    agents: ScriptModel,
}

impl Lead {
    fn new(agents: usize) -> Arc<Self> {
        let mut script = String::from("agent main\nreply \"unused\"\n");
        for number in 0..agents {
            write!(script, "agent general-purpose /number {number}./\nreply\n  gate g{number}\n  text \"done {number}.\"\n").unwrap();
        }
        Arc::new(Self { agents: ScriptModel::parse("agents", &script).unwrap() })
    }

    fn script(request: &Request) -> String {
        let last = request.messages.last().map(Message::blocks).into_iter().flatten();
        let text = last.filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        let mut script = "agent main\n".to_owned() + &"reply \"earlier\"\n".repeat(request.replies as usize);
        match text.split_once("start ").and_then(|(_, range)| range.split_once("..")) {
            Some((from, to)) => {
                let to = to.split_whitespace().next().unwrap_or_default();
                script.push_str("reply\n");
                for number in from.parse::<usize>().unwrap()..to.parse().unwrap() {
                    writeln!(
                        script,
                        "call Agent description=\"one\" run_in_background=true prompt=\"number {number}.\""
                    )
                    .unwrap();
                }
            }
            None if request.replies.is_multiple_of(3) => {
                script.push_str("reply\n  call Glob pattern=\"*\"\n");
            }
            None => script.push_str("reply \"noted\"\n"),
        }
        script
    }
}

impl Model for Lead {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        if request.agent.is_main() {
            ScriptModel::parse("lead", &Self::script(&request)).unwrap().stream(request, cancel)
        } else {
            self.agents.stream(request, cancel)
        }
    }

    fn count<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async { Ok(1) })
    }

    fn info(&self, name: &str) -> ModelInfo {
        self.agents.info(name)
    }
}

/// Waits until so many notices were read, and gives them by job.
async fn all_told(
    session: &Session,
    events: &mut Subscription,
    count: usize,
) -> BTreeMap<JobId, Vec<String>> {
    let wait = async {
        loop {
            match events.next().await {
                Heard::Event(event) if event.agent.is_main() && matches!(event.kind, EventKind::Ended(_)) => {
                }
                Heard::Closed => return Vec::new(),
                Heard::Event(_) | Heard::Missed(_) => continue,
            }
            let told = notices(&entries(session).await);
            if told.len() >= count && session.waiting(&AgentId::main()).is_empty() {
                return told;
            }
        }
    };
    let mut by_job: BTreeMap<JobId, Vec<String>> = BTreeMap::new();
    for (job, text) in tokio::time::timeout(4 * LIMIT, wait).await.unwrap() {
        by_job.entry(job).or_default().push(text);
    }
    by_job
}

// proves: X1, B3, F002, F003, F025, F026, F033
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_ends_at_any_point_of_the_leads_cycle_are_each_told_once() {
    const AGENTS: usize = 200;
    let lead = Lead::new(AGENTS);
    let mut world = World::unasked(Arc::clone(&lead) as _);
    // All are at work at once.
    world.config.ceilings.live_agents = AGENTS + 1;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    let mut order: Vec<usize> = (0..AGENTS).collect();
    fastrand::Rng::with_seed(7).shuffle(&mut order);
    let (first, rest) = order.split_at(AGENTS / 2);
    // Some end before they are waited for, some while the calls are answered, and most at any later point.
    for number in &first[..50] {
        lead.agents.release(&format!("g{number}"));
    }
    say(&session, 0, &format!("start 0..{AGENTS}")).await;
    for (n, number) in first[50..].iter().chain(rest).enumerate() {
        lead.agents.reached(&format!("g{number}")).await;
        lead.agents.release(&format!("g{number}"));
        if n % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let told = all_told(&session, &mut events, AGENTS).await;
    assert_eq!(told.len(), AGENTS);
    assert!(told.values().all(|texts| texts.len() == 1 && texts[0].contains("<result>done ")), "{told:?}");
    close(session).await;
}

// proves: F034, X1, B1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_meets_an_end_gives_one_of_the_two_in_a_thousand_races() {
    const ROUNDS: usize = 20;
    const EACH: usize = 50;
    let lead = Lead::new(ROUNDS * EACH);
    let mut world = World::unasked(Arc::clone(&lead) as _);
    world.config.ceilings.live_agents = EACH + 1;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    for round in 0..ROUNDS {
        let numbers = round * EACH..(round + 1) * EACH;
        say(&session, round, &format!("start {}..{}", numbers.start, numbers.end)).await;
        for number in numbers.clone() {
            lead.agents.reached(&format!("g{number}")).await;
        }
        let jobs = session.background_jobs();
        let stops = async {
            for job in &jobs {
                session.stop_job(&job.id).await;
                tokio::task::yield_now().await;
            }
        };
        let model = Arc::clone(&lead);
        let mut ends = tokio::task::JoinSet::new();
        ends.spawn(async move {
            for number in numbers {
                model.agents.release(&format!("g{number}"));
                tokio::task::yield_now().await;
            }
        });
        stops.await;
        ends.join_all().await;
        let told = all_told(&session, &mut events, (round + 1) * EACH).await;
        for job in jobs {
            let ending = job.ended().await.ending();
            let word = if ending == Ending::Completed { "completed" } else { "stopped" };
            let texts = &told[&job.id];
            assert_eq!(texts.len(), 1, "{texts:?}");
            assert!(texts[0].contains(&format!("<status>{word}</status>")), "{word}: {texts:?}");
        }
    }
    close(session).await;
}
