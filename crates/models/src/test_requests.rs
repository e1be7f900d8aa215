//! Requests for tests, and what a stream of deltas comes to.

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::json;
use troupe_core::CancellationToken;
use troupe_core::block::{Block, Blocks};
use troupe_core::fold::{Fold, Reply};
use troupe_core::ids::AgentId;
use troupe_core::ports::model::{Delta, Message, Model, ModelError, Request, Role};
use troupe_core::ports::tool::ToolSpec;

pub(crate) fn blocks(blocks: impl IntoIterator<Item = Block>) -> Blocks {
    blocks.into_iter().collect()
}

pub(crate) fn message(role: Role, content: impl IntoIterator<Item = Block>) -> Message {
    Message { role, groups: vec![blocks(content)] }
}

pub(crate) fn user(text: &str) -> Message {
    message(Role::User, [Block::text(text)])
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Does it.".into(),
        input_schema: Arc::new(json!({"type":"object","properties":{}})),
    }
}

/// A request of the main agent with one prompt.
pub(crate) fn request(prompt: &str) -> Request {
    Request {
        agent: AgentId::main(),
        definition: "main".to_owned(),
        replies: 0,
        model: "m".to_owned(),
        max_tokens: 100,
        system: blocks([Block::text("Be brief.")]),
        tools: Arc::from([tool("Read"), tool("Bash")]),
        messages: vec![user(prompt)],
        extra: Vec::new(),
    }
}

/// All items of a stream.
pub(crate) async fn all(model: &dyn Model, request: Request) -> Vec<Result<Delta, ModelError>> {
    model.stream(request, CancellationToken::new()).collect().await
}

/// The reply, or the error that the stream ends with.
pub(crate) async fn reply(model: &dyn Model, request: Request) -> Result<Reply, ModelError> {
    let mut fold = Fold::default();
    for item in all(model, request).await {
        fold.apply(&item?);
    }
    Ok(fold.finish())
}
