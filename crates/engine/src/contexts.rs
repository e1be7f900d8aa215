//! What agents find in their contexts besides what they are asked.

/// How contexts are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contexts {
    /// In place of every system prompt of the main agent, and of what is added to it.
    pub prompt: Option<String>,
    /// Whether an agent that is chosen for the main one speaks after the usual prompt and not in its place.
    pub proactive: bool,
    /// Whether agents that omit instructions do without them and without the state of the checkout (C4).
    pub slim: bool,
    /// Whether an agent is reminded to have the work on an approved plan checked (S8).
    pub verify_plan: bool,
    /// Where the agent types are listed (D6).
    pub agent_list: ListedIn,
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            prompt: None,
            proactive: false,
            slim: true,
            verify_plan: false,
            agent_list: ListedIn::default(),
        }
    }
}

/// Where the agent types are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListedIn {
    /// A message, and later messages on what changed.
    #[default]
    Message,
    /// The text of the tool that starts agents, as it was when the agent began.
    Tool,
}
