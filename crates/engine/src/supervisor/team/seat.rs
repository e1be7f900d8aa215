//! Seats: an agent of this process in a team.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use troupe_core::CancellationToken;
use troupe_core::color::Color;
use troupe_core::event::{Idle, Phase};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::team::{LEAD, Member, Team};

use super::{claim, delivery};
use crate::supervisor::Shared;
use crate::team::mailbox::Mailbox;
use crate::team::members::Membership;
use crate::team::standing::Standing;
use crate::team::{TeamError, TeamPlace};

/// Messages to all that one agent sends a minute.
pub(super) const TO_ALL: usize = 5;
const MINUTE: Duration = Duration::from_mins(1);

/// A team that agents of this process have seats in.
pub(crate) struct Here {
    pub(crate) place: TeamPlace,
    pub(super) mail: Arc<dyn Mailbox>,
    /// What idle members said, until the lead's model is told.
    idle: Mutex<BTreeMap<String, Said>>,
    /// Messages to seats of this process that are not handed over yet.
    on_the_way: Mutex<HashSet<(String, String)>>,
    /// Members of other processes that have agreed to shut down and are not gone.
    agreed: Mutex<HashSet<String>>,
    /// Requests to shut down that wait for an answer, by member and request, each with what ends the wait.
    pub(super) shutdowns: Mutex<HashMap<(String, String), CancellationToken>>,
    /// Members in processes of their own: whether each is at work, and how much was written to it.
    outside: Mutex<HashMap<String, (bool, u64)>>,
    /// What a member of another process has taken over of its lead's leave.
    pub(super) bound: tokio::sync::Mutex<super::binding::Bound>,
}

/// What was last said of a member that is idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) words: String,
    /// The message that it stands in, which counts as unread until the lead's model is told; none where it is no mail.
    pub(crate) message: Option<String>,
    /// Whether what it did last came to a good end.
    pub(crate) well: bool,
}

/// An agent's place in a team.
pub(crate) struct Seat {
    pub(crate) here: Arc<Here>,
    pub(crate) name: String,
    pub(crate) color: Option<Color>,
    pub(crate) agent: AgentId,
    /// Says that something came into its mailbox.
    pub(super) nudge: Notify,
    /// Says that the seat is free.
    pub(super) token: CancellationToken,
    /// What its inbox was given of its mail, and the mailbox is not told yet.
    given: Mutex<HashSet<String>>,
    /// What its transcript has of its mail, and the mailbox is not told yet.
    read: Mutex<HashSet<InputId>>,
    /// It ends once its calls are answered.
    leaves: AtomicBool,
    /// When it wrote to all.
    to_all: Mutex<VecDeque<Instant>>,
    /// The request that its last plan is, until it is approved.
    pub(super) plan: Mutex<Option<String>>,
    /// Questions that the lead was asked, each with who waits for the answer.
    pub(super) asked: Mutex<HashMap<String, tokio::sync::oneshot::Sender<super::permission::LeadsWord>>>,
    /// The last that it wrote to others, in a few words.
    pub(super) last_words: Mutex<Option<String>>,
    /// The last task that it moved.
    pub(crate) last_task: Mutex<Option<String>>,
    /// Whether it takes the next task by itself (T5).
    pub(super) claims: bool,
    /// Held while it looks for one.
    pub(super) claiming: tokio::sync::Mutex<()>,
    /// How often in a row somebody objected to its being idle.
    pub(super) objections: AtomicU32,
}

/// What an agent sits down with.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) color: Option<Color>,
    /// The request of a plan that waits for its answer.
    pub(crate) plan: Option<String>,
    /// Whether it takes the next task by itself.
    pub(crate) claims: bool,
}

impl Place {
    /// The lead's.
    pub(crate) fn lead() -> Self {
        Self { name: LEAD.to_owned(), ..Self::default() }
    }
}

/// All seats of a session.
#[derive(Default)]
pub(crate) struct Seats {
    table: Mutex<HashMap<AgentId, Arc<Seat>>>,
    /// Held while a team is made, a member starts or a team ends.
    pub(super) turn: tokio::sync::Mutex<()>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Here {
    pub(crate) fn new(place: TeamPlace, array_mail: bool) -> Arc<Self> {
        let mail = place.mail(array_mail);
        Arc::new(Self {
            place,
            mail,
            idle: Mutex::default(),
            on_the_way: Mutex::default(),
            agreed: Mutex::default(),
            shutdowns: Mutex::default(),
            outside: Mutex::default(),
            bound: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.place.name
    }

    /// Whether there is mail for a name, read or not.
    pub(crate) fn has_mailbox(&self, name: &str) -> bool {
        self.mail.file(name).exists()
    }

    /// Who is in it.
    pub(crate) fn members(&self) -> &Membership {
        &self.place.members
    }

    /// The team as it is now.
    pub(crate) async fn team(&self) -> Result<Team, TeamError> {
        let unknown = || TeamError::Unknown { name: self.place.name.clone(), known: Vec::new() };
        self.place.members.load().await?.ok_or_else(unknown)
    }

    /// What a member does, whichever process runs it.
    pub(crate) fn standing(&self, team: &Team, member: &Member) -> Standing {
        self.place.standing(team, member)
    }

    pub(super) fn note_idle(&self, name: &str, said: Said) {
        lock(&self.idle).insert(name.to_owned(), said);
    }

    /// The members in processes of their own that are at work.
    pub(super) fn outside_at_work(&self) -> Vec<String> {
        let outside = lock(&self.outside);
        outside.iter().filter(|(_, (works, _))| *works).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn forget_idle(&self, name: &str) {
        lock(&self.idle).remove(name);
    }

    /// What idle members said that nobody was told of yet; nothing of one that `works` now.
    pub(super) fn idle(&self, works: impl Fn(&str) -> bool) -> BTreeMap<String, Said> {
        let idle = lock(&self.idle);
        idle.iter()
            .filter(|(name, _)| !works(name))
            .map(|(name, said)| (name.clone(), said.clone()))
            .collect()
    }

    /// The lead's model was told this; what was said since stays.
    pub(super) fn was_told(&self, told: &BTreeMap<String, Said>) {
        lock(&self.idle).retain(|name, said| told.get(name) != Some(said));
    }

    /// Whether what a message said of an idle member is yet to be told.
    pub(super) fn is_to_tell(&self, message: &str) -> bool {
        lock(&self.idle).values().any(|said| said.message.as_deref() == Some(message))
    }

    pub(super) fn sent(&self, to: &str, id: &str) {
        lock(&self.on_the_way).insert((to.to_owned(), id.to_owned()));
    }

    /// Nobody hands over what is on its way to a name.
    pub(super) fn is_unheard(&self, to: &str) {
        lock(&self.on_the_way).retain(|(name, _)| name != to);
    }

    pub(super) fn handed(&self, to: &str, id: &str) {
        lock(&self.on_the_way).remove(&(to.to_owned(), id.to_owned()));
    }

    /// A member of another process is to begin; `false` where it is looked after already. It counts as at work.
    pub(super) fn outside_begins(&self, name: &str) -> bool {
        lock(&self.outside).insert(name.to_owned(), (true, 0)).is_none()
    }

    /// Something was written to a member of another process.
    pub(super) fn outside_works(&self, name: &str) {
        if let Some((works, sent)) = lock(&self.outside).get_mut(name) {
            (*works, *sent) = (true, *sent + 1);
        }
    }

    pub(super) fn outside_sent(&self, name: &str) -> u64 {
        lock(&self.outside).get(name).map_or(0, |(_, sent)| *sent)
    }

    /// What a member of another process was found to do, where nothing was written to it since the look began.
    pub(super) fn outside_now(&self, name: &str, works: bool, sent: u64) {
        if let Some(one) = lock(&self.outside).get_mut(name).filter(|one| one.1 == sent) {
            one.0 = works;
        }
    }

    pub(super) fn outside_is_gone(&self, name: &str) {
        lock(&self.outside).remove(name);
        lock(&self.agreed).remove(name);
    }

    /// A member has agreed to shut down.
    pub(super) fn has_agreed(&self, name: &str) {
        lock(&self.agreed).insert(name.to_owned());
    }

    /// Whether it has, and is not gone yet.
    pub(super) fn is_leaving(&self, name: &str) -> bool {
        lock(&self.agreed).contains(name)
    }

    fn any_outside_works(&self) -> bool {
        lock(&self.outside).values().any(|(works, _)| *works)
    }

    /// Whether a message to a seat of this process is not handed over yet.
    pub(super) fn is_on_the_way(&self, to: &str) -> bool {
        lock(&self.on_the_way).iter().any(|(name, _)| name == to)
    }
}

impl Seat {
    /// Waits until the seat is free.
    pub(crate) async fn freed(&self) {
        self.token.cancelled().await;
    }

    /// Whether it leads the team.
    pub(crate) fn leads(&self) -> bool {
        self.name == LEAD
    }

    /// Its transcript has an input.
    pub(crate) fn was_read(&self, id: &InputId) {
        lock(&self.read).insert(id.clone());
        if !claim::is_objection(id) {
            self.objections.store(0, Ordering::Relaxed);
        }
        self.nudge.notify_one();
    }

    /// Whether its transcript has a message that the mailbox still counts as unread.
    pub(super) fn has_read(&self, id: &InputId) -> bool {
        lock(&self.read).contains(id)
    }

    /// The mailbox counts a message as read.
    pub(super) fn is_marked(&self, id: &InputId) {
        lock(&self.read).remove(id);
        lock(&self.given).remove(id.as_str());
    }

    /// Its inbox has a message.
    pub(super) fn give(&self, id: &InputId) {
        lock(&self.given).insert(id.to_string());
    }

    /// Whether its inbox has had a message that the mailbox still counts as unread.
    pub(super) fn was_given(&self, id: &str) -> bool {
        lock(&self.given).contains(id)
    }

    /// It is to end once its calls are answered.
    pub(crate) fn leave(&self) {
        self.leaves.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    /// Whether it may write to all now; it counts as done then.
    pub(super) fn may_write_to_all(&self) -> bool {
        let now = Instant::now();
        let mut sent = lock(&self.to_all);
        while sent.front().is_some_and(|at| now.duration_since(*at) >= MINUTE) {
            sent.pop_front();
        }
        let may = sent.len() < TO_ALL;
        if may {
            sent.push_back(now);
        }
        may
    }
}

impl Seats {
    /// The seat of an agent.
    pub(crate) fn of(&self, agent: &AgentId) -> Option<Arc<Seat>> {
        lock(&self.table).get(agent).cloned()
    }

    /// The seat of a name in a team of this process.
    pub(crate) fn named(&self, here: &Here, name: &str) -> Option<Arc<Seat>> {
        let table = lock(&self.table);
        table.values().find(|seat| seat.here.name() == here.name() && seat.name == name).cloned()
    }

    /// Gives an agent a seat, from which on its mail is delivered.
    pub(crate) fn take(
        &self,
        shared: &Arc<Shared>,
        here: &Arc<Here>,
        place: Place,
        agent: &AgentId,
    ) -> Arc<Seat> {
        let Place { name, color, plan, claims } = place;
        let seat = Arc::new(Seat {
            here: Arc::clone(here),
            name,
            color,
            agent: agent.clone(),
            nudge: Notify::new(),
            token: shared.token.child_token(),
            given: Mutex::default(),
            read: Mutex::default(),
            leaves: AtomicBool::new(false),
            to_all: Mutex::default(),
            plan: Mutex::new(plan),
            asked: Mutex::default(),
            last_words: Mutex::default(),
            last_task: Mutex::default(),
            claims,
            claiming: tokio::sync::Mutex::default(),
            objections: AtomicU32::new(0),
        });
        lock(&self.table).insert(agent.clone(), Arc::clone(&seat));
        shared.run(delivery::deliver(Arc::clone(shared), Arc::clone(&seat)));
        seat
    }

    /// Frees a seat.
    pub(super) fn free(&self, agent: &AgentId) -> Option<Arc<Seat>> {
        let seat = lock(&self.table).remove(agent);
        if let Some(seat) = &seat {
            seat.token.cancel();
            // Nobody hands these over any more.
            seat.here.is_unheard(&seat.name);
        }
        seat
    }

    /// All seats.
    pub(super) fn all(&self) -> Vec<Arc<Seat>> {
        lock(&self.table).values().cloned().collect()
    }
}

/// Whether an agent in this phase has something to do. One that waits for its own commands has.
pub(super) fn is_at_work(phase: Phase) -> bool {
    !matches!(phase, Phase::Idle(idle) if idle != Idle::Jobs)
        && !matches!(phase, Phase::Ended | Phase::Paused)
}

impl Shared {
    /// Whether a member of a team works in this process, or mail of one is on its way: the main agent may yet hear.
    pub(crate) fn members_at_work(&self) -> bool {
        self.members_are_telling()
            || self.seats.all().iter().any(|seat| {
                let row = self.row(&seat.agent).filter(|_| !seat.leads());
                row.is_some_and(|row| is_at_work(row.phase()) || !row.inbox.list().is_empty())
                    || (seat.leads() && seat.here.any_outside_works())
            })
    }

    /// Whether mail is on its way to a seat of this process, or a member has ended whose seat is not free: what it leaves is
    /// yet to be told.
    pub(crate) fn members_are_telling(&self) -> bool {
        self.seats.all().iter().any(|seat| {
            let has_ended = !seat.leads() && self.row(&seat.agent).is_none();
            has_ended || !lock(&seat.here.on_the_way).is_empty()
        })
    }
}
