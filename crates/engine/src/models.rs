//! What a session says of its agents' models.

use troupe_core::def::Effort;

/// Which models agents use besides the main one's, and how much they think.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    /// The model of agents below the main one for which nothing else is named; none is their parent's (C2).
    pub subagent: Option<String>,
    /// How much the main agent thinks, as this run asks for it; a resumed session keeps its own where this is `None`.
    pub effort: Option<Effort>,
    /// The same when neither this run, the definition nor the session says.
    pub default_effort: Option<Effort>,
}
