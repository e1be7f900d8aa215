//! The tool that keeps an agent's list of things to do. The list itself lives in the agent's state.

use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::{Effect, Todo, TodoStatus};

/// Most items in a list.
const MAX_ITEMS: usize = 100;

/// Keeps the list of things to do.
pub struct TodoWrite {
    spec: ToolSpec,
}

impl Default for TodoWrite {
    fn default() -> Self {
        Self::new()
    }
}

impl TodoWrite {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "maxItems": MAX_ITEMS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string", "minLength": 1},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                            "activeForm": {"type": "string", "minLength": 1}
                        },
                        "required": ["content", "status", "activeForm"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["todos"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec {
                name: "TodoWrite".into(),
                description: include_str!("todo.md").trim_end().into(),
                input_schema: Arc::new(schema),
            },
        }
    }
}

fn read(input: &Value) -> Result<Vec<Todo>, BadInput> {
    Vec::deserialize(input.get("todos").unwrap_or(&Value::Null))
        .map_err(|fault| BadInput::new("todos", fault.to_string()))
}

fn write(old: &[Todo], new: Vec<Todo>) -> ToolOutput {
    let count = |status| new.iter().filter(|todo| todo.status == status).count();
    let text = format!(
        "List replaced: {} completed, {} in progress, {} pending",
        count(TodoStatus::Completed),
        count(TodoStatus::InProgress),
        count(TodoStatus::Pending)
    );
    let data = json!({"oldTodos": old, "newTodos": new});
    ToolOutput::text(text).with_data(data).with_effect(Effect::Todos(new))
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        read(input).map(|_| vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match read(&input) {
                Ok(new) => write(&cx.state.todos, new),
                Err(fault) => ToolOutput::error(fault.to_string()),
            }
        })
    }

    fn title(&self, _input: &Value) -> Title {
        Title { text: "Updating the list of things to do".into() }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn item(content: &str, status: &str) -> Value {
        json!({"content": content, "status": status, "activeForm": format!("{content}ing")})
    }

    #[test]
    fn a_list_replaces_the_one_before_and_both_are_told() {
        let old = read(&json!({"todos": [item("look", "pending")]})).unwrap();
        let sent = json!([item("look", "completed"), item("build", "in_progress"), item("test", "pending")]);
        let new = read(&json!({"todos": sent})).unwrap();
        let output = write(&old, new.clone());
        assert!(!output.is_error);
        assert_eq!(
            output.content,
            ToolOutput::text("List replaced: 1 completed, 1 in progress, 1 pending").content
        );
        assert_eq!(output.data.unwrap(), json!({"oldTodos": [item("look", "pending")], "newTodos": sent}));
        assert_eq!(output.effects, [Effect::Todos(new)]);
    }

    #[tokio::test]
    async fn a_call_compares_with_the_list_that_the_agent_has() {
        let mut cx = crate::search::test_tree::Tree::new(&[]).cx();
        let old = read(&json!({"todos": [item("look", "pending")]})).unwrap();
        Arc::make_mut(&mut cx.state).todos.clone_from(&old);
        let output = TodoWrite::new().call(&cx, json!({"todos": []})).await;
        assert_eq!(output.data.unwrap()["oldTodos"], json!(old));
    }

    #[test]
    fn an_empty_list_clears() {
        assert_eq!(write(&[], read(&json!({"todos": []})).unwrap()).effects, [Effect::Todos(vec![])]);
    }

    #[test]
    fn the_schema_holds_what_the_reader_needs() {
        let tool = TodoWrite::new();
        let check = |input: Value| troupe_core::schema::check(&tool.spec.input_schema, &input);
        check(json!({"todos": [item("a", "pending")]})).unwrap();
        for wrong in [
            json!({}),
            json!({"todos": [item("a", "done")]}),
            json!({"todos": [item("", "pending")]}),
            json!({"todos": [{"content": "a", "status": "pending"}]}),
            json!({"todos": vec![item("a", "pending"); MAX_ITEMS + 1]}),
            json!({"todos": [], "more": 1}),
        ] {
            assert!(check(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn access_is_to_the_agents_own_state_alone() {
        let at =
            Place { cwd: "/w".into(), home: "/h".into(), roots: vec![], scratch: vec![], read_only: false };
        assert_eq!(TodoWrite::new().access(&at, &json!({"todos": []})).unwrap(), [Access::Own]);
        assert!(TodoWrite::new().access(&at, &json!({"todos": 1})).is_err());
    }
}
