//! What a session's agents have cost, and how much of it the provider's prompt cache saved: from transcripts alone.
//! Requests without a place in one (summaries, the classifier's) are not in it.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use troupe_core::cache::{Break, Cause, Held, Sample, Samples, Watch};
use troupe_core::entry::{Body, Header};
use troupe_core::ids::{AgentId, EntryId};
use troupe_core::ports::journal::Journal;
use troupe_core::usage::{Price, Usage};

use crate::store::{Loaded, Rendered, SessionPaths, StoreError};

/// The costs of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Each agent, an agent before those that it started.
    pub agents: Vec<AgentCost>,
    /// All of them together.
    pub total: Spent,
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Requests that were answered, broken streams included.
    pub requests: usize,
    /// Their tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// US dollars; none where a price is not known.
    pub cost_usd: Option<f64>,
    /// The part of what was read that came from the cache, from 0 to 1; none where nothing was read.
    pub cached_share: Option<f64>,
    /// Tokens that agents began with which others had left in the cache, and what that saved (X21).
    pub begun_on_cache: u64,
    /// US dollars that this saved; none where a price is not known.
    pub saved_usd: Option<f64>,
}

/// One agent's costs, those that it started not included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentCost {
    /// The agent.
    pub agent: AgentId,
    /// Its address for people.
    pub address: String,
    /// Its definition.
    pub definition: String,
    /// Who started it.
    pub parent: Option<AgentId>,
    /// 0 for the main agent.
    pub depth: u32,
    /// Whether it is a fork.
    pub fork: bool,
    /// What it spent.
    #[serde(flatten)]
    pub spent: Spent,
    /// Where the cache did not serve what it held.
    pub breaks: Vec<Break>,
}

/// Prices by a model's id.
pub type Prices<'p> = &'p dyn Fn(&str) -> Option<Price>;

/// Reads the costs of a session; those of agents whose transcript is damaged as far as it can be read.
///
/// # Errors
/// When the transcripts can't be read.
pub async fn costs(
    journal: &dyn Journal,
    paths: &SessionPaths,
    prices: Prices<'_>,
) -> Result<Costs, StoreError> {
    let mut read = Vec::new();
    let agents = std::iter::once(AgentId::main()).chain(paths.agents());
    for agent in agents {
        let found = journal.read(&paths.transcript(&agent), 0).await?;
        read.push(Requests::of(agent, &Loaded::from_found(found)));
    }
    // A parent's requests are looked at before its forks' first ones.
    read.sort_by(|a, b| (a.depth(), a.address()).cmp(&(b.depth(), b.address())));
    let mut held = HashMap::new();
    let mut agents: Vec<AgentCost> = Vec::new();
    for requests in read {
        let cost = requests.cost(&held, &paths.prompts(), prices);
        held.extend(
            requests.samples.iter().filter_map(|sample| Some((sample.reply.clone(), sample.held()?))),
        );
        agents.push(cost);
    }
    let total = total(&agents);
    Ok(Costs { agents: in_tree(agents), total })
}

/// The requests of one agent.
struct Requests {
    agent: AgentId,
    header: Option<Header>,
    samples: Vec<Sample>,
}

impl Requests {
    fn of(agent: AgentId, loaded: &Loaded) -> Self {
        let header = loaded.entries.iter().find_map(|entry| match &entry.body {
            Body::Opened(header) => Some((**header).clone()),
            _ => None,
        });
        let mut samples = Samples::default();
        let samples = loaded.entries.iter().filter_map(|entry| samples.push(entry)).collect();
        Self { agent, header, samples }
    }

    fn depth(&self) -> u32 {
        self.header.as_ref().map_or(u32::from(!self.agent.is_main()), |header| header.depth)
    }

    fn address(&self) -> &str {
        self.header.as_ref().map_or(self.agent.as_str(), |header| &header.address)
    }

    fn cost(&self, held: &HashMap<EntryId, Held>, prompts: &Path, prices: Prices<'_>) -> AgentCost {
        let point = self.header.as_ref().and_then(|header| header.fork.as_ref());
        let mut watch = Watch::after(point.and_then(|point| held.get(&point.at).cloned()));
        let breaks = self.samples.iter().filter_map(|sample| watch.push(sample));
        let breaks = breaks.map(|found| Break { cause: told_apart(prompts, found.cause), ..found }).collect();
        let header = self.header.as_ref();
        AgentCost {
            agent: self.agent.clone(),
            address: self.address().to_owned(),
            definition: header.map_or_else(String::new, |header| header.definition.clone()),
            parent: header.and_then(|header| header.parent.clone()),
            depth: self.depth(),
            fork: point.is_some(),
            spent: self.spent(prices),
            breaks,
        }
    }

    fn spent(&self, prices: Prices<'_>) -> Spent {
        let mut usage = Usage::default();
        let mut cost = Some(0.0);
        for sample in &self.samples {
            usage += sample.usage;
            cost = sum(cost, prices(&sample.model).map(|price| price.of(&sample.usage)));
        }
        let first = self.samples.first().filter(|_| !self.agent.is_main());
        let begun = first.map_or(0, |first| first.usage.cache_read_input_tokens);
        let saved = match first {
            None => Some(0.0),
            Some(first) => prices(&first.model).map(|price| saving(&price, begun)),
        };
        Spent {
            requests: self.samples.len(),
            usage,
            cost_usd: cost,
            cached_share: share(&usage),
            begun_on_cache: begun,
            saved_usd: saved,
        }
    }
}

/// What it saves to read tokens from the cache.
fn saving(price: &Price, tokens: u64) -> f64 {
    let plain = Usage { input_tokens: tokens, ..Usage::default() };
    let read = Usage { cache_read_input_tokens: tokens, ..Usage::default() };
    price.of(&plain) - price.of(&read)
}

#[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^52")]
fn share(usage: &Usage) -> Option<f64> {
    let all = usage.context();
    (all > 0).then(|| usage.cache_read_input_tokens as f64 / all as f64)
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}

fn total(agents: &[AgentCost]) -> Spent {
    let mut total = Spent { cost_usd: Some(0.0), saved_usd: Some(0.0), ..Spent::default() };
    for AgentCost { spent, .. } in agents {
        total.requests += spent.requests;
        total.usage += spent.usage;
        total.begun_on_cache += spent.begun_on_cache;
        total.cost_usd = sum(total.cost_usd, spent.cost_usd);
        total.saved_usd = sum(total.saved_usd, spent.saved_usd);
    }
    total.cached_share = share(&total.usage);
    total
}

/// Puts each agent behind the one that started it; what has no parent here comes last.
fn in_tree(agents: Vec<AgentCost>) -> Vec<AgentCost> {
    let mut below: HashMap<Option<AgentId>, Vec<AgentCost>> = HashMap::new();
    for agent in agents {
        let parent = agent.parent.clone().filter(|_| !agent.agent.is_main());
        below.entry(parent).or_default().push(agent);
    }
    let mut tree = Vec::new();
    let mut next = below.remove(&None).unwrap_or_default();
    next.reverse();
    while let Some(agent) = next.pop() {
        let children = below.remove(&Some(agent.agent.clone())).unwrap_or_default();
        next.extend(children.into_iter().rev());
        tree.push(agent);
    }
    let mut lost: Vec<AgentCost> = below.into_values().flatten().collect();
    lost.sort_by(|a, b| a.address.cmp(&b.address));
    tree.extend(lost);
    tree
}

/// Says of a changed prompt whether its tools or its system prompt changed, where both forms were kept.
pub(crate) fn told_apart(prompts: &Path, cause: Cause) -> Cause {
    let Cause::Prompt { from, to } = &cause else { return cause };
    match (Rendered::load(prompts, from), Rendered::load(prompts, to)) {
        (Some(before), Some(since)) if before.tools != since.tools => Cause::Tools,
        (Some(before), Some(since)) if before.system != since.system => Cause::System,
        _ => cause,
    }
}
