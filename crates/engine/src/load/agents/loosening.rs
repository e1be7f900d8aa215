//! What a project's definition wants that loosens something: it waits until the person trusts it (X13). All else of
//! a definition is words for a model, and holds at once.

use std::path::Path;

use serde_json::Value;
use troupe_core::catalogue::DefFault;
use troupe_core::def::{AgentDef, ModelChoice, Source};
use troupe_core::policy::Mode;

use super::folders::AgentSources;
use crate::load::trust::{TrustItem, TrustKind};

/// A field that loosens something.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Loose {
    /// A mode in which more passes unasked than in some other.
    Mode(Mode),
    /// Rules that allow.
    AllowedTools(Value),
    /// Programs that run at events.
    Hooks(Value),
    /// A server of its own: its name and configuration.
    Server(Value),
    /// A folder of the person's to read and write, in every project.
    UserMemory,
}

impl Loose {
    pub(super) fn of_mode(mode: Mode) -> Option<Self> {
        (mode != Mode::Plan).then_some(Self::Mode(mode))
    }

    /// Whether it loosens something in a session of this mode. A mode in which edits or commands pass unasked does so in
    /// any.
    fn loosens(&self, session: Mode) -> bool {
        // Under a lead that plans, the table of parent and child has whatever would act ask.
        let session = if session == Mode::Plan { Mode::Default } else { session };
        match self {
            Self::Mode(Mode::AcceptEdits | Mode::Auto | Mode::BypassPermissions) => true,
            Self::Mode(mode) => mode.lets_pass_more_than(session),
            Self::AllowedTools(_) | Self::Hooks(_) | Self::Server(_) | Self::UserMemory => true,
        }
    }

    /// Of servers, those that bring a configuration: a name alone stands for one that the session has anyway.
    pub(super) fn of_servers(servers: &[Value]) -> Vec<Self> {
        servers.iter().filter(|server| server.is_object()).cloned().map(Self::Server).collect()
    }

    fn field(&self) -> &'static str {
        match self {
            Self::Mode(_) => "permissionMode",
            Self::AllowedTools(_) => "allowedTools",
            Self::Hooks(_) => "hooks",
            Self::Server(_) => "mcpServers",
            Self::UserMemory => "memory",
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Mode(mode) => mode.as_str().to_owned(),
            Self::AllowedTools(Value::String(rules)) => rules.clone(),
            Self::UserMemory => "user".to_owned(),
            Self::AllowedTools(value) | Self::Hooks(value) | Self::Server(value) => value.to_string(),
        }
    }

    fn take_from(&self, def: &mut AgentDef) {
        match self {
            Self::Mode(_) => def.mode = None,
            Self::AllowedTools(_) => def.allowed = None,
            Self::Hooks(_) => def.hooks = None,
            Self::UserMemory => def.memory = None,
            Self::Server(server) => def.mcp_servers.retain(|other| other != server),
        }
    }
}

/// Takes out of a project's definition what is not trusted; gives all that it wants, and what of that is not in force.
pub(super) fn hold(
    def: &mut AgentDef,
    loose: &[Loose],
    file: &Path,
    from: &AgentSources,
) -> (Vec<TrustItem>, Vec<DefFault>) {
    let (mut wants, mut held) = (Vec::new(), Vec::new());
    if let (Source::Project(_) | Source::Plugin { .. }, ModelChoice::Named(name)) = (&def.source, &def.model)
        && name.trim_start().starts_with("script:")
    {
        // Its replies would be the repository's.
        def.model = ModelChoice::Inherit;
        held.push(DefFault {
            file: file.to_owned(),
            line: None,
            what: format!(
                "`model` of {} is a script, which only the person may choose; the parent's is used",
                def.name
            ),
            used: true,
        });
    }
    if !matches!(def.source, Source::Project(_)) {
        return (wants, held);
    }
    // What is trusted is the agent with the field, not the field for whatever the agent becomes.
    let whole = format!("{}\n{:?}", def.prompt, def.tools);
    for loose in loose {
        let (field, text) = (loose.field(), loose.text());
        let content = format!("{text}\n{whole}");
        let name = format!("{}.{field}", def.name);
        let item = TrustItem::new(TrustKind::Agents, file, &from.places, name, &text, content.as_bytes());
        let trusted = from.trust.covers(&item);
        if !loose.loosens(from.mode) {
            // The session's mode may change.
            def.mode_is_held |= !trusted;
            continue;
        }
        if !trusted {
            loose.take_from(def);
            held.push(DefFault {
                file: file.to_owned(),
                line: None,
                what: format!(
                    "`{field}` of {} is not in force: it waits until you trust it (`troupe trust`), and counts from the next start",
                    def.name
                ),
                used: true,
            });
        }
        wants.push(item);
    }
    (wants, held)
}
