//! Tests of the catalogue's changes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use troupe_core::def::AgentDef;

use super::agents_tests::World;
use super::*;

const FILE: &str = "repo/sub/deep/.troupe/agents/a.md";

fn files(world: &World) -> AgentFiles {
    let builtin = vec![AgentDef { name: "a".into(), when: "built in".into(), ..AgentDef::default() }];
    AgentFiles::new(world.from.clone(), builtin, Given::default()).with_pause(Duration::ZERO)
}

// proves: D7
#[test]
fn edits_new_files_and_removals_are_seen_at_the_next_look() {
    let world = World::new();
    let files = files(&world);
    let when = || files.catalogue().find("a").unwrap().when.clone();
    assert_eq!(when(), "built in");
    // Each change comes within one tick of the one before, and has the size of it.
    for number in 10..30 {
        world.write(FILE, &format!("---\nname: a\ndescription: d{number}\n---\nx"));
        assert_eq!(when(), format!("d{number}"));
    }
    let same = files.catalogue();
    assert!(Arc::ptr_eq(&same, &files.catalogue()));
    // A file that is written anew and says the same changes nothing.
    world.write(FILE, "---\nname: a\ndescription: d29\n---\nx");
    assert!(Arc::ptr_eq(&same, &files.catalogue()));
    // One that is broken may be half-written: it says what it last said until it has stood for a moment.
    world.write(FILE, "---\nname: a\n---\n");
    let begin = std::time::Instant::now();
    let first = when();
    assert!(first == "d29" || begin.elapsed() > Duration::from_millis(40), "{first}");
    while files.catalogue().faults.is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
    assert_eq!((when().as_str(), files.catalogue().faults.len()), ("built in", 1));
    fs::remove_file(world.base.join(FILE)).unwrap();
    assert_eq!(files.catalogue().faults, []);
}

// proves: D7
#[test]
fn folders_are_looked_through_five_times_a_second_at_most() {
    let world = World::new();
    let files = AgentFiles::new(world.from.clone(), Vec::new(), Given::default());
    let begin = std::time::Instant::now();
    world.write(FILE, "---\nname: a\ndescription: d\n---\nx");
    let seen = !files.catalogue().offered.is_empty();
    // On a machine that stood still meanwhile, it may look.
    assert!(!seen || begin.elapsed() >= Duration::from_millis(150));
}

// proves: D1
#[test]
fn what_a_host_gives_is_there_at_once_and_stays() {
    let world = World::new();
    let files = files(&world);
    let agents = json!({"a": {"description": "of the host", "prompt": "x"}, "b": {"prompt": "x"}});
    files.give(agents.as_object().unwrap());
    let faults = files.faults();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().starts_with("initialize: `b`: "), "{faults:?}");
    world.write(FILE, "---\nname: a\ndescription: of the project\n---\nx");
    let catalogue = files.catalogue();
    assert_eq!(catalogue.find("a").unwrap().when, "of the host");
    assert_eq!(catalogue.shadowed.len(), 2);
    assert_eq!(files.faults(), faults);
}
