//! What agents have spent, after the program was killed and the session taken up again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::text_of;
use troupe_core::budget::Limits;
use troupe_core::entry::{Body, Origin};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::input::{Input, Prompt};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::policy::Mode;
use troupe_core::ports::model::{Delta, Model, ModelError, ModelInfo, Request};
use troupe_core::usage::Price;
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::session::ResumeError;
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{LIMIT, SESSION, World, prompt, turn};

const CLOSE: Duration = Duration::from_secs(10);
/// Tokens of a scripted reply.
const REPLY: u64 = 110;

/// A scripted model whose tokens cost a dollar each.
struct Priced(ScriptModel);

impl Model for Priced {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.0.stream(request, cancel)
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        self.0.count(request)
    }

    fn info(&self, name: &str) -> ModelInfo {
        let price = Price { input: 1e6, output: 1e6, cache_write: 1e6, cache_read: 1e6 };
        ModelInfo { price: Some(price), ..self.0.info(name) }
    }
}

fn world(script: &str) -> (World, ScriptModel) {
    let model = ScriptModel::parse("test", script).unwrap();
    let mut world = World::new(Arc::new(Priced(model.clone())));
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.journal = Arc::new(FileJournal::new(world.config.place.root.clone(), Locking::Leased));
    (world, model)
}

/// The files of the agents below the main one.
fn transcripts(world: &World) -> Vec<PathBuf> {
    let folder = world.folder().join("state/projects/-ws").join(SESSION).join("subagents");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|is| is == "jsonl")).collect()
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

/// The end of a run of an agent.
async fn end_of(events: &mut Subscription, agent: &AgentId) -> Arc<Envelope> {
    until(events, |whose, kind| match kind {
        EventKind::Ended(envelope) if whose == agent => Some(Arc::clone(envelope)),
        _ => None,
    })
    .await
}

fn persons(number: usize, text: &str) -> Prompt {
    match prompt(number, text) {
        Input::Prompt(prompt) => prompt,
        _ => unreachable!("a prompt is one"),
    }
}

/// What was spent by the session, in tokens.
fn spent(session: &Session) -> u64 {
    session.totals().models.values().map(|model| model.usage.total()).sum()
}

/// What an agent that lives has spent, in tokens; descendants included.
#[expect(clippy::cast_precision_loss, reason = "a few hundred tokens")]
fn spent_by(session: &Session, agent: &AgentId) -> u64 {
    let roster = session.roster();
    let member = roster.iter().find(|member| member.header.agent == *agent).unwrap();
    assert!((member.cost_usd - member.tokens as f64).abs() < 1e-6, "a token costs a dollar");
    member.tokens
}

/// The main agent starts one in the background, which has another look, then waits at a gate.
const TREE: &str = "agent main\n\
    reply\n  call Agent description=lead run_in_background=true prompt=lead\n\
    reply \"started\"\nreply \"noted\"\nreply \"noted\"\n\
    agent general-purpose\n\
    reply\n  call Agent subagent_type=Explore description=look prompt=look\n\
    reply\n  gate lead\n  text \"the report\"\n\
    reply\n  gate again\n  text \"more\"\n\
    agent Explore\nreply \"seen\"\n";

/// Starts the tree, up to the gate; the agent that leads.
async fn tree(world: &World, model: &ScriptModel) -> (Session, AgentId) {
    let session = world.start().await;
    turn(&session, 0, "go").await;
    model.reached("lead").await;
    let lead = AgentId::new(session.background_jobs()[0].id.as_str());
    (session, lead)
}

// proves: E4, X3
#[tokio::test]
async fn an_agent_that_goes_on_after_a_restart_knows_what_those_below_it_spent() {
    let (world, model) = world(TREE);
    let (session, lead) = tree(&world, &model).await;
    let main = AgentId::main();
    let before = (spent(&session), spent_by(&session, &main), spent_by(&session, &lead));
    assert_eq!(before, (4 * REPLY, 4 * REPLY, 2 * REPLY));
    session.close(CLOSE).await;
    let session = world.resume().await;
    assert_eq!((spent(&session), spent_by(&session, &main), spent_by(&session, &lead)), before);
    session.close(CLOSE).await;
    // Another program's line has the whole of a transcript read, which says the same.
    for path in transcripts(&world) {
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"{\"type\":\"custom-title\"}\n").unwrap();
    }
    let session = world.resume().await;
    assert_eq!((spent(&session), spent_by(&session, &main), spent_by(&session, &lead)), before);
    session.close(CLOSE).await;
}

/// One that ends, has sent off another, and was told of it; the main agent is told of the first.
const ENDED: &str = "agent main\n\
    reply\n  call Agent description=lead run_in_background=true prompt=lead\n\
    reply \"started\"\nreply \"noted\"\nreply \"noted\"\nreply \"noted\"\n\
    agent general-purpose\n\
    reply\n  call Agent subagent_type=Explore description=look run_in_background=true prompt=look\n\
    reply \"waits\"\nreply \"the report\"\n\
    agent Explore\nreply \"seen\"\n";

// proves: X1, B7, X3
#[tokio::test]
async fn of_agents_that_have_ended_the_end_of_their_transcript_says_enough() {
    let (world, _) = world(ENDED);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    end_of(&mut events, &AgentId::main()).await;
    let before = (spent(&session), session.roster().len());
    session.close(CLOSE).await;
    let mut files = transcripts(&world);
    assert_eq!(files.len(), 2);
    // What stands between is not looked at: it may be long.
    for path in &mut files {
        let text = std::fs::read_to_string(&*path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let (first, last) = (lines[0], lines[lines.len() - 1]);
        std::fs::write(path, format!("{first}\n{}\n{last}\n", "x".repeat(1_000_000))).unwrap();
    }
    let session = world.resume().await;
    assert_eq!((spent(&session), session.roster().len()), before);
    assert!(!session.is_pending() && session.waiting(&AgentId::main()).is_empty(), "nothing is told again");
    let jobs = session.jobs();
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|listed| listed.job.outcome.borrow().is_some()));
    session.close(CLOSE).await;
}

// proves: E4, B7
#[tokio::test]
async fn an_ended_agent_is_not_taken_up_again_on_what_those_below_it_have_left() {
    let (mut world, model) = world(TREE);
    world.config.guards.each = Limits { tokens: Some(3 * REPLY), ..Limits::default() };
    let (session, lead) = tree(&world, &model).await;
    let mut events = session.subscribe(false);
    model.release("lead");
    end_of(&mut events, &lead).await;
    session.close(CLOSE).await;
    let session = world.resume().await;
    let refused = session.resume_agent(&lead, persons(1, "go on")).await.unwrap_err();
    assert!(matches!(refused, ResumeError::Spent(_)), "{refused}");
    session.close(CLOSE).await;
}

// proves: E4, A6
#[tokio::test]
async fn the_cost_of_a_second_run_is_its_own_also_after_a_restart() {
    let (world, model) = world(TREE);
    let (session, lead) = tree(&world, &model).await;
    let mut events = session.subscribe(false);
    model.release("lead");
    let first = end_of(&mut events, &lead).await;
    assert!((first.cost_usd - 3.0 * 110.0).abs() < 1e-6, "{}", first.cost_usd);
    session.resume_agent(&lead, persons(1, "go on")).await.unwrap();
    model.reached("again").await;
    session.close(CLOSE).await;
    let session = world.resume().await;
    let mut events = session.subscribe(false);
    model.release("again");
    let second = end_of(&mut events, &lead).await;
    assert_eq!(second.text, "more");
    assert!((second.cost_usd - 110.0).abs() < 1e-6, "{}", second.cost_usd);
    session.close(CLOSE).await;
}

// proves: X3, B7
#[tokio::test(start_paused = true)]
async fn a_run_has_its_time_anew() {
    let (mut world, model) = world(TREE);
    world.config.guards.each = Limits { time_ms: Some(5_000), ..Limits::default() };
    world.config.limits = Limits { time_ms: Some(60_000), ..Limits::default() };
    let (session, lead) = tree(&world, &model).await;
    let mut events = session.subscribe(false);
    model.release("lead");
    end_of(&mut events, &lead).await;
    tokio::time::advance(Duration::from_secs(20)).await;
    model.release("again");
    session.resume_agent(&lead, persons(1, "go on")).await.unwrap();
    let second = end_of(&mut events, &lead).await;
    assert_eq!((second.reason.clone(), second.text.as_str()), (EndReason::Done, "more"));
    tokio::time::advance(Duration::from_mins(1)).await;
    let refused = session.resume_agent(&lead, persons(2, "go on")).await.unwrap_err();
    assert!(matches!(refused, ResumeError::NoTime(_)), "{refused}");
    session.close(CLOSE).await;
}

// proves: E4, E8
#[tokio::test]
async fn what_a_summary_cost_is_known_to_the_next_process() {
    let (world, _) = world("agent main\nreply \"one\"\nreply \"two\"\nagent summary\nreply \"in short\"\n");
    let session = world.start().await;
    turn(&session, 0, "go").await;
    turn(&session, 1, "go on").await;
    let mut events = session.subscribe(false);
    session.send(&AgentId::main(), Input::Compact(None)).await.unwrap();
    let compacted = |_: &AgentId, kind: &EventKind| {
        matches!(kind, EventKind::Notice(Notice::Compacted { .. })).then_some(())
    };
    until(&mut events, compacted).await;
    assert_eq!(spent(&session), 3 * REPLY);
    session.close(CLOSE).await;
    let session = world.resume().await;
    assert_eq!((spent(&session), spent_by(&session, &AgentId::main())), (3 * REPLY, 3 * REPLY));
    session.close(CLOSE).await;
}

// proves: E4, S1
#[tokio::test]
async fn what_the_classifier_cost_is_known_to_the_next_process() {
    let (mut world, _) = world(
        "agent main\nreply\n  call Bash command=\"make it\"\nreply \"done\"\n\
         agent classifier\nreply\n  call decide decision=allow reason=\"it was asked for\"\n",
    );
    world.config.leave.mode = Some(Mode::Auto);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert_eq!(spent(&session), 3 * REPLY);
    session.close(CLOSE).await;
    let session = world.resume().await;
    assert_eq!((spent(&session), spent_by(&session, &AgentId::main())), (3 * REPLY, 3 * REPLY));
    session.close(CLOSE).await;
}

/// An agent that works until it is asked for its report.
const CAPPED: &str = "agent main\n\
    reply\n  call Agent description=work prompt=work\n\
    reply \"went on\"\n\
    agent general-purpose\n\
    reply\n  call Glob pattern=\"a\"\nreply\n  call Glob pattern=\"b\"\nreply\n  call Glob pattern=\"c\"\n\
    reply\n  expect \"one more request fits\"\n  text \"a and b are done, c is not\"\n";

// proves: F205, X3, F009
#[tokio::test]
async fn an_agent_near_its_limit_is_asked_once_for_a_closing_report() {
    let tokens = Limits { tokens: Some(4 * REPLY), ..Limits::default() };
    let cost = Limits { cost_usd: Some(440.0), ..Limits::default() };
    let turns = Limits { turns: Some(4), ..Limits::default() };
    for (limits, reason) in
        [(tokens, EndReason::MaxTokens), (cost, EndReason::MaxCost), (turns, EndReason::Done)]
    {
        let (mut world, _) = world(CAPPED);
        world.config.guards.each = limits;
        let session = world.start().await;
        let mut events = session.subscribe(false);
        let (envelope, agent) = tokio::join!(turn(&session, 0, "go"), async {
            until(&mut events, |agent, kind| match kind {
                EventKind::Ended(envelope) if !agent.is_main() => Some((agent.clone(), Arc::clone(envelope))),
                _ => None,
            })
            .await
        });
        let (id, end) = agent;
        assert_eq!((&end.reason, end.text.as_str()), (&reason, "a and b are done, c is not"));
        assert_eq!(end.usage.total(), 4 * REPLY, "and no more than its limit");
        let said = end
            .error
            .iter()
            .chain(&end.remarks)
            .any(|text| text.contains("maximum") || text.contains("closing report"));
        assert!(said, "{end:?}");
        assert_eq!(envelope.text, "went on");
        let entries = session.entries(&id, 0).await.unwrap();
        let asked = entries.iter().filter(|entry| match &entry.body {
            Body::User { from: Origin::System, blocks, .. } => {
                text_of(blocks).contains("one more request fits")
            }
            _ => false,
        });
        assert_eq!(asked.count(), 1);
        session.close(CLOSE).await;
    }
}
