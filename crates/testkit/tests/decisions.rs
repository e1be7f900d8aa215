//! The log of decisions: a line for each call that was judged, and no call that depends on it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use troupe_core::BoxFuture;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::Ending;
use troupe_core::policy::{Answer, Behaviour, Mode, Question, Scope};
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::store::{SessionPaths, decisions};
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{World, ended, say, session, turn};

fn world(script: &str) -> World {
    let mut world = World::new(Arc::new(ScriptModel::parse("test", script).unwrap()));
    world.config.leave.mode = Some(Mode::Default);
    world
}

async fn log(world: &World, journal: &dyn Journal) -> Vec<Map<String, Value>> {
    let place = &world.config.place;
    let paths = SessionPaths::new(place.root.clone(), place.project.clone(), session());
    decisions(journal, &paths).await.unwrap()
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

async fn answer(session: &Session, question: &Question, answer: Answer) {
    session.send(&AgentId::main(), Input::Answer(question.id.clone(), answer)).await.unwrap();
}

async fn close(session: Session) {
    session.close(Duration::from_secs(10)).await;
}

fn words<'l>(line: &'l Map<String, Value>, keys: &[&str]) -> Vec<&'l str> {
    keys.iter().map(|key| line.get(*key).and_then(Value::as_str).unwrap_or("-")).collect()
}

// proves: S7
#[tokio::test]
async fn each_judged_call_is_written_down_with_its_rule_and_who_settled_it() {
    let mut world = world(
        "agent main\nreply\n  call Bash command=ls\nreply\n  call Bash command=\"touch a\"\nreply\n  call Bash command=\"rm b\"\nreply\n  call Write file_path=c.txt content=secret\nreply\n  call Nothing a=b\nreply \"done\"\n",
    );
    world.config.leave.asks = true;
    world.config.leave.by_host = true;
    let place = world.workspace().to_owned();
    world.config.leave.rules.add("Bash(rm *)", Behaviour::Deny, Scope::User, place).unwrap();
    let journal = Arc::new(FileJournal::new(world.config.place.root.clone(), Locking::Leased));
    let session = world.open_on(Arc::clone(&journal) as _, Start::New(session())).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let touch = question(&mut events).await;
    answer(&session, &touch, Answer::Allow { input: None, updates: vec![] }).await;
    let write = question(&mut events).await;
    answer(&session, &write, Answer::Deny { message: "no".into(), interrupt: false }).await;
    assert_eq!(ended(&mut events).await.ending, Ending::Completed);
    close(session).await;

    let lines = log(&world, &*journal).await;
    let keys = ["tool", "decision", "outcome", "by", "mode"];
    let told: Vec<Vec<&str>> = lines.iter().map(|line| words(line, &keys)).collect();
    assert_eq!(
        told,
        [
            ["Bash", "allow", "allowed", "policy", "default"],
            ["Bash", "ask", "allowed", "host", "default"],
            ["Bash", "deny", "denied", "policy", "default"],
            ["Write", "ask", "denied", "host", "default"],
        ]
    );
    assert_eq!(lines[1]["judged"], json!(["touch a"]));
    assert_eq!(lines[1]["reason"], "nothing allows `touch a`");
    assert!(lines[1]["waitedMs"].is_u64() && !lines[0].contains_key("waitedMs"));
    assert_eq!(lines[2]["rule"], json!({"rule": "Bash(rm *)", "behavior": "deny", "scope": "user"}));
    assert!(lines[3]["judged"][0].as_str().unwrap().ends_with("/c.txt"));
    assert!(!json!(lines).to_string().contains("secret"), "contents of files are not kept");
    let file = format!("projects/-ws/{}/decisions.jsonl", troupe_testkit::world::session());
    assert!(world.config.place.root.join(file).is_file());
}

// proves: S7
#[tokio::test]
async fn a_changed_input_and_a_withdrawn_question_are_seen_as_such() {
    let mut world = world(
        "agent main\nreply\n  call Bash command=\"touch a\"\nreply\n  call Bash command=\"touch b\"\nreply \"done\"\n",
    );
    world.config.leave.asks = true;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let touch = question(&mut events).await;
    let changed = Some(json!({"command": "touch other"}));
    answer(&session, &touch, Answer::Allow { input: changed, updates: vec![] }).await;
    question(&mut events).await;
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    ended(&mut events).await;
    close(session).await;

    let lines = log(&world, &*world.journal).await;
    let told: Vec<Vec<&str>> = lines.iter().map(|line| words(line, &["outcome", "by"])).collect();
    assert_eq!(told, [["allowed", "person"], ["withdrawn", "nobody"]]);
    assert_eq!((&lines[0]["judged"], &lines[0]["changed"]), (&json!(["touch other"]), &json!(true)));
    assert!(lines[0]["waitedMs"].is_u64());
    assert_eq!(lines[1]["judged"], json!(["touch b"]));
}

// proves: S7
#[tokio::test]
async fn the_log_says_whose_word_it_was_and_what_was_made_of_it() {
    let mut world = world(
        "agent main\nreply\n  call Bash command=\"touch a\"\nreply\n  call Bash command=\"touch b\"\nreply\n  call Bash command=\"touch c\"\nreply\n  call EnterPlanMode\nreply\n  call ExitPlanMode plan=x\nreply \"done\"\n",
    );
    world.config.leave.asks = true;
    world.config.leave.by_host = true;
    let place = world.workspace().to_owned();
    world.config.leave.rules.add("Bash(rm *)", Behaviour::Deny, Scope::User, place).unwrap();
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let allow = |input| Answer::Allow { input, updates: vec![] };
    answer(&session, &*question(&mut events).await, allow(Some(json!({"command": "rm b"})))).await;
    answer(&session, &*question(&mut events).await, allow(Some(json!({"command": 7})))).await;
    let left = question(&mut events).await;
    let gone = Input::Unanswered(left.id.clone(), "the host has left".into());
    session.send(&AgentId::main(), gone).await.unwrap();
    let plan = question(&mut events).await;
    answer(&session, &plan, allow(Some(json!({"plan": "another"})))).await;
    ended(&mut events).await;
    close(session).await;

    let lines = log(&world, &*world.journal).await;
    let keys = ["tool", "decision", "outcome", "by"];
    let told: Vec<Vec<&str>> = lines.iter().map(|line| words(line, &keys)).collect();
    assert_eq!(
        told,
        [
            ["Bash", "deny", "denied", "policy"],
            ["Bash", "ask", "denied", "policy"],
            ["Bash", "ask", "denied", "nobody"],
            ["EnterPlanMode", "allow", "allowed", "policy"],
            ["ExitPlanMode", "ask", "allowed", "host"],
        ]
    );
    let changed: Vec<bool> = lines.iter().map(|line| line.contains_key("changed")).collect();
    assert_eq!(changed, [true, true, false, false, true]);
    let waited: Vec<bool> = lines.iter().map(|line| line.contains_key("waitedMs")).collect();
    assert_eq!(waited, [true, true, true, false, true]);
    assert_eq!((&lines[0]["judged"], &lines[0]["rule"]["rule"]), (&json!(["rm b"]), &json!("Bash(rm *)")));
}

// proves: S7
#[tokio::test]
async fn a_question_that_nobody_answered_in_time_was_denied_by_nobody() {
    let mut world = world("agent main\nreply\n  call Bash command=\"touch a\"\nreply \"done\"\n");
    world.config.leave.asks = true;
    world.config.leave.by_host = true;
    world.config.leave.question_limit = Some(Duration::from_millis(1));
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    close(session).await;
    let lines = log(&world, &*world.journal).await;
    assert_eq!(words(&lines[0], &["outcome", "by"]), ["denied", "nobody"]);
}

/// A journal in which decisions can't be written.
struct Refusing(Arc<dyn Journal>);

impl Journal for Refusing {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        if !key.as_str().ends_with("/decisions") {
            return self.0.append(key, expect, record);
        }
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        Box::pin(async { Err(JournalError::Io { action: "append to", path: "decisions".into(), source }) })
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.0.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.0.read(key, after)
    }
}

// proves: S7
#[tokio::test]
async fn a_log_that_can_not_be_written_is_told_once_and_loses_no_call() {
    let world = world(
        "agent main\nreply\n  call Bash command=\"echo one\"\nreply\n  call Bash command=\"echo two\"\nreply \"done\"\n",
    );
    let journal: Arc<dyn Journal> = Arc::new(Refusing(Arc::clone(&world.journal)));
    let session = world.open_on(journal, Start::New(session())).await;
    let mut events = session.subscribe(false);
    assert_eq!(turn(&session, 0, "go").await.text, "done");
    until(&mut events, |kind| match kind {
        EventKind::Notice(Notice::Warning(text)) => {
            assert!(text.contains("decisions on calls"), "{text}");
            Some(())
        }
        _ => None,
    })
    .await;
    until(&mut events, |kind| match kind {
        EventKind::Notice(Notice::Warning(text)) => panic!("a second time: {text}"),
        EventKind::Ended(_) => Some(()),
        _ => None,
    })
    .await;
    close(session).await;
}
