//! What agents find in their contexts: the system prompt, the agent types, instructions, reminders; and what the
//! requests look like that carry them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use troupe_core::block::{Block, text_of};
use troupe_core::builtin;
use troupe_core::catalogue::Catalogue;
use troupe_core::def::{AgentDef, Filter, Source};
use troupe_core::entry::{Body, Entry};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::policy::{Behaviour, Mode, Scope};
use troupe_core::ports::model::{Message, Request};
use troupe_core::prompt::Instructions;
use troupe_engine::bus::Heard;
use troupe_engine::session::{Definitions, ListedIn};
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::faults::Death;
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{World, ended, say, session, turn};

const HEAD: &str = "Agent types for the Agent tool\n";
const DELTA: &str = "The agent types for the Agent tool have changed";

struct Stage {
    world: World,
    recorder: Arc<Recorder>,
}

impl Stage {
    fn new(script: &str) -> Self {
        Self::on(Recorder::of(Arc::new(ScriptModel::parse("test", script).unwrap())))
    }

    fn on(recorder: Arc<Recorder>) -> Self {
        let mut world = World::new(Arc::clone(&recorder) as _);
        world.config.leave.mode = Some(Mode::BypassPermissions);
        Self { world, recorder }
    }

    fn requests_of(&self, definition: &str) -> Vec<Request> {
        let requests = self.recorder.requests();
        requests.into_iter().filter(|request| request.definition == definition).collect()
    }
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

async fn entries(session: &Session) -> Vec<Arc<Entry>> {
    session.entries(&AgentId::main(), 0).await.unwrap()
}

fn results(entries: &[Arc<Entry>]) -> Vec<String> {
    let result = |entry: &Arc<Entry>| match &entry.body {
        Body::Result { blocks, .. } => match blocks.first() {
            Some(Block::ToolResult { content, .. }) => Some(text_of(content)),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(result).collect()
}

fn texts(request: &Request) -> Vec<String> {
    let blocks = request.messages.iter().flat_map(Message::blocks);
    blocks.filter_map(Block::as_text).map(str::to_owned).collect()
}

fn said(request: &Request, part: &str) -> usize {
    texts(request).iter().filter(|text| text.contains(part)).count()
}

fn system(request: &Request) -> String {
    request.system.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("|")
}

/// Each request begins with the bytes of the one before.
fn assert_prefixes(requests: &[Request]) {
    let texts: Vec<String> = requests.iter().map(prefix).collect();
    for pair in texts.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{}\n---\n{}", pair[0], pair[1]);
    }
}

fn custom(name: &str, when: &str) -> AgentDef {
    let source = Source::Project(format!("/w/{name}.md").into());
    AgentDef { name: name.into(), when: when.into(), prompt: "Work.".into(), source, ..AgentDef::default() }
}

/// Definitions whose catalogue a test changes while the session runs.
fn changing(main: AgentDef, defs: &[AgentDef]) -> (Definitions, Arc<Mutex<Arc<Catalogue>>>) {
    let now = Arc::new(Mutex::new(Arc::new(Catalogue::of(defs.iter().cloned(), Vec::new()))));
    let read = Arc::clone(&now);
    let read = Arc::new(move || Arc::clone(&read.lock().unwrap()));
    (Definitions { main: Arc::new(main), read, give: None }, now)
}

// proves: D6, X5
#[tokio::test]
async fn agent_types_come_as_a_message_then_as_differences_and_the_prefix_stays() {
    let stage = Stage::new("agent main\nreply \"a\"\nreply \"b\"\nreply \"c\"\nreply \"d\"\n");
    let first = [builtin::general_purpose(), custom("fixer", "mends")];
    let (defs, now) = changing(builtin::main(), &first);
    let open = async |start| {
        let parts = troupe_engine::Parts {
            defs: defs.clone(),
            ..stage.world.parts(Arc::clone(&stage.world.journal))
        };
        Session::open(parts, stage.world.config.clone(), start).await.unwrap()
    };
    let one = open(Start::New(session())).await;
    turn(&one, 0, "go").await;
    turn(&one, 1, "on").await;
    *now.lock().unwrap() = Arc::new(Catalogue::of(
        [custom("fixer", "mends and tests"), custom("poet", "writes verse")],
        Vec::new(),
    ));
    turn(&one, 2, "on").await;
    close(one).await;
    // Another process has only the transcript.
    let two = open(Start::Resume(session())).await;
    turn(&two, 3, "on").await;
    close(two).await;
    let requests = stage.requests_of("main");
    assert_prefixes(&requests);
    let counts: Vec<_> = requests.iter().map(|request| (said(request, HEAD), said(request, DELTA))).collect();
    assert_eq!(counts, [(1, 0), (1, 0), (1, 1), (1, 1)]);
    let told = texts(&requests[0]).into_iter().find(|text| text.contains(HEAD)).unwrap();
    assert!(told.contains("- fixer: mends (tools: *)"), "{told}");
    let delta = texts(&requests[2]).into_iter().find(|text| text.contains(DELTA)).unwrap();
    let lines: Vec<&str> = delta.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "New:",
            "- poet: writes verse (tools: *)",
            "Changed:",
            "- fixer: mends and tests (tools: *)",
            "Gone from the list: general-purpose",
            "</system-reminder>"
        ]
    );
    for tool in requests[0].tools.iter() {
        assert!(!tool.description.contains("fixer"), "{}", tool.name);
    }
}

// proves: D6
#[tokio::test]
async fn only_who_can_start_agents_is_told_and_only_of_those_it_may_start() {
    let mut stage = Stage::new(
        "agent main\nreply\n  call Agent subagent_type=Explore description=a prompt=look\n  call Agent subagent_type=lead description=b prompt=lead\nreply \"done\"\nagent Explore\nreply \"x\"\nagent lead\nreply \"y\"\n",
    );
    let tools = Filter { agents: Some(vec!["Plan".into(), "poet".into()]), ..Filter::default() };
    stage.world.defs.push(AgentDef { tools, ..custom("lead", "leads") });
    stage.world.defs.push(custom("poet", "writes verse"));
    let deny = "Agent(poet)";
    let ws = stage.world.workspace().to_owned();
    stage.world.config.leave.rules.add(deny, Behaviour::Deny, Scope::CommandLine, ws).unwrap();
    let session = stage.world.start().await;
    turn(&session, 0, "go").await;
    close(session).await;
    assert_eq!(said(&stage.requests_of("Explore")[0], HEAD), 0);
    let lead = &stage.requests_of("lead")[0];
    let told = texts(lead).into_iter().find(|text| text.contains(HEAD)).unwrap();
    assert!(told.contains("- Plan: ") && told.lines().count() == 4, "{told}");
    let main = &stage.requests_of("main")[0];
    assert_eq!(
        (said(main, "- lead: leads"), said(main, "- poet: ")),
        (1, 0),
        "what is denied is not offered"
    );
}

// proves: D6
#[tokio::test]
async fn by_configuration_the_types_stand_in_the_tools_text_also_after_a_resume() {
    let mut stage = Stage::new("agent main\nreply \"a\"\nreply \"b\"\n");
    stage.world.config.contexts.agent_list = ListedIn::Tool;
    stage.world.journal = Arc::new(troupe_engine::journal::FileJournal::new(
        stage.world.folder().join("state"),
        troupe_engine::journal::Locking::Leased,
    ));
    let one = stage.world.start().await;
    turn(&one, 0, "go").await;
    close(one).await;
    stage.world.config.contexts.agent_list = ListedIn::Message;
    let two = stage.world.resume().await;
    turn(&two, 1, "on").await;
    close(two).await;
    let requests = stage.requests_of("main");
    assert_prefixes(&requests);
    for request in &requests {
        assert_eq!(said(request, "- Explore: "), 0);
        let tool = request.tools.iter().find(|tool| &*tool.name == "Agent").unwrap();
        assert!(tool.description.contains("- Explore: finds"), "{}", tool.description);
    }
}

// proves: C11, X5
#[tokio::test]
async fn a_reminder_comes_back_at_every_prompt_and_notice_and_changes_nothing_before_it() {
    let mut stage = Stage::new(
        "agent main\nreply\n  call Bash command=true\nreply \"a\"\nreply\n  call Bash run_in_background=true command=true\nreply \"b\"\nreply \"c\"\nreply \"d\"\n",
    );
    stage.world.defs[0].reminder = Some("Mind the ZEBRA.".to_owned());
    let one = stage.world.start().await;
    turn(&one, 0, "go").await;
    close(one).await;
    let two = stage.world.resume().await;
    turn(&two, 1, "on").await;
    close(two).await;
    let requests = stage.requests_of("main");
    assert_prefixes(&requests);
    let counts: Vec<usize> = requests.iter().map(|request| said(request, "ZEBRA")).collect();
    assert_eq!(counts[..4], [1, 1, 2, 2], "once for each prompt, not for results");
    let prompts = |request: &Request| {
        let texts = texts(request);
        texts
            .iter()
            .filter(|text| *text == "go" || *text == "on" || text.contains("<task-notification>"))
            .count()
    };
    for request in &requests {
        assert!(said(request, "ZEBRA") >= prompts(request), "a notice is a turn too");
    }
}

// proves: C11, D6
#[tokio::test]
async fn a_crash_after_any_append_has_nothing_told_twice() {
    for appends in 1..14 {
        let mut stage = Stage::new("agent main\nreply\n  call Bash command=true\nreply \"a\"\n");
        stage.world.defs[0].reminder = Some("Mind the ZEBRA.".to_owned());
        let death = Death::after(appends);
        let journal = death.journal(Arc::clone(&stage.world.journal));
        let first = Session::open(
            stage.world.parts(Arc::clone(&journal)),
            stage.world.config.clone(),
            Start::New(session()),
        );
        let play = async {
            if let Ok(session) = first.await {
                turn(&session, 0, "go").await;
                close(session).await;
            }
        };
        tokio::select! {
            () = play => {}
            () = death.comes() => {}
        }
        let again = Session::open(
            stage.world.parts(Arc::clone(&stage.world.journal)),
            stage.world.config.clone(),
            Start::Resume(session()),
        );
        let session = match again.await {
            Ok(session) => session,
            Err(_) => stage.world.start().await,
        };
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        let is_closed = |entry: &Arc<Entry>| matches!(entry.body, Body::Closed(_));
        if !entries(&session).await.iter().any(is_closed) {
            ended(&mut events).await;
        }
        let told = |part: &str| {
            let part = part.to_owned();
            move |entry: &&Arc<Entry>| match &entry.body {
                Body::User { blocks, .. } => text_of(blocks).contains(&part),
                _ => false,
            }
        };
        let all = entries(&session).await;
        let counts = (all.iter().filter(told(HEAD)).count(), all.iter().filter(told("ZEBRA")).count());
        close(session).await;
        assert_eq!(counts, (1, 1), "after append {appends}");
    }
}

// proves: C11, D6, E8
#[tokio::test]
async fn reminder_and_agent_types_survive_a_compaction() {
    let long = "word ".repeat(6_000);
    let script =
        format!("agent main\nreply \"{long}\"\nreply \"after\"\nagent summary\nreply \"they said hello\"\n");
    let inner = Arc::new(ScriptModel::parse("t", &script).unwrap());
    let mut stage = Stage::on(Recorder::with_window(inner, 20_000));
    stage.world.defs[0].reminder = Some("Mind the ZEBRA.".to_owned());
    let session = stage.world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "hello").await;
    turn(&session, 1, &long).await;
    let compacted = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && matches!(event.kind, EventKind::Notice(Notice::Compacted { .. }))
            {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), compacted).await.unwrap();
    close(session).await;
    let last = stage.requests_of("main").pop().unwrap();
    assert!(said(&last, "they said hello") == 1 && said(&last, HEAD) == 1, "{:?}", texts(&last).len());
    assert!(texts(&last).last().unwrap().contains("ZEBRA"), "it stands at the end");
}

// proves: C1
#[tokio::test]
async fn the_main_agents_prompt_is_the_first_of_the_chain_and_a_child_has_its_own() {
    let script = "agent main\nreply\n  call Agent description=a prompt=x\nreply \"done\"\nagent general-purpose\nreply \"x\"\nagent reviewer\nreply \"r\"\nagent coordinator\nreply \"c\"\n";
    let play = async |main: AgentDef, custom: Option<&str>, replace: Option<&str>| {
        let mut stage = Stage::new(script);
        stage.world.defs[0] = main;
        stage.world.config.prompting.system = custom.map(str::to_owned);
        stage.world.config.prompting.append = Some("APPENDED".to_owned());
        stage.world.config.contexts.prompt = replace.map(str::to_owned);
        let session = stage.world.start().await;
        turn(&session, 0, "go").await;
        close(session).await;
        let requests = stage.recorder.requests();
        let child = requests.iter().find(|request| request.definition == "general-purpose").map(system);
        (system(&requests[0]), child)
    };
    let (main, child) = play(builtin::main(), None, None).await;
    assert!(main.starts_with("You are troupe, a coding agent") && main.ends_with("|APPENDED"), "{main}");
    assert_eq!(child.as_deref(), Some(builtin::general_purpose().prompt.as_str()));
    assert_eq!(play(builtin::main(), Some("CUSTOM"), None).await.0, "CUSTOM|APPENDED");
    let reviewer = AgentDef { prompt: "REVIEWER".into(), ..custom("reviewer", "r") };
    assert_eq!(play(reviewer.clone(), Some("CUSTOM"), None).await.0, "REVIEWER|APPENDED");
    let coordinator =
        AgentDef { name: "coordinator".into(), prompt: "COORDINATOR".into(), ..AgentDef::default() };
    assert_eq!(play(coordinator, Some("CUSTOM"), None).await.0, "COORDINATOR|APPENDED");
    assert_eq!(play(reviewer, Some("CUSTOM"), Some("REPLACED")).await.0, "REPLACED");
}

// proves: C1, C4
#[tokio::test]
async fn agents_are_told_where_they_are_and_those_that_read_do_without_instructions() {
    let play = async |slim: bool| {
        let mut stage = Stage::new(
            "agent main\nreply\n  call Agent subagent_type=Explore description=a prompt=x\n  call Agent description=b prompt=y\nreply \"done\"\nagent Explore\nreply \"x\"\nagent general-purpose\nreply \"y\"\n",
        );
        stage.world.config.contexts.slim = slim;
        let zebra = Instructions { path: "/w/AGENTS.md".into(), text: "token ZEBRA".into() };
        stage.world.config.prompting.instructions = Arc::new(move || vec![zebra.clone()]);
        stage.world.config.place.branch = Some("trunk".into());
        let session = stage.world.start().await;
        turn(&session, 0, "go").await;
        close(session).await;
        ["main", "general-purpose", "Explore"].map(|definition| {
            let request = stage.requests_of(definition).remove(0);
            let environment = texts(&request).remove(0);
            for part in [
                "Working directory: ",
                "trunk",
                "Platform: linux; date: 2026-01-01; model: script",
                "Tools: ",
            ] {
                assert!(environment.contains(part), "{definition}: {environment}");
            }
            said(&request, "ZEBRA")
        })
    };
    assert_eq!(play(true).await, [1, 1, 0]);
    assert_eq!(play(false).await, [1, 1, 1]);
}

// proves: D9
#[tokio::test]
async fn what_a_definition_keeps_from_an_agent_no_rule_and_no_person_gives_it() {
    let mut stage = Stage::new(
        "agent main\nreply\n  call Agent subagent_type=Explore description=a prompt=x\nreply \"done\"\nagent Explore\nreply\n  call Bash command=\"echo x > made\"\n  call Bash command=\"ls; touch made\"\nreply \"no\"\n",
    );
    let ws = stage.world.workspace().to_owned();
    stage.world.config.leave.rules.add("Bash", Behaviour::Allow, Scope::CommandLine, ws).unwrap();
    stage.world.config.leave.mode = Some(Mode::Default);
    stage.world.config.leave.asks = true;
    let session = stage.world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let mut denied = 0;
    while let Ok(Heard::Event(event)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        assert!(!matches!(event.kind, EventKind::QuestionOpened(_)), "nobody is asked");
        if let EventKind::Notice(Notice::Denied { reason, .. }) = &event.kind {
            assert!(reason.contains("only reads"), "{reason}");
            denied += 1;
        }
    }
    close(session).await;
    assert_eq!(denied, 2);
    assert!(!stage.world.workspace().join("made").exists());
}

// proves: D4, D10
#[tokio::test]
async fn one_that_checks_writes_in_its_folder_alone_and_is_reminded() {
    let mut stage = Stage::new("agent main\nreply \"none\"\n");
    stage.world.config.leave.mode = Some(Mode::Default);
    let scratch =
        stage.world.folder().canonicalize().unwrap().join("state/temp").join(troupe_testkit::world::SESSION);
    let script = format!(
        "agent main\nreply\n  call Agent subagent_type=checker description=a prompt=x\nreply \"done\"\nagent checker\nreply\n  call Bash command=\"mkdir {0}/d && echo in > {0}/d/in\"\n  call Bash command=\"echo x > made\"\nreply \"### d\\n$ mkdir {0}/d && echo in > {0}/d/in\\nResult: pass\\nVERDICT: PASS\"\n",
        // The id that the counting clock gives the first agent is looked up below.
        scratch.join("scratch/AGENT").display()
    );
    // Play once to learn the id, then with it.
    let learn = Stage::new(
        "agent main\nreply\n  call Agent subagent_type=checker description=a prompt=x\nreply \"done\"\nagent checker\nreply \"VERDICT: FAIL\"\n",
    );
    let session = learn.world.start().await;
    turn(&session, 0, "go").await;
    close(session).await;
    let request = learn.requests_of("checker").remove(0);
    let agent = request.agent.to_string();
    assert_eq!(said(&request, "You check, you don't mend"), 1);
    assert_eq!(said(&request, &format!("scratch/{agent}")), 1, "it is told where");
    let model = Recorder::of(Arc::new(ScriptModel::parse("test", &script.replace("AGENT", &agent)).unwrap()));
    stage.world.model = Arc::clone(&model) as _;
    let session = stage.world.start().await;
    turn(&session, 0, "go").await;
    let told = results(&entries(&session).await).join("\n");
    close(session).await;
    assert!(!told.contains("[troupe: "), "{told}");
    assert_eq!(std::fs::read_to_string(scratch.join("scratch").join(&agent).join("d/in")).unwrap(), "in\n");
    assert!(!stage.world.workspace().join("made").exists());
}
