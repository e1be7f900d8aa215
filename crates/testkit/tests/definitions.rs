//! Agent definitions in a session: their changes, their limits, and what a host gives.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use troupe_core::block::{Block, text_of};
use troupe_core::builtin;
use troupe_core::def::AgentDef;
use troupe_core::entry::{Body, Origin};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::session::ListedIn;
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{self, close, entries_of, eventually, is_at_rest, notices, until};
use troupe_testkit::recorder::Recorder;
use troupe_testkit::world::{World, turn};

fn world(script: &str) -> World {
    World::new(Arc::new(ScriptModel::parse("test", script).unwrap()))
}

/// What the results of an agent's calls say.
async fn results(session: &Session) -> Vec<String> {
    let entries = session.entries(&AgentId::main(), 0).await.unwrap();
    let result = |body: &Body| match body {
        Body::Result { blocks, .. } => match blocks.first() {
            Some(Block::ToolResult { content, .. }) => Some(text_of(content)),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(|entry| result(&entry.body)).collect()
}

/// The warnings that were told, and the modes of the agents that were opened.
async fn heard(events: &mut Subscription) -> (Vec<String>, Vec<Mode>) {
    let (mut warnings, mut modes) = (Vec::new(), Vec::new());
    while let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        match &event.kind {
            EventKind::Notice(Notice::Warning(text)) => warnings.push(text.clone()),
            EventKind::Opened(header) if !header.agent.is_main() => modes.push(header.mode),
            _ => {}
        }
    }
    (warnings, modes)
}

// proves: A9
#[tokio::test]
async fn a_limit_of_types_holds_two_levels_below_it() {
    let world = world(
        "agent main\nreply\n  call Agent subagent_type=lead description=d prompt=one\nreply \"done\"\n\
         agent lead\nreply\n  call Agent subagent_type=scout description=d prompt=two\nreply\n  expect \"kept back\"\n  text \"led\"\n\
         agent scout\nreply\n  call Agent subagent_type=general-purpose description=d prompt=three\nreply\n\
         expect \"agents of type `general-purpose` can't be started from here; there are: scout\"\n  text \"kept back\"\n",
    );
    world.write(".troupe/agents/lead.md", "---\nname: lead\ndescription: d\ntools: Agent(scout)\n---\nLead.");
    world.write(".troupe/agents/scout.md", "---\nname: scout\ndescription: d\n---\nLook.");
    let session = world.start().await;
    let end = turn(&session, 0, "go").await;
    assert_eq!((end.text.as_str(), &end.error), ("done", &None));
    assert!(results(&session).await[0].contains("led"));
}

// proves: A9
#[tokio::test]
async fn a_type_that_is_disallowed_is_not_started_here_nor_below() {
    let world = world(
        "agent main\nreply\n  call Agent subagent_type=lead description=d prompt=one\nreply \"done\"\n\
         agent lead\nreply\n  call Agent subagent_type=scout description=d prompt=two\nreply\n  expect \"seen: \"\n  text \"led\"\n\
         agent scout\nreply\n  call Agent subagent_type=general description=d prompt=three\nreply\n\
         expect \"agents of type `general` can't be started from here; there are: \"\n  text \"seen: \"\n",
    );
    let lead = "---\nname: lead\ndescription: d\ndisallowedTools: Agent(general-purpose)\n---\nLead.";
    world.write(".troupe/agents/lead.md", lead);
    world.write(".troupe/agents/scout.md", "---\nname: scout\ndescription: d\n---\nLook.");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    let end = turn(&session, 0, "go").await;
    assert_eq!((end.text.as_str(), &end.error), ("done", &None));
    assert!(results(&session).await[0].contains("led"));
    // The lists of both leave it out, and no other.
    let mut listed = 0;
    while let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        let EventKind::Opened(header) = &event.kind else { continue };
        if header.agent.is_main() {
            continue;
        }
        for entry in session.entries(&header.agent, 0).await.unwrap() {
            if let Body::User { blocks, from: Origin::AgentList(_), .. } = &entry.body {
                let text = text_of(blocks);
                assert!(text.contains("- scout") && !text.contains("- general-purpose"), "{text}");
                listed += 1;
            }
        }
    }
    assert_eq!(listed, 2);
}

// proves: D2, D5
#[tokio::test]
async fn an_agent_that_lacks_what_it_needs_is_not_offered_and_not_started() {
    let call = |kind: &str, words: &str| {
        format!(
            "reply\n  call Agent subagent_type={kind} description=d prompt=p\nreply\n  expect \"{words}\"\n"
        )
    };
    let world = world(&format!(
        "agent main\n{}{}  text \"done\"\n",
        call("Far", "no agent of type `far` can be started: `isolation`: it is to work on another machine"),
        call("served", "MCP servers of which none is connected: git*, docs; there are: general-purpose")
            .replace("reply\n  call", "  call"),
    ));
    let write = |name: &str, field: &str| {
        let text = format!("---\nname: {name}\ndescription: d\n{field}\n---\nx");
        world.write(&format!(".troupe/agents/{name}.md"), &text);
    };
    write("far", "isolation: remote");
    write("served", "requiredMcpServers: [git*, docs]");
    write("free", "color: red");
    let session = world.start().await;
    let end = turn(&session, 0, "go").await;
    assert_eq!((end.text.as_str(), &end.error), ("done", &None));
    assert_eq!(session.roster().len(), 1, "none was started");
    let names = session.definitions().names();
    assert!(names.contains(&"free".to_owned()));
    assert!(!["far", "served"].iter().any(|name| names.contains(&(*name).to_owned())), "{names:?}");
    let listed = session.entries(&AgentId::main(), 0).await.unwrap();
    let listed = listed.iter().find_map(|entry| match &entry.body {
        Body::User { blocks, from: Origin::AgentList(_), .. } => Some(text_of(blocks)),
        _ => None,
    });
    assert!(listed.is_some_and(|text| text.contains("- free") && !text.contains("- served")));
}

// proves: D3
#[tokio::test]
async fn what_of_a_definition_has_no_effect_is_told_once_a_session() {
    let call = "reply\n  call Agent subagent_type=odd description=d prompt=";
    let world = world(&format!(
        "agent main\n{call}one\n{call}two\nreply \"done\"\nagent odd /one/\nreply \"1\"\nagent odd /two/\nreply \"2\"\n"
    ));
    world.write(
        ".troupe/agents/odd.md",
        "---\nname: odd\ndescription: d\nskills: [s]\nmemory: user\nmcpServers: [m]\nhooks: {Stop: []}\ntools: Read, Reed\ndisallowedTools: Wrtie\n---\nx",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let (warnings, modes) = heard(&mut events).await;
    assert_eq!(modes.len(), 2);
    assert_eq!(
        warnings,
        [
            "agent type odd: `mcpServers`, `hooks`, `skills` have no effect in this version",
            "agent type odd: it names tools that there are none of: Reed, Wrtie",
        ]
    );
}

// proves: D7, D3
#[tokio::test]
async fn many_faults_at_once_are_told_in_a_few_lines() {
    let world = world("agent main\nreply \"1\"\nreply \"2\"\n");
    let session = world.start().await;
    turn(&session, 0, "go").await;
    for number in 0..40 {
        world.write(
            &format!(".troupe/agents/{number}.md"),
            &format!("---\nname: a{number}\ndescription: d\neffort: huge\n---\nx"),
        );
    }
    let mut events = session.subscribe(false);
    turn(&session, 1, "go").await;
    let (warnings, _) = heard(&mut events).await;
    assert_eq!(warnings.len(), 6, "{warnings:?}");
    assert_eq!(warnings[5], "and 35 more faults of agent definitions; run `troupe agents list`");
}

/// The texts in which an agent was told of the types that it may start.
async fn lists(session: &Session, agent: &AgentId) -> Vec<String> {
    let entries = session.entries(agent, 0).await.unwrap();
    let list = |body: &Body| match body {
        Body::User { blocks, from: Origin::AgentList(_), .. } => Some(text_of(blocks)),
        _ => None,
    };
    entries.iter().filter_map(|entry| list(&entry.body)).collect()
}

// proves: A9, D6
#[tokio::test]
async fn an_agent_is_shown_just_the_types_that_it_may_start() {
    let world = world(
        "agent main\nreply\n  call Agent subagent_type=lead description=d prompt=one\nreply \"done\"\n\
         agent lead\nreply\n  call Agent subagent_type=scout description=d prompt=two\nreply \"led\"\n\
         agent scout\nreply \"kept back\"\n",
    );
    world.write(".troupe/agents/lead.md", "---\nname: lead\ndescription: d\ntools: Agent(scout)\n---\nLead.");
    world.write(".troupe/agents/scout.md", "---\nname: scout\ndescription: d\n---\nLook.");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let opened = opened(&mut events).await;
    let [lead, scout] = opened.as_slice() else { panic!("{opened:?}") };
    let main = lists(&session, &AgentId::main()).await;
    assert!(main[0].contains("- general-purpose: ") && main[0].contains("- lead: "), "{main:?}");
    for agent in [lead, scout] {
        let told = lists(&session, agent).await;
        assert_eq!(told.len(), 1, "{told:?}");
        let types: Vec<&str> = told[0].lines().filter(|line| line.starts_with("- ")).collect();
        assert!(matches!(types[..], [line] if line.starts_with("- scout: ")), "{types:?}");
    }
}

/// The agents below the main one that were opened, in order.
async fn opened(events: &mut Subscription) -> Vec<AgentId> {
    let mut opened = Vec::new();
    while let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        match &event.kind {
            EventKind::Opened(header) if !header.agent.is_main() => opened.push(header.agent.clone()),
            _ => {}
        }
    }
    opened
}

// proves: D7, D3
#[tokio::test]
async fn an_edit_holds_for_the_next_agent_and_a_fault_is_told_once() {
    let call = "reply\n  call Agent subagent_type=scout description=d prompt=";
    let world = world(&format!(
        "agent main\n{call}one\nreply \"1\"\n{call}two\nreply \"2\"\n{call}three\nreply \"3\"\n\
         agent scout /one/\nreply\n  call Bash command=true\nreply\n  expect \"no tool\"\n  text \"a\"\n\
         agent scout /two/\nreply\n  call Bash command=true\nreply \"b\"\n"
    ));
    let write =
        |rest: &str| world.write(".troupe/agents/scout.md", &format!("---\nname: scout\n{rest}\n---\nLook."));
    write("description: d\ntools: Read");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    write("description: d\nmodel: opus\neffort: huge");
    turn(&session, 1, "go").await;
    assert!(session.definitions().find("scout").is_some());
    let (warnings, _) = heard(&mut events).await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("scout.md:5: `effort`: expected low"), "{warnings:?}");
    write("model: opus");
    // A broken file says what it last said until it has stood for a moment.
    let begin = std::time::Instant::now();
    while session.definitions().find("scout").is_some() {
        assert!(begin.elapsed() < Duration::from_secs(10));
        tokio::task::yield_now().await;
    }
    turn(&session, 2, "go").await;
    assert!(heard(&mut events).await.0[0].ends_with("; it is skipped"));
    let results = results(&session).await;
    assert!(results[0].starts_with("a\n") && results[1].starts_with("b\n"), "{results:?}");
    assert!(results[2].contains("there is no agent type `scout`; there are: general-purpose"), "{results:?}");
}

// proves: D1
#[tokio::test]
async fn agents_of_a_host_can_be_started() {
    let world = world(
        "agent main\nreply\n  call Agent subagent_type=given description=d prompt=p\nreply \"done\"\nagent given\nreply \"here\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    let agents = json!({
        "given": {"description": "d", "prompt": "p", "maxTurns": "x"}, "bad": 3,
        "far": {"description": "d", "prompt": "p", "isolation": "remote"},
    });
    assert!(session.give_definitions(agents.as_object().unwrap()));
    assert!(session.definitions().names().contains(&"given".to_owned()));
    turn(&session, 0, "go").await;
    assert!(results(&session).await[0].contains("here"));
    let (warnings, _) = heard(&mut events).await;
    assert!(warnings.iter().any(|text| text.contains("initialize: `given`: `maxTurns`")), "{warnings:?}");
    assert!(warnings.iter().any(|text| text.contains("`bad`")), "{warnings:?}");
    assert!(
        warnings.iter().any(|text| text.starts_with("agent type far can't be started: ")),
        "{warnings:?}"
    );
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}

// proves: D1, D6
#[tokio::test]
async fn agents_of_a_host_are_in_the_first_request() {
    for listed_in in [ListedIn::Message, ListedIn::Tool] {
        let script = "agent main\nreply \"one\"\nreply \"two\"\n";
        let model = Recorder::of(Arc::new(ScriptModel::parse("test", script).unwrap()));
        let mut world = World::new(model.clone());
        world.config.contexts.agent_list = listed_in;
        let session = world.start().await;
        let give = |name: &str| {
            let agents = json!({name: {"description": "of the host", "prompt": "p"}});
            assert!(session.give_definitions(agents.as_object().unwrap()));
        };
        give("given");
        turn(&session, 0, "go").await;
        let line = "- given: of the host (tools: *)";
        let first = &model.requests()[0];
        assert!(format!("{:?}{:?}", first.tools, first.messages).contains(line), "{listed_in:?}: {first:?}");
        give("later");
        turn(&session, 1, "go").await;
        let requests = model.requests();
        assert_eq!(requests[0].tools, requests[1].tools, "what was sent stays ({listed_in:?})");
        session.close(Duration::from_secs(5)).await;
        // A later process sends the same tools again.
        let session = world.resume().await;
        turn(&session, 2, "go").await;
        assert_eq!(model.requests()[2].tools, requests[0].tools, "{listed_in:?}");
        session.close(Duration::from_secs(5)).await;
    }
}

// proves: S1
#[tokio::test]
async fn a_definition_gets_no_mode_that_the_run_has_no_leave_for() {
    let script = "agent main\nreply\n  call Agent subagent_type=bold description=d prompt=p\nreply \"done\"\nagent bold\nreply \"here\"\n";
    for (leave, mode) in [(false, Mode::Default), (true, Mode::BypassPermissions)] {
        let mut world = world(script);
        world.config.leave.mode = Some(Mode::Plan);
        world.config.leave.bypass = leave;
        world.write(
            ".troupe/agents/bold.md",
            "---\nname: bold\ndescription: d\npermissionMode: bypassPermissions\n---\nx",
        );
        // A parent that plans gives no more than asking; without it the definition's own counts.
        for (parent, expected) in [(Mode::Plan, Mode::Default), (Mode::Review, mode)] {
            world.config.leave.mode = Some(parent);
            world.journal = Arc::new(troupe_engine::journal::MemoryJournal::default());
            let session = world.start().await;
            let mut events = session.subscribe(false);
            turn(&session, 0, "go").await;
            assert_eq!(heard(&mut events).await.1, [expected]);
            session.close(Duration::from_secs(5)).await;
        }
    }
}

// proves: D2
#[tokio::test]
async fn an_initial_prompt_stands_before_the_first_one_alone() {
    let mut world = world("agent main\nreply\n  expect \"Begin.\"\n  text \"1\"\nreply \"2\"\nreply \"3\"\n");
    world.defs[0].initial_prompt = Some("Begin.".into());
    let session = world.start().await;
    turn(&session, 0, "one").await;
    turn(&session, 1, "two").await;
    session.close(Duration::from_secs(5)).await;
    let session = world.resume().await;
    turn(&session, 2, "three").await;
    let entries = session.entries(&AgentId::main(), 0).await.unwrap();
    let persons: Vec<Vec<String>> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::User { blocks, cause: Some(_), .. } => {
                Some(blocks.iter().map(|block| text_of(std::slice::from_ref(block))).collect())
            }
            _ => None,
        })
        .collect();
    assert_eq!(persons, [vec!["Begin.", "one"], vec!["two"], vec!["three"]]);
}

// proves: D4, D10
#[tokio::test]
async fn a_session_begun_as_one_that_checks_stays_held_where_another_has_its_name() {
    let script =
        "agent *\nreply \"VERDICT: FAIL\"\nreply\n  call Bash command=\"echo x > made\"\nreply \"over\"\n";
    for (name, holds) in [("verification", true), ("Verification", true), ("scene", false)] {
        let mut world = world(script);
        world.config.leave.mode = Some(Mode::BypassPermissions);
        world.config.leave.bypass = true;
        world.defs[0] = builtin::verification();
        let session = world.start().await;
        turn(&session, 0, "go").await;
        session.close(Duration::from_secs(5)).await;
        world.defs[0] = AgentDef { name: name.into(), ..builtin::main() };
        let session = world.resume().await;
        let end = turn(&session, 1, "go").await;
        session.close(Duration::from_secs(5)).await;
        assert_eq!(!world.workspace().join("made").exists(), holds, "{name}");
        let is_checked = end.remarks.iter().any(|remark| remark.contains("without a verdict"));
        assert_eq!(is_checked, holds, "{name}: {:?}", end.remarks);
    }
}

// proves: A9, B3, X3
#[tokio::test]
async fn who_goes_on_without_its_definition_starts_nobody_and_keeps_its_limits() {
    let (mut world, model) = World::playing(
        "agent main\nreply\n  call Agent subagent_type=narrow description=d prompt=lead run_in_background=true\n\
         reply \"started\"\nreply \"noted\"\nreply \"noted\"\nreply \"noted\"\n\
         agent narrow\nreply\n  call Agent subagent_type=scene description=d prompt=below run_in_background=true\n\
         reply\n  gate lead\n  call Agent subagent_type=Explore description=d prompt=look\n  call Agent subagent_type=fork description=d prompt=split\n\
         reply\n  call Glob pattern=\"1*\"\nreply \"never\"\n\
         agent scene\nreply\n  gate below\n  call Agent subagent_type=Explore description=d prompt=look\n  call Agent subagent_type=fork description=d prompt=split\n\
         reply \"tried\"\n\
         agent Explore\nreply \"explored\"\nagent fork\nreply \"forked\"\n",
    );
    world.config.forks.enabled = true;
    let types =
        "---\nname: narrow\ndescription: d\ntools: Agent(scene, Explore), Glob\nmaxTurns: 3\n---\nDo it.";
    let file = world.write(".troupe/agents/narrow.md", types);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let lead = opened_as(&mut events, "narrow").await;
    let below = opened_as(&mut events, "scene").await;
    model.reached("lead").await;
    model.reached("below").await;
    close(session).await;
    std::fs::remove_file(file).unwrap();
    model.release("lead");
    model.release("below");
    let session = world.resume().await;
    eventually("all have ended", || async {
        session.background_jobs().is_empty() && is_at_rest(&session).await
    })
    .await;
    for (agent, calls) in [(&lead, 4), (&below, 2)] {
        let said = reading::results(&entries_of(&session, agent).await);
        let refused = said.iter().filter(|text| text.contains("can't be started from here"));
        assert_eq!((said.len(), refused.count()), (calls, 2), "{said:?}");
    }
    let told = notices(&reading::entries(&session).await);
    let of_lead = told.iter().find(|(of, _)| of.as_str() == lead.as_str()).unwrap();
    assert!(of_lead.1.contains("maximum number of turns (3)"), "{told:?}");
    close(session).await;
}

/// Waits for the next agent of this type that is opened.
async fn opened_as(events: &mut Subscription, definition: &str) -> AgentId {
    until(events, |_, kind| match kind {
        EventKind::Opened(header) if header.definition == definition => Some(header.agent.clone()),
        _ => None,
    })
    .await
}
