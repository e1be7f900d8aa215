//! Questions to a person: who is asked, whom the answer reaches, and what it changes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::json;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::Ending;
use troupe_core::policy::{Answer, Behaviour, Destination, Mode, Question, Update};
use troupe_engine::bus::Subscription;
use troupe_testkit::reading::{close, entries, results, until};
use troupe_testkit::world::{World, ended, say, turn};

/// Waits for the next question.
async fn asked(events: &mut Subscription) -> Arc<Question> {
    until(events, |_, kind| match kind {
        EventKind::QuestionOpened(question) => Some(Arc::clone(question)),
        _ => None,
    })
    .await
}

// proves: S2, F023
#[tokio::test]
async fn with_nobody_to_ask_a_question_is_a_denial_that_says_why() {
    let (mut world, _) =
        World::playing("agent main\nreply\n  call Write file_path=new.txt content=x\nreply \"denied\"\n");
    world.config.leave.mode = Some(Mode::Default);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    assert!(results(&entries(&session).await)[0].contains("nobody can be asked"));
    until(&mut events, |_, kind| matches!(kind, EventKind::Notice(Notice::Denied { .. })).then_some(()))
        .await;
    assert!(!world.workspace().join("new.txt").exists());
    close(session).await;
}

// proves: S2, F178
#[tokio::test]
async fn each_answer_reaches_its_asker_in_any_order() {
    let (mut world, _) = World::playing(
        "agent main\nreply\n  call Write file_path=a.txt content=a\n  call Write file_path=b.txt content=b\n  call Write file_path=c.txt content=c\nreply \"done\"\n",
    );
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let mut questions = Vec::new();
    for _ in 0..3 {
        questions.push(asked(&mut events).await);
    }
    questions.reverse();
    for question in questions {
        let path = question.input["file_path"].as_str().unwrap();
        let answer = match path {
            "a.txt" => Answer::Allow { input: None, updates: vec![] },
            "b.txt" => Answer::Deny { message: "not b".into(), interrupt: false },
            // A person may change what is written.
            _ => {
                Answer::Allow { input: Some(json!({"file_path": "d.txt", "content": "d"})), updates: vec![] }
            }
        };
        session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer.clone())).await.unwrap();
        assert!(session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.is_err());
    }
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!((world.read("a.txt"), world.read("b.txt")), ("a".into(), String::new()));
    assert_eq!((world.read("c.txt"), world.read("d.txt")), (String::new(), "d".into()));
    assert!(results(&entries(&session).await).contains(&"not b".to_owned()));
    close(session).await;
}

// proves: S1
#[tokio::test]
async fn always_holds_for_the_rest_of_the_session() {
    let (mut world, _) = World::playing(
        "agent main\nreply\n  call Bash command=\"touch a\"\nreply\n  call Bash command=\"touch a\"\nreply \"done\"\n",
    );
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let question = asked(&mut events).await;
    let update = Update::AddRules {
        rules: vec!["Bash(touch a)".into()],
        behaviour: Behaviour::Allow,
        destination: Destination::Session,
    };
    let answer = Answer::Allow { input: None, updates: vec![update] };
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.unwrap();
    // A second question would hang here.
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    close(session).await;
}

// proves: S7
#[tokio::test]
async fn a_call_is_judged_by_what_those_before_it_changed() {
    let (mut world, _) = World::playing(
        "agent main\nreply\n  call Bash command=\"cd ../out\"\n  call Write file_path=evil.txt content=x\nreply\n  call Bash command=\"ln -s ../out link\"\n  call Write file_path=../ws/link/evil.txt content=x\nreply \"done\"\n",
    );
    let out = world.workspace().join("../out");
    std::fs::create_dir(&out).unwrap();
    let out = std::fs::canonicalize(out).unwrap();
    world.config.place.roots = vec![out.clone()];
    world.config.leave.mode = Some(Mode::BypassPermissions);
    let rule = format!("Edit(/{}/**)", out.display());
    let scope = troupe_core::policy::Scope::CommandLine;
    world.config.leave.rules.add(&rule, Behaviour::Deny, scope, world.workspace().into()).unwrap();
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert!(!out.join("evil.txt").exists(), "{:?}", results(&entries(&session).await));
    close(session).await;
}

// proves: S1
#[tokio::test]
async fn an_answer_adds_folders_and_can_not_turn_on_what_was_not_enabled() {
    let (mut world, _) = World::playing(
        "agent main\nreply\n  call Write file_path=a.txt content=a\nreply\n  call Read file_path=../out/b.txt\nreply \"done\"\n",
    );
    let out = world.workspace().join("../out");
    std::fs::create_dir(&out).unwrap();
    let out = std::fs::canonicalize(out).unwrap();
    std::fs::write(out.join("b.txt"), "beside").unwrap();
    world.config.leave.mode = Some(Mode::Default);
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let question = asked(&mut events).await;
    let destination = Destination::Session;
    let updates = vec![
        Update::SetMode { mode: Mode::BypassPermissions, destination },
        Update::AddDirectories { directories: vec![out.display().to_string()], destination },
    ];
    let answer = Answer::Allow { input: None, updates };
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.unwrap();
    // Reading beside the workspace would ask, and hang here, had the folder not been added.
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    assert_eq!(session.mode(), Mode::Default);
    assert!(results(&entries(&session).await)[1].contains("beside"));
    close(session).await;
}
