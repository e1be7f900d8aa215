//! What the settings in a repository may say. Whoever wrote the repository wrote them, so what gives away keys or
//! runs programs is never taken from there, and what loosens anything waits until the person trusts the folder.
//!
//! Local settings count as the repository's: nothing keeps one from being committed. The specifications differ on
//! a start in mode `auto`: one lets it wait for trust like `bypassPermissions`, the other never takes it from a
//! project. The stricter is done here. What waits is also the wider set of both: all but a short list of keys.

use std::path::Path;

use serde_json::{Map, Value};
use troupe_core::policy::Mode;

use crate::load::places::Places;
use crate::load::trust::{Trust, TrustItem, TrustKind};

use super::document::{Document, SettingsFault};
use super::layer::{Layer, Source};
use super::schema::holder;

/// Programs that hand out credentials: they run before any question, with the person's own.
const NEVER: &[&str] =
    &["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper"];

/// Only the organisation may say these.
const MANAGED_ONLY: &[&str] = &[
    "allowManagedHooksOnly",
    "allowManagedPermissionRulesOnly",
    "allowManagedMcpServersOnly",
    "strictPluginOnlyCustomization",
    "claudeMd",
];

/// What needs no trust at the top: it can neither run, read nor allow anything.
const OPEN: &[&str] = &[
    "$schema",
    "model",
    "effortLevel",
    "language",
    "autoCompactEnabled",
    "bashOutputMaxChars",
    "includeCoAuthoredBy",
    "disabledMcpjsonServers",
];

/// Drops what a document may not say, and takes out what waits.
pub(super) fn guard(
    document: &mut Document,
    places: &Places,
    trust: &Trust,
    faults: &mut Vec<SettingsFault>,
    held: &mut Vec<TrustItem>,
) {
    let layer = document.origin.layer;
    let from = &document.origin.source;
    let mut refuse =
        |key: String, reason| faults.push(SettingsFault::Refused { from: from.clone(), key, reason });
    let object = &mut document.object;
    if layer != Layer::Managed {
        for key in MANAGED_ONLY {
            if object.shift_remove(*key).is_some() {
                refuse((*key).into(), "only managed settings may say this");
            }
        }
    }
    if !layer.is_of_repository() {
        return;
    }
    for key in NEVER {
        if object.shift_remove(*key).is_some() {
            refuse((*key).into(), "a repository may not name a program that hands out credentials");
        }
    }
    if let Some(Value::Object(env)) = object.get_mut("env") {
        env.retain(|name, _| {
            let free = !is_guarded(name);
            if !free {
                refuse(
                    format!("env.{name}"),
                    "a repository may not set addresses, keys, search paths or the harness's own variables",
                );
            }
            free
        });
    }
    if let Some((permissions, key)) = holder(object, &["permissions", "defaultMode"])
        && let Some(mode @ (Mode::Auto | Mode::BypassPermissions)) =
            permissions.get(key).and_then(Value::as_str).and_then(Mode::parse)
    {
        permissions.shift_remove(key);
        let what = if mode == Mode::Auto {
            "auto is taken from the person's own settings alone"
        } else {
            "bypassPermissions is taken from the person's own settings alone"
        };
        refuse("permissions.defaultMode".into(), what);
    }
    // A script is a model that says what its file says: here, what the repository says.
    if object.get("model").and_then(Value::as_str).is_some_and(|model| model.starts_with("script:")) {
        object.shift_remove("model");
        refuse("model".into(), "a script is taken from the person's own settings or the command line alone");
    }
    if let Source::File(file) = from {
        hold(object, |key, value| {
            let item = item(file, places, key, value);
            let covered = trust.covers(&item);
            if !covered {
                held.push(item);
            }
            covered
        });
    }
}

/// A setting of the repository as what a person trusts.
pub(crate) fn item(file: &Path, places: &Places, key: &str, value: &Value) -> TrustItem {
    let content = value.to_string();
    let shown = value.as_str().unwrap_or(&content);
    TrustItem::new(TrustKind::Settings, file, places, key, shown, content.as_bytes())
}

/// Takes out what needs trust and has none. Permissions and variables are looked at one by one, so that a rule
/// that comes in asks alone; any other key is one thing.
fn hold(object: &mut Map<String, Value>, mut may: impl FnMut(&str, &Value) -> bool) {
    object.retain(|key, value| match (key.as_str(), value) {
        ("permissions", Value::Object(permissions)) => {
            permissions.retain(|key, value| {
                let name = format!("permissions.{key}");
                match value {
                    value if only_tightens(key, value) => true,
                    Value::Array(items) => {
                        items.retain(|item| may(&name, item));
                        true
                    }
                    value => may(&name, value),
                }
            });
            true
        }
        ("env", Value::Object(env)) => {
            env.retain(|name, value| may(&format!("env.{name}"), value));
            true
        }
        ("sandbox", Value::Object(sandbox)) => {
            super::sandbox::hold(sandbox, &mut may);
            true
        }
        (key, value) => OPEN.contains(&key) || may(key, value),
    });
}

fn only_tightens(key: &str, value: &Value) -> bool {
    match key {
        "deny" | "ask" | "disableBypassPermissionsMode" | "disableAutoMode" => true,
        "blockReadsOutsideWorkingDirectories"
        | "blockWritesOutsideWorkingDirectories"
        | "denyInsteadOfPrompting" => value == &Value::Bool(true),
        "defaultMode" => match value.as_str().and_then(Mode::parse) {
            Some(Mode::Plan | Mode::DontAsk | Mode::Review | Mode::Micro) => true,
            Some(Mode::Default | Mode::AcceptEdits | Mode::Auto | Mode::BypassPermissions) | None => false,
        },
        _ => false,
    }
}

/// Families of variables that a repository may not set, by how the name begins.
const GUARDED_START: &[&str] = &[
    "ANTHROPIC",
    "CLAUDE",
    "TROUPE",
    "OPENAI",
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "GCLOUD_",
    "CLOUDSDK_",
    "VERTEX",
    "BEDROCK",
    "OTEL_",
    "LD_",
    "DYLD_",
    "GIT_",
    "SSH_",
    "BASH_FUNC_",
    "CARGO_",
    "RUSTC",
    "NPM_CONFIG_",
    "PIP_",
    "UV_",
    "XDG_",
    "SSL_",
    "CURL_",
    "MCP_",
];

/// … and by how it ends.
const GUARDED_END: &[&str] = &[
    "_PROXY",
    "_URL",
    "_ENDPOINT",
    "_KEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_CREDENTIALS",
    "PATH",
    "_OPTIONS",
    "_HELPER",
    "ASKPASS",
    "_EDITOR",
    "PAGER",
];

/// Single names: they change what runs, or whom a connection trusts.
const GUARDED: &[&str] = &[
    "HOME",
    "IS_SANDBOX",
    // Where panes are opened, and by which server.
    "TMUX",
    "TMUX_PANE",
    "TERM_PROGRAM",
    "ITERM_SESSION_ID",
    "SHELL",
    "USER",
    "LOGNAME",
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "TMPDIR",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "ZDOTDIR",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "REQUESTS_CA_BUNDLE",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "JAVA_HOME",
    "GOFLAGS",
    "GOPROXY",
    "MAKEFLAGS",
    "DOCKER_HOST",
    "KUBECONFIG",
    "TRACEPARENT",
    "TRACESTATE",
];

/// Whether a variable is out of a repository's reach. Case is ignored, as some programs do.
fn is_guarded(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    GUARDED.contains(&name.as_str())
        || GUARDED_START.iter().any(|start| name.starts_with(start))
        || GUARDED_END.iter().any(|end| name.ends_with(end))
        // No name of a variable; a shell could take it for something else.
        || name.is_empty()
        || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F171
    #[test]
    fn a_repository_may_not_reach_the_account_or_what_runs() {
        for name in [
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "anthropic_auth_token",
            "CLAUDE_CONFIG_DIR",
            "CLAUDECODE",
            "TROUPE_HOME",
            "HTTPS_PROXY",
            "http_proxy",
            "NO_PROXY",
            "PATH",
            "PYTHONPATH",
            "NODE_PATH",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "NODE_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "GIT_SSH_COMMAND",
            "OPENAI_BASE_URL",
            "AWS_PROFILE",
            "MY_API_KEY",
            "SSL_CERT_FILE",
            "PAGER",
            "HOME",
            "IS_SANDBOX",
            "",
            "A=B",
            "A B",
        ] {
            assert!(is_guarded(name), "{name}");
        }
        for name in
            ["NODE_ENV", "RUST_LOG", "CI", "BASH_DEFAULT_TIMEOUT_MS", "DISABLE_TELEMETRY", "FOO", "DEBUG"]
        {
            assert!(!is_guarded(name), "{name}");
        }
    }

    // proves: F171
    #[test]
    fn of_what_the_harness_reads_a_repository_may_set_limits_of_commands_alone() {
        use crate::load::variables::ALL;
        let names = ALL.iter().flat_map(crate::load::variables::Variable::names);
        let free: Vec<String> = names.filter(|name| !is_guarded(name)).collect();
        assert_eq!(
            free,
            [
                "BASH_DEFAULT_TIMEOUT_MS",
                "BASH_MAX_TIMEOUT_MS",
                "BASH_MAX_OUTPUT_LENGTH",
                "MAX_MCP_OUTPUT_TOKENS"
            ]
        );
    }
}
