//! The end of an agent's run as its owner is to trust it: asked for a report where there is none or where a limit is
//! near, warned and ended where it goes round in circles, and with what it can be checked by (X4, F005, F205).

use std::sync::Arc;

use troupe_core::block::{Block, text_of};
use troupe_core::budget::Left;
use troupe_core::entry::{Body, Origin, Stop};
use troupe_core::ids::InputId;
use troupe_core::outcome::{EndReason, Evidence};
use troupe_core::prompt::{REPORT, WRAP_UP, reminder};
use troupe_core::repeats::Due;
use troupe_core::transcript::Transcript;

use super::actor::{Actor, Halt};
use crate::supervisor::account::{Over, Spent};

impl Actor {
    /// Whether the agent is about to end without a word, and may still be asked for one.
    pub(super) fn owes_report(&self, left: &Left) -> bool {
        let spent = left.time_over || left.cost_spent || left.tokens_spent || left.turns == Some(0);
        !self.row.header.resident
            && !spent
            && is_wordless(self.transcript())
            && !self.transcript().has_read(&self.report_cause())
    }

    /// Asks for the report, once a run.
    pub(super) async fn ask_for_report(&mut self) -> Result<(), Halt> {
        let blocks = Arc::from([Block::text(reminder(REPORT))]);
        let cause = Some(self.report_cause());
        self.record(Body::User { blocks, from: Origin::System, cause, starts_turn: true }).await?;
        Ok(())
    }

    /// The limit that leaves room for one more request and no other. An agent that a person can speak to has none, nor
    /// has one that has said nothing yet in this run.
    pub(super) fn near_limit(&self) -> Option<(EndReason, Option<Over>)> {
        let transcript = self.transcript();
        if self.row.header.resident || transcript.turn_replies() == 0 {
            return None;
        }
        let usage = transcript.last_usage();
        let cost_usd = self.known_info().price.map_or(0.0, |price| price.of(&usage));
        let last = Spent { tokens: usage.total(), cost_usd };
        if let Some((reason, over)) = self.row.account.near(last) {
            return Some((reason, Some(over)));
        }
        (self.left().turns == Some(1)).then_some((EndReason::MaxTurns, None))
    }

    /// Asks for a closing report where the request that comes is the last that a limit allows, once a run (F205).
    pub(super) async fn ask_to_wrap_up(&mut self) -> Result<(), Halt> {
        if self.wraps_up().is_some() {
            return Ok(());
        }
        let Some((reason, _)) = self.near_limit() else { return Ok(()) };
        let limit = match reason {
            EndReason::MaxCost => "money",
            EndReason::MaxTurns => "turns",
            _ => "tokens",
        };
        let blocks = Arc::from([Block::text(reminder(&WRAP_UP.replace("{limit}", limit)))]);
        let cause = Some(self.wrap_up_cause(&reason));
        self.record(Body::User { blocks, from: Origin::System, cause, starts_turn: false }).await?;
        Ok(())
    }

    /// The reason of an end. Where it was asked for a closing report, the limit ended it, and not its work; in its last
    /// turn an agent ends within its limit, and [`Self::wrap_up_remark`] says that it was asked.
    pub(super) fn end_at_limit(&self, reason: EndReason) -> EndReason {
        let limit =
            self.wraps_up().filter(|limit| reason == EndReason::Done && *limit != EndReason::MaxTurns);
        limit.unwrap_or(reason)
    }

    /// What its owner is to know of an end by itself in the last turn.
    pub(super) fn wrap_up_remark(&self, reason: &EndReason) -> Option<String> {
        let asked = *reason == EndReason::Done && self.wraps_up() == Some(EndReason::MaxTurns);
        asked.then(|| {
            "it was in its last turn and was asked for a closing report: not all may be done".to_owned()
        })
    }

    /// What its owner is to know of messages that waited when an agent of one run ended, or that no reply came to.
    pub(super) fn unanswered_remark(&self) -> Option<String> {
        if self.row.header.resident {
            return None;
        }
        let is_message = |from: &Origin| matches!(from, Origin::Human | Origin::Agent(_));
        let waiting = self.drain.inbox.list().iter().filter(|prompt| is_message(&prompt.from)).count();
        let read = self.transcript().since_reply().iter().filter(|entry| match &entry.body {
            // What it was started with has no cause.
            Body::User { from, cause: Some(_), .. } => is_message(from),
            _ => false,
        });
        match waiting + read.count() {
            0 => None,
            1 => Some("a message to it was not answered before it ended".to_owned()),
            count => Some(format!("{count} messages to it were not answered before it ended")),
        }
    }

    /// The limit for which a closing report was asked for in this run.
    fn wraps_up(&self) -> Option<EndReason> {
        let limits = [EndReason::MaxTokens, EndReason::MaxCost, EndReason::MaxTurns];
        limits.into_iter().find(|reason| self.transcript().has_read(&self.wrap_up_cause(reason)))
    }

    fn wrap_up_cause(&self, reason: &EndReason) -> InputId {
        InputId::new(format!("wrap-up-{}-{}", reason.word(), self.transcript().ends()))
    }

    fn report_cause(&self) -> InputId {
        InputId::new(format!("report-{}", self.transcript().ends()))
    }

    /// Warns an agent that does the same again and again.
    pub(super) async fn look_for_progress(&mut self) -> Result<(), Halt> {
        let most = self.shared.config.guards.same_calls;
        if most == 0 {
            return Ok(());
        }
        let pool = &self.pool;
        self.repeats.read(self.writer.transcript(), |name, input| {
            pool.iter().any(|tool| *tool.spec().name == *name && tool.waits(input))
        });
        if let Due::Warn(text, cause) = self.repeats.due(most) {
            let blocks = Arc::from([Block::text(text)]);
            let body = Body::User { blocks, from: Origin::System, cause: Some(cause), starts_turn: false };
            self.record(body).await?;
        }
        Ok(())
    }

    /// What the run can be checked by.
    pub(super) fn evidence(&self, reason: &EndReason) -> Evidence {
        let transcript = self.transcript();
        let mut evidence = Evidence {
            wordless: *reason == EndReason::Done && is_wordless(transcript),
            missing_tools: self.missing_tools(),
            ..Evidence::default()
        };
        if *reason != EndReason::Done {
            evidence.begun = begun(transcript);
        }
        let run =
            transcript.entries().iter().rev().take_while(|entry| !matches!(entry.body, Body::Closed(_)));
        for entry in run {
            let Body::Assistant { blocks, stop, .. } = &entry.body else { continue };
            for block in blocks.iter().filter(|_| *stop != Stop::Cut) {
                if let Block::ToolUse { name, .. } = block {
                    *evidence.tools.entry(name.clone()).or_default() += 1;
                }
            }
        }
        evidence
    }

    /// Tools that the definition names and that do not exist (F011). A pattern counts when nothing fits it.
    fn missing_tools(&self) -> Vec<String> {
        let Some(only) = &self.def.tools.only else { return Vec::new() };
        let exists = |wanted: &&String| {
            let server = format!("{wanted}__");
            self.shared.parts.tools.iter().any(|tool| {
                let name = &*tool.spec().name;
                match wanted.strip_suffix('*') {
                    Some(start) => name.starts_with(start),
                    None => *name == ***wanted || (wanted.starts_with("mcp__") && name.starts_with(&server)),
                }
            })
        };
        only.iter().filter(|wanted| *wanted != "*" && !exists(wanted)).cloned().collect()
    }
}

/// Whether the last reply says nothing.
fn is_wordless(transcript: &Transcript) -> bool {
    match transcript.last_reply().map(|entry| &entry.body) {
        Some(Body::Assistant { blocks, .. }) => text_of(blocks).trim().is_empty(),
        _ => false,
    }
}

/// What the model had begun to say when its stream broke for the last time.
fn begun(transcript: &Transcript) -> String {
    let cut = transcript.since_reply().iter().rev().find_map(|entry| match &entry.body {
        Body::Assistant { blocks, stop: Stop::Cut, .. } => Some(text_of(blocks)),
        _ => None,
    });
    cut.unwrap_or_default()
}
