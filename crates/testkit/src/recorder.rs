//! A model that keeps every request that passes through it, and can pretend to have a small context window.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use troupe_core::ports::model::{Delta, Message, Model, ModelError, ModelInfo, Request, UnknownModel};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};

/// The recorder.
pub struct Recorder {
    inner: Arc<dyn Model>,
    window: Option<u64>,
    requests: Mutex<Vec<Request>>,
}

impl Recorder {
    /// Records what goes to `inner`.
    pub fn of(inner: Arc<dyn Model>) -> Arc<Self> {
        Arc::new(Self { inner, window: None, requests: Mutex::default() })
    }

    /// The same, for a model whose context window holds so many tokens.
    pub fn with_window(inner: Arc<dyn Model>, window: u64) -> Arc<Self> {
        Arc::new(Self { inner, window: Some(window), requests: Mutex::default() })
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a cache sees of a request: tools, system, then messages block by block.
///
/// # Panics
/// When a block can't be written as JSON.
pub fn prefix(request: &Request) -> String {
    let json = |value: &dyn Fn() -> serde_json::Result<String>| value().expect("it is JSON");
    let mut text = String::new();
    for tool in request.tools.iter() {
        let _ = writeln!(text, "{}|{}|{}", tool.name, tool.description, tool.input_schema);
    }
    text.push_str(&json(&|| serde_json::to_string(&*request.system)));
    for message in &request.messages {
        let _ = write!(text, "\n{:?}", message.role);
        for block in Message::blocks(message) {
            text.push('\n');
            text.push_str(&json(&|| serde_json::to_string(block)));
        }
    }
    text
}

impl Model for Recorder {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        self.inner.stream(request, cancel)
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        self.inner.count(request)
    }

    fn info(&self, name: &str) -> ModelInfo {
        let mut info = self.inner.info(name);
        if let Some(window) = self.window {
            info.context_window = window;
            info.max_output = 1_000;
        }
        info
    }

    fn choose<'a>(&'a self, name: &'a str, beside: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        self.inner.choose(name, beside)
    }
}
