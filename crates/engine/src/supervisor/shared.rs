//! What all agents of a session share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use troupe_core::CancellationToken;
use troupe_core::catalogue::{Catalogue, DefFault};
use troupe_core::def::AgentDef;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::{AgentId, SessionId};
use troupe_core::not_yet;
use troupe_core::policy::{Destination, Mode, Rules, Update};
use troupe_core::pool::{Life, Standing as PoolStanding};
use troupe_core::ports::tool::Tool;
use troupe_core::visible::visible;

use super::Row;
use super::account::{Spent, Totals};
use super::directory::Directory;
use super::jobs::Jobs;
use super::questions::Questions;
use super::scratch::Scratch;
use super::standing::Standing;
use super::tasks::Lists;
use super::team::{Seats, bind_rules};
use super::warm::Warming;
use crate::agent::Denials;
use crate::bus::Bus;
use crate::inbox::Inbox;
use crate::session::{Config, Member, Parts};
use crate::starting;
use crate::store::{DecisionLog, SessionPaths};

/// Faults of definitions that one look at them tells.
const FAULTS_TOLD: usize = 5;

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
    /// What the classifier of mode `auto` has denied.
    pub(crate) denials: Denials,
    pub(crate) standing: Standing,
    pub(crate) questions: Questions,
    pub(crate) scratch: Scratch,
    /// The task list that its agents work on.
    pub(crate) lists: Lists,
    /// What was told and is not to be told again.
    told: Mutex<HashSet<String>>,
    pub(crate) directory: Directory,
    /// Who is in a team.
    pub(crate) seats: Arc<Seats>,
    /// First requests of agents that started together.
    pub(crate) warming: Arc<Warming>,
    /// The agent definitions as they were last looked at.
    definitions: Mutex<Arc<Catalogue>>,
    /// The definitions that a host gave, as it wrote them.
    given: Mutex<Map<String, Value>>,
    totals: Mutex<Totals>,
    agents: Mutex<Agents>,
    tasks: Mutex<Option<JoinSet<()>>>,
}

#[derive(Default)]
struct Agents {
    live: HashMap<AgentId, Arc<Row>>,
    made: usize,
    full_told: bool,
    numbers: HashMap<String, u32>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(parts: Parts, config: Config, session: SessionId) -> Arc<Self> {
        let place = &config.place;
        let seats = Arc::new(Seats::default());
        let lists =
            Lists::new(parts.teams.clone(), session.clone(), config.tasks.clone(), Arc::clone(&seats));
        let paths = SessionPaths::new(place.root.clone(), place.project.clone(), session);
        Arc::new(Self {
            decisions: DecisionLog::new(Arc::clone(&parts.journal), &paths),
            bus: Bus::new(Arc::clone(&parts.clock)),
            jobs: Jobs::default(),
            slots: Arc::new(Semaphore::new(config.ceilings.live_agents.max(1))),
            token: CancellationToken::new(),
            denials: Denials::default(),
            standing: Standing::new(&config.leave, &config.place),
            questions: Questions::default(),
            scratch: Scratch::default(),
            lists,
            told: Mutex::default(),
            directory: Directory::default(),
            seats,
            warming: Arc::default(),
            definitions: Mutex::new(parts.defs.catalogue()),
            given: Mutex::default(),
            totals: Mutex::default(),
            agents: Mutex::default(),
            tasks: Mutex::new(Some(JoinSet::new())),
            parts,
            config,
            paths,
        })
    }

    /// Keeps the definitions that a host gives, for processes of its members.
    pub(crate) fn give(&self, agents: &Map<String, Value>) {
        lock(&self.given).extend(agents.clone());
    }

    /// The definitions that a host gave.
    pub(crate) fn given(&self) -> Map<String, Value> {
        lock(&self.given).clone()
    }

    /// The tools of an agent of this definition.
    pub(crate) fn pool(&self, def: &AgentDef, at: &PoolStanding) -> Vec<Arc<dyn Tool>> {
        let keep = |tool: &&Arc<dyn Tool>| starting::missing(&***tool, &self.config.pool, def, at).is_none();
        self.parts.tools.iter().filter(keep).cloned().collect()
    }

    /// The tools of the main agent.
    pub(crate) fn main_pool(&self) -> Vec<Arc<dyn Tool>> {
        let at = PoolStanding {
            life: match &self.config.teams.member {
                Some(_) => Life::Teammate,
                None if self.coordinates() => Life::Coordinator,
                None => Life::Main,
            },
            // A member stands below its lead, wherever it runs.
            depth: u32::from(self.config.teams.member.is_some()),
            most_depth: self.config.ceilings.depth,
            mode: Mode::Default,
        };
        self.pool(&self.parts.defs.main, &at)
    }

    /// Whether the main agent only coordinates.
    pub(crate) fn coordinates(&self) -> bool {
        self.parts.defs.main.coordinates()
    }

    /// Whether a line was not told in this session so far; it counts as told then.
    pub(crate) fn is_new(&self, line: &str) -> bool {
        lock(&self.told).insert(line.to_owned())
    }

    /// The agent definitions of now. What has come to be wrong with their files since the last look is told.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        let now = self.parts.defs.catalogue();
        let before = std::mem::replace(&mut *lock(&self.definitions), Arc::clone(&now));
        if !Arc::ptr_eq(&before, &now) {
            self.tell_faults(&before, &now);
        }
        now
    }

    /// Tells what has come to be wrong with definitions, as far as a person reads it.
    fn tell_faults(&self, before: &Catalogue, now: &Catalogue) {
        let tell = |text: String| self.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(text)));
        let known: HashSet<&DefFault> = before.faults.iter().collect();
        let faults = now.faults.iter().filter(|fault| !known.contains(fault)).map(|fault| {
            let skipped = if fault.used { "" } else { "; it is skipped" };
            format!("agent definition {fault}{skipped}")
        });
        let was = |name: &str| before.unavailable.iter().any(|def| def.name == name);
        let fresh = now.unavailable.iter().filter(|def| !was(&def.name));
        let mut lines = faults.chain(fresh.filter_map(|def| not_yet::lacks_words(def)));
        for line in lines.by_ref().take(FAULTS_TOLD) {
            tell(visible(&line));
        }
        let more = lines.count();
        if more > 0 {
            tell(format!("and {more} more faults of agent definitions; run `troupe agents list`"));
        }
    }

    // Agents.

    pub(crate) fn row(&self, agent: &AgentId) -> Option<Arc<Row>> {
        lock(&self.agents).live.get(agent).cloned()
    }

    /// The ids of all live agents.
    pub(crate) fn live_agents(&self) -> Vec<AgentId> {
        lock(&self.agents).live.keys().cloned().collect()
    }

    pub(crate) fn roster(&self) -> Vec<Member> {
        let mut members: Vec<Member> = lock(&self.agents)
            .live
            .values()
            .map(|row| {
                let Spent { tokens, cost_usd } = row.account.spent();
                Member { header: Arc::clone(&row.header), cost_usd, tokens, phase: row.phase() }
            })
            .collect();
        members.sort_by(|a, b| a.header.address.cmp(&b.header.address));
        members
    }

    /// What waits for an agent that lives or lived in this process.
    pub(crate) fn inbox(&self, agent: &AgentId) -> Option<Arc<Inbox>> {
        self.directory.known(agent).and_then(|known| known.inbox)
    }

    /// Records that the person stopped an agent.
    pub(crate) async fn record_stop(row: &Row) {
        row.inbox.mark_stopped();
        if let Err(error) = row.inbox.record_stop(true).await {
            let agent = &row.header.agent;
            tracing::warn!(%error, %agent, "a later process will not know that the person stopped this agent");
        }
    }

    /// Reserves a place among the session's agents; `false` at the ceiling, of which people are told once.
    pub(crate) fn reserve(&self) -> bool {
        let most = self.config.ceilings.agents;
        let (free, tell) = {
            let mut agents = lock(&self.agents);
            let free = agents.made < most;
            agents.made += usize::from(free);
            (free, !free && !std::mem::replace(&mut agents.full_told, true))
        };
        if tell {
            let text =
                format!("the session has had {most} agents, its limit; no more are started (--max-agents)");
            self.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(text)));
        }
        free
    }

    /// Counts agents that an earlier process made in this session.
    pub(crate) fn count_made(&self, made: usize) {
        lock(&self.agents).made += made;
    }

    /// Addresses of agents below this one that still live.
    pub(crate) fn live_below(&self, agent: &AgentId) -> Vec<String> {
        let agents = lock(&self.agents);
        let parent =
            |row: &Arc<Row>| row.header.parent.as_ref().and_then(|parent| agents.live.get(parent)).cloned();
        let is_below = |row: &&Arc<Row>| {
            std::iter::successors(Some(Arc::clone(row)), parent)
                .any(|row| row.header.parent.as_ref() == Some(agent))
        };
        agents.live.values().filter(is_below).map(|row| row.header.address.clone()).collect()
    }

    /// An address for people below the parent's: `main/explore-2`.
    pub(crate) fn address(&self, parent: &str, definition: &str) -> String {
        let base = format!("{parent}/{}", definition.to_lowercase());
        let mut agents = lock(&self.agents);
        let number = agents.numbers.entry(base.clone()).or_default();
        *number += 1;
        format!("{base}-{number}")
    }

    /// Takes note of an address that an earlier process gave, so that no other agent gets it.
    pub(crate) fn note_address(&self, address: &str) {
        let Some((base, number)) = address.rsplit_once('-') else { return };
        let Ok(number) = number.parse::<u32>() else { return };
        let mut agents = lock(&self.agents);
        let last = agents.numbers.entry(base.to_owned()).or_default();
        *last = number.max(*last);
    }

    pub(crate) fn enter(&self, row: Arc<Row>) {
        self.directory.enter(&row);
        lock(&self.agents).live.insert(row.header.agent.clone(), row);
    }

    pub(crate) fn leave(&self, agent: &AgentId) {
        let row = lock(&self.agents).live.remove(agent);
        if let Some(row) = row {
            row.inbox.close();
        }
    }

    // Money.

    pub(crate) fn totals(&self) -> Totals {
        lock(&self.totals).clone()
    }

    pub(crate) fn book(&self, book: impl FnOnce(&mut Totals)) {
        book(&mut lock(&self.totals));
    }

    // Rules.

    /// The rules that hold now, for an agent whose definition has this allowed-tools list.
    pub(crate) fn rules(&self, allowed: Option<&[String]>) -> Arc<Rules> {
        self.refresh();
        let rules = self.standing.rules();
        match allowed {
            None => rules,
            Some(allowed) => Arc::new(rules.for_agent(allowed, &self.config.place.cwd).0),
        }
    }

    /// Takes over what the files of rules say now.
    pub(crate) fn refresh(&self) {
        for line in self.standing.refresh() {
            self.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(line)));
        }
    }

    /// Applies what came with an answer, and keeps it where it says. One entry that can't be applied drops them
    /// all; what could not be done is told.
    pub(crate) async fn update(&self, updates: &[Update]) -> Vec<String> {
        if let Some(fault) = updates.iter().find_map(|update| self.standing.fault(update)) {
            return vec![format!("the permission updates of an answer were not applied: {fault}")];
        }
        let mut told = Vec::new();
        for update in updates {
            if let Some(fault) = self.update_one(update).await {
                told.push(fault);
            }
        }
        if !updates.is_empty() {
            bind_rules(self).await;
        }
        told
    }

    async fn update_one(&self, update: &Update) -> Option<String> {
        let save = self.config.leave.save.clone().filter(|_| update.destination() != Destination::Session);
        let Some(save) = save else {
            self.standing.apply(update);
            return None;
        };
        let saved = {
            let update = update.clone();
            // It may wait for another process that writes the file.
            tokio::task::spawn_blocking(move || save(&update)).await
        };
        let fault = saved.map_err(|error| error.to_string()).and_then(|saved| saved).err();
        self.refresh();
        self.standing.fill_in(update);
        fault.or_else(|| self.standing.remains(update))
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
