//! The list of agent types: what is told, and when.

use std::sync::Arc;

use super::*;
use crate::block::Block;
use crate::entry::Entry;
use crate::ids::EntryId;
use crate::policy::Mode;
use crate::state::AgentState;
use crate::time::Time;

fn def(name: &str, when: &str) -> AgentDef {
    AgentDef { name: name.into(), when: when.into(), ..AgentDef::default() }
}

fn catalogue(defs: &[(&str, &str)]) -> Catalogue {
    Catalogue::of(defs.iter().map(|(name, when)| def(name, when)), Vec::new())
}

fn list(defs: &[(&str, &str)]) -> AgentList {
    AgentList::new(&catalogue(defs), &Starts::default(), |_| false)
}

fn transcript() -> Transcript {
    Transcript::new(AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into()))
}

fn push(transcript: &mut Transcript, body: Body) -> EntryId {
    let id = EntryId::new(format!("e{}", transcript.entries().len()));
    let parent = transcript.last_id().cloned();
    transcript.push(Arc::new(Entry { id: id.clone(), parent, at: Time(0), body }));
    id
}

/// Tells what is due, if anything, and gives its text.
fn tell(transcript: &mut Transcript, list: &AgentList) -> Option<String> {
    let (listed, text) = list.due(transcript)?;
    let blocks = Arc::from([Block::text(text.clone())]);
    let from = Origin::AgentList(listed);
    push(transcript, Body::User { blocks, from, cause: None, starts_turn: false });
    Some(text)
}

// proves: D6
#[test]
fn all_types_are_told_once_then_only_differences() {
    let mut transcript = transcript();
    assert_eq!(tell(&mut transcript, &list(&[])), None, "nothing to tell of");
    let first = tell(&mut transcript, &list(&[("a", "does a"), ("b", "does b")])).unwrap_or_default();
    assert!(first.contains("- a: does a (tools: *)\n- b: does b (tools: *)"), "{first}");
    assert_eq!(
        tell(&mut transcript, &list(&[("b", "does b"), ("a", "does a")])),
        None,
        "the order is no change"
    );
    let second = tell(&mut transcript, &list(&[("a", "does more"), ("c", "does c")])).unwrap_or_default();
    assert_eq!(
        second,
        reminder(
            "The agent types for the Agent tool have changed\nNew:\n- c: does c (tools: *)\nChanged:\n\
             - a: does more (tools: *)\nGone from the list: b"
        )
    );
    assert_eq!(tell(&mut transcript, &list(&[("a", "does more"), ("c", "does c")])), None);
    let third = tell(&mut transcript, &list(&[("a", "does more"), ("c", "does c"), ("b", "does b")]));
    assert!(third.is_some_and(|text| text.contains("New:\n- b")), "what was taken back can come again");
    let none = tell(&mut transcript, &list(&[])).unwrap_or_default();
    assert!(none.contains("Gone from the list: a, b, c"), "{none}");
}

// proves: D6
#[test]
fn after_a_summary_all_are_told_again() {
    let mut transcript = transcript();
    let types = list(&[("a", "does a")]);
    let first = tell(&mut transcript, &types);
    let upto = transcript.last_id().cloned().unwrap_or_else(|| EntryId::new(""));
    push(&mut transcript, Body::Summary { upto, text: "s".into() });
    assert_eq!(tell(&mut transcript, &types), first);
    assert_eq!(tell(&mut transcript, &types), None);
}

// proves: D6
#[test]
fn a_line_tells_type_when_and_tools() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let with = |only: Option<&[&str]>, without: &[&str]| {
        let filter = Filter { only: only.map(names), without: names(without), ..Filter::default() };
        line(&AgentDef { tools: filter, ..def("a", "one\n  <example>two</example>") })
    };
    assert_eq!(with(None, &[]), "- a: one <example>two</example> (tools: *)");
    assert!(with(Some(&["Read", "Edit"]), &["Edit"]).ends_with("(tools: Read)"));
    assert!(with(Some(&["*"]), &["Edit", "Write"]).ends_with("(tools: all but Edit, Write)"));
    assert!(with(Some(&[]), &[]).ends_with("(tools: none)"));
}

// proves: D6
#[test]
fn only_what_may_be_started_is_listed() {
    let types = catalogue(&[("general-purpose", "g"), ("a", "a"), ("b", "b")]);
    let by = |agents: &[&str]| {
        let agents = Some(agents.iter().map(ToString::to_string).collect());
        AgentDef { tools: Filter { agents, ..Filter::default() }, ..AgentDef::default() }
    };
    let names = |starts: &Starts, denied: &str| {
        let list = AgentList::new(&types, starts, |name| name == denied);
        list.lines.into_iter().map(|line| line.name).collect::<Vec<_>>()
    };
    let starts = Starts::of(&by(&["General", "b", "x"]));
    assert_eq!(names(&starts, ""), ["general-purpose", "b"]);
    assert_eq!(names(&starts, "b"), ["general-purpose"]);
    assert_eq!(names(&Starts::default(), "a"), ["general-purpose", "b"]);
    // One below it is not shown what it may not start either.
    assert_eq!(names(&starts.below(&AgentDef::default()), ""), ["general-purpose", "b"]);
    assert_eq!(names(&starts.below(&by(&["a", "b"])), ""), ["b"]);
}

// proves: D6
#[test]
fn the_list_has_a_cap() {
    let long = "é".repeat(5_000);
    let defs: Vec<AgentDef> = (0..150).map(|n| def(&format!("a{n}"), &long)).collect();
    let list = AgentList::new(&Catalogue::of(defs, Vec::new()), &Starts::default(), |_| false);
    let text = list.in_tool().unwrap_or_default();
    assert!(text.len() < MOST_ALL + 500 && list.more > 100, "{} and {} more", text.len(), list.more);
    assert!(
        text.contains("[…]")
            && text.ends_with(&format!(
                "[{} more are not listed; naming a type that isn't there lists all]",
                list.more
            ))
    );
    let short: Vec<AgentDef> = (0..150).map(|n| def(&format!("a{n}"), "x")).collect();
    let list = AgentList::new(&Catalogue::of(short, Vec::new()), &Starts::default(), |_| false);
    assert_eq!((list.lines.len(), list.more), (MOST, 50));
}

// proves: D6
#[test]
fn how_many_are_not_listed_stays_true() {
    let mut transcript = transcript();
    let of = |count: usize, first: &str| {
        let defs: Vec<AgentDef> =
            (0..count).map(|n| def(&format!("a{n}"), if n == 0 { first } else { "x" })).collect();
        AgentList::new(&Catalogue::of(defs, Vec::new()), &Starts::default(), |_| false)
    };
    let mut told = |list: AgentList| tell(&mut transcript, &list).unwrap_or_default();
    let line =
        |more: usize| format!("[{more} more are not listed; naming a type that isn't there lists all]");
    assert!(told(of(150, "x")).contains(&line(50)));
    assert_eq!(told(of(150, "x")), "");
    // Beside another change, and also where nothing else has changed.
    let both = told(of(150, "y"));
    assert!(both.contains("Changed:\n- a0: y") && both.contains(&line(50)), "{both}");
    let more = told(of(151, "y"));
    assert!(more.contains(&line(51)) && !more.contains("- a0"), "{more}");
    assert!(told(of(100, "y")).contains("[All types are listed now]"));
    assert_eq!(told(of(100, "y")), "");
}
