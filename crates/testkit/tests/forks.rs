//! Forks: what they send, what they may do, and how they come back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::{Block, Blocks, text_of};
use troupe_core::def::AgentDef;
use troupe_core::entry::{Body, Entry, Setting};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::{Ending, Envelope};
use troupe_core::policy::{Answer, Behaviour, Mode, Scope};
use troupe_core::ports::journal::{Found, Journal as _, Key};
use troupe_core::ports::model::{Request, Role};
use troupe_core::state::AgentState;
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::journal::MemoryJournal;
use troupe_engine::store::{ForkError, SessionPaths, StoreError, load, load_own};
use troupe_models::anthropic::body;
use troupe_models::script::ScriptModel;
use troupe_testkit::recorder::{Recorder, prefix};
use troupe_testkit::world::{LIMIT, World, say, session, turn};

/// A call of the Agent tool that waits.
const WAIT: &str = "run_in_background=false";

fn world(script: &str) -> (World, Arc<Recorder>, Arc<ScriptModel>) {
    let script = Arc::new(ScriptModel::parse("test", script).unwrap());
    let recorder = Recorder::of(Arc::clone(&script) as _);
    let mut world = World::new(Arc::clone(&recorder) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.config.forks.enabled = true;
    (world, recorder, script)
}

async fn entries(session: &Session, agent: &AgentId) -> Vec<Arc<Entry>> {
    session.entries(agent, 0).await.unwrap()
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

/// Waits for the end of an agent below the main one.
async fn child_ended(events: &mut Subscription) -> (AgentId, Arc<Envelope>) {
    let wait = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && let EventKind::Ended(envelope) = &event.kind
                && !event.agent.is_main()
            {
                return (event.agent.clone(), Arc::clone(envelope));
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap()
}

fn of<'r>(requests: &'r [Request], definition: &str) -> Vec<&'r Request> {
    requests.iter().filter(|request| request.definition == definition).collect()
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

// proves: C6, A3, F199, F202
#[tokio::test]
async fn a_fork_sends_its_parents_request_and_reply_then_placeholders_and_its_directive() {
    let script = format!(
        "agent main\nreply\n  call Read file_path=a.txt\nreply\n  think \"two parts\"\n  text \"I split it.\"\n  call Read file_path=a.txt\n  call Agent description=one prompt=\"part one\" {WAIT}\n  call Agent description=two subagent_type=fork prompt=\"part two\" {WAIT}\nreply \"done\"\nagent fork\nreply \"Scope: it.\"\n"
    );
    let (world, recorder, _) = world(&script);
    world.write("a.txt", "one\n");
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.ending, Ending::Completed);
    let requests = recorder.requests();
    let parent =
        requests.iter().rfind(|request| request.definition == "main" && request.replies == 1).unwrap();
    let forks = of(&requests, "fork");
    assert_eq!(forks.len(), 2);
    for fork in &forks {
        assert!(wire(fork).starts_with(&wire(parent)), "the wire's bytes");
        assert_eq!(
            (&fork.model, fork.max_tokens, &fork.extra),
            (&parent.model, parent.max_tokens, &parent.extra)
        );
        let [before @ .., reply, last] = fork.messages.as_slice() else { panic!("messages") };
        assert_eq!(before, parent.messages.as_slice());
        let kinds: Vec<&str> = reply.blocks().map(Block::kind).collect();
        assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use", "tool_use"], "the whole reply");
        assert_eq!(last.role, Role::User);
        let answers: Vec<&Block> = last.blocks().take(3).collect();
        let texts = answers.iter().map(|block| match block {
            Block::ToolResult { content, is_error: false, .. } => text_of(content),
            other => panic!("{other:?}"),
        });
        let mut texts: Vec<String> = texts.collect();
        texts.dedup();
        assert_eq!(texts.len(), 1, "placeholders are identical");
    }
    let [one, two] = forks.as_slice() else { panic!("two forks") };
    let task = |request: &Request| request.messages.last().unwrap().blocks().last().cloned();
    let mut tasks = [task(one), task(two)].map(|task| task.unwrap().as_text().unwrap().to_owned());
    tasks.sort();
    assert_eq!(tasks, ["part one", "part two"]);
    let shared = |request: &Request| {
        let text = prefix(request);
        text[..text.rfind('\n').unwrap()].to_owned()
    };
    assert_eq!(shared(one), shared(two), "the task is all that differs");
    close(session).await;
}

// proves: A3, C8, F014, c014-1
#[tokio::test]
async fn both_forks_run_in_the_background_and_a_forks_own_fork_is_refused_for_good() {
    let script = "agent main\nreply\n  call Agent description=one prompt=\"F1 tries\"\nreply\n  call Agent description=two prompt=\"F2 works\"\nreply \"both started\"\nreply \"told\"\nreply \"told\"\nagent fork /F2 works/\nreply \"Scope: two.\"\nagent fork\nreply\n  call Agent description=three prompt=\"F3\"\nreply\n  call Agent description=four subagent_type=fork prompt=\"F4\"\nreply \"Scope: one.\"\n";
    let (world, recorder, _) = world(script);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go <fork> go").await;
    let mut ended = Vec::new();
    for _ in 0..2 {
        ended.push(child_ended(&mut events).await);
    }
    for (agent, envelope) in &ended {
        let told = results(&entries(&session, agent).await);
        match envelope.text.as_str() {
            "Scope: one." => {
                assert_eq!(told.len(), 2);
                let permanent = |text: &String| text.contains("can't fork") && text.contains("permanent");
                assert!(told.iter().all(permanent), "{told:?}");
            }
            text => assert_eq!((text, told.len()), ("Scope: two.", 0)),
        }
        assert_eq!(envelope.ending, Ending::Completed);
    }
    assert_ne!(ended[0].1.text, ended[1].1.text);
    let main = results(&entries(&session, &AgentId::main()).await);
    assert!(main.iter().all(|text| text.contains("background")), "{main:?}");
    let marked =
        of(&recorder.requests(), "main").iter().any(|request| prefix(request).contains("You are a fork"));
    assert!(!marked, "the mark never stands in the parent");
    close(session).await;
}

/// A fork in the background, then whatever the script says.
async fn forked(script: &str, files: &[(&str, &str)]) -> (World, Arc<Recorder>, Session, Subscription) {
    let (world, recorder, _) = world(script);
    for (path, text) in files {
        world.write(path, text);
    }
    let session = world.start().await;
    let events = session.subscribe(false);
    (world, recorder, session, events)
}

/// A request's bytes on the wire, without cache marks and without what closes them.
fn wire(request: &Request) -> String {
    let body = String::from_utf8(body::reply(request).unwrap()).unwrap();
    let plain = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    plain.strip_suffix("]}").unwrap().to_owned()
}

/// Asserts that the bytes of each request begin with those of the one before it.
fn assert_grows(requests: &[&Request]) {
    let texts: Vec<String> = requests.iter().map(|request| wire(request)).collect();
    for pair in texts.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{}\n---\n{}", pair[0], pair[1]);
    }
}

// proves: X5, A3, B3
#[tokio::test]
async fn the_end_of_a_fork_wakes_its_parent_and_every_request_extends_the_one_before() {
    let script = "agent main\nreply\n  call Agent description=one prompt=\"part one\"\nreply \"started\"\nreply \"heard\"\nreply \"next\"\nagent fork\nreply\n  gate started\n  call Bash command=true\nreply \"Scope: one.\"\n";
    let (world, recorder, script) = world(script);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    assert_eq!(turn(&session, 0, "go").await.text, "started");
    script.release("started");
    let (_, envelope) = child_ended(&mut events).await;
    assert_eq!(envelope.text, "Scope: one.");
    until_said(&session, "heard").await;
    assert_eq!(turn(&session, 1, "and?").await.text, "next");
    let requests = recorder.requests();
    let main = of(&requests, "main");
    assert_eq!(main.len(), 4);
    assert_grows(&main);
    assert!(prefix(main[2]).contains("task-notification"), "the wake is told at the end");
    let fork = of(&requests, "fork");
    assert_eq!(fork.len(), 2);
    assert_grows(&[main[0], fork[0], fork[1]]);
    close(session).await;
}

/// Waits until the main agent's run ends with these words.
async fn until_said(session: &Session, words: &str) {
    let mut events = session.subscribe(false);
    let wait = async {
        loop {
            let said = entries(session, &AgentId::main())
                .await
                .iter()
                .any(|entry| matches!(&entry.body, Body::Closed(envelope) if envelope.text == words));
            if said {
                return;
            }
            events.next().await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.unwrap();
}

// proves: P1, C6, C8
#[tokio::test]
async fn what_a_fork_may_not_have_is_refused_at_the_call_and_stays_in_its_list() {
    let script = format!(
        "agent main\nreply\n  call Agent description=one prompt=\"part one\" {WAIT}\nreply \"done\"\nagent fork\nreply\n  call EnterPlanMode {{}}\n  call AskUserQuestion {{\"questions\":[{{\"question\":\"Which?\",\"header\":\"h\",\"multiSelect\":false,\"options\":[{{\"label\":\"a\",\"description\":\"a\"}},{{\"label\":\"b\",\"description\":\"b\"}}]}}]}}\n  call Bash command=\"echo works\"\nreply \"Scope: one.\"\n"
    );
    let (_world, recorder, session, mut events) = forked(&script, &[]).await;
    say(&session, 0, "go").await;
    let (agent, envelope) = child_ended(&mut events).await;
    assert_eq!(envelope.ending, Ending::Completed, "{envelope:?}");
    let told = results(&entries(&session, &agent).await);
    assert!(told.iter().filter(|text| text.contains("is not for a fork")).count() == 2, "{told:?}");
    assert!(told.iter().any(|text| text.contains("works")), "{told:?}");
    let requests = recorder.requests();
    assert_eq!(of(&requests, "fork")[0].tools, of(&requests, "main")[0].tools);
    close(session).await;
}

// proves: C3, C5
#[tokio::test]
async fn a_fork_knows_the_files_that_its_parent_has_read_and_changes_nothing_of_its_parent() {
    let script = format!(
        "agent main\nreply\n  call Read file_path=a.txt\nreply\n  call Agent description=one prompt=\"part one\" {WAIT}\nreply\n  call Edit file_path=b.txt old_string=two new_string=three\nreply \"done\"\nagent fork\nreply\n  call Edit file_path=a.txt old_string=one new_string=ONE\n  call Read file_path=b.txt\nreply \"Scope: one.\"\n"
    );
    let (world, _, session, mut events) = forked(&script, &[("a.txt", "one\n"), ("b.txt", "two\n")]).await;
    say(&session, 0, "go").await;
    let (_, envelope) = child_ended(&mut events).await;
    assert_eq!(world.read("a.txt"), "ONE\n", "it need not read again what its parent has read");
    assert_eq!(envelope.files_changed.len(), 1);
    until_said(&session, "done").await;
    assert_eq!(world.read("b.txt"), "two\n", "its parent has not read what the fork has");
    close(session).await;
}

// proves: C8, E8, C7
#[tokio::test]
async fn a_fork_that_was_shortened_has_its_rules_again_and_still_can_not_fork() {
    let long = "word ".repeat(6_000);
    let script = format!(
        "agent main\nreply \"{long}\"\nreply\n  call Agent description=one prompt=\"part one\" {WAIT}\nreply \"done\"\nagent fork\nreply\n  call Agent description=two prompt=two\nreply \"Scope: one.\"\nagent summary\nreply \"they said hello\"\n"
    );
    let script = Arc::new(ScriptModel::parse("test", &script).unwrap());
    let recorder = Recorder::with_window(Arc::clone(&script) as _, 20_000);
    let mut world = World::new(Arc::clone(&recorder) as _);
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.config.forks.enabled = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "hello").await;
    say(&session, 1, "go").await;
    let (agent, envelope) = child_ended(&mut events).await;
    assert_eq!((envelope.ending, envelope.text.as_str()), (Ending::Completed, "Scope: one."), "{envelope:?}");
    let requests = recorder.requests();
    let fork = of(&requests, "fork");
    let shortened =
        fork.iter().map(|request| prefix(request)).filter(|text| text.contains("they said hello"));
    let shortened: Vec<String> = shortened.collect();
    assert!(!shortened.is_empty(), "it was shortened");
    assert!(shortened.iter().all(|text| text.contains("You are a fork") && !text.contains(&long)));
    let told = results(&entries(&session, &agent).await);
    assert!(told[0].contains("permanent"), "{told:?}");
    close(session).await;
}

// proves: X5, F203
#[tokio::test]
async fn over_two_hundred_requests_with_reminders_each_extends_the_one_before() {
    use std::fmt::Write as _;
    let mut script = String::from("agent main\n");
    for number in 0..200 {
        let _ = match number % 20 {
            19 => writeln!(script, "reply \"done {number}\""),
            // Each another one: an agent that goes in circles is stopped.
            _ => writeln!(script, "reply\n  think \"hm {number}\"\n  call Glob pattern=*{number}"),
        };
    }
    let (_world, recorder, session, _events) = forked(&script, &[]).await;
    for number in 0..10 {
        let modes = [Mode::Plan, Mode::BypassPermissions];
        let mode = Input::Set(Setting::Mode(modes[number % 2]));
        session.send(&AgentId::main(), mode).await.unwrap();
        assert_eq!(turn(&session, number, "go").await.text, format!("done {}", number * 20 + 19));
    }
    let requests = recorder.requests();
    let main = of(&requests, "main");
    assert_eq!(main.len(), 200);
    let last = prefix(main[199]);
    assert!(last.matches("<system-reminder>").count() > 5, "reminders came between");
    assert_grows(&main);
    close(session).await;
}

// proves: X5, C12, F199
#[tokio::test]
async fn sixty_four_forks_hold_what_they_inherit_once() {
    use std::collections::HashMap;
    use std::fmt::Write as _;
    let mut script = String::from("agent main\nreply\n");
    for number in 0..64 {
        let _ = writeln!(script, "  call Agent description=part prompt=\"part {number}\" {WAIT}");
    }
    script.push_str("reply \"done\"\nagent fork\nreply \"Scope: it.\"\n");
    let (_world, recorder, session, _events) = forked(&script, &[]).await;
    assert_eq!(turn(&session, 0, &"word ".repeat(100_000)).await.text, "done");
    let requests = recorder.requests();
    let forks = of(&requests, "fork");
    assert_eq!(forks.len(), 64);
    let parent = of(&requests, "main")[0];
    let groups = |request: &Request| -> Vec<Blocks> {
        request.messages.iter().flat_map(|message| message.groups.clone()).collect()
    };
    let size = |group: &Blocks| serde_json::to_string(&**group).unwrap().len();
    let parents: usize = groups(parent).iter().map(size).sum();
    let mut held = HashMap::new();
    for fork in &forks {
        assert!(Arc::ptr_eq(&fork.system, &parent.system) && Arc::ptr_eq(&fork.tools, &parent.tools));
        for (parents, forks) in groups(parent).iter().zip(groups(fork)) {
            assert!(Arc::ptr_eq(parents, &forks), "what both send is the same memory");
        }
        held.extend(groups(fork).iter().map(|group| (group.as_ptr(), size(group))));
    }
    let held: usize = held.into_values().sum();
    assert!(held < parents + parents / 2, "64 forks of {parents} bytes hold {held}");
    close(session).await;
}

/// The key of an agent's transcript.
fn key(world: &World, agent: &AgentId) -> Key {
    let place = &world.config.place;
    SessionPaths::new(place.root.clone(), place.project.clone(), session()).transcript(agent)
}

fn nobody() -> AgentState {
    AgentState::new("/".into(), Mode::Default, String::new(), String::new())
}

// proves: X5, C6, F197, F201, F206
#[tokio::test]
async fn a_fork_is_rebuilt_from_its_parents_transcript_whatever_became_of_the_parent() {
    let script = format!(
        "agent main\nreply\n  call Read file_path=a.txt\nreply\n  think \"hm\"\n  call Bash command=true\n  call Agent description=one prompt=\"part one\" {WAIT}\nreply \"done\"\nreply \"later\"\nagent fork\nreply\n  call Bash command=true\nreply \"Scope: one.\"\nagent summary\nreply \"it was short\"\n"
    );
    let (world, recorder, session, mut events) = forked(&script, &[("a.txt", "one\n")]).await;
    say(&session, 0, "go").await;
    let (agent, _) = child_ended(&mut events).await;
    until_said(&session, "done").await;
    let sent = recorder.requests();
    let last = of(&sent, "fork")[1];
    let rebuilt = || async {
        let restored = load(&*world.journal, &key(&world, &agent), nobody()).await.unwrap().unwrap();
        let mut messages = restored.transcript.messages();
        assert_eq!(messages.pop().map(|reply| reply.role), Some(Role::Assistant));
        assert_eq!(messages, last.messages);
        restored.transcript
    };
    let transcript = rebuilt().await;
    assert!(
        transcript.state().seen(&world.workspace().join("a.txt")).is_some(),
        "with what its parent had read"
    );
    let lines = world.journal.read(&key(&world, &agent), 0).await.unwrap();
    assert!(!format!("{lines:?}").contains("call Read"), "the parent's lines are not copied");
    session.send(&AgentId::main(), Input::Compact(None)).await.unwrap();
    turn(&session, 1, "more").await;
    let shortened = entries(&session, &AgentId::main()).await;
    assert!(shortened.iter().any(|entry| matches!(entry.body, Body::Summary { .. })));
    rebuilt().await;
    close(session).await;

    // A session without the parent's transcript.
    let alone = MemoryJournal::default();
    for found in lines {
        if let Found::Record(_, record) = found {
            alone.append(&key(&world, &agent), None, record).await.unwrap();
        }
    }
    let refused = load(&alone, &key(&world, &agent), nobody()).await.err().unwrap();
    assert!(matches!(refused, StoreError::Fork(ForkError::NoParent { .. })), "{refused}");
    assert!(load_own(&alone, &key(&world, &agent), nobody()).await.unwrap().is_some(), "it can be looked at");
}

// proves: S3, S2
#[tokio::test]
async fn a_forks_question_comes_to_the_person_with_its_name() {
    let script = format!(
        "agent main\nreply\n  call Agent description=one prompt=\"part one\" {WAIT}\nreply \"done\"\nagent fork\nreply\n  call Write file_path=new.txt content=x\nreply \"Scope: one.\"\n"
    );
    let (mut world, _, _) = world(&script);
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let wait = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && let EventKind::QuestionOpened(question) = &event.kind
            {
                return Arc::clone(question);
            }
        }
    };
    let question = tokio::time::timeout(LIMIT, wait).await.unwrap();
    assert_eq!(
        (question.asker.address.as_str(), question.asker.definition.as_str()),
        ("main/fork-1", "fork")
    );
    let allowed = Answer::Allow { input: None, updates: vec![] };
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), allowed)).await.unwrap();
    until_said(&session, "done").await;
    assert_eq!(world.read("new.txt"), "x");
    close(session).await;
}

// proves: C9, A8
#[tokio::test]
async fn without_forks_a_call_for_no_type_is_general_and_one_for_a_fork_names_what_there_is() {
    let script = format!(
        "agent main\nreply\n  call Agent description=one prompt=\"part one\" {WAIT}\n  call Agent description=two subagent_type=fork prompt=\"part two\" {WAIT}\nreply \"done\"\nagent general-purpose\nreply \"general\"\n"
    );
    let play = |change: fn(&mut World)| {
        let (mut world, _, _) = world(&script);
        change(&mut world);
        async move {
            let session = world.start().await;
            turn(&session, 0, "go").await;
            let told = results(&entries(&session, &AgentId::main()).await).join("\n");
            assert!(told.contains("general") && told.contains("no agent type `fork`"), "{told}");
            close(session).await;
        }
    };
    play(|world| world.config.forks.enabled = false).await;
    // Whatever is set: never where the main agent only coordinates.
    play(|world| {
        let coordinator = AgentDef { name: "coordinator".into(), ..world.defs[0].clone() };
        world.defs[0] = coordinator;
        let script = "agent coordinator\nreply\n  call Agent description=one prompt=\"part one\" run_in_background=false\n  call Agent description=two subagent_type=fork prompt=\"part two\" run_in_background=false\nreply \"done\"\nagent general-purpose\nreply \"general\"\n";
        world.model = Arc::new(ScriptModel::parse("test", script).unwrap());
    })
    .await;
}

// proves: A8, C6
#[tokio::test]
async fn rules_know_a_fork_by_its_own_name() {
    let script = format!(
        "agent main\nreply\n  call Agent description=one prompt=\"part one\" {WAIT}\nreply \"done\"\nagent fork\nreply \"Scope: one.\"\n"
    );
    for (rule, denied) in [("Agent(fork)", true), ("Agent(general-purpose)", false)] {
        let (mut world, _, _) = world(&script);
        world.config.leave.rules.add(rule, Behaviour::Deny, Scope::User, "/".into()).unwrap();
        let session = world.start().await;
        turn(&session, 0, "go").await;
        let told = results(&entries(&session, &AgentId::main()).await).join("\n");
        assert_eq!(told.contains("Scope: one."), !denied, "{rule}: {told}");
        close(session).await;
    }
}
