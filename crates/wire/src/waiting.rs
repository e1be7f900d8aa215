//! What an agent waits for, in words for people and hosts (X2, X10).

use troupe_core::event::Notice;
use troupe_core::ids::AgentId;
use troupe_core::ports::model::Fault;
use troupe_core::time::Time;

use crate::due::Due;
use crate::frames;
use crate::tasks::Tasks;

/// The frame that tells of it, with the agent's task where it has one.
pub(crate) fn frame(session: &str, tasks: &Tasks, agent: &AgentId, notice: &Notice, at: Time) -> Option<Due> {
    let on = in_words(notice)?;
    // A retry has a frame of its own.
    let of_main = || !matches!(notice, Notice::Retry(_));
    tasks.does(agent, &on, at).or_else(|| of_main().then(|| Due::Frame(frames::informational(session, &on))))
}

/// The words; none for a notice of something else.
pub(crate) fn in_words(notice: &Notice) -> Option<String> {
    let overloaded = |delay: &std::time::Duration| {
        format!("waiting: overloaded, next try in {} s", delay.as_secs_f32().ceil())
    };
    match notice {
        Notice::Retry(retry) if matches!(retry.error.fault, Fault::Overloaded | Fault::RateLimit) => {
            Some(overloaded(&retry.delay))
        }
        Notice::Held { delay } => Some(overloaded(delay)),
        Notice::Stalled { on, silent } => {
            Some(format!("stalled: nothing for {} s; waits for {on}", silent.as_secs_f32().ceil()))
        }
        Notice::Retry(_)
        | Notice::Denied { .. }
        | Notice::Compacted { .. }
        | Notice::Activity(_)
        | Notice::CacheBroken(_)
        | Notice::Warning(_) => None,
    }
}
