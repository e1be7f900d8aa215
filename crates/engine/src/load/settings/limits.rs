//! Limits of agents, as settings have them: `limits.tokens`, `limits.eachAgent.turns` and the like.

use serde_json::Value;
use troupe_core::budget::Limits;

use super::layer::Layer;
use super::view::{Settings, Valued};

/// What limits the agents of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitSettings {
    /// Of the session.
    pub tree: Limits,
    /// Of each sub-agent.
    pub each: Limits,
    /// Agents in all.
    pub agents: Option<Valued<u64>>,
    /// Agents at work at once.
    pub live_agents: Option<Valued<u64>>,
    /// How deep agents nest.
    pub depth: Option<Valued<u64>>,
    /// How long the start of an agent may take, in ms.
    pub spawn_ms: Option<Valued<u64>>,
    /// How long a call may take, in ms; 0 is no limit.
    pub call_ms: Option<Valued<u64>>,
    /// After how much silence an agent is shown as stalled, in ms; 0 is never.
    pub stalled_ms: Option<Valued<u64>>,
    /// How often the same call may have the same result; 0 is no limit.
    pub same_calls: Option<Valued<u64>>,
    /// What the organisation limits, over all flags and variables.
    pub managed: Limits,
}

impl Settings {
    /// What limits the agents of a session.
    pub fn limits(&self) -> LimitSettings {
        let count = |key| self.scalar(&["limits", key], Value::as_u64);
        LimitSettings {
            tree: self.limits_at(&["limits"], false),
            each: self.limits_at(&["limits", "eachAgent"], false),
            agents: count("agents"),
            live_agents: count("liveAgents"),
            depth: count("depth"),
            spawn_ms: count("spawnMs"),
            call_ms: count("callMs"),
            stalled_ms: count("stalledMs"),
            same_calls: count("sameCalls"),
            managed: self.limits_at(&["limits"], true),
        }
    }

    fn limits_at(&self, path: &[&str], managed_only: bool) -> Limits {
        let at = |key| [path, &[key]].concat();
        let counts = |value: &Valued<u64>| !managed_only || value.origin.layer == Layer::Managed;
        let count = |key| self.scalar(&at(key), Value::as_u64).filter(counts).map(|found| found.value);
        let cost = self.scalar(&at("costUsd"), Value::as_f64);
        Limits {
            turns: count("turns").map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
            tokens: count("tokens"),
            cost_usd: cost
                .filter(|cost| !managed_only || cost.origin.layer == Layer::Managed)
                .map(|cost| cost.value),
            time_ms: count("timeMs"),
        }
    }
}
