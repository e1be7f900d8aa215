//! What earlier processes of a session spent, from transcripts and the ledger (E4); and the accounts of agents that ran
//! in one.

use std::collections::HashMap;
use std::sync::Arc;

use troupe_core::budget::Limits;
use troupe_core::entry::{Body, Header};
use troupe_core::ids::AgentId;
use troupe_core::time::Time;
use troupe_core::transcript::Transcript;
use troupe_core::usage::Usage;

use super::fork::definition_of;
use crate::store::digest::{Digest, Spending};
use crate::store::ledger;
use crate::supervisor::Shared;
use crate::supervisor::account::{Account, Spent};

/// Agents nest a few deep; a damaged file may make a circle.
const MOST_DEEP: usize = 64;

/// What was spent, request by request.
#[derive(Default)]
pub(crate) struct Books {
    spent: HashMap<AgentId, Vec<(Time, Spent)>>,
    parents: HashMap<AgentId, AgentId>,
}

impl Books {
    /// Takes in what stands in an agent's transcript, for the session's totals too.
    pub(super) fn transcript(&mut self, shared: &Shared, agent: &AgentId, transcript: &Transcript) {
        for entry in transcript.entries() {
            if let Body::Assistant { model, usage, .. } = &entry.body {
                self.book(shared, agent, entry.at, model, usage);
            }
        }
        if let Some(parent) = transcript.header().and_then(|header| header.parent.clone()) {
            self.parents.insert(agent.clone(), parent);
        }
    }

    /// Takes in what a digest says of an agent, in the same way.
    pub(super) fn digest(&mut self, shared: &Shared, header: &Header, digest: &Digest) {
        for Spending { model, usage, at } in &digest.spent {
            self.book(shared, &header.agent, Time(*at), model, usage);
        }
        if let Some(parent) = header.parent.clone() {
            self.parents.insert(header.agent.clone(), parent);
        }
    }

    /// Takes in the ledger.
    pub(super) async fn ledger(&mut self, shared: &Shared) {
        match ledger::read(&*shared.parts.journal, &shared.paths).await {
            Ok(booked) => {
                for one in booked {
                    self.book(shared, &one.agent, one.at, &one.model, &one.usage);
                }
            }
            Err(error) => tracing::warn!(%error, "what requests beside the transcripts cost is not known"),
        }
    }

    fn book(&mut self, shared: &Shared, agent: &AgentId, at: Time, model: &str, usage: &Usage) {
        let info = shared.parts.model.info(model);
        let cost_usd = info.price.map_or(0.0, |price| price.of(usage));
        shared.book(|totals| totals.book(&info, usage, cost_usd, 0));
        let spent = Spent { tokens: usage.total(), cost_usd };
        self.spent.entry(agent.clone()).or_default().push((at, spent));
    }

    /// What each agent and those below it spent, from a moment on. What has no known owner is the main agent's.
    pub(super) fn totals(&self, from: Time) -> HashMap<AgentId, Spent> {
        let mut totals: HashMap<AgentId, Spent> = HashMap::new();
        for (agent, requests) in &self.spent {
            let mut own = Spent::default();
            requests.iter().filter(|(at, _)| *at >= from).for_each(|(_, spent)| own += *spent);
            let above = std::iter::successors(Some(agent), |agent| self.parents.get(agent));
            let mut above: Vec<AgentId> = above.take(MOST_DEEP).cloned().collect();
            if !above.iter().any(AgentId::is_main) {
                above.push(AgentId::main());
            }
            for agent in above {
                *totals.entry(agent).or_default() += own;
            }
        }
        totals
    }
}

/// The account of an agent that is not alive: the one that it had in this process, else one with what it and those
/// below it spent in earlier ones, below those of the agents above it, ended ones too.
pub(super) fn account_of(shared: &Shared, header: &Header, limits: Limits) -> Arc<Account> {
    account_at(shared, header, limits, MOST_DEEP)
}

fn account_at(shared: &Shared, header: &Header, limits: Limits, deep: usize) -> Arc<Account> {
    let known = shared.directory.known(&header.agent);
    if let Some(account) = known.as_ref().and_then(|known| known.account.clone()) {
        return account;
    }
    let above = header.parent.as_ref().filter(|_| deep > 0).and_then(|above| shared.directory.known(above));
    let above = above.map(|above| {
        let limits = definition_of(shared, &above.header).map_or(above.header.limits, |def| def.limits);
        account_at(shared, &above.header, limits, deep - 1)
    });
    // What was started by somebody unknown is the main agent's.
    let above = above.or_else(|| shared.row(&AgentId::main()).map(|row| Arc::clone(&row.account)));
    let account = Account::new(above, limits.tighter(shared.config.guards.each));
    account.restore(known.map_or_else(Spent::default, |known| known.spent));
    shared.directory.open_account(&header.agent, &account);
    account
}
