//! The flags that limit a session's agents.

use clap::Args;

/// How much may be used.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "a field has its flag's name")]
#[command(next_help_heading = "Model and limits")]
pub(crate) struct LimitFlags {
    /// Most tokens for the session, those of all its agents.
    #[arg(long, alias = "maxTokens", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Most time for the run: 90s, 10m, 2h.
    #[arg(long, alias = "maxTime", value_name = "TIME", value_parser = milliseconds)]
    pub(crate) max_time: Option<u64>,
    /// Most agents of the session in all.
    #[arg(long, alias = "maxAgents", value_name = "N")]
    pub(crate) max_agents: Option<u64>,
    /// Most agents at work at once; others wait for their turn.
    #[arg(long, alias = "maxLiveAgents", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_live_agents: Option<u64>,
}

/// A time in milliseconds; a bare number is seconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let time = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    time.filter(|time| *time > 0).ok_or_else(|| "it must be a time above 0 such as 90s, 10m or 2h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_seconds_are_usual() {
        let times = ["90", "90s", "10m", "2h", "250ms", "1 min"].map(milliseconds);
        assert_eq!(times, [90_000, 90_000, 600_000, 7_200_000, 250, 60_000].map(Ok));
        for bad in ["", "0", "m", "-1s", "1d", "1.5h", "99999999999999999999"] {
            assert!(milliseconds(bad).is_err(), "{bad}");
        }
    }
}
