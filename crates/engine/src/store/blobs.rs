//! Rendered system prompts and tool lists, each kept once per session under the hash of its content, so that
//! a resumed agent sends the same bytes whatever the configuration or the version is by then.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use troupe_core::block::{Block, Blocks};
use troupe_core::ports::tool::ToolSpec;

/// A system prompt and a tool list.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The system prompt.
    pub system: Blocks,
    /// The tools, in order.
    pub tools: Arc<[ToolSpec]>,
}

impl Rendered {
    fn bytes(&self) -> Vec<u8> {
        let tool = |spec: &ToolSpec| json!({"name": *spec.name, "description": *spec.description, "input_schema": *spec.input_schema});
        let tools: Vec<Value> = self.tools.iter().map(tool).collect();
        json!({"system": &*self.system, "tools": tools}).to_string().into_bytes()
    }

    /// Keeps it below `folder` and gives its name. A failure only costs a later resume its cache.
    pub fn keep(&self, folder: &Path) -> (String, std::io::Result<()>) {
        let bytes = self.bytes();
        let hash = Sha256::digest(&bytes);
        let first: [u8; 8] = std::array::from_fn(|n| hash[n]);
        let name = format!("{:016x}", u64::from_be_bytes(first));
        let path = folder.join(format!("{name}.json"));
        let write = || {
            if path.exists() {
                return Ok(());
            }
            super::private::write(&path, &bytes)
        };
        let kept = write();
        (name, kept)
    }

    /// Reads what was kept under `name`.
    pub fn load(folder: &Path, name: &str) -> Option<Self> {
        let value: Value =
            serde_json::from_slice(&std::fs::read(folder.join(format!("{name}.json"))).ok()?).ok()?;
        let system: Vec<Block> = serde_json::from_value(value.get("system")?.clone()).ok()?;
        let text = |tool: &Value, key: &str| tool.get(key).and_then(Value::as_str).map(Arc::<str>::from);
        let tool = |tool: &Value| {
            Some(ToolSpec {
                name: text(tool, "name")?,
                description: text(tool, "description")?,
                input_schema: Arc::new(tool.get("input_schema")?.clone()),
            })
        };
        let tools: Option<Vec<ToolSpec>> = value.get("tools")?.as_array()?.iter().map(tool).collect();
        Some(Self { system: system.into(), tools: tools?.into() })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    // proves: X5
    #[test]
    fn what_was_kept_comes_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let tool = ToolSpec {
            name: "T".into(),
            description: "é \"x\"".into(),
            input_schema: Arc::new(json!({"z":1,"a":{"c":1.0,"b":[]}})),
        };
        let rendered = Rendered { system: [Block::text("s")].into(), tools: [tool].into() };
        let (name, kept) = rendered.keep(folder.path());
        kept.unwrap();
        let back = Rendered::load(folder.path(), &name).unwrap();
        assert_eq!(back.bytes(), rendered.bytes());
        assert_eq!(Rendered::load(folder.path(), "nothing"), None);
    }
}
