//! What all agents of a session share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use troupe_core::CancellationToken;
use troupe_core::def::{AgentDef, in_pool};
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, QuestionId, SessionId};
use troupe_core::policy::{Answer, Behaviour, Question, Rules, Scope, Update};
use troupe_core::ports::tool::{Place, Tool};

use super::Row;
use super::account::Totals;
use super::jobs::Jobs;
use crate::bus::Bus;
use crate::judge;
use crate::session::{Config, Member, Parts};
use crate::store::{DecisionLog, SessionPaths};

/// The session's common ground.
pub(crate) struct Shared {
    pub(crate) parts: Parts,
    pub(crate) config: Config,
    pub(crate) paths: SessionPaths,
    pub(crate) decisions: DecisionLog,
    pub(crate) bus: Bus,
    pub(crate) jobs: Jobs,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) token: CancellationToken,
    rules: RwLock<Arc<Rules>>,
    /// Folders besides the workspace; answers may add some.
    roots: RwLock<Vec<PathBuf>>,
    totals: Mutex<Totals>,
    agents: Mutex<Agents>,
    questions: Mutex<HashMap<QuestionId, Open>>,
    tasks: Mutex<Option<JoinSet<()>>>,
}

#[derive(Default)]
struct Agents {
    live: HashMap<AgentId, Arc<Row>>,
    made: usize,
    numbers: HashMap<String, u32>,
}

struct Open {
    question: Arc<Question>,
    answer: oneshot::Sender<Answer>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(parts: Parts, config: Config, session: SessionId) -> Arc<Self> {
        let place = &config.place;
        let paths = SessionPaths::new(place.root.clone(), place.project.clone(), session);
        Arc::new(Self {
            decisions: DecisionLog::new(Arc::clone(&parts.journal), &paths),
            bus: Bus::new(Arc::clone(&parts.clock)),
            jobs: Jobs::default(),
            slots: Arc::new(Semaphore::new(config.ceilings.live_agents.max(1))),
            token: CancellationToken::new(),
            rules: RwLock::new(Arc::new(with_links(config.leave.rules.clone(), &config))),
            roots: RwLock::new(config.place.roots.clone()),
            totals: Mutex::default(),
            agents: Mutex::default(),
            questions: Mutex::default(),
            tasks: Mutex::new(Some(JoinSet::new())),
            parts,
            config,
            paths,
        })
    }

    pub(crate) fn main_def(&self) -> &AgentDef {
        &self.parts.defs[0]
    }

    /// The tools of an agent at this depth.
    pub(crate) fn pool(&self, def: &AgentDef, depth: u32) -> Vec<Arc<dyn Tool>> {
        let most = self.config.ceilings.depth;
        let keep = |tool: &&Arc<dyn Tool>| {
            let name = &*tool.spec().name;
            self.config.pool.passes(name) && in_pool(name, tool.spawns(), &def.tools, depth, most)
        };
        self.parts.tools.iter().filter(keep).cloned().collect()
    }

    // Agents.

    pub(crate) fn row(&self, agent: &AgentId) -> Option<Arc<Row>> {
        lock(&self.agents).live.get(agent).cloned()
    }

    pub(crate) fn roster(&self) -> Vec<Member> {
        let mut members: Vec<Member> = lock(&self.agents)
            .live
            .values()
            .map(|row| Member { header: Arc::clone(&row.header), cost_usd: row.account.spent().cost_usd })
            .collect();
        members.sort_by(|a, b| a.header.address.cmp(&b.header.address));
        members
    }

    /// Reserves a place among the session's agents; `false` at the ceiling.
    pub(crate) fn reserve(&self) -> bool {
        let mut agents = lock(&self.agents);
        let free = agents.made < self.config.ceilings.agents;
        agents.made += usize::from(free);
        free
    }

    /// An address for people below the parent's: `main/explore-2`.
    pub(crate) fn address(&self, parent: &str, definition: &str) -> String {
        let base = format!("{parent}/{}", definition.to_lowercase());
        let mut agents = lock(&self.agents);
        let number = agents.numbers.entry(base.clone()).or_default();
        *number += 1;
        format!("{base}-{number}")
    }

    pub(crate) fn enter(&self, row: Arc<Row>) {
        lock(&self.agents).live.insert(row.header.agent.clone(), row);
    }

    pub(crate) fn leave(&self, agent: &AgentId) {
        lock(&self.agents).live.remove(agent);
    }

    // Money.

    pub(crate) fn totals(&self) -> Totals {
        lock(&self.totals).clone()
    }

    pub(crate) fn book(&self, book: impl FnOnce(&mut Totals)) {
        book(&mut lock(&self.totals));
    }

    // Rules and questions.

    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Folders besides the workspace that the session may work in.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies rules that came with an answer, and keeps them where they say; what could not be kept is told.
    pub(crate) fn update_rules(&self, update: &Update) -> Result<(), String> {
        if let Update::AddDirectories { directories, .. } = update {
            let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
            roots.extend(directories.iter().map(PathBuf::from).filter(|path| path.is_absolute()));
        }
        if let Update::AddRules { rules, behaviour, .. } = update {
            let mut guard = self.rules.write().unwrap_or_else(PoisonError::into_inner);
            let mut next = (**guard).clone();
            for rule in rules {
                let base = self.config.place.cwd.clone();
                let added = next.add(rule, *behaviour, Scope::Session, base);
                // A deny that can't be understood denies by itself; the others are as if never said.
                if let Err(fault) = added
                    && *behaviour != Behaviour::Deny
                {
                    return Err(fault.to_string());
                }
            }
            *guard = Arc::new(with_links(next, &self.config));
        }
        match &self.config.leave.save {
            Some(save) => save(update),
            None => Ok(()),
        }
    }

    /// Puts a question to whoever answers; a denial where nobody does.
    pub(crate) async fn ask(&self, question: Question) -> Answer {
        if !self.config.leave.asks {
            return Answer::Deny { message: no_one_to_ask(&question), interrupt: false };
        }
        let question = Arc::new(question);
        let id = question.id.clone();
        let (answer, answered) = oneshot::channel();
        lock(&self.questions).insert(id.clone(), Open { question: Arc::clone(&question), answer });
        let guard = Withdraw { shared: self, id: &id, agent: &question.agent };
        self.bus.tell(&question.agent, EventKind::QuestionOpened(Arc::clone(&question)));
        let answer = answered.await;
        drop(guard);
        answer.unwrap_or_else(|_| Answer::Deny {
            message: "The question was withdrawn before it was answered.".to_owned(),
            interrupt: false,
        })
    }

    pub(crate) fn answer(&self, id: &QuestionId, answer: Answer) -> bool {
        let open = lock(&self.questions).remove(id);
        open.is_some_and(|open| open.answer.send(answer).is_ok())
    }

    pub(crate) fn open_questions(&self) -> Vec<Arc<Question>> {
        lock(&self.questions).values().map(|open| Arc::clone(&open.question)).collect()
    }

    // Tasks.

    /// Runs a task that the session owns; `false` when it is closing.
    pub(crate) fn run(&self, task: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut tasks = lock(&self.tasks);
        let Some(tasks) = tasks.as_mut() else { return false };
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
        true
    }

    pub(crate) async fn close(&self, limit: Duration) {
        self.token.cancel();
        let Some(mut tasks) = lock(&self.tasks).take() else { return };
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(limit, all).await.is_err() {
            tracing::warn!("some tasks did not end in time and were aborted");
            tasks.shutdown().await;
        }
    }
}

/// The rules, those that deny or ask with the links that they name followed.
fn with_links(rules: Rules, config: &Config) -> Rules {
    let place = &config.place;
    let roots = std::iter::once(&place.cwd).chain(&place.roots).cloned().collect();
    let place = Place { cwd: place.cwd.clone(), home: place.home.clone(), roots, scratch: vec![] };
    judge::with_links(rules, &place)
}

/// What the model is told when a question can't be put to anybody.
fn no_one_to_ask(question: &Question) -> String {
    format!(
        "This call needs a person's leave ({}), and nobody can be asked in this run. Go on without it, or say what you need.",
        question.reason
    )
}

/// Takes a question back when its asker stops waiting.
struct Withdraw<'a> {
    shared: &'a Shared,
    id: &'a QuestionId,
    agent: &'a AgentId,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        lock(&self.shared.questions).remove(self.id);
        self.shared.bus.tell(self.agent, EventKind::QuestionClosed(self.id.clone()));
    }
}
