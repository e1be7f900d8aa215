//! What is different for a fork while it works, and for an agent whose calls may fork.

use std::sync::Arc;

use serde_json::Value;
use troupe_core::access::Access;
use troupe_core::fork::{FORK, rules};
use troupe_core::pool::{self, Life, Standing};
use troupe_core::ports::supervisor::SpawnError;
use troupe_core::ports::tool::Tool;

use super::actor::Actor;
use crate::supervisor::Row;
use crate::supervisor::spawn::{Offer, wants_fork};

/// An offer to forks, for as long as this is held.
pub(super) struct Offering(Arc<Row>);

impl Drop for Offering {
    fn drop(&mut self) {
        self.0.set_offer(None);
    }
}

impl Actor {
    /// The rules of a fork; none for any other agent.
    pub(crate) fn fork_rules(&self) -> Option<String> {
        let inherited = self.transcript().inherited()?;
        Some(rules(&inherited.state().cwd, &self.row.header.cwd))
    }

    /// Lets the calls of the last reply fork, where one of them may.
    pub(super) fn offer_forks<'t>(&self, mut tools: impl Iterator<Item = &'t dyn Tool>) -> Option<Offering> {
        if self.row.header.fork.is_some() || !self.shared.forks() || !tools.any(Tool::spawns) {
            return None;
        }
        let offer = Offer::of(self.me(), self.transcript(), &self.def, &self.rendered, &self.pool)?;
        self.row.set_offer(Some(Arc::new(offer)));
        Some(Offering(Arc::clone(&self.row)))
    }

    /// Why a fork may not make this call. Its tools are its parent's, so that its requests are; what an agent in its
    /// place would not have is refused here (P1).
    pub(super) fn refused_to_fork(&self, tool: &dyn Tool, input: &Value) -> Option<String> {
        let header = &self.row.header;
        header.fork.as_ref()?;
        if tool.spawns() && wants_fork(named_type(input)) {
            return Some(SpawnError::ForkOfFork.to_string());
        }
        let at = Standing {
            life: Life::of(header),
            depth: header.depth,
            most_depth: self.shared.config.ceilings.depth,
            mode: self.mode(),
        };
        let name = &*tool.spec().name;
        let why = pool::removed(name, tool.spawns(), &self.def, &at)?.words();
        Some(format!("`{name}` is not for a fork ({why}), and that is permanent. Do without it."))
    }

    /// A call for no type is one for a fork, also to rules.
    pub(super) fn name_fork(&self, tool: &dyn Tool, input: &Value, access: &mut [Access]) {
        if !tool.spawns() || !self.shared.forks() || !wants_fork(named_type(input)) {
            return;
        }
        for access in access {
            if let Access::Spawn { agent } = access {
                FORK.clone_into(agent);
            }
        }
    }
}

fn named_type(input: &Value) -> Option<&str> {
    input.get("subagent_type").and_then(Value::as_str)
}
