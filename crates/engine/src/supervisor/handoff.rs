//! The hand-off check (B8): before the result of a background agent is passed on, a model looks at what it did. It
//! never changes the result; its owner reads a remark before it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use troupe_core::block::Block;
use troupe_core::entry::Header;
use troupe_core::handoff::{Checked, JUDGE, SYSTEM, case_text, checked, judge_tool};
use troupe_core::ports::model::{Message, Request, Role};
use troupe_core::state::AgentState;

use super::Shared;
use super::account::Account;
use crate::agent::inquiry;
use crate::store::load;

/// How long the model may take, tries after failures among it.
const LIMIT: Duration = Duration::from_secs(20);
/// Most tokens of its reply.
const OUTPUT: u32 = 1_000;
/// The name under which a script holds its replies.
const SCRIPT: &str = "handoff";

/// Checks what an ended agent did.
pub(super) async fn check(shared: &Arc<Shared>, header: &Header, account: &Account) -> Checked {
    if account.is_spent() {
        return Checked::Unchecked("the budget is spent".to_owned());
    }
    let fresh = AgentState::new(header.cwd.clone(), header.mode, header.model.clone(), header.prompt.clone());
    let loaded = load(&*shared.parts.journal, &shared.paths.transcript(&header.agent), fresh).await;
    let Ok(Some(restored)) = loaded else {
        return Checked::Unchecked("its transcript can't be read".to_owned());
    };
    let transcript = restored.transcript;
    let name = shared.config.small_model.clone().unwrap_or_else(|| transcript.state().model.clone());
    let model = Arc::clone(&shared.parts.model);
    let info = model.info(&name);
    let request = Request {
        agent: header.agent.clone(),
        definition: SCRIPT.to_owned(),
        replies: 0,
        model: info.id.clone(),
        max_tokens: info.max_output.min(OUTPUT),
        system: Arc::from([Block::text(SYSTEM.trim_end())]),
        tools: Arc::from([judge_tool()]),
        messages: vec![Message {
            role: Role::User,
            groups: vec![Arc::from([Block::text(case_text(&transcript))])],
        }],
        // The model's own fields are left out: reasoning and a call that it has to make exclude each other.
        extra: vec![("tool_choice".to_owned(), json!({"type": "tool", "name": JUDGE}))],
    };
    let clock = Arc::clone(&shared.parts.clock);
    let cancel = shared.token.child_token();
    let mut answer = inquiry::ask(model, clock, info, request, LIMIT, cancel).await;
    answer.book(shared, &header.agent, account, SCRIPT).await;
    match &answer.reply {
        Ok(reply) => checked(reply),
        Err(why) => Checked::Unchecked(why.clone()),
    }
}
