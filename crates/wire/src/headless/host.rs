//! What a host asks for, and what a person answers, done.

use std::time::Duration;

use serde_json::{Map, Value, json};
use troupe_core::entry::{Origin, Setting};
use troupe_core::ids::{CallId, InputId, JobId};
use troupe_core::input::{Input, Prompt, When};
use troupe_core::outcome::EndReason;
use troupe_core::policy::{Answer, Mode};
use troupe_engine::bus::Heard;

use super::Exit;
use super::driver::Driver;
use super::questions::Asking;
use super::queue;
use super::reader::Read;
use crate::ask::{self, Reading};
use crate::control::{self, HostMessage, Incoming};
use crate::frames;

/// How long a mode may take to be the agent's.
const APPLIED: Duration = Duration::from_secs(1);
/// Most characters of a host's id that people are told.
const LONGEST_ID: usize = 100;

/// A host's id for people, cut with a mark where it is too long.
fn brief(id: &str) -> String {
    let Some((end, _)) = id.char_indices().nth(LONGEST_ID) else { return id.to_owned() };
    format!("{}…", &id[..end])
}

impl Driver {
    /// Takes what was read from the host.
    pub(super) async fn host(&mut self, read: Read) -> Result<(), Exit> {
        let line = match read {
            Read::Line(line) => line,
            Read::Bad(why) => {
                self.tell(&format!("a line of the input was passed over: {why}"));
                return Ok(());
            }
            Read::End => return self.input_ended().await,
        };
        match control::parse(&line) {
            Ok(Incoming::Message(message)) => self.message(message).await,
            Ok(Incoming::Request { id, subtype, request }) => {
                let answer = self.request(&subtype, &request).await?;
                let frame = match answer {
                    Ok(response) => control::success(&id, &response),
                    Err(error) => control::failure(&id, &error),
                };
                self.frame(&frame).await
            }
            Ok(Incoming::Response { id, answer }) => {
                self.response(&id, answer).await;
                Ok(())
            }
            Ok(Incoming::Nothing) => Ok(()),
            Err(why) => {
                self.tell(&format!("a line of the input was passed over: {why}"));
                Ok(())
            }
        }
    }

    async fn message(&mut self, message: HostMessage) -> Result<(), Exit> {
        let from_host = message.id.is_some();
        let id = message.id.unwrap_or_else(|| InputId::new(frames::new_uuid()));
        if !self.queue.admit(&id, from_host) {
            self.tell(&format!("message {} was taken before; this one was passed over", brief(id.as_str())));
            return Ok(());
        }
        if from_host {
            self.projection.is_hosts(&id);
        }
        let prompt = Prompt {
            id,
            blocks: message.blocks,
            from: Origin::Human,
            when: message.when,
            starts_turn: message.starts_turn,
        };
        if prompt.when != When::Later {
            return self.deliver(prompt).await;
        }
        if !self.queue.push(prompt.clone()) {
            let why = format!("{} messages wait already; this one was not taken", queue::MOST);
            self.tell(&why);
            return self.refuse(&prompt.id, EndReason::Store, &why).await;
        }
        Ok(())
    }

    /// Does what is asked; the inner error is the host's to hear.
    async fn request(
        &mut self,
        subtype: &str,
        request: &Map<String, Value>,
    ) -> Result<Result<Value, String>, Exit> {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let done = match subtype {
            "initialize" => Ok(self.initialize(request)),
            "interrupt" => {
                let all = request.get("cancel_queued").and_then(Value::as_bool).unwrap_or(false);
                let cancelled = if all { Some(self.cancel_queued().await) } else { None };
                let receipt = self.receipt(cancelled.as_deref());
                self.interrupt(false).await?;
                Ok(receipt)
            }
            "set_permission_mode" => self.set_mode(text("mode")).await,
            "set_model" => self.set_model(text("model")).await,
            "stop_task" => match text("task_id") {
                Some(id) if self.engine.stop_job(&JobId::new(id)).await => Ok(json!({})),
                Some(id) => Err(format!("there is no running task `{id}`")),
                None => Err("`task_id` is missing".to_owned()),
            },
            "cancel_async_message" => match text("message_uuid") {
                Some(id) => Ok(json!({"cancelled": self.cancel_message(&InputId::new(id)).await})),
                None => Err("`message_uuid` is missing".to_owned()),
            },
            // What calls wait for goes on without them; a call that was answered meanwhile is no fault.
            "background_tasks" => match text("task_id") {
                Some(id) if !self.engine.detach(&JobId::new(id)) => {
                    Err(format!("no call waits for a task `{id}` that may go on without it"))
                }
                Some(_) => Ok(json!({})),
                None => {
                    self.engine.detach_call(text("tool_use_id").map(CallId::new).as_ref());
                    Ok(json!({}))
                }
            },
            "get_context_usage" => {
                let model = self.engine.model();
                let info = self.engine.model_info(&model);
                let last = self.projection.last_usage;
                Ok(control::context_usage(&info.id, &info, last, &self.engine.definitions()))
            }
            // Beyond the SDK: shortens the conversation now, with words on what to keep.
            "compact" => {
                let wish = text("instructions").map(str::to_owned);
                self.send(Input::Compact(wish)).await.map(|()| json!({}))
            }
            "list_permission_rules" => {
                Ok(control::permission_rules(self.engine.mode(), &self.engine.rules()))
            }
            "mcp_status" => Ok(json!({"mcpServers": []})),
            "list_models" => {
                let model = self.engine.model();
                Ok(json!({"models": control::models(&model, &self.engine.model_info(&model))}))
            }
            "get_binary_version" => Ok(json!({"version": self.options.product.version})),
            other => match self.agent_request(other, request).await {
                Some(done) => done,
                None => Err(format!("`{other}` is not supported")),
            },
        };
        Ok(done)
    }

    fn initialize(&mut self, request: &Map<String, Value>) -> Value {
        let refused = control::refused_fields(request);
        if !refused.is_empty() {
            self.tell(&format!("the host asks for what is not done: {}", refused.join(", ")));
        }
        match request.get("agents") {
            None | Some(Value::Null) => {}
            Some(Value::Object(agents)) if agents.is_empty() || self.engine.give_definitions(agents) => {}
            Some(Value::Object(_)) => {
                self.tell("the host's `agents` are not taken: this session's are fixed");
            }
            Some(_) => self.tell("the host's `agents` can't be taken: expected an object of agents by name"),
        }
        if let Some(wanted) = request.get("forwardSubagentText").and_then(Value::as_bool) {
            self.projection.wanted.child_text = wanted;
        }
        let model = self.engine.model();
        let info = self.engine.model_info(&model);
        control::initialize(&control::Initialized {
            product: &self.options.product,
            definitions: &self.engine.definitions(),
            model: (&model, &info),
            hooks: request.get("hooks"),
        })
    }

    async fn set_mode(&mut self, mode: Option<&str>) -> Result<Value, String> {
        let word = mode.ok_or("`mode` is missing")?;
        let mode = Mode::parse(word).ok_or(format!("`{word}` is no permission mode"))?;
        if mode == Mode::BypassPermissions && !self.options.bypass_allowed && self.engine.mode() != mode {
            return Err("this run was not started with leave to pass all permissions".to_owned());
        }
        if mode == Mode::Auto && self.engine.is_auto_disabled() {
            return Err("the settings do not allow the mode auto".to_owned());
        }
        let mut ear = self.engine.subscribe(false);
        self.send(Input::Set(Setting::Mode(mode))).await?;
        // What the host asks next is to see it. An agent that is busy with its journal takes it later.
        let applied =
            async { while self.engine.mode() != mode && !matches!(ear.next().await, Heard::Closed) {} };
        let _ = tokio::time::timeout(APPLIED, applied).await;
        Ok(json!({"mode": mode.as_str()}))
    }

    async fn set_model(&mut self, model: Option<&str>) -> Result<Value, String> {
        let default = || self.engine.header().map(|header| header.model.clone());
        let name = match model {
            None | Some("" | "default") => default().ok_or("the session has ended")?,
            Some(name) => name.to_owned(),
        };
        self.send(Input::Set(Setting::Model(name))).await?;
        Ok(json!({}))
    }

    /// Drops one message, unless it was read or is not there.
    async fn cancel_message(&mut self, id: &InputId) -> bool {
        if self.queue.drop_waiting(id) {
            return true;
        }
        let sent = self.queue.unread().contains(id) && self.take_back(id).await;
        if sent {
            self.queue.read(id);
        }
        sent
    }

    /// Drops what waits and was not read; tells the ids that the host gave.
    async fn cancel_queued(&mut self) -> Vec<InputId> {
        let named = self.queue.still_queued();
        let mut cancelled = self.queue.clear();
        if self.projection.in_turn() {
            for id in self.queue.unread() {
                if self.take_back(&id).await {
                    self.queue.read(&id);
                    if named.contains(&id) {
                        cancelled.push(id);
                    }
                }
            }
        }
        cancelled
    }

    /// Ends the running turn; with `all`, what waits too.
    pub(super) async fn interrupt(&mut self, all: bool) -> Result<(), Exit> {
        if all {
            self.queue.clear();
        }
        if self.projection.in_turn() {
            if let Err(error) = self.send(Input::Interrupt).await {
                self.tell(&format!("the interrupt did not arrive: {error}"));
            }
            return Ok(());
        }
        // A prompt that was handed over and not read: there is no turn to end yet, so it is taken back.
        for id in self.queue.unread() {
            if self.take_back(&id).await {
                self.queue.read(&id);
                self.refuse(&id, EndReason::Interrupted, "the turn was interrupted").await?;
            } else if let Err(error) = self.send(Input::Interrupt).await {
                self.tell(&format!("the interrupt did not arrive: {error}"));
            }
        }
        Ok(())
    }

    /// Takes the host's answer to a question.
    async fn response(&mut self, id: &str, given: Result<Value, String>) {
        let Asking::Host { open, closed, .. } = &mut self.asking else { return };
        let Some(asked) = open.remove(id) else {
            let late = closed.iter().any(|known| known == id);
            let why = if late { "came after the question was closed" } else { "is to no open question" };
            self.tell(&format!("an answer ({}) {why}, and changed nothing", brief(id)));
            return;
        };
        let (answer, trouble) = control::answer(&asked, given);
        if let Some(trouble) = trouble {
            self.tell(&trouble);
        }
        if matches!(answer, Answer::Deny { .. }) {
            self.projection.host_denied(&asked.question);
        }
        self.answer(&asked.question, answer).await;
    }

    /// Takes a person's line.
    pub(super) async fn person(&mut self, read: Read) {
        let Asking::Terminal(desk) = &mut self.asking else { return };
        let Some(question) = desk.current() else { return };
        let answer = match read {
            Read::Line(line) => ask::read(&line, &question, desk.given()),
            Read::Bad(_) => Reading::Unclear,
            Read::End => {
                let open = desk.questions().cloned().collect();
                return self.nobody_answers(open).await;
            }
        };
        let answer = match answer {
            Reading::Answer(answer) => answer,
            Reading::Next(part) => return desk.give(part),
            Reading::Unclear => return desk.again(),
        };
        desk.close(&question.id);
        if matches!(answer, Answer::Deny { .. }) {
            self.projection.host_denied(&question);
        }
        self.answer(&question, answer).await;
    }

    /// The answer to an interrupt: ids that still wait, and those that were dropped.
    fn receipt(&self, cancelled: Option<&[InputId]>) -> Value {
        let mut receipt = json!({"still_queued": self.queue.still_queued()});
        if let Some(cancelled) = cancelled {
            receipt["cancelled"] = json!(cancelled);
        }
        receipt
    }
}
