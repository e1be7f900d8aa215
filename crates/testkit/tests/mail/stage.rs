//! A world with a tool that starts agents by name and leaves them in the background.

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::outcome::Outcome;
use troupe_core::ports::journal::Journal;
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::spawn::{Seed, Spawn};
use troupe_engine::bus::Subscription;
use troupe_engine::{Session, Start};
use troupe_testkit::reading::until;
use troupe_testkit::world::{World, session};

/// Starts an agent: `type`, `prompt`, `name`, `background`.
pub(crate) struct Launch(ToolSpec);

impl Launch {
    pub(crate) fn tool() -> Arc<dyn Tool> {
        let input_schema = Arc::new(json!({"type":"object"}));
        Arc::new(Self(ToolSpec { name: "Launch".into(), description: "".into(), input_schema }))
    }
}

impl Tool for Launch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Spawn { agent: input["type"].as_str().unwrap_or_default().to_owned() }])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
            let background = input["background"] == true;
            let spawn = Spawn {
                definition: text("type").or_else(|| Some("general-purpose".to_owned())),
                description: text("name").unwrap_or_else(|| "work".to_owned()),
                prompt: vec![Block::text(text("prompt").unwrap_or_else(|| "work".to_owned()))],
                parent: cx.me.clone(),
                call: cx.call.clone(),
                model: None,
                cwd: None,
                name: text("name"),
                seed: Seed::Empty,
                background,
                mode: None,
                isolation: None,
                claims: false,
            };
            let waiter = match cx.supervisor.spawn(spawn).await {
                Ok(waiter) => waiter,
                Err(error) => return ToolOutput::error(error.to_string()),
            };
            if background {
                return ToolOutput::text(format!("launched {}", waiter.detach().id));
            }
            tokio::select! {
                _ = waiter.ended() => {}
                () = cx.cancel.cancelled() => waiter.stop(),
            }
            match waiter.taken().await {
                Outcome::Agent(envelope) => ToolOutput::text(format!("ended: {}", envelope.text)),
                Outcome::Shell(_) => ToolOutput::error("a shell"),
            }
        })
    }
}

pub(crate) async fn open_on(world: &World, journal: Arc<dyn Journal>, start: Start) -> Session {
    let mut parts = world.parts(journal);
    parts.tools.push(Launch::tool());
    Session::open(parts, world.config.clone(), start).await.unwrap()
}

pub(crate) async fn open(world: &World) -> Session {
    open_on(world, Arc::clone(&world.journal), Start::New(session())).await
}

pub(crate) async fn reopen(world: &World) -> Session {
    open_on(world, Arc::clone(&world.journal), Start::Resume(session())).await
}

/// Waits for the end of a run of an agent; gives its last text.
pub(crate) async fn end_of(events: &mut Subscription, agent: &AgentId) -> String {
    until(events, |whose, kind| match kind {
        EventKind::Ended(envelope) if whose == agent => Some(envelope.text.clone()),
        _ => None,
    })
    .await
}

/// Waits until the main agent has ended a run with this text.
pub(crate) async fn main_says(events: &mut Subscription, text: &str) {
    let main = AgentId::main();
    while end_of(events, &main).await != text {}
}

/// Waits until an agent is not alive any more.
pub(crate) async fn gone(session: &Session, agent: &AgentId) {
    loop {
        let mut events = session.subscribe(false);
        if session.roster().iter().all(|member| member.header.agent != *agent) {
            return;
        }
        until(&mut events, |_, _| Some(())).await;
    }
}
