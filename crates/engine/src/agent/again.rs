//! Calls that were under way when the program died and can be made again, since all that they do is to start an agent
//! and to wait for it: the agent is there, or none was started.

use troupe_core::event::{EventKind, Phase};
use troupe_core::ids::{AgentId, CallId};
use troupe_core::transcript::OpenCall;

use super::actor::{Actor, Halt};
use super::batch::Batch;
use super::lost;

impl Actor {
    /// Whether a call that was started can be made again.
    pub(super) async fn can_be_made_again(&self, call: &OpenCall) -> bool {
        let spawns = self.pool.iter().any(|tool| *tool.spec().name == *call.tool && tool.spawns());
        spawns
            && (self.shared.jobs.of_call(self.me(), &call.id).is_some()
                || lost::agent_of(&self.shared, self.me(), self.transcript(), &call.id).await.is_none())
    }

    /// Makes calls again that were judged and recorded as started by an earlier process.
    pub(super) async fn call_again(&mut self, calls: Vec<OpenCall>) -> Result<(), Halt> {
        self.say(EventKind::Phase(Phase::Calling));
        // One of them may be a call for a fork.
        let _offering = self.offer_forks(self.pool.iter().map(|tool| &**tool));
        let mut batch = Batch::new(calls, self.token.child_token());
        for at in 0..batch.calls.len() {
            let call = batch.calls[at].clone();
            let input = self.transcript().started_input(&call.id).unwrap_or(&call.input).clone();
            self.promise_again(&call.id).await;
            match self.prepare(&call, &input) {
                Ok(ready) => self.set_off(&mut batch, at, ready),
                Err(output) => self.finish(&mut batch, at, *output).await?,
            }
        }
        self.drive(batch).await
    }

    /// Has the call start the agent that it was recorded with, unless something is written of one already.
    async fn promise_again(&self, call: &CallId) {
        let Some(job) = self.transcript().started_job(call) else { return };
        let agent = AgentId::new(job.as_str());
        let key = self.shared.paths.transcript(&agent);
        if self.shared.parts.journal.read(&key, 0).await.is_ok_and(|found| found.is_empty()) {
            self.row.promise(call.clone(), agent);
        }
    }
}
