//! Table: the keys whose type is checked on reading. Other keys are kept as they are, for whoever knows them.

use serde_json::{Map, Value};
use troupe_core::policy::Mode;

use super::document::{SettingsFault, type_name};
use super::layer::Source;

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Text,
    Bool,
    Count,
    /// A number above 0.
    Amount,
    Texts,
    Object,
    /// An object of texts; numbers and booleans become texts.
    TextMap,
    /// An object of lists of texts.
    TextsMap,
    /// An object of true and false.
    Switches,
    Mode,
    /// This word and no other.
    Word(&'static str),
}

const SHAPES: &[(&[&str], Shape)] = &[
    (&["model"], Shape::Text),
    (&["subagentModel"], Shape::Text),
    (&["effortLevel"], Shape::Text),
    (&["modelAliases"], Shape::TextMap),
    (&["agent"], Shape::Text),
    (&["apiKeyHelper"], Shape::Text),
    (&["awsAuthRefresh"], Shape::Text),
    (&["awsCredentialExport"], Shape::Text),
    (&["gcpAuthRefresh"], Shape::Text),
    (&["otelHeadersHelper"], Shape::Text),
    (&["fallbackModel"], Shape::Texts),
    (&["availableModels"], Shape::Texts),
    (&["env"], Shape::TextMap),
    (&["flags"], Shape::Switches),
    (&["permissions"], Shape::Object),
    (&["permissions", "allow"], Shape::Texts),
    (&["permissions", "ask"], Shape::Texts),
    (&["permissions", "deny"], Shape::Texts),
    (&["permissions", "additionalDirectories"], Shape::Texts),
    (&["permissions", "defaultMode"], Shape::Mode),
    (&["permissions", "disableBypassPermissionsMode"], Shape::Word("disable")),
    (&["permissions", "disableAutoMode"], Shape::Word("disable")),
    (&["permissions", "blockReadsOutsideWorkingDirectories"], Shape::Bool),
    (&["permissions", "blockWritesOutsideWorkingDirectories"], Shape::Bool),
    (&["permissions", "denyInsteadOfPrompting"], Shape::Bool),
    (&["allowManagedPermissionRulesOnly"], Shape::Bool),
    (&["allowManagedHooksOnly"], Shape::Bool),
    (&["allowManagedMcpServersOnly"], Shape::Bool),
    (&["hooks"], Shape::Object),
    (&["disableAllHooks"], Shape::Bool),
    (&["sandbox"], Shape::Object),
    (&["sandbox", "enabled"], Shape::Bool),
    (&["sandbox", "failIfUnavailable"], Shape::Bool),
    (&["sandbox", "autoAllowBashIfSandboxed"], Shape::Bool),
    (&["sandbox", "allowUnsandboxedCommands"], Shape::Bool),
    (&["sandbox", "excludedCommands"], Shape::Texts),
    (&["sandbox", "ignoreViolations"], Shape::TextsMap),
    (&["sandbox", "enableWeakerNestedSandbox"], Shape::Bool),
    (&["sandbox", "filesystem"], Shape::Object),
    (&["sandbox", "filesystem", "disabled"], Shape::Bool),
    (&["sandbox", "filesystem", "allowWrite"], Shape::Texts),
    (&["sandbox", "filesystem", "denyWrite"], Shape::Texts),
    (&["sandbox", "filesystem", "allowRead"], Shape::Texts),
    (&["sandbox", "filesystem", "denyRead"], Shape::Texts),
    (&["sandbox", "network"], Shape::Object),
    (&["sandbox", "network", "allowedDomains"], Shape::Texts),
    (&["sandbox", "network", "deniedDomains"], Shape::Texts),
    (&["sandbox", "network", "strictAllowlist"], Shape::Bool),
    (&["sandbox", "network", "allowUnixSockets"], Shape::Texts),
    (&["sandbox", "network", "allowAllUnixSockets"], Shape::Bool),
    (&["sandbox", "network", "allowLocalBinding"], Shape::Bool),
    (&["sandbox", "network", "httpProxyPort"], Shape::Count),
    (&["sandbox", "network", "socksProxyPort"], Shape::Count),
    (&["sandbox", "credentials"], Shape::Object),
    (&["enabledMcpjsonServers"], Shape::Texts),
    (&["disabledMcpjsonServers"], Shape::Texts),
    (&["enableAllProjectMcpServers"], Shape::Bool),
    (&["claudeMdExcludes"], Shape::Texts),
    (&["plansDirectory"], Shape::Text),
    (&["bashOutputMaxChars"], Shape::Count),
    (&["cleanupPeriodDays"], Shape::Count),
    (&["limits"], Shape::Object),
    (&["limits", "turns"], Shape::Count),
    (&["limits", "tokens"], Shape::Count),
    (&["limits", "costUsd"], Shape::Amount),
    (&["limits", "timeMs"], Shape::Count),
    (&["limits", "agents"], Shape::Count),
    (&["limits", "liveAgents"], Shape::Count),
    (&["limits", "depth"], Shape::Count),
    (&["limits", "spawnMs"], Shape::Count),
    (&["limits", "callMs"], Shape::Count),
    (&["limits", "stalledMs"], Shape::Count),
    (&["limits", "sameCalls"], Shape::Count),
    (&["limits", "eachAgent"], Shape::Object),
    (&["limits", "eachAgent", "turns"], Shape::Count),
    (&["limits", "eachAgent", "tokens"], Shape::Count),
    (&["limits", "eachAgent", "costUsd"], Shape::Amount),
    (&["limits", "eachAgent", "timeMs"], Shape::Count),
    (&["autoCompactEnabled"], Shape::Bool),
];

/// Takes out what has the wrong type, and reports it. Inside of a list only the faulty items go.
pub(super) fn check(object: &mut Map<String, Value>, from: &Source) -> Vec<SettingsFault> {
    let mut faults = Vec::new();
    for (path, shape) in SHAPES {
        let Some((map, key)) = holder(object, path) else { continue };
        let Some(value) = map.get_mut(key) else { continue };
        if !shape.admit(value, &path.join("."), from, &mut faults) {
            map.shift_remove(key);
        }
    }
    faults
}

/// The object that holds the last key of a path, if it is there.
pub(super) fn holder<'m, 'k>(
    object: &'m mut Map<String, Value>,
    path: &[&'k str],
) -> Option<(&'m mut Map<String, Value>, &'k str)> {
    let (last, way) = path.split_last()?;
    let mut map = object;
    for key in way {
        map = map.get_mut(*key)?.as_object_mut()?;
    }
    Some((map, last))
}

impl Shape {
    /// Whether the value may stay; its faulty parts are taken out and reported.
    fn admit(self, value: &mut Value, key: &str, from: &Source, faults: &mut Vec<SettingsFault>) -> bool {
        let mut report = |key: String, expected, found: String| {
            faults.push(SettingsFault::WrongType { from: from.clone(), key, expected, found });
        };
        match (self, &mut *value) {
            (Self::Text, Value::String(_))
            | (Self::Bool, Value::Bool(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Count, Value::Number(number)) if number.is_u64() => true,
            (Self::Amount, Value::Number(number)) if number.as_f64().is_some_and(|amount| amount > 0.0) => {
                true
            }
            (Self::Mode, Value::String(word)) if Mode::parse(word).is_some() => true,
            (Self::Word(expected), Value::String(word)) if word == expected => true,
            (Self::Texts, Value::Array(items)) => {
                let mut at = 0;
                items.retain(|item| {
                    if !item.is_string() {
                        report(format!("{key}[{at}]"), "a text", type_name(item).into());
                    }
                    at += 1;
                    item.is_string()
                });
                true
            }
            (Self::TextMap, Value::Object(map)) => {
                map.retain(|name, item| {
                    if let Value::Number(_) | Value::Bool(_) = item {
                        *item = Value::String(item.to_string());
                    }
                    if !item.is_string() {
                        report(format!("{key}.{name}"), "a text", type_name(item).into());
                    }
                    item.is_string()
                });
                true
            }
            (Self::TextsMap, Value::Object(map)) => {
                map.retain(|name, item| Self::Texts.admit(item, &format!("{key}.{name}"), from, faults));
                true
            }
            (Self::Switches, Value::Object(map)) => {
                map.retain(|name, item| {
                    if !item.is_boolean() {
                        report(format!("{key}.{name}"), "true or false", type_name(item).into());
                    }
                    item.is_boolean()
                });
                true
            }
            (Self::Mode | Self::Word(_), Value::String(word)) => {
                report(
                    key.into(),
                    self.expected(),
                    format!("{:?}", word.chars().take(40).collect::<String>()),
                );
                false
            }
            _ => {
                report(key.into(), self.expected(), type_name(value).into());
                false
            }
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Bool => "true or false",
            Self::Count => "a whole number from 0 up",
            Self::Amount => "a number above 0",
            Self::Texts => "a list of texts",
            Self::Object => "an object",
            Self::TextMap => "an object of texts",
            Self::TextsMap => "an object of lists of texts",
            Self::Switches => "an object of true and false",
            Self::Mode => {
                "one of default, acceptEdits, plan, auto, dontAsk, bypassPermissions, review, micro"
            }
            Self::Word(word) => word,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::json;

    use super::*;

    #[test]
    fn the_faulty_part_goes_and_the_rest_holds() {
        let mut value = json!({
            "model": 3,
            "apiKeyHelper": "x",
            "cleanupPeriodDays": -1,
            "autoCompactEnabled": "yes",
            "env": {"A": "a", "N": 1, "B": true, "L": []},
            "permissions": {
                "allow": ["Read", 7, "Edit", null],
                "deny": "Bash",
                "defaultMode": "yolo",
                "disableAutoMode": "no",
                "ask": [],
            },
            "unknown": {"kept": null},
        });
        let faults = check(value.as_object_mut().unwrap(), &Source::Inline);
        assert_eq!(
            value,
            json!({
                "apiKeyHelper": "x",
                "env": {"A": "a", "N": "1", "B": "true"},
                "permissions": {"allow": ["Read", "Edit"], "ask": []},
                "unknown": {"kept": null},
            })
        );
        let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 9, "{texts:#?}");
        assert!(
            texts.contains(&"read `permissions.allow[3]` in --settings: expected a text, found null".into())
        );
        assert!(
            texts.iter().any(|text| text.contains("`permissions.defaultMode`") && text.contains("\"yolo\""))
        );
    }

    #[test]
    fn every_mode_is_named_in_what_is_expected() {
        for mode in Mode::ALL {
            assert!(Shape::Mode.expected().contains(mode.as_str()));
        }
    }
}
