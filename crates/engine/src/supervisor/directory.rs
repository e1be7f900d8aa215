//! All agents that the session has had, by id and by name, and which of them may write to which.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use troupe_core::entry::Header;
use troupe_core::ids::{AgentId, CallId};
use troupe_core::mail::MailError;

use super::Row;
use super::account::{Account, Spent};
use crate::inbox::Inbox;

/// Most names that an error lists.
const NAMED: usize = 20;

/// The directory of a session. It holds as many agents as the session may make.
#[derive(Default)]
pub(crate) struct Directory {
    table: Mutex<Table>,
    /// Held while an agent is taken up again, so that each has one loop at most (F022).
    pub(crate) opening: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Table {
    agents: HashMap<AgentId, Known>,
    /// Who has had a name, the newest last.
    names: HashMap<String, Vec<AgentId>>,
}

/// What is kept of an agent after its end.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) header: Arc<Header>,
    /// Its account; none as long as it did not run in this process.
    pub(crate) account: Option<Arc<Account>>,
    /// What it and those below it spent in earlier processes, where it has no account.
    pub(crate) spent: Spent,
    /// What waits for it; none as long as it did not run in this process.
    pub(crate) inbox: Option<Arc<Inbox>>,
}

impl Directory {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a live agent. It takes its name over from whoever had it, unless it had it itself before (A10).
    pub(crate) fn enter(&self, row: &Row) {
        let known = Known {
            header: Arc::clone(&row.header),
            account: Some(Arc::clone(&row.account)),
            spent: Spent::default(),
            inbox: Some(Arc::clone(&row.inbox)),
        };
        let mut table = self.table();
        table.take_name(&row.header);
        table.agents.insert(row.header.agent.clone(), known);
    }

    /// Enters agents of earlier processes, the oldest first, with what each and those below it spent.
    pub(crate) fn remember(&self, agents: impl IntoIterator<Item = (Arc<Header>, Spent)>) {
        let mut table = self.table();
        for (header, spent) in agents {
            table.take_name(&header);
            let known = Known { header: Arc::clone(&header), account: None, spent, inbox: None };
            table.agents.entry(header.agent.clone()).or_insert(known);
        }
    }

    /// Opens the account of an agent of an earlier process.
    pub(crate) fn open_account(&self, agent: &AgentId, account: &Arc<Account>) {
        if let Some(known) = self.table().agents.get_mut(agent) {
            known.account = Some(Arc::clone(account));
        }
    }

    pub(crate) fn known(&self, agent: &AgentId) -> Option<Known> {
        self.table().agents.get(agent).cloned()
    }

    /// The agent that a call of `owner` started.
    pub(crate) fn of_call(&self, owner: &AgentId, call: &CallId) -> Option<AgentId> {
        let table = self.table();
        let mut headers = table.agents.values().map(|known| &known.header);
        let of_call = |header: &&Arc<Header>| {
            header.parent.as_ref() == Some(owner) && header.call.as_ref() == Some(call)
        };
        headers.find(of_call).map(|header| header.agent.clone())
    }

    /// Who has a name now.
    pub(crate) fn bearer(&self, name: &str) -> Option<AgentId> {
        self.table().names.get(name)?.last().cloned()
    }

    /// Who had a name first.
    pub(crate) fn first_bearer(&self, name: &str) -> Option<AgentId> {
        self.table().names.get(name)?.first().cloned()
    }

    /// Whom a message of `from` goes to.
    pub(crate) fn resolve(&self, from: &Header, to: &str) -> Result<AgentId, MailError> {
        let table = self.table();
        let unknown = || MailError::Unknown { to: to.to_owned(), known: table.words(from) };
        let found = if to == "parent" {
            from.parent.clone().ok_or_else(unknown)?
        } else if let Some(bearers) = table.names.get(to) {
            let mut reachable = bearers.iter().rev().filter(|id| **id == from.agent || table.may(from, id));
            let found = reachable.next().cloned().ok_or_else(unknown)?;
            // By name one reaches who has it now; who had it before is reached by id alone.
            if bearers.last() != Some(&found) {
                return Err(MailError::TakenOver { name: to.to_owned(), id: found });
            }
            found
        } else {
            Some(AgentId::new(to))
                .filter(|id| *id == from.agent || table.may(from, id))
                .ok_or_else(unknown)?
        };
        if found == from.agent { Err(MailError::Own(to.to_owned())) } else { Ok(found) }
    }

    /// Whether `above` started the agent, or an agent above it.
    pub(crate) fn is_above(&self, above: &AgentId, agent: &AgentId) -> bool {
        self.table().is_above(above, agent)
    }

    /// The agents that `from` can write to, in the order of their addresses.
    pub(crate) fn reachable(&self, from: &Header) -> Vec<Arc<Header>> {
        self.table().reachable(from)
    }
}

impl Table {
    fn take_name(&mut self, header: &Header) {
        let Some(name) = &header.name else { return };
        let bearers = self.names.entry(name.clone()).or_default();
        if !bearers.contains(&header.agent) {
            bearers.push(header.agent.clone());
        }
    }

    fn is_above(&self, above: &AgentId, agent: &AgentId) -> bool {
        let parent = |id: &AgentId| self.agents.get(id).and_then(|known| known.header.parent.clone());
        // Bounded: agents nest a few deep, and a damaged file may make a circle.
        std::iter::successors(parent(agent), parent).take(64).any(|id| id == *above)
    }

    /// Who may write to whom: downwards to all that stand below, upwards to the parent and the main agent, sideways to
    /// those beside that were given a name.
    fn may(&self, from: &Header, to: &AgentId) -> bool {
        let Some(known) = self.agents.get(to) else { return false };
        let beside = known.header.parent == from.parent && known.header.name.is_some();
        *to != from.agent
            && (to.is_main() || from.parent.as_ref() == Some(to) || beside || self.is_above(&from.agent, to))
    }

    fn reachable(&self, from: &Header) -> Vec<Arc<Header>> {
        let mut found: Vec<Arc<Header>> = self
            .agents
            .values()
            .filter(|known| self.may(from, &known.header.agent))
            .map(|known| Arc::clone(&known.header))
            .collect();
        found.sort_by(|a, b| (&a.address, &a.agent).cmp(&(&b.address, &b.agent)));
        found
    }

    /// The names that an error lists.
    fn words(&self, from: &Header) -> Vec<String> {
        let newest = |header: &Header| {
            let name = header.name.as_ref()?;
            (self.names.get(name)?.last() == Some(&header.agent)).then(|| name.clone())
        };
        let reachable = self.reachable(from);
        let mut words: Vec<String> = reachable
            .iter()
            .take(NAMED)
            .map(|header| newest(header).unwrap_or_else(|| header.agent.to_string()))
            .collect();
        if reachable.len() > NAMED {
            words.push(format!("{} more", reachable.len() - NAMED));
        }
        if words.is_empty() {
            words.push("none".to_owned());
        }
        words
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
