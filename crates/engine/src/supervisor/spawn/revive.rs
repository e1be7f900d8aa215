//! After a restart: agents whose run was cut go on unless the person stopped them, calls that waited for them wait again,
//! and ends that nobody was told of are told.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::watch;
use troupe_core::ids::{AgentId, EntryId, InputId, JobId};
use troupe_core::input::Prompt;
use troupe_core::job::{JobKind, notice as notice_id};
use troupe_core::outcome::{Ending, Outcome, ShellEnd};
use troupe_core::ports::supervisor::Job;

use super::launch::{enter_job, set_to_work};
use super::reopen::reopen;
use super::scan::{Found, Scan};
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::supervisor::jobs::{Hold, Untold};
use crate::supervisor::{Shared, notice};

/// What became of a command of a program that ended without a word.
const ENDED_WITH_PROGRAM: &str = "it ended with the program that ran it, and how is not known";

/// What is to begin once everything is in its place.
#[derive(Default)]
pub(super) struct Revived {
    actors: Vec<(Actor, Job)>,
    untold: Vec<Untold>,
    /// What those that don't go on did not read of their jobs, by whom.
    unread: Vec<(AgentId, Arc<Inbox>, Prompt)>,
}

impl Revived {
    /// Puts agents and ends into the registry. The main agent is on the roster already, and nothing runs yet.
    pub(super) async fn of(shared: &Arc<Shared>, mut scan: Scan) -> Self {
        let mut revived = Self::default();
        let mut told = std::mem::take(&mut scan.notices);
        // Owners come before what they started.
        for found in &scan.agents {
            revived.agent(shared, found, (&scan, &told)).await;
            let agent = &found.header.agent;
            let Some(owner) = scan.owners.get(agent) else { continue };
            if shared.row(agent).is_some() || found.header.team.is_some() {
                told.extend(owner.unread.iter().map(|prompt| prompt.id.clone()));
            } else {
                revived.hand_on(shared, agent, &owner.unread, &told).await;
            }
        }
        for (owner, jobs) in &scan.owners {
            // What an ended agent had started was ended with it.
            if shared.row(owner).is_none() {
                continue;
            }
            for (id, (call, title)) in &jobs.sent_off {
                let known = scan.agents.iter().any(|found| found.header.agent.as_str() == id.as_str());
                if known || told.contains(&notice_id(id, 1)) {
                    continue;
                }
                let end = lost(ENDED_WITH_PROGRAM);
                let (sender, outcome) = watch::channel(Some(end.clone()));
                let job = Job {
                    id: id.clone(),
                    run: 1,
                    kind: JobKind::Shell,
                    owner: owner.clone(),
                    name: None,
                    title: title.clone(),
                    call: Some(call.clone()),
                    model: None,
                    background: true,
                    output: shared.paths.output(id),
                    outcome,
                };
                shared.jobs.enter_ended(job.clone(), sender, Hold::Notified);
                revived.untold.push(Untold::of(job, end));
            }
        }
        revived
    }

    async fn agent(&mut self, shared: &Arc<Shared>, found: &Found, (scan, told): (&Scan, &HashSet<InputId>)) {
        let (header, run) = (&found.header, found.run());
        if header.team.is_some() {
            // Its team takes it up, and no call waits for it.
            return;
        }
        let id = JobId::new(header.agent.as_str());
        let above = header.parent.clone().unwrap_or_else(AgentId::main);
        let Some(owner) = scan.owners.get(&above) else { return };
        let waited = run == 1 && header.call.as_ref().is_some_and(|call| owner.open.contains(call));
        // A later run comes of a message, and no call waits for it.
        let sent_off = run > 1 || owner.sent_off.contains_key(&id);
        let outcome = match &found.last_end {
            Some(end) if !found.cut => Outcome::Agent(Box::new(end.clone())),
            // An owner that does not go on waits for nobody.
            _ if !(sent_off || waited && shared.row(&above).is_some()) => return,
            _ => match reopen(shared, &header.agent, &scan.books).await {
                Ok(mut actor) if actor.row().inbox.is_marked_stopped() => {
                    Outcome::Agent(Box::new(actor.end_stopped().await))
                }
                Ok(actor) => {
                    let hold = if waited { Hold::Waiting } else { Hold::Inbox };
                    let job = enter_job(shared, &actor, found.job(shared, None), hold);
                    self.actors.push((actor, job));
                    return;
                }
                Err(error) => lost(&format!("it was cut off, and can't go on: {error}")),
            },
        };
        if let Outcome::Agent(end) = &outcome
            && let Some(row) = shared.row(&above)
            && header.call.as_ref().is_some_and(|call| owner.of_this_run.contains(call))
        {
            // What it can tell of its agents outlasts the program.
            row.child_ended(&header.address, end);
        }
        let (job, sender) = found.job(shared, Some(outcome.clone()));
        let hold = match (waited, sent_off && !told.contains(&job.notice())) {
            (true, _) => Hold::Waiting,
            (false, true) => Hold::Notified,
            (false, false) => Hold::Told,
        };
        shared.jobs.enter_ended(job.clone(), sender, hold);
        if hold == Hold::Notified {
            self.untold.push(Untold::of(job, outcome));
        }
    }

    /// What an agent that does not go on had not read is the next one's above. The program may have died after that one
    /// had it.
    async fn hand_on(
        &mut self,
        shared: &Arc<Shared>,
        agent: &AgentId,
        unread: &[Prompt],
        told: &HashSet<InputId>,
    ) {
        let inbox = Inbox::open(Arc::clone(&shared.parts.journal), shared.paths.inbox(agent)).inbox;
        for prompt in unread {
            if !told.contains(&prompt.id) {
                self.unread.push((agent.clone(), Arc::clone(&inbox), prompt.clone()));
            } else if let Err(error) = inbox.record_withdrawal(&prompt.id).await {
                tracing::warn!(%error, id = %prompt.id, "a notice was handed on, and may be told once more");
            }
        }
    }

    /// The agents that go on, each with the last entry before it does.
    pub(super) fn before(&self) -> Vec<(AgentId, Option<EntryId>)> {
        let last = |actor: &Actor| actor.transcript().last_id().cloned();
        self.actors.iter().map(|(actor, _)| (actor.row().header.agent.clone(), last(actor))).collect()
    }

    /// Tells what is to be told, and sets the agents to work.
    pub(super) async fn begin(self, shared: &Arc<Shared>) {
        for (agent, inbox, prompt) in self.unread {
            notice::hand_on_one(shared, &agent, &inbox, prompt).await;
        }
        for untold in &self.untold {
            notice::tell(shared, untold).await;
        }
        for (actor, job) in self.actors {
            set_to_work(shared, actor, &job);
        }
    }
}

fn lost(error: &str) -> Outcome {
    let error = Some(error.to_owned());
    Outcome::Shell(ShellEnd { ending: Ending::Failed, code: None, signal: None, bytes: 0, error })
}
