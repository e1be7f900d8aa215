//! Agents in the background: how they get there, and that each end is told exactly once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Origin};
use troupe_core::event::{EventKind, JobChange};
use troupe_core::ids::{AgentId, CallId, JobId};
use troupe_core::input::{Input, Prompt, When};
use troupe_core::job::JobState;
use troupe_core::outcome::Ending;
use troupe_core::policy::Mode;
use troupe_core::ports::model::{Delta, Message, Model, ModelError, ModelInfo, Request};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{LIMIT, World, ended, say, turn};

const CLOSE: Duration = Duration::from_secs(10);

/// A world, and its model to release gates by.
fn world(script: &str) -> (World, Arc<ScriptModel>) {
    let model = Arc::new(ScriptModel::parse("test", script).unwrap());
    let mut world = World::new(Arc::clone(&model) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    (world, model)
}

async fn entries(session: &Session) -> Vec<Arc<Entry>> {
    session.entries(&AgentId::main(), 0).await.unwrap()
}

/// Texts of notices in the main agent's transcript, with the jobs that they are of.
async fn notices(session: &Session) -> Vec<(JobId, String)> {
    let notice = |entry: &Arc<Entry>| match &entry.body {
        Body::User { from: Origin::Job(job), blocks, .. } => Some((job.clone(), text_of(blocks))),
        _ => None,
    };
    entries(session).await.iter().filter_map(notice).collect()
}

/// The structured results of the main agent's calls, in order.
async fn results(session: &Session) -> Vec<serde_json::Value> {
    let data = |entry: &Arc<Entry>| match &entry.body {
        Body::Result { data, .. } => Some(data.as_deref().cloned().unwrap_or_default()),
        _ => None,
    };
    entries(session).await.iter().filter_map(data).collect()
}

async fn until<T>(events: &mut Subscription, wanted: impl Fn(&AgentId, &EventKind) -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && let Some(found) = wanted(&event.agent, &event.kind)
            {
                return found;
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap()
}

/// Waits for the start of a job.
async fn job(events: &mut Subscription) -> JobId {
    until(events, |_, kind| match kind {
        EventKind::Job(id, JobChange::Started { .. }) => Some(id.clone()),
        _ => None,
    })
    .await
}

async fn job_ended(events: &mut Subscription) -> Ending {
    until(events, |_, kind| match kind {
        EventKind::Job(_, JobChange::Ended(outcome)) => Some(outcome.ending()),
        _ => None,
    })
    .await
}

const ONE: &str = "agent main\nreply\n  call Agent description=\"look\" name=bob run_in_background=true prompt=\"look\"\n\
    reply \"started\"\nreply\n  expect \"<task-id>\"\n  text \"noted\"\n\
    agent general-purpose\nreply\n  gate go\n  text \"found it\"\n";

// proves: A2, A10, B1, B2, B3, B4, X1, F025
#[tokio::test]
async fn a_background_agent_is_told_of_once_and_wakes_its_owner() {
    let (world, model) = world(ONE);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    assert_eq!(turn(&session, 0, "go").await.text, "started");
    let id = job(&mut events).await;
    let sent = &results(&session).await[0];
    assert_eq!((&sent["status"], &sent["agentId"]), (&"async_launched".into(), &id.as_str().into()));
    let output = std::path::PathBuf::from(sent["outputFile"].as_str().unwrap());
    let target = std::fs::read_link(&output).unwrap();
    assert!(target.ends_with(format!("subagents/agent-{id}.jsonl")), "{}", target.display());
    model.reached("go").await;
    let running = session.job(&id).unwrap();
    assert_eq!(session.job_state(&running), JobState::Running);
    assert!(session.jobs()[0].background && session.jobs()[0].evict_after.is_none());
    let mut ear = session.subscribe(false);
    model.release("go");
    assert_eq!(ended(&mut ear).await.text, "noted");
    let notices = notices(&session).await;
    assert_eq!(notices.len(), 1);
    for part in ["<status>completed</status>", "<result>found it</result>", "<tool_uses>0</tool_uses>"] {
        assert!(notices[0].1.contains(part), "{part} in {}", notices[0].1);
    }
    assert_eq!(session.job_state(&running), JobState::Completed);
    assert!(session.jobs()[0].evict_after.is_some(), "it is listed for a moment");
    session.close(CLOSE).await;
    // Nor does the next process tell it again.
    let session = world.resume().await;
    assert!(!session.is_pending() && session.waiting(&AgentId::main()).is_empty());
    assert!(session.job(&id).is_some_and(|job| job.outcome.borrow().is_some()), "it can be looked up");
    session.close(CLOSE).await;
}

// proves: B3, B5, X1, F026, F027
#[tokio::test]
async fn an_end_in_the_middle_of_a_turn_is_read_at_the_next_step_or_by_name() {
    let script = ONE.replace(
        "reply \"started\"\n",
        "reply\n  gate long\n  call Bash command=true\nreply\n  expect \"found it\"\n  call TaskOutput task_id=bob\n",
    );
    let (world, model) = world(&script.replace("  expect \"<task-id>\"\n", "  expect \"found it\"\n"));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    model.reached("long").await;
    model.release("go");
    assert_eq!(job_ended(&mut events).await, Ending::Completed);
    // The notice is in the inbox before anyone hears more.
    until_waiting(&session, 1).await;
    model.release("long");
    assert_eq!(ended(&mut events).await.text, "noted");
    assert_eq!(notices(&session).await.len(), 1);
    session.close(CLOSE).await;
}

/// Waits until so many prompts wait for the main agent.
async fn until_waiting(session: &Session, count: usize) {
    let wait = async {
        while session.waiting(&AgentId::main()).len() < count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap();
}

// proves: X1, F033
#[tokio::test]
async fn what_task_output_took_is_not_told_again_nor_by_the_next_process() {
    let script = ONE.replace("reply \"started\"\n", "reply\n  call TaskOutput task_id=bob\n");
    let (world, model) = world(&script.replace("  expect \"<task-id>\"\n", "  expect \"found it\"\n"));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    // The call waits when its start is written.
    let starts = |_: &AgentId, kind: &EventKind| match kind {
        EventKind::Appended(entry) => matches!(entry.body, Body::Started { .. }).then_some(()),
        _ => None,
    };
    until(&mut events, starts).await;
    until(&mut events, starts).await;
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "noted");
    session.close(CLOSE).await;
    let session = world.resume().await;
    assert!(!session.is_pending() && session.waiting(&AgentId::main()).is_empty());
    assert_eq!(notices(&session).await, Vec::new());
    session.close(CLOSE).await;
}

const WAITED: &str = "agent main\nreply\n  call Agent description=\"look\" prompt=\"look\"\n\
    reply \"went on\"\nreply\n  text \"noted\"\nreply \"noted too\"\n\
    agent general-purpose\nreply\n  gate go\n  text \"found it\"\n";

/// Has a waited agent sent to the background, and checks that nothing of it is lost.
async fn goes_on(world: &World, model: &ScriptModel, send_off: impl AsyncFnOnce(&Session, &JobId)) {
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let id = job(&mut events).await;
    model.reached("go").await;
    send_off(&session, &id).await;
    assert_eq!(ended(&mut events).await.text, "went on");
    assert_eq!(results(&session).await[0]["status"], "async_launched");
    assert_eq!(session.background_jobs().len(), 1, "it is still at work");
    model.release("go");
    while notices(&session).await.is_empty() {
        ended(&mut events).await;
    }
    let notices = notices(&session).await;
    assert!(notices.len() == 1 && notices[0].1.contains("<result>found it</result>"), "{notices:?}");
    assert_eq!(
        session
            .entries(&AgentId::new(id.as_str()), 0)
            .await
            .unwrap()
            .iter()
            .filter(|entry| { matches!(entry.body, Body::Assistant { .. }) })
            .count(),
        1,
        "no token was lost or asked for twice"
    );
    session.close(CLOSE).await;
}

// proves: A7
#[tokio::test]
async fn a_person_can_send_a_waited_agent_to_the_background() {
    let (by_job, model) = world(WAITED);
    goes_on(&by_job, &model, async |session, id| assert!(session.detach(id))).await;
    let (by_call, model) = world(WAITED);
    goes_on(&by_call, &model, async |session, id| {
        assert_eq!(session.detach_call(Some(&CallId::new("no such call"))), 0);
        let call = session.job(id).unwrap().call;
        assert_eq!(session.detach_call(call.as_ref()), 1);
    })
    .await;
    let (by_prompt, model) = world(WAITED);
    goes_on(&by_prompt, &model, async |session, _| {
        let prompt = Prompt {
            id: "urgent".into(),
            blocks: vec![Block::text("come here")],
            from: Origin::Human,
            when: When::Now,
            starts_turn: true,
        };
        session.send(&AgentId::main(), Input::Prompt(prompt)).await.unwrap();
    })
    .await;
}

// proves: A7
#[tokio::test(start_paused = true)]
async fn a_wait_shows_after_two_seconds_that_it_can_let_go_and_does_when_it_is_time() {
    let (mut world, model) = world(WAITED);
    world.config.background.after = Some(Duration::from_mins(2));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    let began = tokio::time::Instant::now();
    say(&session, 0, "go").await;
    let shown = until_long(&mut events, |kind| matches!(kind, EventKind::Progress(..))).await;
    assert_eq!((shown - began).as_secs(), 2);
    let let_go =
        until_long(&mut events, |kind| matches!(kind, EventKind::Job(_, JobChange::Backgrounded))).await;
    assert_eq!((let_go - began).as_secs(), 120);
    assert_eq!(ended(&mut events).await.text, "went on");
    model.release("go");
    session.close(CLOSE).await;
}

/// When such an event comes; the clock runs as fast as it has to.
async fn until_long(events: &mut Subscription, wanted: impl Fn(&EventKind) -> bool) -> tokio::time::Instant {
    loop {
        match events.next().await {
            Heard::Event(event) if wanted(&event.kind) => return tokio::time::Instant::now(),
            Heard::Closed => panic!("the session closed"),
            Heard::Event(_) | Heard::Missed(_) => {}
        }
    }
}

// proves: A7
#[tokio::test]
async fn where_nothing_may_run_in_the_background_nothing_lets_go() {
    let (mut world, model) = world(WAITED);
    world.config.background.allowed = false;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let id = job(&mut events).await;
    assert!(!session.detach(&id));
    assert_eq!(session.detach_call(None), 0);
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "went on");
    assert_eq!(results(&session).await[0]["status"], "completed");
    session.close(CLOSE).await;
}

// proves: F019, F037, C3
#[tokio::test]
async fn an_interrupt_or_a_prompt_of_the_owner_ends_no_background_agent() {
    let (world, model) = world(&ONE.replace("reply \"started\"\n", "reply \"started\"\nreply \"hello\"\n"));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    assert_eq!(turn(&session, 1, "hi").await.text, "hello");
    assert_eq!(session.background_jobs().len(), 1);
    let mut events = session.subscribe(false);
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "noted");
    session.close(CLOSE).await;
}

// proves: B3, F029, F030
#[tokio::test]
async fn a_background_agent_has_not_ended_while_its_own_command_runs() {
    let script = "agent main\nreply\n  call Agent description=\"look\" run_in_background=true prompt=\"look\"\n\
        reply \"started\"\nreply \"noted\"\n\
        agent general-purpose\nreply\n  call Bash command=\"cat pipe\" run_in_background=true\n\
        reply \"waits for it\"\nreply\n  expect \"exit code 0\"\n  text \"all of it\"\n";
    let (world, _) = world(script);
    let pipe = world.workspace().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let waits = |agent: &AgentId, kind: &EventKind| {
        let waiting = matches!(kind, EventKind::Phase(troupe_core::event::Phase::Waiting));
        (!agent.is_main() && waiting).then_some(())
    };
    until(&mut events, waits).await;
    assert_eq!(notices(&session).await, Vec::new());
    assert!(session.waiting(&AgentId::main()).is_empty());
    tokio::task::spawn_blocking(move || std::fs::write(pipe, "hi\n").unwrap()).await.unwrap();
    assert_eq!(ended(&mut events).await.text, "noted");
    let notices = notices(&session).await;
    assert!(notices.len() == 1 && notices[0].1.contains("<result>all of it</result>"), "{notices:?}");
    session.close(CLOSE).await;
}

// proves: B3, C3, F030
#[tokio::test]
async fn the_end_of_an_agent_whose_owner_has_ended_is_told_to_the_next_above() {
    let script = "agent main\nreply\n  call Agent description=\"lead it\" run_in_background=true prompt=\"lead\"\n\
        reply \"started\"\nreply \"noted\"\nreply \"noted\"\nreply \"noted\"\n\
        agent general-purpose /lead/\nreply\n  call Agent subagent_type=Explore description=\"look\" run_in_background=true prompt=\"dig\"\n\
        reply\n  gate lead\n  text \"x\"\n\
        agent Explore\nreply\n  gate go\n  text \"found it\"\n";
    let (world, model) = world(script);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let (lead, below) = (job(&mut events).await, job(&mut events).await);
    model.reached("lead").await;
    model.reached("go").await;
    assert!(session.stop_job(&lead));
    job_ended(&mut events).await;
    assert_eq!(session.background_jobs().len(), 1, "what runs in the background is independent");
    model.release("go");
    while notices(&session).await.len() < 2 {
        ended(&mut events).await;
    }
    let notices = notices(&session).await;
    assert_eq!(notices.iter().map(|(job, _)| job.clone()).collect::<Vec<_>>(), [lead.clone(), below]);
    assert!(notices[0].1.contains("<status>stopped</status>"), "{notices:?}");
    let told = &notices[1].1;
    assert!(
        told.contains("found it") && told.contains(&format!("agent {lead} (lead it), which has ended")),
        "{told}"
    );
    session.close(CLOSE).await;
}

// proves: B7, X1, F031, B3
#[tokio::test]
async fn a_background_agent_goes_on_after_a_restart_and_is_told_of_once() {
    let (world, model) = world(ONE);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    model.reached("go").await;
    let id = session.background_jobs()[0].id.clone();
    session.close(CLOSE).await;
    let session = world.resume().await;
    let mut events = session.subscribe(false);
    let job = session.background_jobs().remove(0);
    assert_eq!((&job.id, job.run), (&id, 1), "the same agent, and the same run");
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "noted");
    let told = notices(&session).await;
    assert!(told.len() == 1 && told[0].1.contains("found it"), "{told:?}");
    session.close(CLOSE).await;
    let session = world.resume().await;
    assert!(!session.is_pending() && session.background_jobs().is_empty());
    assert_eq!(notices(&session).await.len(), 1);
    session.close(CLOSE).await;
}

// proves: B5, B12, F034
#[tokio::test]
async fn all_can_be_stopped_and_each_hands_over_what_it_has() {
    let (world, model) = world(&ONE.replace(
        "  gate go\n  text",
        "  text \"so far\"\n  call Bash command=true\nreply\n  gate go\n  text",
    ));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    model.reached("go").await;
    let id = job(&mut events).await;
    let progress = session.progress(&AgentId::new(id.as_str())).unwrap();
    assert_eq!((progress.tool_uses, progress.activities.len()), (1, 1));
    assert_eq!(session.stop_all(), 1);
    assert_eq!(ended(&mut events).await.text, "started");
    ended(&mut events).await;
    let told = notices(&session).await;
    assert_eq!(told.len(), 1);
    assert!(
        told[0].1.contains("<status>stopped</status>") && told[0].1.contains("<result>so far</result>"),
        "{told:?}"
    );
    session.close(CLOSE).await;
}

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
            let told = notices(session).await;
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
    let mut world = World::new(Arc::clone(&lead) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
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
    session.close(CLOSE).await;
}

// proves: F034, X1, B1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_meets_an_end_gives_one_of_the_two_in_a_thousand_races() {
    const ROUNDS: usize = 20;
    const EACH: usize = 50;
    let lead = Lead::new(ROUNDS * EACH);
    let mut world = World::new(Arc::clone(&lead) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
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
                session.stop_job(&job.id);
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
    session.close(CLOSE).await;
}
