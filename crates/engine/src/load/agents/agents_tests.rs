//! Tests of what a file or flag comes to, and of which stands before which.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use troupe_core::catalogue::{Catalogue, DefFault};
use troupe_core::color::Color;
use troupe_core::def::{AgentDef, Effort, Filter, Isolation, MemoryScope, ModelChoice, Source};
use troupe_core::policy::Mode;

use super::*;
use crate::load::env::Env;
use crate::load::places::Places;
use crate::load::settings::Sources;
use crate::load::trust::Trust;

/// A fault: its line, whether the definition is used, and what is wrong.
type Told = (Option<usize>, bool, String);

/// A home, an organisation's folder, and a checkout with a folder to work in below its root.
pub(super) struct World {
    _folder: tempfile::TempDir,
    pub(super) base: PathBuf,
    pub(super) from: AgentSources,
}

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        write(&base.join("repo/.git/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(base.join("repo/sub/deep")).unwrap();
        let env = Env { vars: [].into(), cwd: base.join("repo/sub/deep"), home: Some(base.join("home")) };
        let places = Places { managed: vec![base.join("managed")], ..Places::of(&env) };
        let from = AgentSources {
            places,
            sources: Sources::ALL,
            trust: Trust::UNTRUSTED,
            mode: Mode::Default,
            plugins: Vec::new(),
            added: Vec::new(),
            bare: false,
        };
        Self { _folder: folder, base, from }
    }

    /// Writes an agent's file, which says where it is.
    fn agent(&self, path: &str, name: &str) {
        self.write(path, &format!("---\nname: {name}\ndescription: {path}\n---\nDo it.\n"));
    }

    pub(super) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.base.join(path);
        write(&path, text);
        path
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        AgentFiles::new(self.from.clone(), Vec::new(), Given::default()).catalogue()
    }

    /// The definition that one file comes to, and its faults: the line, whether it is used, and what is wrong.
    fn read(&self, front: &str) -> (Option<AgentDef>, Vec<Told>) {
        let path =
            self.write("repo/sub/deep/.troupe/agents/one.md", &format!("---\n{front}\n---\nPrompt.\n"));
        let catalogue = self.catalogue();
        let brief = |fault: &DefFault| {
            assert_eq!(fault.file, path);
            (fault.line, fault.used, fault.what.clone())
        };
        let def = catalogue.offered.iter().chain(&catalogue.unavailable).next();
        (def.map(|def| (**def).clone()), catalogue.faults.iter().map(brief).collect())
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const ALL: &str = "name: all
description: >-
  Use when: all is wanted,\\nand more
tools: Task(a, b c), FileRead, Bash(git *), mcp__docs
disallowedTools: [FileEdit, FileWrite, SyntheticOutput, WebFetch]
allowedTools:
  - Bash(ls *)
model: opus
effort: 75
permissionMode: acceptEdits
maxTurns: \"7\"
background: yes
initialPrompt: Begin.
memory: project
isolation: worktree
skills: [one, two]
mcpServers:
  - github
  - docs: {command: npx, args: [-y, docs]}
requiredMcpServers: \"git*, docs\"
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./check}]
color: Purple
omitClaudeMd: true
criticalSystemReminder: Never write.";

fn all() -> AgentDef {
    AgentDef {
        name: "all".into(),
        when: "Use when: all is wanted,\nand more".into(),
        prompt: "Prompt.".into(),
        tools: Filter {
            only: Some(texts(&["Agent", "Read", "Bash", "mcp__docs"])),
            without: texts(&["Edit", "Write", "StructuredOutput", "WebFetch"]),
            agents: Some(texts(&["a", "b c"])),
            without_agents: Vec::new(),
        },
        model: ModelChoice::Named("opus".into()),
        effort: Some(Effort::Xhigh),
        mode: Some(Mode::AcceptEdits),
        mode_is_held: false,
        allowed: Some(texts(&["Bash(ls *)"])),
        omit_instructions: true,
        limits: troupe_core::budget::Limits { turns: Some(7), ..Default::default() },
        background: true,
        initial_prompt: Some("Begin.".into()),
        reminder: Some("Never write.".into()),
        memory: Some(MemoryScope::Project),
        isolation: Some(Isolation::Worktree),
        skills: texts(&["one", "two"]),
        mcp_servers: vec![json!("github"), json!({"docs": {"command": "npx", "args": ["-y", "docs"]}})],
        required_mcp_servers: texts(&["git*", "docs"]),
        hooks: Some(
            json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check"}]}]}),
        ),
        color: Some(Color::Purple),
        writes: troupe_core::def::Writes::default(),
        verdict: false,
        for_lead: false,
        source: Source::Flag,
    }
}

// proves: D2, D11
#[test]
fn every_field_of_a_file_is_read() {
    let world = World::new();
    let trusted = World { from: AgentSources { trust: Trust::Trusted, ..world.from.clone() }, ..world };
    let (def, faults) = trusted.read(ALL);
    let source = Source::Project(trusted.base.join("repo/sub/deep/.troupe/agents/one.md"));
    assert_eq!(def, Some(AgentDef { source, ..all() }));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].0 == Some(5) && faults[0].1 && faults[0].2.contains("all of Bash"), "{faults:?}");
}

// proves: D2
#[test]
fn a_flag_has_the_same_fields() {
    let def = json!({"all": {
        "description": "Use when: all is wanted,\nand more", "prompt": "Prompt.",
        "tools": ["Agent(a, b c)", "Read", "Bash", "mcp__docs"],
        "disallowedTools": "Edit,Write,StructuredOutput,WebFetch", "allowedTools": ["Bash(ls *)"],
        "model": "opus", "effort": "xhigh", "permissionMode": "acceptEdits", "maxTurns": 7, "background": true,
        "initialPrompt": "Begin.", "memory": "project", "isolation": "worktree", "skills": ["one", "two"],
        "mcpServers": ["github", {"docs": {"command": "npx", "args": ["-y", "docs"]}}],
        "requiredMcpServers": ["git*", "docs"],
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check"}]}]},
        "color": "purple", "omitInstructions": true, "criticalReminder": "Never write.",
    }});
    assert_eq!(given(&def.to_string(), "--agents"), Ok(Given { defs: vec![all()], faults: Vec::new() }));
}

// proves: D3
#[test]
fn a_faulty_agent_of_a_flag_is_named_with_its_field() {
    let text = json!({
        "a:b": {"description": "x", "prompt": "x"},
        "Fork": {"description": "x", "prompt": "x"},
        "none": "x",
        "bare": {"description": "x"},
        "mute": {"prompt": "x", "description": 3, "model": "a b"},
        "half": {"description": "x", "prompt": "x", "effort": "huge", "colour": "red", "maxTurns": 0},
    });
    let given = given(&text.to_string(), "--agents").unwrap();
    let names: Vec<&str> = given.defs.iter().map(|def| def.name.as_str()).collect();
    assert_eq!(names, ["mute", "half"]);
    let told: Vec<(String, bool)> =
        given.faults.iter().map(|fault| (fault.to_string(), fault.used)).collect();
    for (words, used) in [
        ("--agents: `a:b`: a name can't have", false),
        ("--agents: `Fork`: `main`, `coordinator` and `fork` are troupe's own", false),
        ("--agents: `none`: expected an object", false),
        ("--agents: `bare`: it has no prompt", false),
        ("--agents: `mute`: `model`: expected the name", true),
        ("--agents: `half`: `effort`: expected low, medium", true),
        ("--agents: `half`: there is no field `colour`", true),
        ("--agents: `half`: `maxTurns`: expected a whole number from 1 up, found `0`", true),
    ] {
        assert!(told.iter().any(|(text, is)| text.contains(words) && *is == used), "{words}: {told:#?}");
    }
    assert_eq!(told.len(), 8, "{told:#?}");
    for bad in ["{", "[]", "\"x\"", ""] {
        assert!(super::given(bad, "--agents").is_err(), "{bad}");
    }
}

// proves: D3
#[test]
fn a_file_that_can_not_be_used_is_skipped_with_the_reason() {
    let world = World::new();
    for (front, line, words) in [
        ("description: x", None, "a name is missing"),
        ("name:\ndescription: x", None, "a name is missing"),
        ("name: x", None, "a description is missing"),
        ("name: x\ndescription: \"\"", Some(3), "`description`: expected a text"),
        ("name: a:b\ndescription: x", Some(2), "can't have"),
        ("name: -x\ndescription: x", Some(2), "can't begin"),
        ("name: ../x\ndescription: x", Some(2), "can't begin"),
        ("name: [x]\ndescription: x", Some(2), "`name`: expected a text, found a list"),
        ("name: Main\ndescription: x", Some(2), "troupe's own"),
        ("name: coordinator\ndescription: x", Some(2), "troupe's own"),
        ("name: FORK\ndescription: x", Some(2), "troupe's own"),
        ("# nothing", None, "a name is missing"),
    ] {
        let (def, faults) = world.read(front);
        assert_eq!(def, None, "{front}");
        let told = faults.iter().any(|(at, used, what)| *at == line && !used && what.contains(words));
        assert!(told, "{front}: {faults:?}");
    }
    let path = world.write("repo/sub/deep/.troupe/agents/one.md", "no front matter");
    assert!(world.catalogue().faults[0].what.contains("no front matter"));
    fs::write(&path, vec![b'a'; (1 << 20) + 1]).unwrap();
    assert!(world.catalogue().faults[0].what.contains("larger than 1024 KiB"));
    fs::write(&path, b"---\nname: \xff\n").unwrap();
    assert!(world.catalogue().faults[0].what.contains("UTF-8"));
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    assert!(world.catalogue().faults[0].what.contains("not a regular file"));
}

// proves: D3
#[test]
fn a_faulty_field_is_left_out_and_the_rest_is_used() {
    let world = World::new();
    for (field, words) in [
        ("model: a b", "`model`: expected the name"),
        ("effort: 101", "`effort`: expected low, medium, high, xhigh, max"),
        ("permissionMode: yolo", "`permissionMode`: expected one of default, acceptEdits"),
        ("maxTurns: -1", "`maxTurns`: expected a whole number from 1 up, found `-1`"),
        ("background: perhaps", "`background`: expected true or false"),
        ("memory: global", "`memory`: expected one of user, project, local, found `global`"),
        ("isolation: [worktree]", "`isolation`: expected one of worktree, remote, found a list"),
        ("color: mauve", "`color`: expected one of red, blue"),
        ("tools: {a: b}", "`tools`: expected a list"),
        ("skills: 3", "`skills`: expected a list"),
        ("hooks: ./run.sh", "`hooks`: expected a map of events"),
        ("mcpServers: [3]", "`mcpServers`: expected a list of names"),
        ("allowedTools: [\"Bash(\"]", "`allowedTools`: "),
        ("permission-mode: plan", "there is no field `permission-mode`: write `permissionMode`"),
        ("prompt: x", "the prompt stands below"),
        ("version: 1", "there is no field `version`; it has no effect"),
        ("model: opus\nmodel: haiku", "`model` stands there twice"),
    ] {
        let (def, faults) = world.read(&format!("name: x\ndescription: y\n{field}"));
        let last = if field.contains('\n') { 5 } else { 4 };
        assert_eq!(faults.len(), 1, "{field}: {faults:?}");
        assert!(
            faults[0].0 == Some(last) && faults[0].1 && faults[0].2.contains(words),
            "{field}: {faults:?}"
        );
        let plain = AgentDef { model: ModelChoice::default(), source: Source::Flag, ..def.unwrap() };
        let usual = AgentDef {
            name: "x".into(),
            when: "y".into(),
            prompt: "Prompt.".into(),
            source: Source::Flag,
            ..AgentDef::default()
        };
        assert_eq!(plain, usual, "{field}");
    }
}

#[test]
fn an_effort_in_figures_is_the_nearest_level() {
    let world = World::new();
    let of =
        |number: u32| world.read(&format!("name: x\ndescription: y\neffort: {number}")).0.unwrap().effort;
    assert_eq!([of(0), of(29), of(31)], [Some(Effort::Low), Some(Effort::Low), Some(Effort::Medium)]);
    assert_eq!([of(60), of(85), of(100)], [Some(Effort::High), Some(Effort::Xhigh), Some(Effort::Max)]);
}

// proves: D2
#[test]
fn lists_of_tools_say_all_none_or_some() {
    let world = World::new();
    let of = |tools: &str| world.read(&format!("name: x\ndescription: y\n{tools}")).0.unwrap().tools;
    assert_eq!(of("tools: *"), Filter::default());
    assert_eq!(of("tools:"), Filter::default());
    assert_eq!(of("tools: []").only, Some(Vec::new()));
    assert_eq!(of("tools: \"\"").only, Some(Vec::new()));
    assert_eq!(of("tools: Read Grep,Glob").only, Some(texts(&["Read", "Grep", "Glob"])));
    assert_eq!(of("tools: Agent, Task(a)").agents, None);
    assert_eq!(of("tools: Agent(*)").agents, None);
    assert_eq!(of("tools:\n- Agent(a)\n- Agent(b)").agents, Some(texts(&["a", "b"])));
    let without = |tools: &str| {
        let tools = of(&format!("disallowedTools: {tools}"));
        assert_eq!((tools.only, tools.agents), (None, None));
        (tools.without, tools.without_agents)
    };
    assert_eq!(without("Agent(a, b), Edit, Task(c)"), (texts(&["Edit"]), texts(&["a", "b", "c"])));
    for all in ["Agent", "Task", "Agent()", "Agent(*)", "Agent(a), Agent"] {
        assert_eq!(without(all), (texts(&["Agent"]), Vec::new()), "{all}");
    }
}

// proves: D1
#[test]
fn the_strongest_source_wins_and_the_closest_folder() {
    let mut world = World::new();
    world.from.plugins = vec![("p".into(), world.base.join("plugin"))];
    world.from.added = vec![world.base.join("added")];
    // The weakest first. Each is there with all that are weaker.
    let places = [
        "home/.claude/agents/x.md",
        "home/.troupe/agents/x.md",
        "added/.troupe/agents/x.md",
        "repo/.claude/agents/x.md",
        "repo/.troupe/agents/x.md",
        "repo/sub/.claude/agents/any/where/y.md",
        "repo/sub/deep/.claude/agents/x.md",
        "repo/sub/deep/.troupe/agents/x.md",
        "managed/agents/x.md",
    ];
    for (weaker, place) in places.iter().enumerate() {
        world.agent(place, "x");
        let catalogue = world.catalogue();
        assert_eq!(catalogue.find("x").unwrap().when, *place);
        assert_eq!(catalogue.shadowed.len(), weaker);
    }
    world.agent("plugin/agents/sub/z.md", "y");
    world.write("plugin/agents/w.md", "---\ndescription: d\npermissionMode: plan\nhooks: {}\n---\nx");
    world.agent("repo/../above/.troupe/agents/x.md", "above");
    let catalogue = world.catalogue();
    assert_eq!(catalogue.names(), ["p:w", "p:sub:y", "x"]);
    assert_eq!(catalogue.find("p:w").unwrap().mode, None);
    assert_eq!(catalogue.faults.len(), 2, "{:?}", catalogue.faults);

    world.from.sources = Sources { project: false, ..Sources::ALL };
    assert_eq!(world.catalogue().shadowed.len(), 2);
    world.from.sources = Sources::NONE;
    assert_eq!(world.catalogue().find("x").unwrap().when, "managed/agents/x.md");
    world.from.bare = true;
    assert_eq!(*world.catalogue(), Catalogue::default());
}

#[test]
fn started_in_the_home_folder_the_persons_files_count_once() {
    let mut world = World::new();
    world.agent("home/.claude/agents/x.md", "x");
    let env = Env { vars: [].into(), cwd: world.base.join("home"), home: Some(world.base.join("home")) };
    world.from.places = Places { managed: Vec::new(), ..Places::of(&env) };
    let catalogue = world.catalogue();
    assert_eq!((catalogue.names(), catalogue.shadowed.len()), (texts(&["x"]), 0));
    assert_eq!(catalogue.offered[0].source.word(), "user");
}

#[test]
fn a_walk_has_bounds_and_crowds_nobody_out() {
    let world = World::new();
    for number in 0..1_001 {
        world.agent(&format!("repo/.troupe/agents/{number:04}.md"), &format!("a{number}"));
    }
    world.agent("managed/agents/policy.md", "policy");
    world.write("repo/.troupe/agents/.hidden/x.md", "not looked at");
    world.write("repo/.troupe/agents/notes.txt", "not looked at");
    std::os::unix::fs::symlink(world.base.join("repo"), world.base.join("repo/.claude")).unwrap();
    fs::create_dir_all(world.base.join("home/.troupe/agents")).unwrap();
    std::os::unix::fs::symlink(world.base.join("home"), world.base.join("home/.troupe/agents/loop")).unwrap();
    let catalogue = world.catalogue();
    assert!(catalogue.find("policy").is_some() && catalogue.find("a998").is_some());
    assert_eq!(catalogue.offered.len(), 1_000);
    assert_eq!(catalogue.faults.len(), 1, "{:?}", catalogue.faults);
    assert!(catalogue.faults[0].what.contains("more than 1000 files"));
}

// proves: X13
#[test]
fn what_loosens_waits_for_trust_and_nothing_else_does() {
    let mut world = World::new();
    let (def, faults) = world.read(ALL);
    let def = def.unwrap();
    let waits: Vec<&String> =
        faults.iter().map(|(.., what)| what).filter(|what| what.contains("until you trust it")).collect();
    assert_eq!(waits.len(), 4, "{faults:?}");
    assert_eq!((def.mode, &def.allowed, &def.hooks), (None, &None, &None));
    assert_eq!(def.mcp_servers, [json!("github")]);
    let expected = all();
    assert_eq!(
        AgentDef {
            mode: expected.mode,
            allowed: expected.allowed.clone(),
            hooks: expected.hooks.clone(),
            mcp_servers: expected.mcp_servers.clone(),
            source: Source::Flag,
            ..def
        },
        expected
    );
    let items = trust_items(&world.from);
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["all.allowedTools", "all.permissionMode", "all.mcpServers", "all.hooks"]);
    // Trust is for what was seen: another command waits again, alone.
    world.from.trust = Trust::UNTRUSTED.with(&items);
    let (def, faults) = world.read(&ALL.replace("./check", "./other"));
    assert_eq!(def.map(|def| (def.mode, def.hooks)), Some((Some(Mode::AcceptEdits), None)));
    assert_eq!(faults.iter().filter(|(.., what)| what.contains("until you trust it")).count(), 1);
    // The person's own files need none either.
    fs::remove_dir_all(world.base.join("repo/sub/deep/.troupe")).unwrap();
    world.write("home/.troupe/agents/one.md", &format!("---\n{ALL}\n---\nPrompt.\n"));
    assert_eq!(world.catalogue().unavailable[0].mode, Some(Mode::AcceptEdits));
    assert_eq!(trust_items(&world.from), []);
}

// proves: X13, Y1
#[test]
fn memory_of_the_persons_waits_for_trust_and_that_of_the_project_does_not() {
    let mut world = World::new();
    let of = |world: &World, scope: &str| {
        let (def, faults) = world.read(&format!("name: keeper\ndescription: d\nmemory: {scope}"));
        (def.and_then(|def| def.memory), faults.len())
    };
    assert_eq!(of(&world, "user"), (None, 1));
    assert_eq!(of(&world, "project"), (Some(MemoryScope::Project), 0));
    assert_eq!(of(&world, "local"), (Some(MemoryScope::Local), 0));
    of(&world, "user");
    world.from.trust = Trust::UNTRUSTED.with(&trust_items(&world.from));
    assert_eq!(of(&world, "user"), (Some(MemoryScope::User), 0));
}

// proves: X13, S1
#[test]
fn a_mode_waits_for_trust_where_it_lets_more_pass_than_the_sessions() {
    let mut world = World::new();
    let waits = |world: &mut World, session: Mode, wanted: Mode| {
        world.from.mode = session;
        let (def, faults) =
            world.read(&format!("name: x\ndescription: y\npermissionMode: {}", wanted.as_str()));
        let def = def.unwrap();
        let items = trust_items(&world.from).len();
        assert_eq!((def.mode.is_none(), faults.len()), (items == 1, items), "{session:?} {wanted:?}");
        (items == 1, def.mode_is_held)
    };
    let acting = [Mode::AcceptEdits, Mode::Auto, Mode::BypassPermissions];
    for session in Mode::ALL {
        for wanted in acting {
            assert!(waits(&mut world, session, wanted).0, "{session:?} {wanted:?}");
        }
        assert_eq!(waits(&mut world, session, Mode::Plan), (false, false));
    }
    // What tightens needs no word in this session, and is held in case the session tightens too.
    let mild = [Mode::Default, Mode::DontAsk, Mode::Review, Mode::Micro];
    for session in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions, Mode::Plan] {
        for wanted in mild {
            assert_eq!(waits(&mut world, session, wanted), (false, true), "{session:?} {wanted:?}");
        }
    }
    for (at, session) in mild.into_iter().enumerate() {
        for (other, wanted) in mild.into_iter().enumerate() {
            assert_eq!(waits(&mut world, session, wanted).0, other < at, "{session:?} {wanted:?}");
        }
    }
    // Once trusted it holds in any session.
    world.from.mode = Mode::Micro;
    world.read("name: x\ndescription: y\npermissionMode: default");
    let items = trust_items(&world.from);
    world.from.trust = Trust::UNTRUSTED.with(&items);
    assert_eq!(mode_of(&world), Some((Some(Mode::Default), false)));
    world.from.mode = Mode::Default;
    assert_eq!(mode_of(&world), Some((Some(Mode::Default), false)));
}

/// The mode of the one definition, and whether it is held.
fn mode_of(world: &World) -> Option<(Option<Mode>, bool)> {
    world.catalogue().find("x").map(|def| (def.mode, def.mode_is_held))
}
