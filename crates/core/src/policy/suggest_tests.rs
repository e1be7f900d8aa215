//! Wider rules: which are offered, and that they cover the call.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use super::alternatives;
use crate::access::Access;
use crate::policy::{Behaviour, Command, Decision, Judged, Mode, Rules, Scope, Simple, Update, Word, decide};
use crate::ports::tool::Place;

fn access(parts: &[&str]) -> Access {
    let simple =
        |text: &&str| Simple { words: text.split(' ').map(Word::plain).collect(), ..Simple::default() };
    let parts: Vec<Simple> = parts.iter().map(simple).collect();
    let text = parts.iter().map(|part| part.texts().join(" ")).collect::<Vec<_>>().join(" && ");
    Access::Exec(Box::new(Command { text, parts, ..Command::default() }))
}

fn with<T>(parts: &[&str], act: impl FnOnce(&Judged<'_>) -> T) -> T {
    let place = Place {
        cwd: "/p".into(),
        home: "/h".into(),
        roots: vec!["/p".into()],
        scratch: vec![],
        read_only: false,
    };
    act(&Judged { tool: "Bash", input: &json!({}), access: &[access(parts)], place: &place })
}

fn offered(parts: &[&str]) -> Vec<String> {
    with(parts, |call| match alternatives(&Rules::default(), Mode::Default, call).pop() {
        Some(Update::AddRules { rules, behaviour: Behaviour::Allow, .. }) => rules,
        Some(other) => panic!("{other:?}"),
        None => Vec::new(),
    })
}

// proves: S7
#[test]
fn program_sub_command_and_options_stay() {
    for (line, rule) in [
        ("cargo test a", "Bash(cargo test *)"),
        ("cargo test --release -p x a", "Bash(cargo test --release -p x *)"),
        ("cargo build --features=a,b", "Bash(cargo build --features=a,b *)"),
        ("go test -run A ./x", "Bash(go test -run A *)"),
        ("npm run build", "Bash(npm run build *)"),
        ("timeout 5 cargo test a", "Bash(timeout 5 cargo test *)"),
        ("git commit -m hello", "Bash(git commit -m *)"),
    ] {
        assert_eq!(offered(&[line]), [rule], "{line}");
    }
}

// proves: S7
#[test]
fn what_may_do_anything_is_offered_exactly() {
    for line in [
        "python3 -c print(1)",
        "bash a.sh",
        "curl https://a.example",
        "rm -f a",
        "docker run x",
        "git push origin main",
        "npm install x",
        "cargo run x",
        "./gradlew test",
        "cargo +nightly test",
        "git -C .. commit",
        "cargo test a --release",
        "cargo test --target-dir /x a",
        "cargo test --unknown a",
        "cargo clippy --fix",
        "go build -o /x ./a",
        "git commit -m a --no-verify",
        "git commit --amend -m a",
        "cargo test -- --nocapture",
        "npm run -s",
        "sudo cargo test",
    ] {
        assert_eq!(offered(&[line]), [""; 0], "{line}");
    }
}

// proves: S7
#[test]
fn each_part_that_needs_a_rule_gets_one_and_no_more_than_five() {
    assert_eq!(offered(&["ls", "cargo test a", "jq b"]), ["Bash(cargo test *)", "Bash(jq b)"]);
    let many: Vec<String> = (0..6).map(|n| format!("jq {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(offered(&many), [""; 0]);
    assert_eq!(offered(&many[..5]).len(), 5);
}

// proves: S7
#[test]
fn what_is_offered_answers_the_question() {
    let parts = ["cargo test a", "jq b"];
    let mut rules = Rules::default();
    for rule in offered(&parts) {
        rules.add(&rule, Behaviour::Allow, Scope::Session, "/p".into()).unwrap();
    }
    let judged = |parts: &[&str]| with(parts, |call| decide(&rules, Mode::Default, call).decision());
    assert_eq!(judged(&parts), Decision::Allow);
    assert_eq!(judged(&["cargo test other"]), Decision::Allow);
    assert_eq!(judged(&["cargo publish"]), Decision::Ask);
    assert_eq!(judged(&["jq c"]), Decision::Ask);
}
