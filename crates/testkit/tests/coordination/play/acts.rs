//! What agents, commands, the client and the person do in a case, each until it is done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use troupe_core::event::{EventKind, JobChange, Phase};
use troupe_core::ids::{AgentId, JobId, QuestionId};
use troupe_core::input::Input;
use troupe_core::policy::Answer;
use troupe_engine::bus::Heard;
use troupe_testkit::reading::{self, entries_of, eventually, is_at_rest, until};
use troupe_testkit::world::LIMIT;

use super::{Command, Play, lock, result};

impl Play {
    /// Ends an agent, or a command.
    pub(super) async fn finish(&self, name: &str) {
        let command = lock(&self.commands).get(name).cloned();
        if let Some(command) = command {
            let session = self.session();
            eventually("the command ends", || async {
                end_command(&command.pipe);
                session.job(&command.job).is_none_or(|job| job.outcome.borrow().is_some())
            })
            .await;
            return self.over(&command.job).await;
        }
        // What it is told at its end has it say so again.
        self.puppet.free(&self.id(name), &format!("text \"done {name}.\""));
        self.ended(name).await;
    }

    pub(super) async fn ended(&self, name: &str) {
        self.over(&JobId::new(self.id(name).as_str())).await;
    }

    /// Waits for the end of a job, and until it was told.
    pub(crate) async fn over(&self, job: &JobId) {
        let session = self.session();
        let job = session.job(job).expect("a job that is known");
        tokio::time::timeout(LIMIT, job.ended()).await.expect("it ends in time");
        eventually("its end is told", || async { !session.is_telling() }).await;
    }

    /// Ends the turn of an agent, which waits for what it has started, or has ended.
    pub(super) async fn end_turn(&self, name: &str) {
        let id = self.id(name);
        let mut events = self.session().subscribe(false);
        self.puppet.reply(&id, &format!("text \"done {name}.\""));
        until(&mut events, |agent, kind| {
            let rests = matches!(kind, EventKind::Phase(Phase::Waiting) | EventKind::Ended(_));
            (*agent == id && rests).then_some(())
        })
        .await;
    }

    pub(super) async fn command(&self, agent: &str, name: &str) {
        let pipe = self.world.workspace().join(format!("pipe-{name}"));
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let mut events = self.session().subscribe(false);
        let call = format!("call Bash command=\"cat pipe-{name}\" run_in_background=true");
        let id = self.id(agent);
        let (started, told) = self.does(&id, &call).await;
        assert!(started, "{told}");
        let job = until(&mut events, |owner, kind| match kind {
            EventKind::Job(job, JobChange::Started { agent: false, .. }) if *owner == id => Some(job.clone()),
            _ => None,
        })
        .await;
        lock(&self.commands).insert(name.to_owned(), Command { job, pipe });
    }

    /// Notices that the lead has read, and those that wait for it.
    pub(super) async fn inbox(&self) -> Vec<(JobId, String)> {
        let session = self.session();
        let mut all = reading::notices(&reading::entries(&session).await);
        let waiting = session.waiting(&AgentId::main()).into_iter().filter_map(|prompt| match prompt.from {
            troupe_core::entry::Origin::Job(job) => Some((job, troupe_core::block::text_of(&prompt.blocks))),
            _ => None,
        });
        all.extend(waiting);
        all
    }

    /// Waits until the lead has read all that waits for it.
    pub(super) async fn delivered(&self) {
        let session = self.session();
        if self.held.load(Ordering::SeqCst) {
            // It reads between two steps.
            self.lead_does("call Glob pattern=\"*\"").await;
        }
        let is_read = || async { !session.is_telling() && session.waiting(&AgentId::main()).is_empty() };
        eventually("it is read", is_read).await;
    }

    /// Takes note of what the client has heard, and lets it go.
    pub(super) fn client_hears(&self) {
        use futures_util::FutureExt as _;
        let Some(mut client) = lock(&self.client).take() else { return };
        while let Some(heard) = client.next().now_or_never() {
            match heard {
                Heard::Event(event) => {
                    if let EventKind::Job(job, JobChange::Ended(_)) = &event.kind {
                        self.record().heard.push(job.clone());
                    }
                }
                Heard::Missed(_) => {}
                Heard::Closed => break,
            }
        }
    }

    /// Has an agent make a call that may ask; whether it asked.
    pub(super) async fn calls(&self, name: &str, call: &str) -> bool {
        let id = self.id(name);
        let mut events = self.session().subscribe(false);
        self.puppet.reply(&id, call);
        let asked = until(&mut events, |agent, kind| match kind {
            EventKind::QuestionOpened(question) if question.agent == id => Some(Ok(Arc::clone(question))),
            EventKind::Appended(entry) if *agent == id => result(entry).map(Err),
            _ => None,
        })
        .await;
        let mut record = self.record();
        match asked {
            Ok(question) => {
                record.asked.push((name.to_owned(), question));
                true
            }
            Err(told) => {
                record.unasked.push(told);
                false
            }
        }
    }

    pub(super) async fn answer_all(&self, reverse: bool) {
        let mut open = self.session().questions();
        if reverse {
            open.reverse();
        }
        let names: BTreeMap<AgentId, String> = self.ids().into_iter().map(|(name, id)| (id, name)).collect();
        for (number, question) in open.into_iter().enumerate() {
            self.answer(&names[&question.agent], &question.id, number % 2 == 0).await;
        }
    }

    pub(super) async fn answer(&self, name: &str, question: &QuestionId, allow: bool) {
        let no = format!("not {name}.");
        let answer = if allow {
            Answer::Allow { input: None, updates: Vec::new() }
        } else {
            Answer::Deny { message: no.clone(), interrupt: false }
        };
        let sent = self.session().send(&AgentId::main(), Input::Answer(question.clone(), answer)).await;
        let mut record = self.record();
        record.answered.insert(name.to_owned(), (!allow).then_some(no));
        record.reached.push(sent.is_ok());
    }

    /// Lets everything come to its end.
    pub(crate) async fn settle(&self) {
        if lock(&self.session).is_none() {
            self.resume().await;
        }
        let session = self.session();
        self.rest();
        self.puppet.free_all();
        let commands = lock(&self.commands).clone();
        eventually("everything comes to rest", || async {
            for command in commands.values() {
                end_command(&command.pipe);
            }
            for question in session.questions() {
                let answer = Answer::Deny { message: "the case is over".to_owned(), interrupt: false };
                // It may be answered or withdrawn by now.
                let _ = session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await;
            }
            session.background_jobs().is_empty() && is_at_rest(&session).await
        })
        .await;
        self.client_hears();
    }

    /// A turn of its own shows that the person can go on.
    pub(crate) async fn turn(&self) {
        let mut events = self.session().subscribe(false);
        self.say("and now?").await;
        troupe_testkit::world::ended(&mut events).await;
    }

    /// What an agent has in its transcript.
    pub(crate) async fn entries(&self, agent: &AgentId) -> Vec<Arc<troupe_core::entry::Entry>> {
        entries_of(&self.session(), agent).await
    }

    pub(crate) async fn close(&self) {
        self.quit().await;
    }
}

/// Lets a command go on to its end, if it still waits.
fn end_command(pipe: &std::path::Path) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    // It fails when nobody reads any more.
    let _ = std::fs::OpenOptions::new().write(true).custom_flags(flags).open(pipe);
}
