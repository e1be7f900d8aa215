//! What a fork inherits is its parent's request and reply, whatever came before and after.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use crate::block::Block;
use crate::compact;
use crate::entry::{Body, Origin, Stop};
use crate::fork::{Inherited, directive, rules};
use crate::ids::EntryId;
use crate::ports::model::{Message, Role};
use crate::transcript::Transcript;
use crate::turn_tests::{any_body, prompt, push, reply, transcript, user, valid};

/// A summary of what is not there yet can't come to be.
fn is_possible(at: usize, body: &Body) -> bool {
    match body {
        Body::Summary { upto, .. } => (0..at).any(|n| *upto == EntryId::new(format!("e{n}"))),
        _ => true,
    }
}

fn built(bodies: &[Body]) -> Transcript {
    let mut transcript = transcript();
    for body in bodies {
        if is_possible(transcript.entries().len(), body) {
            push(&mut transcript, body.clone());
        }
    }
    transcript
}

fn ends_with_user(messages: &[Message]) -> bool {
    messages.last().is_some_and(|last| last.role == Role::User)
}

proptest! {
    // proves: C6, X5, C5
    #[test]
    fn a_fork_begins_with_the_request_that_was_sent_and_is_rebuilt_the_same(
        before in prop::collection::vec(any_body(), 0..15),
        after in prop::collection::vec(any_body(), 0..15),
        own in prop::collection::vec(any_body(), 0..10),
    ) {
        let mut parent = built(&[vec![prompt()], before].concat());
        let sent = parent.messages();
        let at = push(&mut parent, reply(&["x", "y"], Stop::ToolUse));
        let rebuilt = Inherited::of(&parent, &at).unwrap();
        for body in after {
            if is_possible(parent.entries().len(), &body) {
                push(&mut parent, body);
            }
        }
        let live = Inherited::of(&parent, &at).unwrap();
        prop_assert_eq!(live.messages(), rebuilt.messages());
        if ends_with_user(&sent) {
            prop_assert_eq!(&live.messages()[..sent.len()], &sent[..]);
            prop_assert_eq!(live.messages().len(), sent.len() + 2);
        }

        let mut fork = transcript().inheriting(Arc::new(live));
        push(&mut fork, user(Origin::System, false));
        push(&mut fork, prompt());
        let mut former: Vec<String> = Vec::new();
        for body in own {
            // A summary takes the place of what stood before it, and nobody is asked while a call is open.
            let asked_too_soon = matches!(body, Body::Assistant { .. }) && !fork.open_calls().is_empty();
            if matches!(body, Body::Summary { .. }) || asked_too_soon {
                continue;
            }
            push(&mut fork, body);
            let messages = fork.messages();
            let checked = valid(&messages);
            prop_assert!(checked.is_ok(), "{checked:?}");
            let inherited = fork.inherited().unwrap().messages();
            let (last, whole) = inherited.split_last().unwrap();
            prop_assert_eq!(&messages[..whole.len()], whole);
            prop_assert_eq!(&messages[whole.len()].groups[..last.groups.len()], &last.groups[..]);
            let blocks = messages.iter().flat_map(Message::blocks);
            let text: Vec<String> = blocks.map(|block| block.to_value().to_string()).collect();
            // Calls that are open are answered in a later request.
            if fork.open_calls().is_empty() {
                prop_assert!(text.starts_with(&former), "{former:?}\n{text:?}");
                former = text;
            }
        }
    }
}

// proves: C8
#[test]
fn only_a_reply_with_calls_on_the_path_can_fork() {
    let mut parent = transcript();
    let asked = push(&mut parent, prompt());
    let said = push(&mut parent, reply(&[], Stop::EndTurn));
    for at in [asked, said, "nowhere".into()] {
        assert!(Inherited::of(&parent, &at).is_none(), "{at}");
    }
}

// proves: E8, C8
#[test]
fn a_fork_that_is_full_before_its_first_reply_can_be_shortened_once() {
    let mut parent = transcript();
    push(&mut parent, prompt());
    let at = push(&mut parent, reply(&["x"], Stop::ToolUse));
    let mut fork = transcript().inheriting(Arc::new(Inherited::of(&parent, &at).unwrap()));
    let rules = push(&mut fork, user(Origin::System, false));
    push(&mut fork, prompt());
    let cut = compact::plan(&fork).unwrap();
    assert_eq!((&cut.upto, cut.position), (&rules, 0), "its task stays");
    push(&mut fork, Body::Summary { upto: cut.upto, text: "summary".into() });
    let messages = fork.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(valid(&messages).is_ok());
    assert_eq!(compact::plan(&fork), None);
}

// proves: C7, C10
#[test]
fn the_rules_say_how_to_report_and_where_a_fork_works() {
    let here = rules(Path::new("/w"), Path::new("/w"));
    assert!(here.contains("`Scope:`") && here.contains("500 words") && here.contains("commit"));
    assert!(!here.contains("/w"));
    let moved = rules(Path::new("/w"), Path::new("/trees/a"));
    assert!(moved.starts_with(&here) && moved.contains("You work in /trees/a") && moved.contains("of /w,"));
    let message = |text: &str| Message { role: Role::User, groups: vec![[Block::text(text)].into()] };
    let messages = [message("You are a fork"), message(&here), message("<fork>")];
    assert_eq!(directive(&messages), messages.get(1));
    assert_eq!(directive(&messages[..1]), None);
}
