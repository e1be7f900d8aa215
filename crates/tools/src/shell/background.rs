//! Commands and the calls that wait for them: how a wait ends, and how a command goes on in the background.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use troupe_core::ports::supervisor::{Job, Waiter};
use troupe_core::ports::tool::{ToolCx, ToolOutput};
use troupe_core::state::{Effect, Ran};

use super::run::{Finished, Link};
use super::spool::SpoolError;
use super::tool::{data, millis, not_started};

/// How long a job gets to start, or to move to the background: a write to disk.
pub(super) const HANDOVER_LIMIT: Duration = Duration::from_secs(30);

/// The call's end of what connects it with the job's runner.
pub(super) struct CallLink {
    pub(super) started: oneshot::Receiver<Result<(), String>>,
    pub(super) to_background: oneshot::Sender<oneshot::Sender<Result<(), SpoolError>>>,
    pub(super) finished: oneshot::Receiver<Finished>,
}

/// Why a foreground call stopped waiting.
pub(super) enum Wait {
    Ended,
    Cancelled,
    TimedOut,
    /// It is to go on without the call.
    LetGo,
}

/// Waits for a foreground command, or until the call waits no longer.
pub(super) async fn wait(waiter: &Waiter, cx: &ToolCx, until: Instant, may_let_go: bool) -> Wait {
    tokio::select! {
        biased;
        _ = waiter.ended() => Wait::Ended,
        () = cx.cancel.cancelled() => Wait::Cancelled,
        () = waiter.asked_to_let_go(), if may_let_go => Wait::LetGo,
        () = sleep_until(until) => Wait::TimedOut,
    }
}

pub(super) fn links() -> (Link, CallLink) {
    let (started_tx, started) = oneshot::channel();
    let (to_background, asked) = oneshot::channel();
    let (finished_tx, finished) = oneshot::channel();
    let link = Link { started: started_tx, to_background: asked, finished: finished_tx };
    (link, CallLink { started, to_background, finished })
}

/// Answers a call whose command runs in the background from the start.
pub(super) async fn in_background(waiter: Waiter, link: CallLink) -> ToolOutput {
    let why_not = match timeout(HANDOVER_LIMIT, link.started).await {
        Ok(Ok(Ok(()))) => {
            let job = waiter.detach();
            let text = format!(
                "Runs in the background as task {}. Output goes to {}; you are told when it ends.",
                job.id,
                job.output.display()
            );
            let ran = Ran { job: job.id.clone(), code: None };
            return ToolOutput::text(text)
                .with_data(background_data(&job, None))
                .with_effect(Effect::Ran(ran));
        }
        Ok(Ok(Err(error))) => error,
        Ok(Err(_)) => "its runner ended".to_owned(),
        Err(_) => "it took too long".to_owned(),
    };
    not_started(&why_not)
}

/// Lets a command that took too long go on in the background; gives the hold back if it can't.
pub(super) async fn to_background(
    waiter: Waiter,
    link: CallLink,
    why: Why,
) -> Result<ToolOutput, (Waiter, oneshot::Receiver<Finished>)> {
    let (answer, answered) = oneshot::channel();
    let moved = link.to_background.send(answer).is_ok()
        && matches!(timeout(HANDOVER_LIMIT, answered).await, Ok(Ok(Ok(()))));
    if !moved {
        return Err((waiter, link.finished));
    }
    let job = waiter.detach();
    let head = match why {
        Why::TimedOut(limit) => format!("Still running after {} ms: it goes", limit.as_millis()),
        Why::Asked => "You are wanted elsewhere, so it goes".to_owned(),
    };
    let text = format!(
        "{head} on in the background as task {}. Output goes to {}; you are told when it ends.",
        job.id,
        job.output.display()
    );
    let ran = Ran { job: job.id.clone(), code: None };
    Ok(ToolOutput::text(text).with_data(background_data(&job, Some(why))).with_effect(Effect::Ran(ran)))
}

/// Why a command goes to the background.
#[derive(Clone, Copy)]
pub(super) enum Why {
    /// It took this long.
    TimedOut(Duration),
    /// The call was asked to let go.
    Asked,
}

fn background_data(job: &Job, why: Option<Why>) -> Value {
    let mut data = data("", false);
    data.insert("backgroundTaskId".into(), job.id.as_str().into());
    data.insert("rawOutputPath".into(), job.output.to_string_lossy().into());
    match why {
        Some(Why::TimedOut(limit)) => data.insert("timedOutAfterMs".into(), millis(limit)),
        Some(Why::Asked) => data.insert("backgroundedByUser".into(), true.into()),
        None => None,
    };
    Value::Object(data)
}
