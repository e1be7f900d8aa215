//! The documentation inside the program, and the tool that reads it. Only the guide has the tool: a folder of
//! unpacked files would have to be kept in step with the program and need leave to be read.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::builtin::DOCS;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};

/// Most lines that a search gives.
const MOST_HITS: usize = 80;

/// One page.
struct Page {
    name: &'static str,
    text: &'static str,
}

macro_rules! pages {
    ($($name:literal: $file:literal),+ $(,)?) => {
        &[$(Page { name: $name, text: include_str!(concat!("../../../../", $file)) }),+]
    };
}

const PAGES: &[Page] = pages! {
    "readme": "README.md",
    "architecture": "docs/architecture.md",
    "glossary": "docs/glossary.md",
    "permissions": "docs/permissions.md",
    "read-only-commands": "docs/read-only-commands.md",
    "requirements": "docs/requirements.md",
    "security": "docs/security.md",
};

/// Reads the documentation.
pub(crate) struct Docs {
    spec: ToolSpec,
}

impl Docs {
    /// The tool.
    pub(crate) fn new() -> Self {
        let names: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        let schema = json!({
            "type": "object",
            "properties": {
                "page": {"type": "string", "enum": names},
                "find": {"type": "string", "minLength": 1, "maxLength": 200}
            },
            "required": [],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec {
                name: DOCS.into(),
                description: include_str!("docs.md").trim_end().into(),
                input_schema: Arc::new(schema),
            },
        }
    }
}

impl Tool for Docs {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(Vec::new())
    }

    fn call<'a>(&'a self, _cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::text(answer(&input)) })
    }

    fn title(&self, input: &Value) -> Title {
        let what = input.get("find").or_else(|| input.get("page")).and_then(Value::as_str);
        Title { text: format!("Docs: {}", what.unwrap_or("pages")) }
    }
}

fn answer(input: &Value) -> String {
    let text = |key| input.get(key).and_then(Value::as_str);
    let pages: Vec<&Page> =
        PAGES.iter().filter(|page| text("page").is_none_or(|name| name == page.name)).collect();
    match (text("find"), text("page")) {
        (Some(words), _) => find(&pages, words),
        (None, Some(_)) => pages.iter().map(|page| page.text).collect(),
        (None, None) => listing(),
    }
}

fn listing() -> String {
    let mut out = String::new();
    for page in PAGES {
        let heads: Vec<&str> = page.text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        // Writing to a string can't fail.
        let _ = writeln!(out, "{} ({} lines): {}", page.name, page.text.lines().count(), heads.join("; "));
    }
    out
}

fn find(pages: &[&Page], words: &str) -> String {
    let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut out = String::new();
    let mut hits = 0;
    for page in pages {
        for (number, line) in page.text.lines().enumerate() {
            let lower = line.to_lowercase();
            if !wanted.iter().all(|word| lower.contains(word)) {
                continue;
            }
            hits += 1;
            if hits <= MOST_HITS {
                let _ = writeln!(out, "{}:{}: {}", page.name, number + 1, line.trim());
            }
        }
    }
    match hits {
        0 => format!("No line has all of: {}. Try fewer or other words, or read a page.", wanted.join(", ")),
        hits if hits > MOST_HITS => format!("{out}[{} more lines; narrow it down]", hits - MOST_HITS),
        _ => out,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    // proves: D4
    #[test]
    fn every_page_of_the_documentation_is_inside() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .collect();
        names.push("readme".to_owned());
        names.sort();
        let mut inside: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        inside.sort_unstable();
        assert_eq!(names, inside);
        assert!(Docs::new().spec.description.len() < 450);
    }

    // proves: D4
    #[test]
    fn pages_are_listed_read_and_searched() {
        let of = |input: Value| answer(&input);
        assert_eq!(of(json!({})).lines().count(), PAGES.len());
        assert!(of(json!({"page": "permissions"})).starts_with('#'));
        let found = of(json!({"find": "MODE bypasspermissions"}));
        assert!(found.lines().all(|line| line.to_lowercase().contains("mode")), "{found}");
        assert!(found.contains("permissions:"), "{found}");
        let narrow = of(json!({"find": "mode", "page": "glossary"}));
        assert!(narrow.lines().all(|line| line.starts_with("glossary:")), "{narrow}");
        assert!(of(json!({"find": "xyzzy"})).starts_with("No line"));
    }
}
