//! The turn as a function: total over any transcript, and never showing the model what the API refuses.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use crate::block::{Block, Blocks};
use crate::budget::Left;
use crate::compact;
use crate::entry::{Body, Entry, Origin, Stop};
use crate::ids::EntryId;
use crate::outcome::EndReason;
use crate::policy::Mode;
use crate::ports::model::{Message, Role};
use crate::state::AgentState;
use crate::time::Time;
use crate::transcript::Transcript;
use crate::turn::{Step, next_step};
use crate::usage::Usage;

pub(crate) fn transcript() -> Transcript {
    Transcript::new(AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into()))
}

pub(crate) fn push(transcript: &mut Transcript, body: Body) -> EntryId {
    let id = EntryId::new(format!("e{}", transcript.entries().len()));
    let parent = transcript.last_id().cloned();
    transcript.push(Arc::new(Entry { id: id.clone(), parent, at: Time(0), body }));
    id
}

fn one(block: Block) -> Blocks {
    Arc::from([block])
}

pub(crate) fn user(from: Origin, starts_turn: bool) -> Body {
    Body::User { blocks: one(Block::text("u")), from, cause: None, starts_turn }
}

pub(crate) fn prompt() -> Body {
    user(Origin::Human, true)
}

pub(crate) fn reply(calls: &[&str], stop: Stop) -> Body {
    let mut blocks = vec![Block::text("a")];
    blocks.extend(calls.iter().map(|id| Block::ToolUse {
        id: (*id).into(),
        name: "T".into(),
        input: json!({}),
    }));
    Body::Assistant {
        message: "m".into(),
        model: "m".into(),
        blocks: blocks.into(),
        stop,
        usage: Usage::default(),
    }
}

fn result(call: &str) -> Body {
    let blocks = one(Block::result(call.into(), "r", false));
    Body::Result { call: call.into(), blocks, data: None, effects: vec![] }
}

fn started(call: &str) -> Body {
    Body::Started { call: call.into(), input: None, job: None }
}

fn step(bodies: Vec<Body>) -> Step {
    step_with(bodies, Left::UNLIMITED)
}

fn step_with(bodies: Vec<Body>, left: Left) -> Step {
    let mut transcript = transcript();
    for body in bodies {
        push(&mut transcript, body);
    }
    next_step(&transcript, &left)
}

// proves: E1
#[test]
fn a_turn_from_prompt_to_yield() {
    assert_eq!(step(vec![]), Step::Yield(EndReason::Done));
    assert_eq!(step(vec![prompt()]), Step::Sample);
    let called = || vec![prompt(), reply(&["a", "b"], Stop::ToolUse)];
    assert!(matches!(step(called()), Step::Run(calls) if calls.len() == 2));
    let answered = || [called(), vec![result("a"), result("b")]].concat();
    assert_eq!(step(answered()), Step::Sample);
    assert_eq!(step([answered(), vec![reply(&[], Stop::EndTurn)]].concat()), Step::Yield(EndReason::Done));
    assert_eq!(step(vec![prompt(), reply(&[], Stop::PauseTurn)]), Step::Sample);
    assert_eq!(step(vec![prompt(), reply(&[], Stop::MaxTokens)]), Step::Yield(EndReason::OutputLimit));
    assert_eq!(step(vec![prompt(), reply(&[], Stop::Cut)]), Step::Sample, "a cut reply is none");
}

// proves: E7
#[test]
fn what_was_under_way_is_mended_and_what_was_not_started_runs() {
    let called = vec![prompt(), reply(&["a", "b"], Stop::ToolUse), started("a")];
    assert_eq!(step(called.clone()), Step::Mend(vec!["a".into()]));
    let mended = [called, vec![result("a")]].concat();
    assert!(matches!(step(mended), Step::Run(calls) if calls[0].id.as_str() == "b" && !calls[0].started));
}

// proves: E7
#[test]
fn an_interrupt_asks_for_nothing_more_until_the_next_prompt() {
    let stopped =
        vec![prompt(), reply(&["a", "b"], Stop::ToolUse), result("a"), user(Origin::Interrupt, false)];
    assert_eq!(step(stopped.clone()), Step::Mend(vec!["b".into()]));
    let answered = [stopped, vec![result("b")]].concat();
    assert_eq!(step(answered.clone()), Step::Yield(EndReason::Interrupted));
    assert_eq!(step([answered, vec![prompt()]].concat()), Step::Sample);
}

// proves: E4
#[test]
fn each_limit_ends_the_turn_by_its_own_name() {
    let left = |change: fn(&mut Left)| {
        let mut left = Left::UNLIMITED;
        change(&mut left);
        step_with(vec![prompt()], left)
    };
    assert_eq!(left(|left| left.turns = Some(0)), Step::Yield(EndReason::MaxTurns));
    assert_eq!(left(|left| left.turns = Some(1)), Step::Sample);
    assert_eq!(left(|left| left.cost_spent = true), Step::Yield(EndReason::MaxCost));
    assert_eq!(left(|left| left.tokens_spent = true), Step::Yield(EndReason::MaxTokens));
    assert_eq!(left(|left| left.time_over = true), Step::Yield(EndReason::MaxTime));
    assert_eq!(left(|left| left.context_full = true), Step::Sample, "there is nothing to shorten");
}

// proves: E8, F210
#[test]
fn a_cut_keeps_the_last_batch_and_a_second_one_finds_nothing() {
    let mut transcript = transcript();
    push(&mut transcript, prompt());
    let first = push(&mut transcript, reply(&[], Stop::EndTurn));
    push(&mut transcript, prompt());
    let before = push(&mut transcript, reply(&["a"], Stop::ToolUse));
    push(&mut transcript, result("a"));
    let cut = compact::plan(&transcript).map(|cut| cut.upto);
    assert!(
        cut.as_ref().is_some_and(|upto| *upto != before && *upto != first),
        "the prompt goes, the batch stays"
    );
    push(&mut transcript, Body::Summary { upto: cut.unwrap_or(first), text: "sum".into() });
    assert_eq!(compact::plan(&transcript), None);
    let texts: Vec<String> = transcript
        .messages()
        .iter()
        .flat_map(Message::blocks)
        .filter_map(|block| block.as_text().map(str::to_owned))
        .collect();
    assert_eq!(texts, ["sum", "a"]);
}

/// Any entry, legal or not.
pub(crate) fn any_body() -> impl Strategy<Value = Body> {
    let id = prop::sample::select(vec!["a", "b", "c", "d"]);
    let stop =
        prop::sample::select(vec![Stop::EndTurn, Stop::ToolUse, Stop::MaxTokens, Stop::PauseTurn, Stop::Cut]);
    prop_oneof![
        any::<bool>().prop_map(|starts| user(Origin::Human, starts)),
        Just(user(Origin::Interrupt, false)),
        (prop::collection::vec(id.clone(), 0..3), stop).prop_map(|(calls, stop)| reply(&calls, stop)),
        id.clone().prop_map(result),
        id.prop_map(started),
        (0_usize..20).prop_map(|n| Body::Summary { upto: EntryId::new(format!("e{n}")), text: "s".into() }),
    ]
}

pub(crate) fn valid(messages: &[Message]) -> Result<(), String> {
    if messages.first().is_some_and(|message| message.role != Role::User) {
        return Err("does not begin with the user".into());
    }
    let mut open: HashSet<String> = HashSet::new();
    for (n, message) in messages.iter().enumerate() {
        if n > 0 && messages[n - 1].role == message.role {
            return Err("roles do not alternate".into());
        }
        let mut others = false;
        for block in message.blocks() {
            match block {
                Block::ToolResult { id, .. } if others || !open.remove(id.as_str()) => {
                    return Err(format!("result of {id} out of place"));
                }
                Block::ToolResult { .. } => {}
                Block::ToolUse { id, .. } => {
                    open.insert(id.to_string());
                }
                _ => others = message.role == Role::User,
            }
        }
        if message.role == Role::User && !open.is_empty() {
            return Err(format!("{open:?} not answered"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} not answered at the end")) }
}

proptest! {
    // proves: E7
    #[test]
    fn any_entries_make_a_valid_conversation_and_a_next_step(bodies in prop::collection::vec(any_body(), 0..25)) {
        let mut transcript = transcript();
        for body in bodies {
            push(&mut transcript, body);
            let _ = next_step(&transcript, &Left::UNLIMITED);
            let checked = valid(&transcript.messages());
            prop_assert!(checked.is_ok(), "{checked:?}: {:?}", transcript.messages());
        }
    }

    // proves: E1
    #[test]
    fn doing_what_is_next_comes_to_an_end(bodies in prop::collection::vec(any_body(), 0..25)) {
        let mut transcript = transcript();
        for body in bodies {
            push(&mut transcript, body);
        }
        for _ in 0..200 {
            match next_step(&transcript, &Left::UNLIMITED) {
                Step::Sample => { push(&mut transcript, reply(&[], Stop::EndTurn)); }
                Step::Run(calls) => for call in calls { push(&mut transcript, result(call.id.as_str())); },
                Step::Mend(calls) => for call in calls { push(&mut transcript, result(call.as_str())); },
                Step::Compact(_) | Step::Wait | Step::Yield(_) | Step::Done => return Ok(()),
            }
        }
        prop_assert!(false, "no end: {:?}", transcript.entries());
    }
}

// proves: E4
#[test]
fn what_comes_in_mid_turn_does_not_give_new_turns() {
    let mut transcript = transcript();
    push(&mut transcript, prompt());
    push(&mut transcript, reply(&["a"], Stop::ToolUse));
    push(&mut transcript, result("a"));
    push(&mut transcript, user(Origin::Job("b".into()), true));
    push(&mut transcript, reply(&[], Stop::EndTurn));
    assert_eq!(transcript.turn_replies(), 2);
    push(&mut transcript, user(Origin::Interrupt, false));
    push(&mut transcript, prompt());
    assert_eq!(transcript.turn_replies(), 0);
}

// proves: E8
#[test]
fn a_prompt_that_waits_is_never_summarised() {
    let mut transcript = transcript();
    push(&mut transcript, prompt());
    push(&mut transcript, reply(&["a"], Stop::ToolUse));
    let large = one(Block::result("a".into(), "x".repeat(compact::KEPT_BYTES + 1), false));
    let last =
        push(&mut transcript, Body::Result { call: "a".into(), blocks: large, data: None, effects: vec![] });
    push(&mut transcript, prompt());
    assert_eq!(compact::plan(&transcript).map(|cut| cut.upto), Some(last));
}
