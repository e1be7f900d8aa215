//! Table: variables that are taken and have no effect yet. `troupe config` says so of each; a test compares the list
//! with what the sources look up.

use super::variables::Variable;

/// Their names.
const NOT_YET: &[&str] = &[
    "CLAUDE_AGENT_SDK_CLIENT_APP",
    "TRACEPARENT",
    "TRACESTATE",
    "ENTRYPOINT",
    "ENABLE_SDK_FILE_CHECKPOINTING",
    "FILE_READ_MAX_OUTPUT_TOKENS",
    "GLOB_NO_IGNORE",
    "ENABLE_TODO_TOOLS",
    "MAX_MCP_OUTPUT_TOKENS",
    "MCP_TIMEOUT",
    "MCP_TOOL_TIMEOUT",
    "ADDITIONAL_DIRECTORIES_CLAUDE_MD",
    "PROACTIVE",
    "WORKFLOW_SCRIPTS",
    "AUTO_DREAM",
    "AGENT_TRIGGERS",
    "AGENT_MEMORY_SNAPSHOT",
    "AGENT_COLOR",
];

/// Whether something happens when the variable is set.
pub fn has_effect(variable: &Variable) -> bool {
    !NOT_YET.contains(&variable.name)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::path::Path;

    use super::super::flags::Flag;
    use super::*;
    use crate::load::variables::ALL;

    /// What only lists variables.
    const LISTS: [&str; 3] = ["load/variables.rs", "load/unused.rs", "load/flags.rs"];

    /// The sources of the product, without their tests.
    fn sources(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if path.is_dir() {
                if !name.ends_with("/testkit") && !name.ends_with("/tests") && !name.ends_with("/benches") {
                    sources(&path, text);
                }
            } else if path.extension().is_some_and(|end| end == "rs")
                && !name.ends_with("tests.rs")
                && !LISTS.iter().any(|list| name.ends_with(list))
            {
                let source = std::fs::read_to_string(&path).unwrap();
                text.push_str(source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
            }
        }
    }

    /// Whether a text has this name as a word, and not in quotes.
    fn has_word(text: &str, word: &str) -> bool {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(|c| part(c) || matches!(c, '"' | '`')) && !after.is_some_and(part)
        })
    }

    #[test]
    fn exactly_what_no_source_looks_up_has_no_effect() {
        let mut text = String::new();
        sources(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap(), &mut text);
        for variable in ALL {
            let of_flag = |flag: &Flag| flag.variable() == variable && has_word(&text, &format!("{flag:?}"));
            let used = has_word(&text, variable.name) || Flag::ALL.iter().any(of_flag);
            assert_eq!(
                has_effect(variable),
                used,
                "{}: it must stand in the list of load/unused.rs exactly when nothing looks it up",
                variable.name
            );
        }
        for name in NOT_YET {
            assert!(ALL.iter().any(|variable| variable.name == *name), "{name}: there is no such variable");
        }
    }
}
