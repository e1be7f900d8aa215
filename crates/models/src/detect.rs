//! Looks for a local server that may speak the Messages API: on this machine alone, at the ports where the
//! usual ones listen. It asks for their models and sends nothing else.

use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;
use tokio::time::timeout;

use crate::anthropic::LazyClient;

/// How long a server has to answer. One that is there does so in a few milliseconds.
pub const LIMIT: Duration = Duration::from_millis(150);

/// Most bytes of a list of models.
const MOST: usize = 1024 * 1024;

/// The usual servers and their ports.
pub const USUAL: &[(&str, u16)] =
    &[("Ollama", 11434), ("LM Studio", 1234), ("llama-server", 8080), ("vLLM", 8000)];

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Which it probably is, by its port.
    pub name: String,
    /// Its base URL, without `/v1`.
    pub base_url: String,
    /// The ids of its models, as it listed them; may be empty.
    pub models: Vec<String>,
}

/// Asks the usual ports, all at once.
pub async fn detect() -> Vec<Server> {
    probe(USUAL, LIMIT).await
}

/// Asks these ports of this machine, all at once, and waits `limit` for each; servers come in the order of the
/// ports.
pub async fn probe(ports: &[(&str, u16)], limit: Duration) -> Vec<Server> {
    let answers = ports.iter().map(|(name, port)| timeout(limit, ask(name, *port)));
    join_all(answers).await.into_iter().filter_map(|answer| answer.ok().flatten()).collect()
}

#[derive(Deserialize)]
struct List {
    data: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

async fn ask(name: &str, port: u16) -> Option<Server> {
    let base_url = format!("http://127.0.0.1:{port}");
    let client = LazyClient::new(&base_url, Vec::new());
    let (client, url) = client.get("/v1/models").ok()?;
    let mut answer = client.get(url).send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MOST {
            return None;
        }
    }
    // Anything else that listens here answers otherwise. A server without models says `null`.
    let models = models_in(&body)?;
    Some(Server { name: name.to_owned(), base_url, models })
}

/// The ids in a list of models; none where it is no such list.
pub(crate) fn models_in(body: &[u8]) -> Option<Vec<String>> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    value.get("data")?;
    let list: List = serde_json::from_value(value).ok()?;
    Some(list.data.unwrap_or_default().into_iter().map(|model| model.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::{Play, TestServer};

    #[tokio::test]
    async fn servers_that_answer_are_found_and_nothing_else_is() {
        let list = r#"{"object":"list","data":[{"id":"qwen3:8b"},{"id":"llama"}]}"#;
        let good = TestServer::start(vec![Play::json(200, list)]).await;
        let none = TestServer::start(vec![Play::json(200, r#"{"data":null}"#)]).await;
        let page = TestServer::start(vec![Play::json(200, "<html>")]).await;
        let other = TestServer::start(vec![Play::json(200, "[]")]).await;
        let refused = TestServer::start(vec![Play::json(404, list)]).await;
        let servers = [&good, &page, &other, &refused, &none];
        let ports: Vec<(&str, u16)> = servers.iter().map(|server| ("X", server.port())).collect();
        let found = probe(&ports, Duration::from_mins(1)).await;
        let server = |port: u16, models: &[&str]| Server {
            name: "X".to_owned(),
            base_url: format!("http://127.0.0.1:{port}"),
            models: models.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(found, [server(good.port(), &["qwen3:8b", "llama"]), server(none.port(), &[])]);
        let asked = &good.requests()[0];
        assert!(asked.head.starts_with("GET /v1/models HTTP/1.1\r\n"), "{}", asked.head);
        assert!(asked.body.is_empty());
    }

    // proves: X2
    #[tokio::test]
    async fn a_server_that_hangs_holds_nobody_up() {
        let silent = TestServer::start(vec![Play::json(200, "").stall()]).await;
        assert_eq!(probe(&[("X", silent.port())], LIMIT).await, []);
    }
}
