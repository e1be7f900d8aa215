//! What an earlier process left of a session's agents, read from their transcripts one after the other: what they
//! spent, how far they got, and what their owners were told. Of those that have ended the ends of the file do.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use troupe_core::block::Block;
use troupe_core::budget::Left;
use troupe_core::entry::{Body, Header, Origin};
use troupe_core::ids::{AgentId, CallId, InputId, JobId};
use troupe_core::input::Prompt;
use troupe_core::outcome::{Envelope, Outcome};
use troupe_core::policy::Mode;
use troupe_core::ports::journal::Key;
use troupe_core::ports::supervisor::Job;
use troupe_core::state::AgentState;
use troupe_core::time::Time;
use troupe_core::transcript::Transcript;
use troupe_core::turn::{Step, next_step};

use super::books::Books;
use super::launch::job_of;
use crate::inbox::{Inbox, Kept};
use crate::store::digest::{AtRest, at_rest, woken, woken_by};
use crate::store::{Told, load_own};
use crate::supervisor::Shared;

/// What was left.
#[derive(Default)]
pub(super) struct Scan {
    /// Agents below the main one that had begun, those higher up first.
    pub(super) agents: Vec<Found>,
    /// Their owners, the main agent among them.
    pub(super) owners: HashMap<AgentId, Owner>,
    /// Notices that were given, or that wait for the main agent, or that need not be given.
    pub(super) notices: HashSet<InputId>,
    /// What they spent.
    pub(super) books: Books,
}

/// An agent that was found.
pub(super) struct Found {
    pub(super) header: Arc<Header>,
    /// Runs that ended.
    pub(super) ends: u32,
    pub(super) last_end: Option<Envelope>,
    /// Whether a run was cut, be it before its first entry.
    pub(super) cut: bool,
    /// Whose its last run is, and by which call, where that is not its first.
    woken: Option<(AgentId, Option<CallId>)>,
}

impl Found {
    /// The number of its last run.
    pub(super) fn run(&self) -> u32 {
        (self.ends + u32::from(self.cut)).max(1)
    }

    /// The job of its last run.
    pub(super) fn job(
        &self,
        shared: &Shared,
        outcome: Option<Outcome>,
    ) -> (Job, watch::Sender<Option<Outcome>>) {
        let (mut job, sender) = job_of(shared, &self.header, self.run(), outcome);
        if let Some((owner, call)) = &self.woken {
            job.owner = owner.clone();
            job.call.clone_from(call);
        }
        (job, sender)
    }
}

/// An agent that starts jobs.
pub(super) struct Owner {
    /// Its calls without a result that are to get one.
    pub(super) open: HashSet<CallId>,
    /// Its calls since its last run ended.
    pub(super) of_this_run: HashSet<CallId>,
    /// Jobs that go on without their call, and what they are for people.
    pub(super) sent_off: HashMap<JobId, (CallId, String)>,
    /// What jobs told it that it did not read: all of it is told if the agent goes on, else the next above is to be.
    pub(super) unread: Vec<Prompt>,
}

impl Scan {
    /// Reads all transcripts below the main agent's, and books what stands in them and in the ledger.
    pub(super) async fn of(shared: &Shared, main: &Transcript, told: Told, inbox: Vec<InputId>) -> Self {
        let mut scan = Self::default();
        scan.notices.extend(inbox);
        scan.books.transcript(shared, &AgentId::main(), main);
        scan.owner(shared, AgentId::main(), main, (told, Vec::new()));
        let mut headers = Vec::new();
        let mut made = 0;
        for agent in shared.paths.agents() {
            made += 1;
            let state = AgentState::new(PathBuf::new(), Mode::Default, String::new(), String::new());
            let key = shared.paths.transcript(&agent);
            let inbox = shared.paths.inbox(&agent);
            let kept = Inbox::kept(&*shared.parts.journal, &inbox).await.unwrap_or_default();
            let run = kept.run;
            if let Ok(Some(rest)) = at_rest(&*shared.parts.journal, &key).await
                && rest.header.agent == agent
                && run <= rest.digest.ends
            {
                let opened = Some(rest.opened);
                headers.push((opened, scan.at_rest(shared, rest, kept)));
                continue;
            }
            let restored = match load_own(&*shared.parts.journal, &key, state).await {
                Ok(Some(restored)) => restored,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, %agent, "a transcript can't be read: the agent does not go on");
                    continue;
                }
            };
            let transcript = restored.transcript;
            scan.books.transcript(shared, &agent, &transcript);
            let Some(header) = transcript.header().cloned() else { continue };
            shared.note_address(&header.address);
            headers.push((transcript.entries().first().map(|first| first.at), Arc::clone(&header)));
            let begun = |body: &Body| matches!(body, Body::User { starts_turn: true, .. });
            if !transcript.entries().iter().any(|entry| begun(&entry.body)) {
                // Nobody had told it yet what to do.
                continue;
            }
            let under_way = next_step(&transcript, &Left::UNLIMITED) != Step::Done;
            let next = if run > transcript.ends() && !under_way {
                next_prompt(shared, inbox, &transcript, &restored.told).await
            } else {
                None
            };
            let cut = under_way || next.is_some();
            let unread = scan.unread(kept, &restored.told.notices);
            scan.agents.push(Found {
                woken: match next {
                    Some(prompt) => Some(woken_by(&header, &prompt.from, Some(&prompt.id))),
                    None => woken(&transcript, cut),
                },
                header,
                ends: transcript.ends(),
                last_end: transcript.last_end().cloned(),
                cut,
            });
            scan.owner(shared, agent, &transcript, (restored.told, unread));
        }
        scan.books.ledger(shared).await;
        let spent = scan.books.totals(Time(i64::MIN));
        let spent_by = |agent: &AgentId| spent.get(agent).copied().unwrap_or_default();
        if let Some(main) = shared.row(&AgentId::main()) {
            main.account.restore(spent_by(&AgentId::main()));
        }
        shared.count_made(made);
        headers.sort_by(|a: &(_, Arc<Header>), b| (a.0, &a.1.agent).cmp(&(b.0, &b.1.agent)));
        shared.directory.remember(headers.into_iter().map(|(_, header)| {
            let spent = spent_by(&header.agent);
            (header, spent)
        }));
        scan.agents.sort_by_key(|found| found.header.depth);
        scan
    }

    /// Takes in an agent that has ended, by its digest.
    fn at_rest(&mut self, shared: &Shared, rest: AtRest, kept: Kept) -> Arc<Header> {
        let AtRest { header, end, digest, .. } = rest;
        shared.note_address(&header.address);
        self.books.digest(shared, &header, &digest);
        let read = digest.notices.into_iter().collect();
        let unread = self.unread(kept, &read);
        self.notices.extend(read);
        // Of what an ended agent has sent off only agents go on, which have titles of their own.
        let sent_off = digest.sent_off.into_iter().map(|(job, call)| (job, (call, String::new()))).collect();
        let owner = Owner { open: HashSet::new(), of_this_run: HashSet::new(), sent_off, unread };
        self.owners.insert(header.agent.clone(), owner);
        let header = Arc::new(header);
        let found = Found {
            header: Arc::clone(&header),
            ends: digest.ends,
            last_end: Some(end),
            cut: false,
            woken: digest.woken,
        };
        self.agents.push(found);
        header
    }

    /// What came from jobs into an inbox and was not read; what was withdrawn counts as given.
    fn unread(&mut self, kept: Kept, read: &HashSet<InputId>) -> Vec<Prompt> {
        let Kept { came, mut waiting, .. } = kept;
        let waits: HashSet<&InputId> = waiting.iter().map(|prompt| &prompt.id).collect();
        self.notices.extend(came.into_iter().filter(|id| !waits.contains(id)));
        waiting.retain(|prompt| matches!(prompt.from, Origin::Job(_)) && !read.contains(&prompt.id));
        waiting
    }

    fn owner(
        &mut self,
        shared: &Shared,
        agent: AgentId,
        transcript: &Transcript,
        (told, unread): (Told, Vec<Prompt>),
    ) {
        self.notices.extend(told.notices);
        let open = if transcript.is_interrupted() {
            HashSet::new()
        } else {
            transcript.open_calls().into_iter().map(|call| call.id).collect()
        };
        let title = |(job, call): (JobId, CallId)| {
            let title = title(shared, transcript, &call);
            (job, (call, title))
        };
        let sent_off = told.sent_off.into_iter().map(title).collect();
        let of_this_run = of_this_run(transcript);
        self.owners.insert(agent, Owner { open, of_this_run, sent_off, unread });
    }
}

/// The prompt that a further run of an ended agent was to begin with, and which it has not read.
async fn next_prompt(shared: &Shared, inbox: Key, transcript: &Transcript, told: &Told) -> Option<Prompt> {
    let inbox = Inbox::open(Arc::clone(&shared.parts.journal), inbox);
    inbox.restore(transcript, &told.notices).await.ok()?;
    inbox.inbox.list().into_iter().find(|prompt| prompt.starts_turn)
}

fn of_this_run(transcript: &Transcript) -> HashSet<CallId> {
    let run = transcript.entries().iter().rev().take_while(|entry| !matches!(entry.body, Body::Closed(_)));
    let mut calls = HashSet::new();
    for entry in run {
        let Body::Assistant { blocks, .. } = &entry.body else { continue };
        calls.extend(blocks.iter().filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id.clone()),
            _ => None,
        }));
    }
    calls
}

/// What a call was, in a person's words.
fn title(shared: &Shared, transcript: &Transcript, call: &CallId) -> String {
    let Some(Body::Assistant { blocks, .. }) = transcript.reply_of(call).map(|entry| &entry.body) else {
        return String::new();
    };
    let made = blocks.iter().find_map(|block| match block {
        Block::ToolUse { id, name, input } if id == call => Some((name, input)),
        _ => None,
    });
    let Some((name, input)) = made else { return String::new() };
    let tool = shared.parts.tools.iter().find(|tool| *tool.spec().name == **name);
    tool.map_or_else(|| name.clone(), |tool| tool.title(input).text)
}
