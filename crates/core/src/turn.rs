//! **Read this first.** What must happen next is a pure, total function of the transcript and of what is
//! left of the limits. A small actor does it and appends the result; resume is "load, and ask again".

use crate::budget::Left;
use crate::compact::{self, Cut};
use crate::entry::{Body, Origin, Stop};
use crate::ids::CallId;
use crate::outcome::EndReason;
use crate::transcript::{OpenCall, Transcript};

/// The next thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask the model.
    Sample,
    /// Run these calls; none of them was started.
    Run(Vec<OpenCall>),
    /// Answer these calls without running them: they were under way when the program died, or the turn was
    /// interrupted.
    Mend(Vec<CallId>),
    /// Shorten the conversation first.
    Compact(Cut),
    /// The agent has one run, and a job of its own still works: wait for it.
    Wait,
    /// The turn is over.
    Yield(EndReason),
    /// The run was closed, and nothing came since.
    Done,
}

/// Says what must happen next.
pub fn next_step(transcript: &Transcript, left: &Left) -> Step {
    let open = transcript.open_calls();
    if !open.is_empty() {
        let lost: Vec<CallId> = if transcript.is_interrupted() {
            open.iter().map(|call| call.id.clone()).collect()
        } else {
            open.iter().filter(|call| call.started).map(|call| call.id.clone()).collect()
        };
        return if lost.is_empty() { Step::Run(open) } else { Step::Mend(lost) };
    }
    match demand(transcript) {
        Demand::Answer => {
            if let Some(limit) = left.reached() {
                Step::Yield(limit)
            } else if let Some(cut) = left.context_full.then(|| compact::plan(transcript)).flatten() {
                Step::Compact(cut)
            } else {
                Step::Sample
            }
        }
        Demand::None if left.jobs_running => Step::Wait,
        Demand::None if is_cut_off(transcript) => Step::Yield(EndReason::OutputLimit),
        Demand::None => Step::Yield(EndReason::Done),
        Demand::Halted => Step::Yield(EndReason::Interrupted),
        Demand::Closed => Step::Done,
    }
}

/// Whether the last reply ended at the output limit, with nothing more to do: what it says is not whole.
fn is_cut_off(transcript: &Transcript) -> bool {
    matches!(
        transcript.last_reply().map(|entry| &entry.body),
        Some(Body::Assistant { stop: Stop::MaxTokens | Stop::ContextFull, .. })
    )
}

enum Demand {
    /// Something waits for the model's answer.
    Answer,
    /// Nothing does.
    None,
    /// Something did, and was interrupted.
    Halted,
    /// The run was closed.
    Closed,
}

fn demand(transcript: &Transcript) -> Demand {
    let mut has_results = false;
    for entry in transcript.since_reply().iter().rev() {
        match &entry.body {
            Body::User { from: Origin::Interrupt, .. } => return Demand::Halted,
            Body::User { starts_turn: true, .. } => return Demand::Answer,
            // Calls that an interrupt ended are answered after its mark, and still ask for nothing.
            Body::Result { .. } => has_results = true,
            Body::Closed(_) => return Demand::Closed,
            // A summary of everything, results included, still leaves them to be answered.
            Body::User { .. }
            | Body::Opened(_)
            | Body::Assistant { .. }
            | Body::Started { .. }
            | Body::Replaced { .. }
            | Body::Summary { .. }
            | Body::Set(_) => {}
        }
    }
    if has_results {
        return Demand::Answer;
    }
    match transcript.last_reply().map(|entry| &entry.body) {
        Some(Body::Assistant { stop: Stop::PauseTurn, .. }) => Demand::Answer,
        _ => Demand::None,
    }
}
