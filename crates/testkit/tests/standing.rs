//! What a session may do, while it changes: by files, by answers, by the list of one agent.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Setting};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::Ending;
use troupe_core::policy::{Answer, Behaviour, Destination, Mode, Question, Rules, Scope, Update};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::load::Reread;
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{World, ended, say, turn};

fn world(script: &str) -> World {
    let mut world = World::new(Arc::new(ScriptModel::parse("test", script).unwrap()));
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    world
}

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

async fn until<T>(events: &mut Subscription, wanted: impl Fn(&EventKind) -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Heard::Event(event) = events.next().await
                && let Some(found) = wanted(&event.kind)
            {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap()
}

async fn question(events: &mut Subscription) -> Arc<Question> {
    until(events, |kind| match kind {
        EventKind::QuestionOpened(question) => Some(Arc::clone(question)),
        _ => None,
    })
    .await
}

fn rules(list: &[(&str, Behaviour)], scope: Scope) -> Rules {
    let mut rules = Rules::default();
    for (text, behaviour) in list {
        rules.add(text, *behaviour, scope, "/".into()).unwrap();
    }
    rules
}

/// What the files of rules say next, as a test puts it there.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<Option<Reread>>>);

impl Files {
    fn put(&self, list: &[(&str, Behaviour)]) {
        let reread = Reread { rules: rules(list, Scope::Local), folders: Vec::new(), told: Vec::new() };
        *self.0.lock().unwrap() = Some(reread);
    }

    fn attach(&self, world: &mut World) {
        let files = self.clone();
        world.config.leave.reload = Some(Arc::new(move || files.0.lock().unwrap().take()));
    }
}

const TWO: &str = "agent main\nreply\n  call Write file_path=a.txt content=a\nreply\n  call Write file_path=b.txt content=b\nreply \"done\"\n";

// proves: S7, X7
#[tokio::test]
async fn rules_that_change_while_a_question_is_open_close_it() {
    for (behaviour, written) in [(Behaviour::Allow, "a"), (Behaviour::Deny, "")] {
        let mut world = world(TWO);
        let files = Files::default();
        files.attach(&mut world);
        let session = world.start().await;
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        let asked = question(&mut events).await;
        files.put(&[("Edit", behaviour)]);
        let closed = until(&mut events, |kind| match kind {
            EventKind::QuestionClosed(id) => Some(id.clone()),
            _ => None,
        })
        .await;
        assert_eq!(closed, asked.id);
        let late = Answer::Allow { input: None, updates: vec![] };
        assert!(session.send(&AgentId::main(), Input::Answer(asked.id.clone(), late)).await.is_err());
        assert_eq!(ended(&mut events).await.ending, Ending::Completed);
        assert_eq!(world.read("a.txt"), written);
        session.close(Duration::from_secs(10)).await;
    }
}

// proves: S7
#[tokio::test]
async fn a_rule_that_is_removed_while_a_question_is_open_lets_the_mode_decide() {
    let mut world = world(TWO);
    world.config.leave.mode = Some(Mode::AcceptEdits);
    world.config.leave.rules = rules(&[("Edit", Behaviour::Ask)], Scope::Local);
    let files = Files::default();
    files.attach(&mut world);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    question(&mut events).await;
    files.put(&[]);
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("a".into(), "b".into()));
    session.close(Duration::from_secs(10)).await;
}

// proves: S1, S7
#[tokio::test]
async fn a_rule_that_denies_holds_against_an_answer_that_was_given_meanwhile() {
    let mut world = world(TWO);
    let files = Files::default();
    files.attach(&mut world);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    files.put(&[("Edit(a.txt)", Behaviour::Deny)]);
    let allow = Answer::Allow { input: None, updates: vec![] };
    session.send(&AgentId::main(), Input::Answer(asked.id.clone(), allow.clone())).await.unwrap();
    let second = question(&mut events).await;
    session.send(&AgentId::main(), Input::Answer(second.id.clone(), allow)).await.unwrap();
    ended(&mut events).await;
    assert!(results(&session).await[0].contains("`Edit(a.txt)` denies"));
    assert_eq!((world.read("a.txt"), world.read("b.txt")), (String::new(), "b".into()));
    session.close(Duration::from_secs(10)).await;
}

// proves: S1, S7
#[tokio::test]
async fn what_answers_added_survives_a_change_of_the_files() {
    let mut world = world(TWO);
    let files = Files::default();
    files.attach(&mut world);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    let update = Update::AddRules {
        rules: vec!["Edit".into()],
        behaviour: Behaviour::Allow,
        destination: Destination::Session,
    };
    files.put(&[("Bash(ls)", Behaviour::Allow)]);
    let allow = Answer::Allow { input: None, updates: vec![update] };
    session.send(&AgentId::main(), Input::Answer(asked.id.clone(), allow)).await.unwrap();
    files.put(&[("Bash(pwd)", Behaviour::Allow)]);
    // A second question would hang here.
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!(world.read("b.txt"), "b");
    session.close(Duration::from_secs(10)).await;
}

// proves: S1
#[tokio::test]
async fn a_mode_that_is_set_while_a_question_is_open_decides_it() {
    let world = world(TWO);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    question(&mut events).await;
    session.send(&AgentId::main(), Input::Set(Setting::Mode(Mode::AcceptEdits))).await.unwrap();
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("a".into(), "b".into()));
    session.close(Duration::from_secs(10)).await;
}

// proves: S1
#[tokio::test]
async fn what_can_t_be_saved_lasts_as_long_as_the_session_and_is_told() {
    let mut world = world(TWO);
    world.config.leave.save = Some(Arc::new(|_| Err("the disk is full".to_owned())));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let asked = question(&mut events).await;
    let update = Update::AddRules {
        rules: vec!["Edit".into()],
        behaviour: Behaviour::Allow,
        destination: Destination::LocalSettings,
    };
    let allow = Answer::Allow { input: None, updates: vec![update] };
    session.send(&AgentId::main(), Input::Answer(asked.id.clone(), allow)).await.unwrap();
    let told = until(&mut events, |kind| match kind {
        EventKind::Notice(troupe_core::event::Notice::Warning(text)) => Some(text.clone()),
        _ => None,
    })
    .await;
    assert!(told.contains("the disk is full"), "{told}");
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!(world.read("b.txt"), "b");
    session.close(Duration::from_secs(10)).await;
}

// proves: S4
#[tokio::test]
async fn an_agent_s_allowed_tools_replace_what_the_session_allows_and_not_what_flags_do() {
    let script = "agent main\nreply\n  call Write file_path=a.txt content=a\nreply\n  call Agent description=d prompt=p\nreply \"done\"\nagent general-purpose\nreply\n  call Write file_path=b.txt content=b\nreply\n  call Bash command=\"touch c.txt\"\nreply\n  call Bash command=\"touch d.txt\"\nreply \"ok\"\n";
    let mut world = world(script);
    world.config.leave.rules = rules(&[("Bash(touch c.txt)", Behaviour::Allow)], Scope::CommandLine);
    world.defs[1].allowed = Some(vec!["Bash(touch d.txt)".into()]);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let update = Update::AddRules {
        rules: vec!["Edit".into()],
        behaviour: Behaviour::Allow,
        destination: Destination::Session,
    };
    let first = question(&mut events).await;
    assert!(first.agent.is_main());
    let allow = Answer::Allow { input: None, updates: vec![update] };
    session.send(&AgentId::main(), Input::Answer(first.id.clone(), allow)).await.unwrap();
    // The session allows edits by now, and this agent is asked all the same; the rest of its calls is not.
    let second = question(&mut events).await;
    assert_eq!(second.asker.definition, "general-purpose");
    assert_eq!(second.input["file_path"], "b.txt");
    let deny = Answer::Deny { message: "no".into(), interrupt: false };
    session.send(&AgentId::main(), Input::Answer(second.id.clone(), deny)).await.unwrap();
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    let written = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|path| world.workspace().join(path).exists());
    assert_eq!(written, [true, false, true, true]);
    session.close(Duration::from_secs(10)).await;
}

// proves: S3
#[tokio::test]
async fn a_question_has_a_time_limit_where_one_is_set() {
    let mut world = world(TWO);
    world.config.leave.question_limit = Some(Duration::from_millis(50));
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.ending, Ending::Completed);
    assert!(results(&session).await.iter().all(|text| text.contains("nobody answered within 0.05 s")));
    assert!(session.questions().is_empty());
    session.close(Duration::from_secs(10)).await;
}

// proves: S2
#[tokio::test]
async fn a_folder_of_an_answer_is_found_as_in_settings_or_told_why_not() {
    let mut world = world("agent main\n");
    let home = world.folder().join("home");
    let folders = [world.folder().join("out"), home.join("mine")];
    for folder in &folders {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("b.txt"), "beside").unwrap();
    }
    world.write("plain.txt", "x");
    world.config.place.home = home;
    let cases = [
        ("../out", None),
        ("~/mine", None),
        ("gone", Some("No such file")),
        ("a\0b", Some("NUL")),
        ("plain.txt", Some("no folder")),
    ];
    let touch = (0..cases.len()).map(|at| format!("Bash command=\"touch {at}\""));
    let read = folders.iter().map(|folder| format!("Read file_path={}", folder.join("b.txt").display()));
    let calls: Vec<String> = touch.chain(read).map(|call| format!("reply\n  call {call}")).collect();
    let script = format!("agent main\n{}\nreply \"done\"\n", calls.join("\n"));
    world.model = Arc::new(ScriptModel::parse("test", &script).unwrap());
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    for (folder, fault) in cases {
        let asked = question(&mut events).await;
        let update =
            Update::AddDirectories { directories: vec![folder.into()], destination: Destination::Session };
        let answer = Answer::Allow { input: None, updates: vec![update] };
        session.send(&AgentId::main(), Input::Answer(asked.id.clone(), answer)).await.unwrap();
        if let Some(fault) = fault {
            until(&mut events, |kind| match kind {
                EventKind::Notice(troupe_core::event::Notice::Warning(told)) => {
                    assert!(told.contains("the folder") && told.contains(fault), "{told}");
                    Some(())
                }
                _ => None,
            })
            .await;
        }
    }
    // Reading beside the workspace would ask, and hang here.
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    let given = results(&session).await;
    assert!(given[given.len() - 2..].iter().all(|text| text.contains("beside")), "{given:?}");
    session.close(Duration::from_secs(10)).await;
}
