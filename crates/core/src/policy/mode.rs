//! Permission modes, and which one a child gets.

use serde::{Deserialize, Serialize};

/// What may be done without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Reads in the workspace and read-only commands; everything else asks.
    #[default]
    Default,
    /// Edits in the workspace too.
    AcceptEdits,
    /// Only reads; nothing that changes anything.
    Plan,
    /// A classifier answers what would be asked.
    Auto,
    /// What is not allowed is denied; nothing is asked.
    DontAsk,
    /// Everything; deny and ask rules still hold.
    BypassPermissions,
    /// Reads are free, each change is approved, even when a rule allows it.
    Review,
    /// Each call is approved.
    Micro,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 8] = [
        Self::Default,
        Self::AcceptEdits,
        Self::Plan,
        Self::Auto,
        Self::DontAsk,
        Self::BypassPermissions,
        Self::Review,
        Self::Micro,
    ];

    /// The word of settings, flags and frames.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::Auto => "auto",
            Self::DontAsk => "dontAsk",
            Self::BypassPermissions => "bypassPermissions",
            Self::Review => "review",
            Self::Micro => "micro",
        }
    }

    /// Reads the word; `manual` is another name of `default`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "manual" {
            return Some(Self::Default);
        }
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }

    /// Whether this mode lets something pass unasked that the other does not.
    pub fn lets_pass_more_than(self, other: Self) -> bool {
        let rank = |mode| match mode {
            Self::Plan => 0,
            Self::Micro => 1,
            Self::Review => 2,
            Self::DontAsk => 3,
            Self::Default => 4,
            Self::AcceptEdits => 5,
            Self::Auto => 6,
            Self::BypassPermissions => 7,
        };
        rank(self) > rank(other)
    }

    /// The mode of a child whose definition wants `wanted`, under a parent in `self` (S1): a parent that
    /// accepts more wins; under a parent that only plans, what would act unasked asks instead.
    #[must_use]
    pub fn of_child(self, wanted: Option<Self>) -> Self {
        match self {
            Self::BypassPermissions | Self::AcceptEdits | Self::Auto => self,
            Self::Plan => match wanted {
                None => Self::Plan,
                Some(Self::BypassPermissions | Self::AcceptEdits | Self::Auto) => Self::Default,
                Some(mode) => mode,
            },
            Self::Default | Self::DontAsk | Self::Review | Self::Micro => wanted.unwrap_or(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Mode::{self, *};

    // proves: S1
    #[test]
    fn the_table_of_parent_and_child() {
        for winning in [BypassPermissions, AcceptEdits, Auto] {
            for wanted in Mode::ALL {
                assert_eq!(winning.of_child(Some(wanted)), winning);
            }
        }
        for acting in [BypassPermissions, AcceptEdits, Auto] {
            assert_eq!(Plan.of_child(Some(acting)), Default);
        }
        for mild in [Default, Plan, DontAsk, Review, Micro] {
            assert_eq!(Plan.of_child(Some(mild)), mild);
        }
        for parent in [Default, DontAsk, Review, Micro] {
            assert_eq!(parent.of_child(None), parent);
            for wanted in Mode::ALL {
                assert_eq!(parent.of_child(Some(wanted)), wanted);
            }
        }
    }

    #[test]
    fn words_round_trip() {
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.as_str()), Some(mode));
        }
        assert_eq!(Mode::parse("manual"), Some(Default));
        assert_eq!(Mode::parse("yolo"), None);
    }
}
