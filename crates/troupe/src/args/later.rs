//! Flags that hosts may pass and whose work is not done yet. They are taken, so that a host starts; where
//! leaving one out changes what comes out, the person is told.

use clap::Args;

/// Flags without effect. Hidden: help speaks of what works.
#[derive(Debug, Default, Args)]
pub(crate) struct Later {
    #[arg(long, hide = true, alias = "fallbackModel", value_name = "M")]
    fallback_model: Option<String>,
    #[arg(long, hide = true, alias = "mcpConfig", num_args = 1.., allow_hyphen_values = false)]
    mcp_config: Vec<String>,
    #[arg(long, hide = true, alias = "strictMcpConfig")]
    strict_mcp_config: bool,
    #[arg(long, hide = true, alias = "jsonSchema", allow_hyphen_values = true)]
    json_schema: Option<String>,
    #[arg(long, hide = true, alias = "pluginDir", num_args = 1..)]
    plugin_dir: Vec<String>,
    #[arg(long, hide = true, alias = "pluginUrl", num_args = 1..)]
    plugin_url: Vec<String>,
    #[arg(long, hide = true)]
    thinking: Option<String>,
    #[arg(long, hide = true, alias = "maxThinkingTokens")]
    max_thinking_tokens: Option<String>,
    #[arg(long, hide = true, alias = "thinkingDisplay")]
    thinking_display: Option<String>,
    #[arg(long, hide = true, alias = "includeHookEvents")]
    include_hook_events: bool,
    #[arg(long, hide = true, alias = "sessionMirror")]
    session_mirror: bool,
    #[arg(long, hide = true, alias = "forkSession")]
    fork_session: bool,
    #[arg(long, hide = true, alias = "resumeSessionAt")]
    resume_session_at: Option<String>,
    #[arg(long, hide = true, alias = "resumeDropsTurn", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    resume_drops_turn: Option<String>,
    #[arg(long, hide = true, alias = "taskBudget")]
    task_budget: Option<String>,
    #[arg(long, hide = true, alias = "appendSubagentSystemPrompt", allow_hyphen_values = true)]
    append_subagent_system_prompt: Option<String>,
    #[arg(short, long, hide = true)]
    name: Option<String>,
    #[arg(short, long, hide = true, num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "clap's form of a flag with a value that may be left out")]
    worktree: Option<Option<String>>,
    #[arg(long, hide = true)]
    tmux: bool,
    #[arg(long, hide = true)]
    autocompact: Option<String>,
    #[arg(long, hide = true)]
    init: bool,
    #[arg(long, hide = true)]
    init_only: bool,
    #[arg(long, hide = true)]
    maintenance: bool,

    // Without these nothing comes out otherwise: what they turn on or off is not there.
    #[arg(long, hide = true)]
    disable_slash_commands: bool,
    #[arg(long, hide = true)]
    exclude_dynamic_system_prompt_sections: bool,
    #[arg(long, hide = true)]
    prompt_suggestions: bool,
    #[arg(long, hide = true)]
    safe_mode: bool,
    #[arg(long, hide = true)]
    debug_to_stderr: bool,
}

impl Later {
    /// The flags that were passed and whose absence changes what comes out, as they are written.
    pub(crate) fn without_effect(&self) -> Vec<&'static str> {
        let passed = [
            ("--fallback-model", self.fallback_model.is_some()),
            ("--mcp-config", self.mcp_config.iter().any(|config| !is_empty_config(config))),
            ("--json-schema", self.json_schema.is_some()),
            ("--plugin-dir", !self.plugin_dir.is_empty()),
            ("--plugin-url", !self.plugin_url.is_empty()),
            ("--thinking", self.thinking.is_some()),
            ("--max-thinking-tokens", self.max_thinking_tokens.is_some()),
            ("--thinking-display", self.thinking_display.is_some()),
            ("--session-mirror", self.session_mirror),
            ("--fork-session", self.fork_session),
            ("--resume-session-at", self.resume_session_at.is_some()),
            ("--resume-drops-turn", self.resume_drops_turn.is_some()),
            ("--task-budget", self.task_budget.is_some()),
            ("--append-subagent-system-prompt", self.append_subagent_system_prompt.is_some()),
            ("--name", self.name.is_some()),
            ("--worktree", self.worktree.is_some()),
            ("--tmux", self.tmux),
            ("--autocompact", self.autocompact.is_some()),
            ("--init", self.init),
            ("--init-only", self.init_only),
            ("--maintenance", self.maintenance),
        ];
        passed.into_iter().filter_map(|(flag, passed)| passed.then_some(flag)).collect()
    }
}

/// Whether an MCP configuration has no server, as hosts pass it that have none.
fn is_empty_config(config: &str) -> bool {
    let bare: String = config.chars().filter(|c| !c.is_whitespace()).collect();
    bare.is_empty() || bare == "{}" || bare == r#"{"mcpServers":{}}"#
}
