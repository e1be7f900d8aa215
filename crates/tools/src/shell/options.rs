//! What the shell tools are told at start. The values come from settings and the environment; nothing is
//! read here.

use std::path::PathBuf;
use std::time::Duration;

use super::sandbox::Sandboxing;

/// Default limit of a foreground command, in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 120_000;
/// Ceiling of that limit.
const MAX_TIMEOUT_MS: u64 = 600_000;
/// Default limit of a background command.
const BACKGROUND_TIMEOUT: Duration = Duration::from_mins(30);
/// Ceiling of that limit, and the limit of a command that was moved to the background.
pub(super) const BACKGROUND_CEILING: Duration = Duration::from_hours(2);

/// Settings of the shell tools.
#[derive(Clone, Debug)]
pub struct Options {
    /// The shell: `bash`, looked up in `PATH`, or a path.
    pub program: PathBuf,
    /// Limit of a command that names none, in milliseconds (`BASH_DEFAULT_TIMEOUT_MS`).
    pub default_timeout_ms: u64,
    /// Ceiling of what a command may name, in milliseconds (`BASH_MAX_TIMEOUT_MS`).
    pub max_timeout_ms: u64,
    /// Most characters of a success that the model gets (`bashOutputMaxChars`); 4,000 to 128,000.
    pub inline_chars: usize,
    /// Most characters of a task's output that the model gets at once (`BASH_MAX_OUTPUT_LENGTH`); at most
    /// 150,000.
    pub read_back_chars: usize,
    /// Whether commands may run in the background.
    pub background: bool,
    /// Whether there is a tool that watches commands (`MONITOR_TOOL`).
    pub monitor: bool,
    /// The rc file whose aliases and functions apply, if any (`~/.bashrc`).
    pub rc_file: Option<PathBuf>,
    /// A script to source before each command (`CLAUDE_ENV_FILE`).
    pub env_file: Option<PathBuf>,
    /// Git settings that the environment holds already (`GIT_CONFIG_COUNT`).
    pub git_settings: usize,
    /// The value of `BASH_ENV` that commands are to see.
    pub bash_env: Option<PathBuf>,
    /// Whether commands run in a sandbox.
    pub sandbox: Sandboxing,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            program: PathBuf::from("bash"),
            default_timeout_ms: DEFAULT_TIMEOUT_MS,
            max_timeout_ms: MAX_TIMEOUT_MS,
            inline_chars: 30_000,
            read_back_chars: 30_000,
            background: true,
            monitor: true,
            rc_file: None,
            env_file: None,
            git_settings: 0,
            bash_env: None,
            sandbox: Sandboxing::Off,
        }
    }
}

impl Options {
    /// The limit of a command; what is asked for is reduced to the ceiling.
    pub(super) fn timeout(&self, asked_ms: Option<u64>, background: bool) -> Duration {
        if background {
            return asked_ms.map_or(BACKGROUND_TIMEOUT, Duration::from_millis).min(BACKGROUND_CEILING);
        }
        let ceiling = self.max_timeout_ms.max(self.default_timeout_ms);
        Duration::from_millis(asked_ms.unwrap_or(self.default_timeout_ms).min(ceiling))
    }

    pub(super) fn inline_chars(&self) -> usize {
        self.inline_chars.clamp(4_000, 128_000)
    }
}
