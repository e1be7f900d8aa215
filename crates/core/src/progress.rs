//! How far an agent is: a few figures for people, never for decisions (B2).

use std::collections::VecDeque;

use crate::time::Time;
use crate::usage::Usage;

/// Activities that are kept.
const KEPT: usize = 5;

/// How far an agent is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Tokens that its last request read, those of the cache included.
    pub input_tokens: u64,
    /// Tokens that it has written in all.
    pub output_tokens: u64,
    /// Calls that it has made.
    pub tool_uses: u32,
    /// The last things that it did, in plain words, the newest last.
    pub activities: VecDeque<String>,
    /// When it last did something.
    pub last: Option<Time>,
}

impl Progress {
    /// Takes in a reply and the titles of the calls in it.
    pub fn reply(&mut self, usage: &Usage, calls: impl IntoIterator<Item = String>, at: Time) {
        self.input_tokens = usage.total().saturating_sub(usage.output_tokens);
        self.output_tokens += usage.output_tokens;
        self.last = Some(at);
        for call in calls {
            self.tool_uses += 1;
            self.activities.push_back(call);
        }
        while self.activities.len() > KEPT {
            self.activities.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: B2
    #[test]
    fn input_is_replaced_output_summed_and_five_activities_are_kept() {
        let mut progress = Progress::default();
        let usage = |input_tokens, output_tokens| Usage {
            input_tokens,
            output_tokens,
            cache_read_input_tokens: 7,
            ..Usage::default()
        };
        progress.reply(&usage(100, 10), (1..=4).map(|n| format!("call {n}")), Time(1));
        progress.reply(&usage(50, 5), (5..=7).map(|n| format!("call {n}")), Time(2));
        assert_eq!((progress.input_tokens, progress.output_tokens, progress.tool_uses), (57, 15, 7));
        assert_eq!(progress.activities, ["call 3", "call 4", "call 5", "call 6", "call 7"]);
        assert_eq!(progress.last, Some(Time(2)));
    }
}
