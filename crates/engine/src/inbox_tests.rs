//! What waits for an agent, and in which order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use proptest::prelude::*;

use super::*;
use crate::journal::MemoryJournal;
use troupe_core::block::Block;
use troupe_core::entry::Origin;
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_core::state::AgentState;

fn prompt(id: &str, from: Origin, when: When) -> Prompt {
    Prompt { id: id.into(), blocks: vec![Block::text(id)], from, when, starts_turn: true }
}

fn ids(prompts: &[Prompt]) -> Vec<&str> {
    prompts.iter().map(|prompt| prompt.id.as_str()).collect()
}

fn empty() -> Transcript {
    Transcript::new(AgentState::new("/".into(), Mode::Default, "m".into(), "p".into()))
}

// proves: B13
#[tokio::test]
async fn urgency_goes_first_then_people_then_arrival() {
    let drain = Inbox::open(Arc::new(MemoryJournal::default()), Key::new("i").unwrap());
    let job = || Origin::Job("j".into());
    for (id, from, when) in [
        ("later", Origin::Human, When::Later),
        ("notice", job(), When::Next),
        ("one", Origin::Human, When::Next),
        ("two", Origin::Human, When::Next),
        ("now", Origin::Agent(AgentId::new("a")), When::Now),
    ] {
        drain.inbox.send(prompt(id, from, when)).await.unwrap();
    }
    drain.inbox.send(prompt("one", Origin::Human, When::Next)).await.unwrap();
    assert_eq!(ids(&drain.inbox.list()), ["now", "one", "two", "notice", "later"]);
    assert_eq!(ids(&drain.take(true)), ["now", "one", "two", "notice"]);
    drain.inbox.send(prompt("last", Origin::Human, When::Later)).await.unwrap();
    assert_eq!(ids(&drain.take(false)), ["later"], "one turn after another");
    assert_eq!(ids(&drain.take(false)), ["last"]);
    assert!(drain.is_empty());
}

// proves: B13
#[tokio::test]
async fn what_was_not_read_outlives_the_process_and_what_was_withdrawn_does_not() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let key = Key::new("i").unwrap();
    let first = Inbox::open(Arc::clone(&journal), key.clone());
    for id in ["a", "b"] {
        first.inbox.send(prompt(id, Origin::Human, When::Next)).await.unwrap();
    }
    assert!(first.inbox.withdraw(&"a".into()).await.unwrap());
    assert!(!first.inbox.withdraw(&"a".into()).await.unwrap());
    let second = Inbox::open(journal, key);
    second.restore(&empty(), &HashSet::new()).await.unwrap();
    assert_eq!(ids(&second.inbox.list()), ["b"]);
}

// proves: X1
#[tokio::test]
async fn what_is_not_wanted_any_more_never_waits() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let key = Key::new("i").unwrap();
    let first = Inbox::open(Arc::clone(&journal), key.clone());
    let notice = |id| prompt(id, Origin::Job("j".into()), When::Next);
    first.inbox.send_if(notice("late"), || false).await.unwrap();
    first.inbox.send_if(notice("kept"), || true).await.unwrap();
    assert_eq!(ids(&first.inbox.list()), ["kept"]);
    let second = Inbox::open(journal, key);
    second.restore(&empty(), &HashSet::new()).await.unwrap();
    assert_eq!(ids(&second.inbox.list()), ["kept"], "nor in a later process");
    assert_eq!(ids(&first.take(true)), ["kept"]);
    assert!(!first.inbox.take_back(&"kept".into()), "what was read stays");
}

// proves: B13
#[tokio::test]
async fn a_full_queue_refuses_and_control_still_passes() {
    let mut drain = Inbox::open(Arc::new(MemoryJournal::default()), Key::new("i").unwrap());
    for n in 0..CAPACITY {
        drain.inbox.send(prompt(&n.to_string(), Origin::Human, When::Next)).await.unwrap();
    }
    let refused = drain.inbox.send(prompt("more", Origin::Human, When::Now)).await;
    assert!(matches!(refused, Err(InboxError::Full)));
    drain.inbox.control(Control::Interrupt).await.unwrap();
    assert_eq!(drain.control.recv().await, Some(Control::Interrupt));
}

/// A journal in whose first append an inbox is closed.
struct Closing {
    inner: Arc<dyn Journal>,
    inbox: Mutex<Option<Arc<Inbox>>>,
}

impl Journal for Closing {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<troupe_core::ports::journal::Seq>,
        record: Record,
    ) -> troupe_core::BoxFuture<'a, Result<troupe_core::ports::journal::Seq, JournalError>> {
        if let Some(inbox) = self.inbox.lock().unwrap().take() {
            inbox.close();
        }
        self.inner.append(key, expect, record)
    }

    fn sync<'a>(&'a self, key: &'a Key) -> troupe_core::BoxFuture<'a, Result<(), JournalError>> {
        self.inner.sync(key)
    }

    fn read<'a>(
        &'a self,
        key: &'a Key,
        after: troupe_core::ports::journal::Seq,
    ) -> troupe_core::BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.inner.read(key, after)
    }
}

// proves: B7, F022
#[tokio::test]
async fn who_sends_to_a_closed_inbox_hears_it_and_nothing_is_left_behind() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let key = Key::new("i").unwrap();
    let drain = Inbox::open(Arc::clone(&journal), key.clone());
    drain.inbox.send(prompt("a", Origin::Human, When::Next)).await.unwrap();
    assert!(!drain.inbox.close_if_empty(), "something waits");
    assert_eq!(ids(&drain.take(false)), ["a"]);
    assert!(drain.inbox.close_if_empty());
    let gone = drain.inbox.send(prompt("b", Origin::Human, When::Next)).await;
    assert!(matches!(gone, Err(InboxError::Gone)));
    // One that closes while the prompt is made durable.
    let slow = Arc::new(Closing { inner: Arc::clone(&journal), inbox: Mutex::new(None) });
    let closing = Inbox::open(Arc::clone(&slow) as _, key.clone());
    *slow.inbox.lock().unwrap() = Some(Arc::clone(&closing.inbox));
    let gone = closing.inbox.send(prompt("c", Origin::Human, When::Next)).await;
    assert!(matches!(gone, Err(InboxError::Gone)), "{gone:?}");
    let later = Inbox::open(journal, key);
    later.restore(&empty(), &HashSet::new()).await.unwrap();
    assert_eq!(ids(&later.inbox.list()), ["a"], "read by no transcript");
}

// proves: B7
#[tokio::test]
async fn that_the_person_stopped_it_outlives_the_process() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let key = Key::new("i").unwrap();
    let stopped =
        || async { Inbox::open(Arc::clone(&journal), key.clone()).inbox.is_stopped().await.unwrap() };
    let first = Inbox::open(Arc::clone(&journal), key.clone());
    assert!(!stopped().await);
    first.inbox.record_stop(true).await.unwrap();
    first.inbox.send(prompt("a", Origin::Human, When::Next)).await.unwrap();
    assert!(stopped().await);
    first.inbox.record_stop(false).await.unwrap();
    assert!(!stopped().await);
}

// proves: B7
#[tokio::test]
async fn a_run_that_is_to_begin_outlives_the_process_unless_the_person_stopped_the_agent_since() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let key = Key::new("i").unwrap();
    let run = || async { Inbox::kept(&*journal, &key).await.unwrap().run };
    let drain = Inbox::open(Arc::clone(&journal), key.clone());
    drain.inbox.send(prompt("a", Origin::Human, When::Next)).await.unwrap();
    assert_eq!(run().await, 0, "what was sent to an agent at work begins no further run");
    drain.inbox.record_stop(false).await.unwrap();
    drain.inbox.record_run(2).await.unwrap();
    drain.inbox.send(prompt("b", Origin::Human, When::Next)).await.unwrap();
    assert_eq!(run().await, 2);
    drain.inbox.record_stop(true).await.unwrap();
    assert_eq!(run().await, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // proves: B13
    #[test]
    fn whatever_comes_and_goes_the_order_holds(
        steps in prop::collection::vec((0..3_u8, any::<bool>(), 0..6_u8), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
        let key = Key::new("i").unwrap();
        let drain = Inbox::open(Arc::clone(&journal), key.clone());
        let mut came = Vec::new();
        let mut read = Vec::new();
        let mut withdrawn = Vec::new();
        for (n, (when, human, then)) in steps.iter().enumerate() {
            let when = [When::Now, When::Next, When::Later][usize::from(*when)];
            let from = if *human { Origin::Human } else { Origin::Job("j".into()) };
            let id = format!("{n:03}");
            runtime.block_on(drain.inbox.send(prompt(&id, from, when))).unwrap();
            came.push(id);
            match then {
                0 => {
                    let victim = came[n / 2].as_str().into();
                    if runtime.block_on(drain.inbox.withdraw(&victim)).unwrap() {
                        withdrawn.push(victim.to_string());
                    }
                }
                1 => {
                    let taken = drain.take(true);
                    prop_assert!(taken.iter().all(|prompt| prompt.when != When::Later));
                    read.extend(taken);
                }
                2 => read.extend(drain.take(false)),
                _ => {}
            }
            let waiting = drain.inbox.list();
            for pair in waiting.windows(2) {
                let (before, after) = (&pair[0], &pair[1]);
                let (b, a) = (before.from == Origin::Human, after.from == Origin::Human);
                prop_assert!(before.when <= after.when, "{waiting:?}");
                prop_assert!(before.when < after.when || b || !a, "a person goes first: {waiting:?}");
                let alike = before.when == after.when && a == b;
                prop_assert!(!alike || before.id < after.id, "in order of arrival: {waiting:?}");
            }
            // The next process finds the same, in the same order.
            let next = Inbox::open(Arc::clone(&journal), key.clone());
            let mut transcript = empty();
            for prompt in &read {
                transcript.push(Arc::new(troupe_core::entry::Entry {
                    id: format!("e-{}", prompt.id).as_str().into(),
                    parent: transcript.last_id().cloned(),
                    at: troupe_core::time::Time(0),
                    body: troupe_core::entry::Body::User {
                        blocks: Arc::from(prompt.blocks.clone()),
                        from: prompt.from.clone(),
                        cause: Some(prompt.id.clone()),
                        starts_turn: true,
                    },
                }));
            }
            runtime.block_on(next.restore(&transcript, &HashSet::new())).unwrap();
            let found = next.inbox.list();
            prop_assert_eq!(ids(&found), ids(&waiting));
        }
        let mut all: Vec<String> = read.iter().chain(&drain.inbox.list()).map(|prompt| prompt.id.to_string()).collect();
        all.extend(withdrawn);
        all.sort();
        prop_assert_eq!(all, came, "each is read, waits or was withdrawn, once");
    }
}

// proves: M6, B13
#[tokio::test]
async fn letters_of_other_sessions_keep_out_neither_a_person_nor_an_agent() {
    let drain = Inbox::open(Arc::new(MemoryJournal::default()), Key::new("i").unwrap());
    let letter = |n: usize| {
        let from = AgentId::new(if n.is_multiple_of(2) { "uds:x" } else { "bridge:s" });
        prompt(&format!("letter {n}"), Origin::Agent(from), When::Next)
    };
    for n in 0..LETTERS {
        drain.inbox.send(letter(n)).await.unwrap();
    }
    assert!(matches!(drain.inbox.send(letter(LETTERS)).await, Err(InboxError::Letters)));
    for n in 0..CAPACITY {
        drain.inbox.send(prompt(&n.to_string(), Origin::Human, When::Next)).await.unwrap();
    }
    drain.inbox.send(prompt("mail", Origin::Agent(AgentId::new("a")), When::Next)).await.unwrap();
}
