//! Limits and envelopes: nothing runs away, and what an agent hands over can be checked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use troupe_core::budget::Limits;
use troupe_core::entry::{Entry, Origin};
use troupe_core::event::{EventKind, Notice};
use troupe_engine::journal::{FileJournal, Locking};
use troupe_testkit::reading::{child_opened, close, entries, entries_of, heard, results, told};
use troupe_testkit::world::{World, ended, say, turn};

/// What the harness said to an agent once it was at work.
fn reminded(entries: &[Arc<Entry>]) -> Vec<String> {
    told(&entries[2..], |from| *from == Origin::System)
}

const SECOND: Duration = Duration::from_secs(1);

// proves: X3
#[tokio::test]
async fn agents_that_start_agents_are_stopped_at_the_sessions_limit() {
    let ten = "  call Agent description=d prompt=NAME\n";
    let ten = |name: &str| (0..10).map(|n| ten.replace("NAME", &format!("{name}{n}"))).collect::<String>();
    let (mut world, _) = World::playing(&format!(
        "agent main\nreply\n{}reply \"done\"\nreply\n  call Agent description=d prompt=more\nreply \"end\"\n\
         agent general-purpose\nreply\n{}reply \"did what I could\"\n",
        ten("a"),
        ten("b")
    ));
    world.config.ceilings.agents = 25;
    world.journal = Arc::new(FileJournal::new(world.config.place.root.clone(), Locking::Leased));
    world.config.ceilings.live_agents = 2;
    world.config.ceilings.depth = 2;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    let begun = Instant::now();
    say(&session, 0, "go").await;
    let all = heard(&mut events).await;
    assert!(begun.elapsed() < 5 * SECOND, "{:?}", begun.elapsed());
    let opened = all.iter().filter(|(_, kind)| matches!(kind, EventKind::Opened(_))).count();
    assert_eq!(opened, 1 + 25);
    let full = |kind: &EventKind| matches!(kind, EventKind::Notice(Notice::Warning(text)) if text.contains("25 agents"));
    assert_eq!(all.iter().filter(|(_, kind)| full(kind)).count(), 1, "the person is told once");
    let refused = all.iter().filter(|(_, kind)| match kind {
        EventKind::Appended(entry) => results(&[Arc::clone(entry)])
            .iter()
            .any(|text| text.contains("25 agents") && text.contains("waiting does not help")),
        _ => false,
    });
    assert!(refused.count() > 0, "the model is told");
    assert_eq!(session.roster().len(), 1);
    close(session).await;
    // Those of an earlier process count too.
    let session = world.resume().await;
    assert_eq!(turn(&session, 1, "again").await.text, "end");
    let last = results(&entries(&session).await).pop().unwrap();
    assert!(last.contains("25 agents"), "{last}");
    close(session).await;
}

// proves: X3, F015
#[tokio::test]
async fn ended_agents_take_no_place_among_those_at_work() {
    let one = "reply\n  call Agent description=d prompt=pN\n";
    let calls: String = (0..20).map(|n| one.replace("pN", &format!("p{n}"))).collect();
    let (mut world, _) =
        World::playing(&format!("agent main\n{calls}reply \"all\"\nagent general-purpose\nreply \"ok\"\n"));
    world.config.ceilings.live_agents = 1;
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "all");
    let all = results(&entries(&session).await);
    assert!(all.len() == 20 && all.iter().all(|result| result.contains("ok")), "{all:?}");
    close(session).await;
}

// proves: X2, X3
#[tokio::test]
async fn three_levels_in_a_full_house_are_no_deadlock() {
    let calls = |name: &str, count: usize| {
        let call = |n| format!("  call Agent subagent_type=scene description=d prompt=\"{name}{n}\"\n");
        (0..count).map(call).collect::<String>()
    };
    let script = format!(
        "agent main\nreply\n{}reply \"all\"\nagent scene /one/\nreply\n{}reply \"1\"\n\
         agent scene /two/\nreply\n{}reply \"2\"\nagent scene /three/\nreply\n  call Bash command=true\nreply \"3\"\n",
        calls("one", 8),
        calls("two", 4),
        calls("three", 2)
    );
    let (mut world, _) = World::playing(&script);
    world.config.ceilings.live_agents = 1;
    world.config.ceilings.depth = 3;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let all = tokio::time::timeout(60 * SECOND, heard(&mut events)).await.unwrap();
    let envelope = all.iter().rev().find_map(|(agent, kind)| match kind {
        EventKind::Ended(envelope) if agent.is_main() => Some(Arc::clone(envelope)),
        _ => None,
    });
    let envelope = envelope.unwrap();
    assert_eq!((envelope.text.as_str(), envelope.descendants.len()), ("all", 8 + 32 + 64));
    assert!(
        envelope.descendants.iter().all(|end| end.ends_with(": completed")),
        "{:?}",
        envelope.descendants
    );
    close(session).await;
}

// proves: X3, E4, F205
#[tokio::test]
async fn each_agent_has_its_cap_and_says_what_it_used() {
    let call = "reply\n  call Bash command=true\n".repeat(9);
    let (mut world, _) = World::playing(&format!(
        "agent main\nreply\n  call Agent description=d prompt=p\nreply \"done\"\nagent general-purpose\nreply\n  text \"so far\"\n  call Bash command=pwd\n{call}reply \"never\"\n"
    ));
    // A scripted reply costs 110.
    world.config.guards.each = Limits { tokens: Some(300), ..Limits::default() };
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "done", "its own limit is not its parent's");
    let told = results(&entries(&session).await).remove(0);
    assert!(told.starts_with("Status: stopped: max_tokens."), "{told}");
    assert!(told.contains("number of tokens (300); used 330"), "{told}");
    assert!(told.contains("so far") && told.contains("3 tool uses (Bash 3)"), "{told}");
    close(session).await;
}

// proves: A9
#[tokio::test]
async fn a_list_of_types_binds_at_every_depth() {
    let call = |kind: &str| format!("reply\n  call Agent subagent_type={kind} description=d prompt={kind}\n");
    let (mut world, _) = World::playing(&format!(
        "agent main\n{}{}reply \"x\"\nagent scene\n{}reply \"y\"\n",
        call("general-purpose"),
        call("scene"),
        call("general-purpose")
    ));
    world.defs[0].tools.agents = Some(vec!["Explore".to_owned(), "Scene".to_owned()]);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let all = heard(&mut events).await;
    let refused = all.iter().filter(|(_, kind)| match kind {
        EventKind::Appended(entry) => results(&[Arc::clone(entry)])
            .iter()
            .any(|text| text.contains("can't be started from here; there are: Explore, scene")),
        _ => false,
    });
    let refused: Vec<bool> = refused.map(|(agent, _)| agent.is_main()).collect();
    assert_eq!(refused, [true, false], "the one below is bound too");
    close(session).await;
}

// proves: F005
#[tokio::test]
async fn going_round_in_circles_is_warned_of_once_and_then_ends() {
    let again = "reply\n  call Bash command=true\n".repeat(30);
    let (world, _) = World::playing(&format!(
        "agent main\nreply\n  call Agent description=d prompt=p\nreply \"went on\"\nagent general-purpose\nreply\n  text \"this much\"\n  call Bash command=true\n{again}"
    ));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let child = child_opened(&mut events).await;
    assert_eq!(ended(&mut events).await.text, "went on");
    let result = results(&entries(&session).await).remove(0);
    assert!(result.starts_with("Status: stopped: no_progress.") && result.contains("this much"), "{result}");
    let of_child = entries_of(&session, &child).await;
    assert_eq!(results(&of_child).len(), 10);
    let warned = reminded(&of_child);
    assert!(warned.len() == 1 && warned[0].contains("called Bash 5 times"), "{warned:?}");
    close(session).await;
}

// proves: X4
#[tokio::test]
async fn an_agent_that_ends_without_a_word_is_asked_once_and_then_marked() {
    for (last, marked) in [("reply \"here it is\"\n", false), ("reply \"\"\n", true)] {
        let (world, _) = World::playing(&format!(
            "agent main\nreply\n  call Agent description=d prompt=p\nreply \"went on\"\n\
             agent general-purpose\nreply\n  text \"I begin\"\n  call Bash command=true\nreply \"\"\n{last}"
        ));
        let session = world.start().await;
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        let child = child_opened(&mut events).await;
        ended(&mut events).await;
        let result = results(&entries(&session).await).remove(0);
        assert_eq!(
            result.starts_with("[It ended without a report, also when it was asked"),
            marked,
            "{result}"
        );
        assert_eq!(result.contains("here it is"), !marked, "{result}");
        let asked = reminded(&entries_of(&session, &child).await);
        assert!(asked.len() == 1 && asked[0].contains("Write your report now"), "{asked:?}");
        close(session).await;
    }
}

// proves: X4, F021
#[tokio::test]
async fn an_owner_sees_how_each_descendant_ended() {
    let (mut world, _) = World::playing(
        "agent main\nreply\n  call Agent description=d prompt=p\nreply \"x\"\n\
         agent general-purpose\nreply\n  call Agent subagent_type=Explore description=good prompt=good\n  \
         call Agent subagent_type=Explore description=bad prompt=bad\nreply \"both found it\"\n\
         agent Explore /good/\nreply \"found\"\nagent Explore /bad/\nreply\n  call Bash command=true\nreply \"never\"\n",
    );
    let explore = world.defs.iter_mut().find(|def| def.name == "Explore").unwrap();
    explore.limits.turns = Some(1);
    let session = world.start().await;
    let envelope = turn(&session, 0, "go").await;
    let ends = [
        "main/general-purpose-1/explore-2: failed (max_turns), no result",
        "main/general-purpose-1: completed",
        "main/general-purpose-1/explore-1: completed",
    ];
    assert_eq!(envelope.descendants, ends);
    let result = results(&entries(&session).await).remove(0);
    assert!(result.contains(&format!("; its agents: {}", ends[0])), "{result}");
    close(session).await;
}

// proves: F011
#[tokio::test]
async fn tools_that_do_not_exist_are_named_first_and_none_at_all_starts_nothing() {
    let (mut world, _) = World::playing(
        "agent main\nreply\n  call Agent subagent_type=some description=d prompt=p\n  call Agent subagent_type=none description=d prompt=p\nreply \"x\"\n\
         agent some\nreply \"from what I read\"\n",
    );
    for (name, tools) in [("some", vec!["Read", "mcp__absent__x"]), ("none", vec!["mcp__absent__x"])] {
        let mut def = world.defs[1].clone();
        name.clone_into(&mut def.name);
        def.tools.only = Some(tools.into_iter().map(str::to_owned).collect());
        world.defs.push(def);
    }
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let mut found = results(&entries(&session).await);
    found.sort_by_key(|result| result.starts_with("No agent"));
    let first = found[0].lines().next().unwrap();
    assert!(first.contains("do not exist") && first.contains("mcp__absent__x"), "{first}");
    assert!(found[1].contains("no usable tool") && found[1].contains("mcp__absent__x"), "{found:?}");
    close(session).await;
}
