//! A model's name that follows the permission mode.

use crate::policy::Mode;

/// Plans with the best model, and works with the balanced one.
pub const FOLLOWS_MODE: &str = "opusplan";

/// The name that holds in a mode.
pub fn in_mode(name: &str, mode: Mode) -> &str {
    match mode {
        _ if !name.trim().eq_ignore_ascii_case(FOLLOWS_MODE) => name,
        Mode::Plan => "opus",
        Mode::Default
        | Mode::AcceptEdits
        | Mode::Auto
        | Mode::DontAsk
        | Mode::BypassPermissions
        | Mode::Review
        | Mode::Micro => "sonnet",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: C2
    #[test]
    fn opusplan_follows_the_mode_and_nothing_else_does() {
        for mode in Mode::ALL {
            let expected = if mode == Mode::Plan { "opus" } else { "sonnet" };
            assert_eq!(in_mode(" OpusPlan ", mode), expected);
            assert_eq!(in_mode("opus", mode), "opus");
        }
    }
}
