//! Messages to an agent that is ending at the same moment.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::Notify;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::entry::{Body, Entry, Origin, Stop};
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, CallId, InputId};
use troupe_core::input::Prompt;
use troupe_core::mail::Mail;
use troupe_core::ports::model::{Delta, Model, ModelError, ModelInfo, Request};
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::team::Kind;
use troupe_core::usage::Usage;
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{close, ends, entries_of, mails, opened, until};
use troupe_testkit::world::{World, say, session};

use super::stage::Launch;

const ROUNDS: usize = 1_000;
/// Agents that the rounds are shared out to: each loads its whole transcript when it is taken up.
const AGENTS: usize = 50;
/// How long all rounds may take.
const FLOOD: Duration = Duration::from_mins(2);

/// Answers at once, and fails the test when one agent asks twice at the same time.
struct Quick {
    script: ScriptModel,
    asking: Arc<Mutex<HashSet<AgentId>>>,
}

struct Asking(Arc<Mutex<HashSet<AgentId>>>, AgentId);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.lock().unwrap().remove(&self.1);
    }
}

impl Model for Quick {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        if request.definition == "main" {
            return self.script.stream(request, cancel);
        }
        let me = request.agent.clone();
        assert!(self.asking.lock().unwrap().insert(me.clone()), "two loops of {me}");
        let asking = Asking(Arc::clone(&self.asking), me);
        let start = Delta::Start { message: "m".into(), model: "script".into(), usage: Usage::default() };
        let deltas = [
            start,
            Delta::Open { index: 0, block: Block::text("ok") },
            Delta::Close { index: 0 },
            Delta::Stop { stop: Stop::EndTurn, usage: Usage::default(), details: None },
        ];
        let stream = futures_util::stream::iter(deltas).map(move |delta| {
            let _ = &asking;
            Ok(delta)
        });
        Box::pin(stream)
    }

    fn count<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async { Ok(1) })
    }

    fn info(&self, name: &str) -> ModelInfo {
        self.script.info(name)
    }
}

/// Sends half of the messages, one as soon as the one before was taken. In between the main agent reads its notices,
/// of which no more wait than its inbox takes.
struct Flood {
    spec: ToolSpec,
    over: Arc<Notify>,
}

impl Tool for Flood {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let half = if input["half"] == 1 { 0..ROUNDS / 2 } else { ROUNDS / 2..ROUNDS };
            for round in half.clone() {
                let mail = Mail {
                    from: cx.me.clone(),
                    to: format!("w{}", round % AGENTS),
                    text: format!("round {round}."),
                    summary: None,
                    kind: Kind::Text,
                    call: CallId::new(format!("flood-{round}")),
                };
                if let Err(error) = cx.supervisor.send(mail).await {
                    return ToolOutput::error(format!("round {round}: {error}"));
                }
                // The agent is met at another point of its end each time.
                for _ in 0..round % 7 {
                    tokio::task::yield_now().await;
                }
            }
            if half.end == ROUNDS {
                self.over.notify_one();
            }
            ToolOutput::text("sent")
        })
    }
}

async fn flood() {
    let launch: Vec<String> =
        (0..AGENTS).map(|n| format!("  call Launch name=w{n} background=true prompt=\"p{n}\"\n")).collect();
    let script = format!(
        "agent main\nreply\n{}reply\n  call Flood half=1\nreply\n  call Flood half=2\nreply \"flooded\"\n",
        launch.concat()
    );
    let script = ScriptModel::parse("test", &script).unwrap();
    let world = World::unasked(Arc::new(Quick { script, asking: Arc::default() }));
    let mut parts = world.parts(Arc::clone(&world.journal));
    parts.tools.push(Launch::tool());
    let input_schema = Arc::new(json!({"type":"object"}));
    let spec = ToolSpec { name: "Flood".into(), description: "".into(), input_schema };
    let over = Arc::new(Notify::new());
    parts.tools.push(Arc::new(Flood { spec, over: Arc::clone(&over) }));
    let session = Session::open(parts, world.config.clone(), Start::New(session())).await.unwrap();
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let mut agents = Vec::new();
    for n in 0..AGENTS {
        agents.push(opened(&mut events, &format!("w{n}")).await);
    }
    tokio::time::timeout(FLOOD, over.notified()).await.expect("all are sent");
    // What was told during the flood is of no interest.
    let mut events = session.subscribe(false);
    while !session.background_jobs().is_empty() {
        until(&mut events, |_, kind| matches!(kind, EventKind::Job(..)).then_some(())).await;
    }
    let mut ended = 0;
    for (n, agent) in agents.iter().enumerate() {
        let entries = entries_of(&session, agent).await;
        ended += ends(&entries);
        let mails = mails(&entries);
        assert_eq!(mails.len(), ROUNDS / AGENTS, "each is read once");
        for (round, mail) in mails.iter().enumerate() {
            let text = format!("round {}.", round * AGENTS + n);
            assert!(mail.contains(&text), "in order: {text} is not {mail}");
        }
    }
    assert!(ended > AGENTS, "agents were met at their end");
    let main = AgentId::main();
    loop {
        let mut events = session.subscribe(false);
        let told = told_ends(&entries_of(&session, &main).await, &session.waiting(&main));
        assert!(told <= ended, "{told} notices of {ended} ends");
        if told == ended {
            break;
        }
        // One is still on its way.
        until(&mut events, |_, _| Some(())).await;
    }
    close(session).await;
}

/// How many ends the main agent was told of, or is to be told of; no end twice.
fn told_ends(read: &[Arc<Entry>], waiting: &[Prompt]) -> usize {
    let read = read.iter().filter_map(|entry| match &entry.body {
        Body::User { cause: Some(cause), from: Origin::Job(_), .. } => Some(cause),
        _ => None,
    });
    let waiting = waiting.iter().map(|prompt| &prompt.id).filter(|id| id.as_str().starts_with("job-"));
    let mut told: Vec<&InputId> = read.chain(waiting).collect();
    told.sort();
    told.dedup();
    told.len()
}

// proves: F022, F027, X1
#[tokio::test]
async fn a_thousand_messages_to_an_agent_that_keeps_ending() {
    flood().await;
}

// proves: F022, F027, X1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_on_several_threads() {
    flood().await;
}
