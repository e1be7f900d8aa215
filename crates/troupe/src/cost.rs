//! `troupe cost`: what the agents of a session spent, and what the provider's prompt cache did for them.

use std::fmt::Write as _;

use troupe_core::usage::Price;
use troupe_core::visible::visible;
use troupe_engine::cost::{AgentCost, Costs, Spent, costs};
use troupe_engine::load::Env;
use troupe_models::catalog;

use crate::args::CostWish;
use crate::fault::Fault;
use crate::sessions;

/// Most characters of an agent's address in the table.
const ADDRESS: usize = 40;

/// The costs as text or JSON.
///
/// # Errors
/// When there is no such session, or its transcripts can't be read.
pub(crate) fn text(wish: &CostWish, env: &Env) -> Result<String, Fault> {
    let (paths, journal) = sessions::named(wish.session.as_deref(), env)?;
    let found = crate::block_on(async {
        let prices = |model: &str| -> Option<Price> { catalog::info(model).price };
        let read = costs(&journal, &paths, &prices).await;
        read.map_err(|error| Fault::failed(format_args!("failed to read the transcripts: {error}")))
    })?;
    if wish.json {
        let json = serde_json::to_string_pretty(&found).map_err(Fault::failed)?;
        return Ok(format!("{json}\n"));
    }
    Ok(table(&found))
}

fn table(costs: &Costs) -> String {
    let mut text = format!(
        "{:<ADDRESS$} {:>8} {:>10} {:>9} {:>11} {:>11} {:>7} {:>10}\n",
        "agent", "requests", "input", "output", "cache write", "cache read", "cached", "USD"
    );
    for agent in &costs.agents {
        row(&mut text, &name(agent), &agent.spent);
    }
    if costs.agents.len() > 1 {
        row(&mut text, "all", &costs.total);
    }
    for agent in &costs.agents {
        for found in &agent.breaks {
            // Writing to a string can't fail.
            let _ = writeln!(text, "{}, request {}: {found}", visible(&agent.address), found.request);
        }
    }
    let begun = costs.total.begun_on_cache;
    if begun > 0 {
        let saved =
            costs.total.saved_usd.map_or_else(String::new, |saved| format!(", which saved {saved:.4} USD"));
        let _ = writeln!(text, "agents began on {begun} tokens that others had left in the cache{saved}");
    }
    text.push_str(
        "Requests that leave nothing in a transcript, such as those for summaries, are not counted.\n",
    );
    text
}

/// The agent's address, moved in by its depth.
fn name(agent: &AgentCost) -> String {
    let depth = usize::try_from(agent.depth).unwrap_or_default().min(8);
    let name = format!("{}{}", "  ".repeat(depth), visible(&agent.address));
    if name.chars().count() <= ADDRESS {
        return name;
    }
    let cut: String = name.chars().take(ADDRESS - 1).collect();
    format!("{cut}…")
}

fn row(text: &mut String, name: &str, spent: &Spent) {
    let cached = spent.cached_share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let cost = spent.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("{cost:.4}"));
    let usage = &spent.usage;
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "{name:<ADDRESS$} {:>8} {:>10} {:>9} {:>11} {:>11} {cached:>7} {cost:>10}",
        spent.requests,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
    );
}
