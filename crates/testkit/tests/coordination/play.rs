//! Where a case plays: a session whose agents do what the operations say, one reply at a time.

mod acts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, JobId};
use troupe_core::input::Input;
use troupe_core::policy::{Mode, Question};
use troupe_engine::Session;
use troupe_engine::bus::Subscription;
use troupe_testkit::World;
use troupe_testkit::puppet::{NOTED, Puppet};
use troupe_testkit::reading::{self, opened, until};
use troupe_testkit::world::say;

use crate::op::Op;

/// Lines of the file of a case: each edit takes another.
const LINES: usize = 20;

/// What was seen on the way.
#[derive(Default)]
pub(crate) struct Record {
    /// Results of the lead's looks at its agents.
    pub(crate) answers: Vec<String>,
    /// What was in the lead's inbox and transcript at a look.
    pub(crate) inbox: Vec<(JobId, String)>,
    /// Texts sent, by agent.
    pub(crate) messages: BTreeMap<String, Vec<String>>,
    /// Refusals of forks, by agent.
    pub(crate) refusals: BTreeMap<String, Vec<String>>,
    /// Agents that were run to their end.
    pub(crate) many: Vec<String>,
    /// The questions that the case is about, with their askers.
    pub(crate) asked: Vec<(String, Arc<Question>)>,
    /// What each asker was answered; none for a yes.
    pub(crate) answered: BTreeMap<String, Option<String>>,
    /// Whether the answers found their question.
    pub(crate) reached: Vec<bool>,
    /// Calls that were judged without a question: whether they went through, and what came of them.
    pub(crate) unasked: Vec<(bool, String)>,
    /// Who has read which file.
    pub(crate) read: BTreeSet<(String, String)>,
    /// What came of edits and writes: by whom, whether it went through, and the text.
    pub(crate) changes: Vec<(String, bool, String)>,
    /// Ends of jobs that a client heard of.
    pub(crate) heard: Vec<JobId>,
    /// Turns that a person began.
    pub(crate) prompts: usize,
}

/// A background command of an agent.
#[derive(Clone)]
pub(crate) struct Command {
    pub(crate) job: JobId,
    pipe: PathBuf,
}

pub(crate) struct Play {
    pub(crate) world: World,
    puppet: Puppet,
    session: Mutex<Option<Arc<Session>>>,
    agents: Mutex<BTreeMap<String, AgentId>>,
    pub(crate) commands: Mutex<BTreeMap<String, Command>>,
    record: Mutex<Record>,
    client: Mutex<Option<Subscription>>,
    /// One call of the lead at a time.
    lead: tokio::sync::Mutex<()>,
    /// Whether the lead is in a turn that goes on until it is told.
    held: AtomicBool,
    number: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Play {
    /// A world set up by the first operations; those that are left are played.
    pub(crate) async fn open(ops: &[Vec<Op>], mode: Mode) -> (Arc<Self>, &[Vec<Op>]) {
        let puppet = Puppet::default();
        let mut world = World::new(Arc::new(puppet.clone()));
        world.config.leave.mode = Some(mode);
        world.config.leave.asks = true;
        world.config.forks.enabled = true;
        let mut left = ops;
        while let [step, rest @ ..] = left {
            match step.as_slice() {
                [Op::Cap(count)] => world.config.ceilings.live_agents = *count,
                [Op::Mode(mode)] => world.config.leave.mode = Some(*mode),
                [Op::Rule(behaviour, rule)] => {
                    let base = world.workspace().to_owned();
                    let scope = troupe_core::policy::Scope::User;
                    world.config.leave.rules.add(rule, *behaviour, scope, base).unwrap();
                }
                _ => break,
            }
            left = rest;
        }
        let lines: Vec<String> = (0..LINES).map(|line| format!("line {line};\n")).collect();
        world.write("f", &(lines.concat() + "formatted?\n"));
        puppet.free(&AgentId::main(), NOTED);
        let session = world.start().await;
        let client = session.subscribe(false);
        let play = Self {
            world,
            puppet,
            session: Mutex::new(Some(Arc::new(session))),
            agents: Mutex::default(),
            commands: Mutex::default(),
            record: Mutex::default(),
            client: Mutex::new(Some(client)),
            lead: tokio::sync::Mutex::default(),
            held: AtomicBool::new(false),
            number: AtomicUsize::new(0),
        };
        (Arc::new(play), left)
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        lock(&self.session).clone().expect("the session is open")
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }

    pub(crate) fn id(&self, name: &str) -> AgentId {
        lock(&self.agents).get(name).cloned().unwrap_or_else(|| panic!("the case starts no agent `{name}`"))
    }

    pub(crate) fn ids(&self) -> BTreeMap<String, AgentId> {
        lock(&self.agents).clone()
    }

    fn next(&self) -> usize {
        self.number.fetch_add(1, Ordering::SeqCst)
    }

    /// Has an agent make a call; gives the result.
    async fn does(&self, agent: &AgentId, call: &str) -> (bool, String) {
        let mut events = self.session().subscribe(false);
        self.puppet.reply(agent, call);
        result_of(&mut events, agent).await
    }

    /// Has the lead make a call, in the turn that it is in or in one of its own.
    async fn lead_does(&self, call: &str) -> (bool, String) {
        let _alone = self.lead.lock().await;
        let session = self.session();
        let main = AgentId::main();
        let mut events = session.subscribe(false);
        self.puppet.reply(&main, call);
        if !self.held.load(Ordering::SeqCst) {
            self.say("go on").await;
        }
        result_of(&mut events, &main).await
    }

    async fn say(&self, text: &str) {
        self.record().prompts += 1;
        say(&self.session(), self.next(), text).await;
    }

    /// Starts an agent in the background.
    async fn start(&self, name: &str, words: &str) {
        let mut events = self.session().subscribe(false);
        let call = format!(
            "call Agent description={name} name={name} run_in_background=true prompt=\"be {name}\" {words}"
        );
        let (started, open) = tokio::join!(self.lead_does(&call), opened(&mut events, name));
        assert!(started.0, "{name} is started: {}", started.1);
        lock(&self.agents).insert(name.to_owned(), open);
    }

    /// Starts the agents that an operation needs and that are not there.
    async fn prepare(&self, op: &Op) {
        for name in op.agents() {
            let known = lock(&self.agents).contains_key(name) || lock(&self.commands).contains_key(name);
            if !known {
                self.start(name, "subagent_type=general-purpose").await;
            }
        }
    }

    /// Plays the operations of one step at the same time.
    pub(crate) async fn step(self: &Arc<Self>, ops: &[Op]) {
        for op in ops {
            self.prepare(op).await;
        }
        if let [op] = ops {
            return self.apply(op).await;
        }
        let barrier = Arc::new(tokio::sync::Barrier::new(ops.len()));
        let mut tasks = tokio::task::JoinSet::new();
        for op in ops {
            let (play, op, barrier) = (Arc::clone(self), op.clone(), Arc::clone(&barrier));
            tasks.spawn(async move {
                barrier.wait().await;
                play.apply(&op).await;
            });
        }
        tasks.join_all().await;
    }

    async fn apply(&self, op: &Op) {
        match op {
            Op::Resume => self.resume().await,
            Op::Quit => self.quit().await,
            _ => self.apply_to(&self.session(), op).await,
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table: an arm an operation")]
    async fn apply_to(&self, session: &Session, op: &Op) {
        let main = AgentId::main();
        match op {
            Op::Cap(_) | Op::Rule(..) => panic!("{op:?} comes before all that needs a session"),
            Op::Mode(mode) => {
                let set = Input::Set(troupe_core::entry::Setting::Mode(*mode));
                session.send(&main, set).await.unwrap();
            }
            Op::LongTurn => {
                self.puppet.hold(&main);
                self.held.store(true, Ordering::SeqCst);
                self.say("work for long").await;
                self.puppet.asked(&main).await;
            }
            Op::Rest => self.rest(),
            Op::Compact => {
                let mut events = session.subscribe(false);
                session.send(&main, Input::Compact(None)).await.unwrap();
                until(&mut events, |_, kind| matches!(kind, EventKind::Notice(_)).then_some(())).await;
            }
            Op::Quit | Op::Resume => unreachable!("they are no business of an open session"),
            Op::ListAgents => {
                self.lead_does("call ListAgents").await;
            }
            Op::Start(name) => self.start(name, "subagent_type=general-purpose").await,
            Op::StartOf { name, mode } => {
                let head = format!("name: {name}\ndescription: d\npermissionMode: {}", mode.as_str());
                self.world.write(&format!(".troupe/agents/{name}.md"), &format!("---\n{head}\n---\nWork.\n"));
                self.start(name, &format!("subagent_type={name}")).await;
            }
            Op::RunMany(count) => {
                for name in (1..=*count).map(|number| format!("run{number}")) {
                    self.start(&name, "subagent_type=general-purpose").await;
                    self.finish(&name).await;
                    self.record().many.push(name);
                }
            }
            Op::Fork(name) => self.start(name, "").await,
            Op::TryFork(name) => {
                let told = self.does(&self.id(name), "call Agent description=more prompt=more").await;
                self.record().refusals.entry(name.clone()).or_default().push(told.1);
            }
            Op::Finish(name) => self.finish(name).await,
            Op::Fail(name) => {
                self.puppet.reply(&self.id(name), "error 400 \"bad request\"");
                self.ended(name).await;
            }
            Op::EndTurn(name) => self.end_turn(name).await,
            Op::Stop(name) => {
                session.stop_job(&JobId::new(self.id(name).as_str())).await;
                self.ended(name).await;
            }
            Op::Message(name) => {
                let text = format!("message {}.", self.next());
                let (sent, told) =
                    self.lead_does(&format!("call SendMessage to={name} message=\"{text}\"")).await;
                assert!(sent, "{told}");
                self.record().messages.entry(name.clone()).or_default().push(text);
            }
            Op::AskFor(name) => {
                let call = format!("call TaskOutput block=false task_id=\"{}\"", self.id(name));
                let answer = self.lead_does(&call).await.1;
                self.record().answers.push(answer);
            }
            Op::Command { agent, name } => self.command(agent, name).await,
            Op::ReadInbox => {
                let seen = self.inbox().await;
                self.record().inbox = seen;
            }
            Op::Delivered => self.delivered().await,
            Op::ClientDrops => self.client_hears(),
            Op::ClientReconnects => {
                self.client_hears();
                *lock(&self.client) = Some(session.subscribe(false));
            }
            Op::Ask(name) => {
                let call = format!("call Write file_path={name}.txt content={name}");
                let asked = self.calls(name, &call).await;
                assert!(asked, "{name} asks");
            }
            Op::Call { agent, call } => {
                let call = match call.split_once(' ') {
                    None if call == "Write" => format!("call Write file_path={agent}.txt content={agent}"),
                    _ if call.starts_with(char::is_uppercase) => panic!("unknown call `{call}`"),
                    _ => format!("call Bash {}", json!({ "command": call })),
                };
                self.calls(agent, &call).await;
            }
            Op::Answer { reverse } => self.answer_all(*reverse).await,
            Op::Decide { allow } => {
                let last = self.record().asked.last().cloned();
                let (name, question) = last.expect("somebody asked");
                self.answer(&name, &question.id, *allow).await;
            }
            Op::Read(name, file) => {
                self.read(name, file).await;
            }
            Op::Edit(name, file) => {
                // Nobody edits what it has not read.
                if !self.record().read.contains(&(name.clone(), file.clone())) {
                    self.read(name, file).await;
                }
                let line = self.next() % LINES;
                let edit = json!({"file_path": file, "old_string": format!("line {line};"),
                                  "new_string": format!("line {line} by {name};")});
                self.change(name, &format!("call Edit {edit}")).await;
            }
            Op::Write(name, file) => {
                self.change(name, &format!("call Write file_path={file} content=\"whole by {name}\"")).await;
            }
            Op::Touch(file) => {
                let path = self.world.workspace().join(file);
                let file = std::fs::File::options().append(true).open(path).unwrap();
                let now = file.metadata().unwrap().modified().unwrap();
                file.set_modified(now + std::time::Duration::from_secs(100)).unwrap();
            }
            Op::Rewrite => {
                let text = self.world.read("f").replace("formatted?", "formatted!");
                self.world.write("f", &text);
            }
        }
    }

    async fn read(&self, name: &str, file: &str) {
        let (read, told) = self.does(&self.id(name), &format!("call Read file_path={file}")).await;
        assert!(read, "{told}");
        self.record().read.insert((name.to_owned(), file.to_owned()));
    }

    async fn change(&self, name: &str, call: &str) {
        let (changed, told) = self.does(&self.id(name), call).await;
        self.record().changes.push((name.to_owned(), changed, told));
    }

    async fn quit(&self) {
        self.client_hears();
        let session = lock(&self.session).take().expect("the session is open");
        // Whoever else held it held it for a moment.
        let session = Arc::into_inner(session).expect("nobody else has the session");
        reading::close(session).await;
    }

    async fn resume(&self) {
        let session = self.world.resume().await;
        *lock(&self.client) = Some(session.subscribe(false));
        *lock(&self.session) = Some(Arc::new(session));
    }

    fn rest(&self) {
        self.held.store(false, Ordering::SeqCst);
        self.puppet.free(&AgentId::main(), NOTED);
    }
}

async fn result_of(events: &mut Subscription, agent: &AgentId) -> (bool, String) {
    until(events, |whose, kind| match kind {
        EventKind::Appended(entry) if whose == agent => result(entry),
        _ => None,
    })
    .await
}

/// Whether a result is none of an error, and its text.
fn result(entry: &troupe_core::entry::Entry) -> Option<(bool, String)> {
    let text = reading::result(entry)?;
    let troupe_core::entry::Body::Result { blocks, .. } = &entry.body else { return None };
    let failed = blocks
        .iter()
        .any(|block| matches!(block, troupe_core::block::Block::ToolResult { is_error: true, .. }));
    Some((!failed, text))
}
