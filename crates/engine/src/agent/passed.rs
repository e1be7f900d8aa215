//! The gatekeeper before a call: what it is asked, what becomes of the call, and what of its silence.

use troupe_core::event::{EventKind, Notice};
use troupe_core::policy::Asker;
use troupe_core::ports::gatekeeper::{Gated, Opinion, Ruling};
use troupe_core::transcript::OpenCall;

use super::gate::{Bench, Ready};
use crate::session::Gate;
use crate::store::By;

/// Most bytes of what a gatekeeper tells the model.
const MOST: usize = 10_000;

/// What a call has behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Passed {
    /// Whether the gatekeeper was asked, if there is one.
    pub(super) asked: bool,
    pub(super) opinion: Opinion,
    pub(super) reason: Option<String>,
    /// Whether another input stands in the place of the model's.
    pub(super) changed: bool,
    /// Who changed the input and allowed it so, if anybody.
    pub(super) approved: Option<By>,
    /// What the model is told beside the result.
    pub(super) context: Option<String>,
}

impl Passed {
    /// Takes over a ruling; gives the input that it wants, and why the call is not to be made, if so.
    pub(super) fn take(&mut self, ruling: Ruling) -> (Option<serde_json::Value>, Option<String>) {
        let Ruling { opinion, reason, input, context } = ruling;
        self.opinion = opinion;
        self.context = context.map(cut).filter(|text| !text.trim().is_empty());
        let why = |word: &str, reason: &Option<String>| {
            let why = reason.clone().map(cut).filter(|why| !why.trim().is_empty());
            why.map_or_else(|| word.to_owned(), |why| format!("{word}: {why}"))
        };
        let refused = match opinion {
            Opinion::Deny => Some(why("A gatekeeper denied this call", &reason)),
            Opinion::Defer => Some(why("A gatekeeper put this call off, so it was not made", &reason)),
            Opinion::None | Opinion::Allow | Opinion::Ask => None,
        };
        self.reason = reason.map(cut);
        (input, refused)
    }
}

impl Bench {
    /// Asks the gatekeeper about a call. Its failure is a denial where it is a gate, and told.
    pub(super) async fn before(&self, gate: &Gate, call: &OpenCall, ready: &Ready) -> Ruling {
        let header = &self.row.header;
        let state = self.row.state();
        let gated = Gated {
            agent: header.agent.clone(),
            asker: Asker { address: header.address.clone(), definition: header.definition.clone() },
            call: call.id.clone(),
            tool: call.tool.clone(),
            input: ready.input.clone(),
            cwd: state.cwd.clone(),
            mode: super::plan::mode(&self.shared, &self.row),
        };
        let fault = match tokio::time::timeout(gate.ceiling, gate.keeper.before(&gated)).await {
            Ok(Ok(ruling)) => return ruling,
            Ok(Err(fault)) => fault.to_string(),
            Err(_) => format!("it took longer than {} s", gate.ceiling.as_secs_f32()),
        };
        let is_gate = gate.keeper.is_gate();
        let outcome = if is_gate { "so the call is not made" } else { "and the call goes on without it" };
        let told = format!("a gatekeeper did not decide on {} ({fault}), {outcome}", gated.tool);
        self.shared.bus.tell(&header.agent, EventKind::Notice(Notice::Warning(told)));
        let refusal = format!("it did not decide ({fault}), and nothing passes without it");
        let opinion = if is_gate { Opinion::Deny } else { Opinion::None };
        Ruling { opinion, reason: is_gate.then_some(refusal), ..Ruling::default() }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" [cut]");
    }
    text
}
