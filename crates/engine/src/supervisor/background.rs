//! Jobs that calls wait for and that may go on without them (A7).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep_until};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::ports::supervisor::Job;

use super::Shared;
use crate::store::outputs;

/// After this a person is shown that the job can go to the background.
const HINT: Duration = Duration::from_secs(2);
/// What is shown then.
const HINTED: &str = "it can go on in the background";

/// What may run in the background, and when it goes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Whether anything may.
    pub allowed: bool,
    /// After so long, what a call waits for goes there by itself; never where absent.
    pub after: Option<Duration>,
    /// How old the outputs of a session that has ended may get.
    pub keep: Duration,
}

impl Background {
    /// After what time a call lets go by itself, when that is on.
    pub const AFTER: Duration = Duration::from_mins(2);
}

impl Default for Background {
    fn default() -> Self {
        Self { allowed: true, after: None, keep: Duration::from_hours(30 * 24) }
    }
}

/// Watches a call that waits for a job: shows that it can let go, and has it let go when it is time.
pub(super) fn watch(shared: &Arc<Shared>, job: &Job) {
    let config = shared.config.background;
    if job.background || !config.allowed {
        return;
    }
    if shared.row(&job.owner).is_some_and(|row| row.inbox.is_urgent()) {
        shared.jobs.ask_to_let_go(|other| other.id == job.id);
        return;
    }
    let (hint, began) = (job.is_agent(), Instant::now());
    if !hint && config.after.is_none() {
        return;
    }
    let (shared, job) = (Arc::clone(shared), job.clone());
    let task = {
        let shared = Arc::clone(&shared);
        async move {
            let waiting = async {
                if hint {
                    sleep_until(began + HINT).await;
                    if let Some(call) = &job.call {
                        shared.bus.tell(&job.owner, EventKind::Progress(call.clone(), HINTED.to_owned()));
                    }
                }
                if let Some(after) = config.after {
                    sleep_until(began + after).await;
                    shared.jobs.ask_to_let_go(|other| other.id == job.id);
                }
            };
            tokio::select! {
                biased;
                () = shared.token.cancelled() => {}
                _ = job.ended() => {}
                () = waiting => {}
            }
        }
    };
    shared.run(task);
}

/// Removes outputs of sessions that ended long ago, beside the work.
pub(crate) fn tidy(shared: &Arc<Shared>) {
    let root = shared.config.place.root.clone();
    let own = shared.paths.session().clone();
    let now = u64::try_from(shared.parts.clock.now().0).unwrap_or_default();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now);
    let Some(before) = now.checked_sub(shared.config.background.keep) else { return };
    shared.run(async move {
        // It fails only with the runtime.
        let _ = tokio::task::spawn_blocking(move || outputs::sweep(&root, &own, before)).await;
    });
}

/// A person has something urgent to say to the agent: whatever it waits for is let go.
pub(crate) fn urge(shared: &Shared, agent: &AgentId) {
    if shared.config.background.allowed {
        shared.jobs.ask_to_let_go(|job| job.owner == *agent);
    }
}
