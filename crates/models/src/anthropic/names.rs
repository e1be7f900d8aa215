//! Which models a server has, and what a name means there.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;
use troupe_core::ports::model::UnknownModel;

use super::provider::{BASE_URL, Inner};
use crate::{catalog, detect};

/// How long the server has to say which models it has.
const LIMIT: Duration = Duration::from_secs(5);
/// Most bytes of that list.
const MOST: usize = 1024 * 1024;
/// Most names that an error tells.
const TOLD: usize = 40;

/// What was learnt of one server.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<Vec<String>>);

impl Names {
    /// Whether the server has listed it before.
    fn has(&self, name: &str) -> bool {
        serves(&self.0.lock().unwrap_or_else(PoisonError::into_inner), name)
    }

    fn learn(&self, names: &[String]) {
        names.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Inner {
    /// What `name` means here beside a model that is in use. Only a name of which nothing is known costs a request.
    pub(super) async fn choose(&self, name: &str, beside: &str) -> Result<String, UnknownModel> {
        let ecosystem = self.is_first_party() || catalog::is_known(beside);
        if catalog::is_alias(name) {
            return Ok(if ecosystem { name } else { beside }.to_owned());
        }
        let certain = name == beside || (ecosystem && catalog::is_known(name)) || self.names.has(name);
        if certain {
            return Ok(name.to_owned());
        }
        match self.listed().await {
            Some(known) if !serves(&known, name) => {
                let known = known.into_iter().take(TOLD).collect();
                Err(UnknownModel { name: name.to_owned(), known })
            }
            // Without a list the server itself will say so.
            _ => Ok(name.to_owned()),
        }
    }

    /// What a server other than the ecosystem's says that it has, where this model is none of them.
    pub(super) async fn lacks(&self, name: &str) -> Option<UnknownModel> {
        if self.is_first_party() {
            return None;
        }
        let known = self.listed().await.filter(|known| !serves(known, name))?;
        Some(UnknownModel { name: name.to_owned(), known: known.into_iter().take(TOLD).collect() })
    }

    fn is_first_party(&self) -> bool {
        self.base_url.trim().trim_end_matches('/').trim_end_matches("/v1") == BASE_URL
    }

    /// The models that the server lists; none where it lists none.
    async fn listed(&self) -> Option<Vec<String>> {
        let asked = async {
            let answer = self.get("/v1/models", "limit=1000").await.ok()?;
            if !answer.status().is_success() {
                return None;
            }
            detect::models_in(&body(answer).await?)
        };
        let names = timeout(LIMIT, asked).await.ok().flatten().filter(|names| !names.is_empty())?;
        self.names.learn(&names);
        Some(names)
    }
}

async fn body(mut answer: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MOST {
            return None;
        }
    }
    Some(body)
}

/// Whether one of these is meant: itself, or one that it is short for (`qwen3` for `qwen3:8b`, a name without its
/// date).
fn serves(names: &[String], name: &str) -> bool {
    let short = |id: &String| {
        id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '-', '@']))
    };
    names.iter().any(short)
}

#[cfg(test)]
mod tests {
    use crate::anthropic::{Anthropic, Auth, Config};
    use crate::test_requests::{reply, request};
    use crate::test_server::{Play, TestServer};
    use troupe_core::ports::model::Model as _;

    const LIST: &str = r#"{"data":[{"id":"qwen3:8b"},{"id":"llama"}]}"#;

    async fn server(plays: Vec<Play>) -> (TestServer, Anthropic) {
        let server = TestServer::start(plays).await;
        let base = format!("http://127.0.0.1:{}", server.port());
        let model = Anthropic::new(Config::new(base, Auth::None));
        (server, model)
    }

    // proves: A8, C2
    #[tokio::test]
    async fn a_name_that_the_server_has_not_is_refused_with_those_that_it_has() {
        let (server, model) = server(vec![Play::json(200, LIST), Play::json(200, LIST)]).await;
        let refused = model.choose("gpt-x", "llama").await;
        let said = refused.map_err(|error| error.to_string());
        assert_eq!(said, Err("there is no model `gpt-x`; there are: qwen3:8b, llama".to_owned()));
        for known in ["qwen3", "qwen3:8b", "llama"] {
            assert_eq!(model.choose(known, "llama").await, Ok(known.to_owned()));
        }
        assert_eq!(server.requests().len(), 1, "what was listed is remembered");
        // Not one of the ecosystem's servers: a name of the catalogue is no more known than another.
        assert!(model.choose("claude-haiku-4-5", "llama").await.is_err());
    }

    // proves: C2
    #[tokio::test]
    async fn a_request_for_a_model_that_the_server_has_not_says_which_it_has() {
        let refusal = r#"{"type":"error","error":{"type":"not_found_error","message":"model not found"}}"#;
        for (list, said) in [
            (LIST, "model not found (there is no model `m`; there are: qwen3:8b, llama)"),
            (r#"{"data":[{"id":"m:1"}]}"#, "model not found"),
            ("{}", "model not found"),
        ] {
            let (_server, model) = server(vec![Play::json(404, refusal), Play::json(200, list)]).await;
            let error =
                reply(&model, request("hi")).await.map(|_| ()).map_err(|error| (error.status, error.message));
            assert_eq!(error, Err((Some(404), said.to_owned())));
        }
    }

    #[tokio::test]
    async fn where_the_server_lists_nothing_any_name_may_be_tried() {
        for answer in [Play::json(404, "{}"), Play::json(200, "<html>"), Play::json(200, r#"{"data":[]}"#)] {
            let (_server, model) = server(vec![answer]).await;
            assert_eq!(model.choose("any", "llama").await, Ok("any".to_owned()));
        }
    }
}
