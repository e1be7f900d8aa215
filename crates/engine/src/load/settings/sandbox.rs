//! `sandbox`: what the settings say of the walls around commands, and what of it a repository may say before the
//! person trusts it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::load::places::expand;

use super::view::Settings;

/// What the walls are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Whether there are walls; none leaves it to flags and environment.
    pub enabled: Option<bool>,
    /// Whether a command is refused when no wall works.
    pub fail_if_unavailable: bool,
    /// Whether a command behind walls runs without a question.
    pub auto_allow: bool,
    /// Whether a call may ask to run outside.
    pub allow_unsandboxed: bool,
    /// Patterns of commands that run outside.
    pub excluded_commands: Vec<String>,
    /// What is refused and not worth a word: the start of a command (`*`: any), and pieces of what it was refused.
    pub ignore_violations: Vec<(String, Vec<String>)>,
    /// What may be read and written.
    pub filesystem: FilesystemSettings,
    /// What may be reached.
    pub network: NetworkSettings,
    /// Keys that are set, and change nothing here.
    pub without_effect: Vec<&'static str>,
}

/// What a command may read and write. Paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesystemSettings {
    /// Whether there are no walls around files.
    pub disabled: bool,
    /// More that may be written.
    pub allow_write: Vec<PathBuf>,
    /// What may not be written after all.
    pub deny_write: Vec<PathBuf>,
    /// What may be read below what may not.
    pub allow_read: Vec<PathBuf>,
    /// What may not be read.
    pub deny_read: Vec<PathBuf>,
}

/// What a command may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Patterns of hosts that may be reached.
    pub allowed_domains: Vec<String>,
    /// Patterns of hosts that may not.
    pub denied_domains: Vec<String>,
    /// Whether nobody is asked about a host in neither list.
    pub strict_allowlist: bool,
    /// Unix sockets that may be connected to, absolute.
    pub unix_sockets: Vec<PathBuf>,
    /// Whether those may that lie where a command can see them.
    pub all_unix_sockets: bool,
}

/// Keys of the ecosystem that have nothing to act on here. A command may bind ports: they are its own network's.
const WITHOUT_EFFECT: &[(&[&str], &str)] = &[
    (&["sandbox", "enableWeakerNestedSandbox"], "sandbox.enableWeakerNestedSandbox"),
    (&["sandbox", "network", "httpProxyPort"], "sandbox.network.httpProxyPort"),
    (&["sandbox", "network", "socksProxyPort"], "sandbox.network.socksProxyPort"),
    (&["sandbox", "credentials"], "sandbox.credentials"),
];

impl Settings {
    /// What the walls around commands are made from.
    pub fn sandbox(&self, home: Option<&Path>) -> SandboxSettings {
        let flag = |key| self.value(&["sandbox", key]).and_then(|value| value.as_bool());
        let texts = |path: &[&str]| -> Vec<String> {
            let items = self.items(path).into_iter();
            items.filter_map(|item| item.value.as_str().map(str::to_owned)).collect()
        };
        let paths_in = |group, key| -> Vec<PathBuf> {
            let items = self.items(&["sandbox", group, key]).into_iter();
            let path = |text: &str, base: &Path| troupe_core::policy::clean(&expand(text, base, home));
            items.filter_map(|item| Some(path(item.value.as_str()?, &item.origin.base))).collect()
        };
        let paths = |key| paths_in("filesystem", key);
        let switch = |group, key| {
            self.value(&["sandbox", group, key]).and_then(|value| value.as_bool()).unwrap_or(false)
        };
        let set =
            WITHOUT_EFFECT.iter().filter(|(path, _)| self.value(path).is_some_and(|value| is_set(&value)));
        SandboxSettings {
            enabled: flag("enabled"),
            fail_if_unavailable: flag("failIfUnavailable").unwrap_or(false),
            auto_allow: flag("autoAllowBashIfSandboxed").unwrap_or(true),
            allow_unsandboxed: flag("allowUnsandboxedCommands").unwrap_or(true),
            excluded_commands: texts(&["sandbox", "excludedCommands"]),
            ignore_violations: ignored(self.value(&["sandbox", "ignoreViolations"])),
            filesystem: FilesystemSettings {
                disabled: switch("filesystem", "disabled"),
                allow_write: paths("allowWrite"),
                deny_write: paths("denyWrite"),
                allow_read: paths("allowRead"),
                deny_read: paths("denyRead"),
            },
            network: NetworkSettings {
                allowed_domains: texts(&["sandbox", "network", "allowedDomains"]),
                denied_domains: texts(&["sandbox", "network", "deniedDomains"]),
                strict_allowlist: switch("network", "strictAllowlist"),
                unix_sockets: paths_in("network", "allowUnixSockets"),
                all_unix_sockets: switch("network", "allowAllUnixSockets"),
            },
            without_effect: set.map(|(_, name)| *name).collect(),
        }
    }
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    }
}

fn ignored(value: Option<Value>) -> Vec<(String, Vec<String>)> {
    let Some(Value::Object(map)) = value else { return Vec::new() };
    let texts = |value: Value| match value {
        Value::Array(items) => {
            items.into_iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    map.into_iter().map(|(command, pieces)| (command, texts(pieces))).collect()
}

/// Takes what loosens the walls out of a repository's `sandbox`, unless it `may`. Walls alone would make commands
/// run without a question, so that waits too, for as long as the repository puts them up.
pub(super) fn hold(sandbox: &mut Map<String, Value>, may: &mut dyn FnMut(&str, &Value) -> bool) {
    sandbox.retain(|key, value| match (key.as_str(), value) {
        (group @ ("filesystem" | "network"), Value::Object(fields)) => {
            fields.retain(|key, value| {
                let name = format!("{group}.{key}");
                tightens(&name, value) || may(&format!("sandbox.{name}"), value)
            });
            true
        }
        (key, value) => tightens(key, value) || may(&format!("sandbox.{key}"), value),
    });
    let asks = sandbox.get("autoAllowBashIfSandboxed") == Some(&Value::Bool(false));
    if let Some(enabled) = sandbox.get("enabled").filter(|_| !asks)
        && !may("sandbox.enabled", enabled)
    {
        sandbox.insert("autoAllowBashIfSandboxed".into(), false.into());
    }
}

fn tightens(key: &str, value: &Value) -> bool {
    match key {
        "filesystem.denyWrite" | "filesystem.denyRead" | "network.deniedDomains" => true,
        "enabled" | "failIfUnavailable" | "network.strictAllowlist" => value == &Value::Bool(true),
        "autoAllowBashIfSandboxed" | "allowUnsandboxedCommands" | "filesystem.disabled" => {
            value == &Value::Bool(false)
        }
        _ => false,
    }
}
