//! The provider: one request, one stream. It tries once; trying again is [`crate::Retry`]'s.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout_at;
use troupe_core::ports::model::{Delta, Fault, Model, ModelError, ModelInfo, Request, UnknownModel};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};

use super::auth::{Auth, Credentials, Proof};
use super::decode::malformed;
use super::http::{LazyClient, chain};
use super::names::Names;
use super::reply::{Form, Idle, IdleLimits, Source, cancelled, deltas};
use super::{body, failure};
use crate::catalog;

/// The address of the first-party API.
pub const BASE_URL: &str = "https://api.anthropic.com";
/// The version of the API that documentation and compatible servers use.
pub const VERSION: &str = "2023-06-01";

/// Most bytes that are read of an answer which is a failure.
const FAILURE_LIMIT: usize = 64 * 1024;

/// All that a provider needs to know; nothing is read from the environment but the system's proxies.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the API is, without `/v1`.
    pub base_url: String,
    /// The credential.
    pub auth: Auth,
    /// The `anthropic-version` header.
    pub version: String,
    /// The `anthropic-beta` header's words; none sends no such header.
    pub betas: Vec<String>,
    /// Further certificate authorities: files in PEM form (`SSL_CERT_FILE`, `NODE_EXTRA_CA_CERTS`).
    pub extra_ca: Vec<PathBuf>,
    /// How long a stream may be silent.
    pub idle: IdleLimits,
}

impl Config {
    /// A provider at an address, the rest as usual.
    pub fn new(base_url: impl Into<String>, auth: Auth) -> Self {
        Self {
            base_url: base_url.into(),
            auth,
            version: VERSION.to_owned(),
            betas: Vec::new(),
            extra_ca: Vec::new(),
            idle: IdleLimits::default(),
        }
    }
}

/// A server that speaks the Messages API.
#[derive(Clone, Debug)]
pub struct Anthropic(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) base_url: String,
    pub(super) names: Names,
    client: LazyClient,
    credentials: Credentials,
    headers: Result<HeaderMap, ModelError>,
    idle: IdleLimits,
}

impl Anthropic {
    /// Makes the provider. What is wrong with the configuration is told by the first request.
    pub fn new(config: Config) -> Self {
        Self(Arc::new(Inner {
            names: Names::default(),
            client: LazyClient::new(&config.base_url, config.extra_ca),
            base_url: config.base_url,
            credentials: Credentials::new(config.auth),
            headers: fixed_headers(&config.version, &config.betas),
            idle: config.idle,
        }))
    }
}

fn fixed_headers(version: &str, betas: &[String]) -> Result<HeaderMap, ModelError> {
    let value = |text: &str| {
        HeaderValue::from_str(text).map_err(|_| {
            ModelError::new(
                Fault::InvalidRequest,
                format!("a header can't carry the version or beta `{text}`"),
            )
        })
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(HeaderName::from_static("anthropic-version"), value(version)?);
    if !betas.is_empty() {
        headers.insert(HeaderName::from_static("anthropic-beta"), value(&betas.join(","))?);
    }
    Ok(headers)
}

impl Inner {
    /// Sends a body; gives the answer's head, whatever its status, and what the request proved itself with.
    async fn post(
        &self,
        path: &str,
        body: Vec<u8>,
        accept: &'static str,
    ) -> Result<(Response, Proof), ModelError> {
        let (client, url) = self.client.get(path)?;
        let proof = self.credentials.headers().await?;
        let mut headers = self.headers.clone()?;
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.extend(proof.iter().cloned());
        let answer =
            client.post(url).headers(headers).body(body).send().await.map_err(|error| of_client(&error))?;
        Ok((answer, proof))
    }

    /// Asks for something that stands at an address.
    pub(super) async fn get(&self, path: &str, query: &str) -> Result<Response, ModelError> {
        let (client, mut url) = self.client.get(path)?;
        url.set_query(Some(query));
        let mut headers = self.headers.clone()?;
        headers.extend(self.credentials.headers().await?.iter().cloned());
        client.get(url).headers(headers).send().await.map_err(|error| of_client(&error))
    }

    /// What a failed answer says. After a 401 a helper's key is dropped, and the failure says that another try
    /// is worth it.
    async fn refused(&self, mut answer: Response, proof: &Proof) -> ModelError {
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut body = Vec::new();
        while body.len() < FAILURE_LIMIT
            && let Ok(Some(bytes)) = answer.chunk().await
        {
            body.extend_from_slice(&bytes[..bytes.len().min(FAILURE_LIMIT)]);
        }
        let mut error = failure::of_answer(status, &headers, &body);
        if error.fault == Fault::Authentication && self.credentials.forget(proof).await {
            error.should_retry = Some(true);
        }
        error
    }

    async fn open(&self, request: Request) -> Result<(Form, Source), ModelError> {
        let body = body::reply(&request)
            .map_err(|error| ModelError::new(Fault::InvalidRequest, error.to_string()))?;
        let model = request.model;
        let (answer, proof) = self.post("/v1/messages", body, "text/event-stream").await?;
        if !answer.status().is_success() {
            let mut error = self.refused(answer, &proof).await;
            if error.fault == Fault::NotFound
                && let Some(unknown) = self.lacks(&model).await
            {
                error.message = format!("{} ({unknown})", error.message);
            }
            return Err(error);
        }
        let form = match form(answer.headers()) {
            Ok(form) => form,
            Err(kind) => return Err(of_other_kind(&kind, answer).await),
        };
        let bytes = stream::unfold(Some(answer), |answer| async {
            let mut answer = answer?;
            match answer.chunk().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(answer))),
                Ok(None) => None,
                Err(error) => Some((Err(of_client(&error)), None)),
            }
        });
        Ok((form, bytes.boxed()))
    }
}

/// The form of a body; the content type where it is neither.
fn form(headers: &HeaderMap) -> Result<Form, String> {
    // Some local servers name no type; what they send are events, as was asked for.
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(Form::Events) };
    let kind = String::from_utf8_lossy(kind.as_bytes()).to_lowercase();
    match kind.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => Ok(Form::Events),
        "application/json" => Ok(Form::Json),
        other => Err(other.to_owned()),
    }
}

async fn of_other_kind(kind: &str, mut answer: Response) -> ModelError {
    let first: Bytes = answer.chunk().await.ok().flatten().unwrap_or_default();
    malformed(match failure::excerpt(&first) {
        Some(shown) => format!("the answer is `{kind}`, neither a stream of events nor JSON: {shown}"),
        None => format!("the answer is `{kind}`, neither a stream of events nor JSON, and empty"),
    })
}

fn of_client(error: &reqwest::Error) -> ModelError {
    let fault = match error {
        _ if error.is_builder() => Fault::InvalidRequest,
        _ if error.is_timeout() => Fault::Timeout,
        _ => Fault::Network,
    };
    ModelError::new(fault, chain(error))
}

impl Model for Anthropic {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let inner = Arc::clone(&self.0);
        let opened = async move {
            let idle = Idle::start(inner.idle);
            let open = timeout_at(idle.deadline(), inner.open(request));
            let opened = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(cancelled()),
                opened = open => opened.unwrap_or_else(|_| Err(idle.breach())),
            };
            match opened {
                Ok((form, source)) => deltas(form, source, idle, cancel).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        opened.flatten_stream().boxed()
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async move {
            let body = body::count(request)
                .map_err(|error| ModelError::new(Fault::InvalidRequest, error.to_string()))?;
            let counted = async {
                let (answer, proof) =
                    self.0.post("/v1/messages/count_tokens", body, "application/json").await?;
                match answer.status().as_u16() {
                    404 | 405 | 501 => Ok(None),
                    _ if answer.status().is_success() => {
                        let bytes = answer.bytes().await.map_err(|error| of_client(&error))?;
                        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
                        Ok(value.get("input_tokens").and_then(Value::as_u64))
                    }
                    _ => Err(self.0.refused(answer, &proof).await),
                }
            };
            let idle = Idle::start(self.0.idle);
            let counted =
                timeout_at(idle.deadline(), counted).await.unwrap_or_else(|_| Err(idle.breach()))?;
            Ok(counted.unwrap_or_else(|| body::estimate(request)))
        })
    }

    fn info(&self, name: &str) -> ModelInfo {
        catalog::info(name)
    }

    fn choose<'a>(&'a self, name: &'a str, beside: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        Box::pin(self.0.choose(name, beside))
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
