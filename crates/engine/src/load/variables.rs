//! Table: every environment variable that the project reads. One list, so that `troupe config` can show it and
//! nothing is read that is not in it.

/// One variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name; without a prefix when it is read under several.
    pub name: &'static str,
    /// Under which names it is read.
    pub naming: Naming,
    /// Older names of the same thing, with the same naming.
    pub also: &'static [&'static str],
    /// What it holds.
    pub kind: Kind,
    /// What it is for.
    pub meaning: &'static str,
    /// What it belongs with, for listings.
    pub group: &'static str,
}

/// Under which names a variable is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `TROUPE_X`, then `CLAUDE_CODE_X`, then `CLAUDE_X`.
    Prefixed,
    /// As it is.
    Exact,
}

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no, and when it is on without being set.
    Switch(OnWhen),
    /// A whole number from 0 up.
    Number,
    /// Text.
    Text,
    /// A path.
    Path,
    /// A key or token: never shown.
    Secret,
}

/// When a switch is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnWhen {
    /// Only when it is set.
    Set,
    /// Unless it is set to no.
    Always,
    /// As `Always`, in interactive sessions.
    Interactive,
}

/// Prefixes of a [`Naming::Prefixed`] variable, in the order in which they are tried.
const PREFIXES: [&str; 3] = ["TROUPE_", "CLAUDE_CODE_", "CLAUDE_"];

impl Variable {
    /// The names under which it is read, the strongest first.
    pub fn names(&self) -> Vec<String> {
        let stems = || std::iter::once(&self.name).chain(self.also);
        match self.naming {
            Naming::Exact => stems().map(|stem| (*stem).to_owned()).collect(),
            Naming::Prefixed => PREFIXES
                .iter()
                .flat_map(|prefix| stems().map(move |stem| format!("{prefix}{stem}")))
                .collect(),
        }
    }
}

/// Whether a variable of this full name is read.
pub fn is_read(name: &str) -> bool {
    ALL.iter().any(|variable| variable.names().iter().any(|known| known == name))
}

/// The full names of the variables that hold keys.
pub fn secret_names() -> impl Iterator<Item = String> {
    ALL.iter().filter(|variable| variable.kind == Kind::Secret).flat_map(Variable::names)
}

/// Makes a constant of each row, and the list of them all.
macro_rules! variables {
    ($([$group:literal] $($name:ident $(($($also:literal),+))?: $naming:ident, $kind:expr, $meaning:literal;)+)+) => {
        $($(
            #[doc = $meaning]
            pub const $name: Variable = Variable {
                name: stringify!($name),
                naming: Naming::$naming,
                also: &[$($($also),+)?],
                kind: $kind,
                meaning: $meaning,
                group: $group,
            };
        )+)+

        /// Every variable.
        pub const ALL: &[Variable] = &[$($($name),+),+];
    };
}

const OFF: Kind = Kind::Switch(OnWhen::Set);
const ON: Kind = Kind::Switch(OnWhen::Always);

variables! {
    // The two names of folders are fixed by the ecosystem and by us: neither is one of the other's.
    ["Where things lie"]
    TROUPE_HOME: Exact, Kind::Path, "The folder that troupe writes to.";
    CLAUDE_CONFIG_DIR: Exact, Kind::Path, "The ecosystem's folder of the user.";
    TROUPE_TRUST_WORKSPACE: Exact, OFF, "Vouches for the folder, as --trust-workspace does.";
    IS_SANDBOX: Exact, OFF, "The machine may be lost: root may work without questions.";
    TMPDIR: Exact, Kind::Path, "The folder for files that need not last.";
    XDG_RUNTIME_DIR: Exact, Kind::Path, "The user's folder for sockets, where the path of the Home is too long for one.";

    ["Set by an SDK that starts troupe"]
    CLAUDE_AGENT_SDK_VERSION: Exact, Kind::Text, "Version of the SDK that started this process.";
    CLAUDE_AGENT_SDK_CLIENT_APP: Exact, Kind::Text, "Name of the host, for the user agent of requests.";
    CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS: Exact, OFF, "No built-in agents in sessions without a person.";
    TRACEPARENT: Exact, Kind::Text, "The trace that this process belongs to.";
    TRACESTATE: Exact, Kind::Text, "The state that goes with that trace.";
    ENTRYPOINT: Prefixed, Kind::Text, "What started this process, such as sdk-py.";
    SDK_READS_SESSION_STATE: Prefixed, OFF, "The host wants frames when the session's state changes.";
    EMIT_SESSION_STATE_EVENTS: Prefixed, OFF, "Frames on the session's state, for every reader.";
    ENABLE_SDK_FILE_CHECKPOINTING: Prefixed, OFF, "Keep files as they were before each prompt.";
    PRINT_BG_WAIT_CEILING_MS: Prefixed, Kind::Number, "How long the end of a headless run waits for background agents, in ms; 0: no limit.";

    ["Models"]
    ANTHROPIC_API_KEY: Exact, Kind::Secret, "Key of the Messages API.";
    ANTHROPIC_AUTH_TOKEN: Exact, Kind::Secret, "Bearer token in place of a key.";
    ANTHROPIC_BASE_URL: Exact, Kind::Text, "Address of the Messages API.";
    ANTHROPIC_MODEL: Exact, Kind::Text, "The model to use.";
    ANTHROPIC_SMALL_FAST_MODEL: Exact, Kind::Text, "A small model for questions beside the work, such as auto's classifier.";
    SUBAGENT_MODEL: Prefixed, Kind::Text, "The model of all sub-agents; inherit leaves it to each.";
    MAX_RETRIES: Prefixed, Kind::Number, "Most tries of a request after the first.";
    OVERLOAD_LIMIT_MS: Prefixed, Kind::Number, "How long an overloaded provider is tried in all, in ms.";
    FIRST_BYTE_LIMIT_MS: Prefixed, Kind::Number, "How long a reply may take to begin, in ms.";
    STREAM_IDLE_LIMIT_MS: Prefixed, Kind::Number, "How long a begun reply may be silent, in ms.";
    STREAM_PROGRESS_LIMIT_MS: Prefixed, Kind::Number, "How long a reply may give nothing but signs of life, in ms.";
    DISABLE_EXPERIMENTAL_BETAS: Prefixed, OFF, "Send no beta flags, for gateways that refuse them.";

    ["Tools"]
    BASH_DEFAULT_TIMEOUT_MS: Exact, Kind::Number, "Time limit of a shell command that names none, in ms.";
    BASH_MAX_TIMEOUT_MS: Exact, Kind::Number, "Largest time limit that a shell command may name, in ms.";
    BASH_MAX_OUTPUT_LENGTH: Exact, Kind::Number, "Most characters of a shell's output that are read back.";
    TROUPE_SANDBOX: Exact, OFF, "Commands run behind walls.";
    HTTPS_PROXY("https_proxy"): Exact, Kind::Secret, "The proxy that what commands behind walls reach goes through.";
    NO_PROXY("no_proxy"): Exact, Kind::Text, "Hosts that are reached without it.";
    SHELL: Exact, Kind::Path, "The shell that commands run in.";
    FILE_READ_MAX_OUTPUT_TOKENS: Prefixed, Kind::Number, "Most tokens of one file read.";
    GLOB_NO_IGNORE: Prefixed, ON, "Glob lists ignored files too.";
    DISABLE_BACKGROUND_TASKS: Prefixed, OFF, "Nothing runs in the background.";
    ENABLE_TASKS: Prefixed, OFF, "The task tools in place of each agent's own list; on in teams unless set to no.";
    ENABLE_TODO_TOOLS: Prefixed, OFF, "The task tools for models that do without them.";
    TASK_LIST_ID: Prefixed, Kind::Text, "The task list that sessions share by this name.";
    MAX_TOOL_USE_CONCURRENCY: Prefixed, Kind::Number, "Most calls that run at once.";
    MAX_MCP_OUTPUT_TOKENS: Exact, Kind::Number, "Most tokens of one MCP result.";
    MCP_TIMEOUT: Exact, Kind::Number, "Time limit of an MCP server's start, in ms.";
    MCP_TOOL_TIMEOUT: Exact, Kind::Number, "Time limit of an MCP call, in ms.";
    ADDITIONAL_DIRECTORIES_CLAUDE_MD: Prefixed, OFF, "Read instruction files of added folders too.";

    ["Agents"]
    QUESTION_TIMEOUT_MS: Prefixed, Kind::Number, "How long a question may stay open before it is a denial, in ms; 0: no limit.";
    MAX_SUBAGENT_SPAWN_DEPTH: Prefixed, Kind::Number, "How deep agents may nest; 3 unless set.";
    MAX_AGENTS: Prefixed, Kind::Number, "Most agents of a session in all, as --max-agents.";
    MAX_LIVE_AGENTS: Prefixed, Kind::Number, "Most agents at work at once, as --max-live-agents.";
    MAX_SESSION_TOKENS: Prefixed, Kind::Number, "Most tokens of a session, as --max-tokens.";
    MAX_SESSION_TIME_MS: Prefixed, Kind::Number, "Most time of a run in ms, as --max-time.";
    SPAWN_LIMIT_MS: Prefixed, Kind::Number, "How long the start of an agent may take, in ms.";
    CALL_LIMIT_MS: Prefixed, Kind::Number, "How long a call of a tool may take in ms, agents' not counted; 0: no limit.";
    STALLED_AFTER_MS: Prefixed, Kind::Number, "After how much silence an agent is shown as stalled, in ms; 0: never.";
    MAX_SAME_CALLS: Prefixed, Kind::Number, "How often the same call may have the same result before it is warned of, and again before the run is ended; 0: no limit.";
    SIMPLE: Prefixed, OFF, "Few tools, nothing loaded but what a flag names.";
    FORK_SUBAGENT: Prefixed, OFF, "An agent without a type is a fork.";
    BUILTIN_EXPLORE_PLAN_AGENTS: Prefixed, ON, "The agents Explore and Plan.";
    VERIFICATION_AGENT: Prefixed, ON, "The agent verification.";
    COORDINATOR_MODE: Prefixed, OFF, "The main agent only coordinates.";
    AUTO_BACKGROUND_TASKS: Prefixed, OFF, "Long calls go to the background by themselves.";
    AUTO_BACKGROUND_AFTER_MS: Prefixed, Kind::Number, "After how long they do, in ms.";
    BACKGROUND_AGENTS: Prefixed, OFF, "Agents run in the background where the call doesn't say.";
    SLIM_SUBAGENT_INSTRUCTIONS: Prefixed, ON, "Read-only agents get no instruction files.";
    AGENT_LIST_ATTACHMENT: Prefixed, ON, "Agent types are listed in a message, not in the tool's text.";
    PROACTIVE("KAIROS"): Prefixed, OFF, "The main agent is woken between prompts.";
    VERIFY_PLAN: Prefixed, OFF, "Work on an approved plan is checked.";
    UDS_INBOX: Prefixed, Kind::Switch(OnWhen::Interactive), "Sessions listen for mail of other sessions.";
    WORKFLOW_SCRIPTS: Prefixed, OFF, "Workflows from scripts.";
    AGENT_SUMMARIES: Prefixed, OFF, "Progress lines made by a model.";
    HANDOFF_CHECK: Prefixed, OFF, "What a child hands over is checked.";
    AUTO_DREAM: Prefixed, OFF, "Memory is tidied between sessions.";
    AGENT_TRIGGERS: Prefixed, OFF, "Prompts at set times.";
    MONITOR_TOOL: Prefixed, ON, "The tool that watches a job.";
    AGENT_MEMORY_SNAPSHOT: Prefixed, OFF, "Projects seed the memory of agents.";
    CACHE_WARM_LIMIT_MS: Prefixed, Kind::Number, "How long agents that start together wait for the first one's reply to begin, in ms; 0: not at all.";
    CACHE_BREAK_DETECTION: Prefixed, ON, "Tell when the prompt cache was lost, and why.";

    ["Telemetry"]
    ENABLE_TELEMETRY: Prefixed, OFF, "Send the log of agents where the variables of OpenTelemetry say.";
    OTEL_SDK_DISABLED: Exact, Kind::Text, "With true nothing is sent, whatever the others say.";
    OTEL_LOGS_EXPORTER: Exact, Kind::Text, "How it is sent: otlp, or none.";
    OTEL_EXPORTER_OTLP_ENDPOINT: Exact, Kind::Text, "Address of the collector, without /v1/logs.";
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: Exact, Kind::Text, "Address of the collector for logs, whole.";
    OTEL_EXPORTER_OTLP_PROTOCOL: Exact, Kind::Text, "The protocol; only http/json is spoken.";
    OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: Exact, Kind::Text, "The same for logs alone.";
    OTEL_EXPORTER_OTLP_HEADERS: Exact, Kind::Secret, "Headers for the collector: name=value,name=value.";
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: Exact, Kind::Secret, "The same for logs alone.";
    OTEL_RESOURCE_ATTRIBUTES: Exact, Kind::Text, "Attributes of the sender: name=value,name=value.";
    OTEL_SERVICE_NAME: Exact, Kind::Text, "The sender's service.name; troupe unless set.";

    ["Teams"]
    AGENT_TEAMS("EXPERIMENTAL_AGENT_TEAMS"): Prefixed, OFF, "Agent teams.";
    TEAM_NAME: Prefixed, Kind::Text, "The team that this process is a member of.";
    AGENT_NAME: Prefixed, Kind::Text, "The member's name.";
    AGENT_ID: Prefixed, Kind::Text, "The member's id.";
    AGENT_COLOR: Prefixed, Kind::Text, "The member's colour.";
    PLAN_MODE_REQUIRED: Prefixed, OFF, "The member starts in plan mode.";
    TEAMMATE_COMMAND: Prefixed, Kind::Text, "The program that a member's pane runs.";
    PARENT_SESSION_ID: Prefixed, Kind::Text, "The session of the lead.";
    TMUX: Exact, Kind::Text, "tmux, where the lead runs in it: members get panes beside it.";
    TMUX_PANE: Exact, Kind::Text, "The lead's pane there.";
    TERM_PROGRAM: Exact, Kind::Text, "The terminal; iTerm.app can have panes for members.";
    ITERM_SESSION_ID: Exact, Kind::Text, "The lead's pane there.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_name_has_two_meanings() {
        let names: Vec<String> = ALL.iter().flat_map(Variable::names).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn only_names_without_a_prefix_elsewhere_are_read_as_they_are() {
        // A bare word could be anybody's; these belong to the ecosystem, an SDK, a standard or the system.
        let free = ["ANTHROPIC_", "BASH_", "MCP_", "MAX_MCP_", "CLAUDE_", "TROUPE_", "TRACE", "OTEL_"];
        for variable in ALL.iter().filter(|variable| variable.naming == Naming::Exact) {
            let known = free.iter().any(|prefix| variable.name.starts_with(prefix));
            assert!(
                known
                    || ["TMPDIR", "XDG_RUNTIME_DIR", "SHELL", "HTTPS_PROXY", "NO_PROXY", "IS_SANDBOX"]
                        .contains(&variable.name)
                    || ["TMUX", "TMUX_PANE", "TERM_PROGRAM", "ITERM_SESSION_ID"].contains(&variable.name),
                "{}",
                variable.name
            );
        }
    }

    #[test]
    fn a_name_is_found_with_its_prefixes_alone() {
        assert!(is_read("CLAUDE_CODE_SIMPLE"));
        assert!(is_read("TROUPE_KAIROS"));
        assert!(!is_read("SIMPLE"));
        assert!(!is_read("TROUPE_MCP_TIMEOUT"));
    }
}
