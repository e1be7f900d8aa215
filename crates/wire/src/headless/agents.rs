//! What a host does with one agent among others (X9): pause it, have it go on, end its turn, say something to it. Beyond
//! the SDK's protocol.

use serde_json::{Map, Value, json};
use troupe_core::block::Block;
use troupe_core::entry::Origin;
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Input, Prompt};
use troupe_engine::session::Steered;

use super::driver::Driver;
use crate::control;
use crate::frames;

impl Driver {
    /// Does what a host asks of one agent; none where the request is about something else.
    pub(super) async fn agent_request(
        &mut self,
        subtype: &str,
        request: &Map<String, Value>,
    ) -> Option<Result<Value, String>> {
        Some(match subtype {
            "agent_pause" => self.control_agent(request, Input::Pause).await.map(|_| json!({})),
            "agent_continue" => self.control_agent(request, Input::Continue).await.map(|_| json!({})),
            "agent_interrupt" => self.interrupt_agent(request).await,
            "agent_steer" => self.steer_agent(request).await,
            _ => return None,
        })
    }

    async fn control_agent(&self, request: &Map<String, Value>, input: Input) -> Result<AgentId, String> {
        let agent = self.engine.agent_at_work(named(request)?).map_err(|error| error.to_string())?;
        self.engine.send(&agent, input).await.map_err(|error| error.to_string())?;
        Ok(agent)
    }

    /// Ends the agent's turn. Unless it is to hold, it hands over what it has and ends.
    async fn interrupt_agent(&self, request: &Map<String, Value>) -> Result<Value, String> {
        let holds = request.get("hold").and_then(Value::as_bool).unwrap_or(false);
        let agent = self.control_agent(request, Input::Interrupt).await?;
        if !holds {
            // One that has ended meanwhile has nothing to be let go of.
            let _ = self.engine.send(&agent, Input::Continue).await;
        }
        Ok(json!({}))
    }

    async fn steer_agent(&mut self, request: &Map<String, Value>) -> Result<Value, String> {
        let word = named(request)?;
        let blocks = match request.get("message") {
            Some(Value::String(text)) => vec![Block::text(text.clone())],
            Some(content) => control::blocks(content).ok_or("`message` is no text and no list of blocks")?,
            None => return Err("`message` is missing".to_owned()),
        };
        let blocks: Vec<Block> = blocks.into_iter().filter(|block| !block.is_empty_text()).collect();
        if blocks.is_empty() {
            return Err("`message` is empty".to_owned());
        }
        let text = |key: &str| request.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let id = text("uuid").map_or_else(|| InputId::new(frames::new_uuid()), InputId::new);
        let when = control::when(text("priority").unwrap_or("next"));
        let prompt = Prompt { id: id.clone(), blocks, from: Origin::Human, when, starts_turn: true };
        let steered = self.engine.steer(word, prompt).await.map_err(|error| error.to_string())?;
        let delivery = match steered {
            Steered::Queued => "queued",
            Steered::Resumed => "resumed",
            Steered::Read => "read",
        };
        Ok(json!({"uuid": id, "delivery": delivery}))
    }

    /// The host is gone that could have agents go on which it holds.
    pub(super) async fn let_agents_go_on(&self) {
        for member in self.engine.roster().iter().filter(|member| !member.header.agent.is_main()) {
            // One that has ended meanwhile is not held.
            let _ = self.engine.send(&member.header.agent, Input::Continue).await;
        }
    }
}

/// The agent that a request is about: an id, which is its task's too, or the name that its call gave it.
fn named(request: &Map<String, Value>) -> Result<&str, String> {
    let found = request.get("agent_id").and_then(Value::as_str).filter(|word| !word.is_empty());
    found.ok_or_else(|| "`agent_id` is missing".to_owned())
}
