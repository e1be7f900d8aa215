//! A model that gives what it was told to give, by definition and number of reply.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use troupe_core::block::Block;
use troupe_core::entry::Stop;
use troupe_core::ports::model::{Delta, Model, ModelError, ModelInfo, Request};
use troupe_core::usage::{Price, Usage};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};

/// A part of a reply.
#[derive(Clone)]
pub(crate) enum Part {
    Text(String),
    Think(&'static str),
    Call(&'static str, &'static str, Value),
    Gate(Gate),
    Fail(ModelError),
}

/// Holds what comes to it until it is opened, and tells that something came.
#[derive(Clone)]
pub(crate) struct Gate {
    open: Arc<Semaphore>,
    reached: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), reached: Arc::new(Semaphore::new(0)) }
    }

    pub(crate) fn open(&self) {
        self.open.add_permits(1_000);
    }

    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    pub(crate) async fn pass(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

pub(crate) type Reply = Vec<Part>;

/// Texts of a reply.
pub(crate) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

/// A call: its id, its tool, its input.
pub(crate) fn call(id: &'static str, tool: &'static str, input: Value) -> Part {
    Part::Call(id, tool, input)
}

#[derive(Default)]
pub(crate) struct Replies {
    lists: HashMap<&'static str, Vec<Reply>>,
    /// Last messages of the requests, as text.
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Replies {
    pub(crate) fn new(lists: Vec<(&'static str, Vec<Reply>)>) -> Self {
        Self { lists: lists.into_iter().collect(), asked: Mutex::default() }
    }
}

enum Item {
    Delta(Delta),
    Gate(Gate),
    Fail(ModelError),
}

fn items(reply: &Reply, id: String) -> Vec<Item> {
    let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
    let start = Delta::Start { message: id.into(), model: "mock-1".into(), usage };
    let mut items = vec![Item::Delta(start)];
    let mut stop = Stop::EndTurn;
    for (index, part) in reply.iter().enumerate() {
        let deltas = match part {
            Part::Text(text) => vec![
                Delta::Open { index, block: Block::text("") },
                Delta::Text { index, text: text.clone() },
                Delta::Close { index },
            ],
            Part::Think(text) => vec![
                Delta::Open {
                    index,
                    block: Block::Thinking { thinking: String::new(), signature: String::new() },
                },
                Delta::Thinking { index, text: (*text).to_owned() },
                Delta::Signature { index, text: "sig".into() },
                Delta::Close { index },
            ],
            Part::Call(id, tool, input) => {
                stop = Stop::ToolUse;
                let block = Block::ToolUse { id: (*id).into(), name: (*tool).into(), input: json!({}) };
                vec![
                    Delta::Open { index, block },
                    Delta::Json { index, text: input.to_string() },
                    Delta::Close { index },
                ]
            }
            Part::Gate(gate) => {
                items.push(Item::Gate(gate.clone()));
                continue;
            }
            Part::Fail(error) => {
                items.push(Item::Fail(error.clone()));
                return items;
            }
        };
        items.extend(deltas.into_iter().map(Item::Delta));
    }
    items.push(Item::Delta(Delta::Stop { stop, usage, details: None }));
    items
}

impl Model for Replies {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let last = request
            .messages
            .last()
            .map(|message| message.blocks().map(|block| block.to_value().to_string()).collect::<String>());
        self.asked.lock().unwrap().push(last.unwrap_or_default());
        let (definition, number) = (request.definition.clone(), request.replies as usize);
        let reply = self.lists.get(definition.as_str()).and_then(|list| list.get(number));
        let reply = reply.unwrap_or_else(|| panic!("no reply {number} of {definition}"));
        let items = items(reply, format!("msg_{}_{number}", request.agent)).into_iter();
        stream::unfold((items, cancel), |(mut items, cancel)| async move {
            loop {
                let item = match items.next()? {
                    Item::Delta(delta) => Ok(delta),
                    Item::Fail(error) => Err(error),
                    Item::Gate(gate) => {
                        tokio::select! {
                            () = gate.pass() => {}
                            () = cancel.cancelled() => return None,
                        }
                        continue;
                    }
                };
                return Some((item, (items, cancel)));
            }
        })
        .boxed()
    }

    fn count<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async { Ok(100) })
    }

    fn info(&self, name: &str) -> ModelInfo {
        ModelInfo {
            id: name.to_owned(),
            context_window: 200_000,
            max_output: 8_000,
            cache_least: None,
            price: Some(Price { input: 1.0, output: 10.0, cache_write: 0.0, cache_read: 0.0 }),
            scripted: false,
            efforts: Vec::new(),
            extra: Vec::new(),
        }
    }
}
