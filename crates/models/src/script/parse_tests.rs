//! Tests of the reading of scripts.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use troupe_core::usage::Usage;

use super::*;

fn parse(text: &str) -> Script {
    Script::parse("demo.script", text).unwrap()
}

fn error(text: &str) -> String {
    Script::parse("demo.script", text).unwrap_err().to_string()
}

fn reply(lines: &str) -> Reply {
    parse(&format!("agent main\nreply\n{lines}\n")).lists[0].replies[0].clone()
}

#[test]
fn a_script_is_lists_of_replies() {
    let script = parse(
        "# a comment\n\nagent main\nreply \"one\"\n  reply\n  text \"t\\n\\\"w\\\"\"\nagent Explore /the tests/\n\tagent *\r\nreply \"any\"\r\n",
    );
    let names: Vec<String> = script.lists.iter().map(List::name).collect();
    assert_eq!(names, ["main", "Explore /the tests/", "*"]);
    let steps: Vec<_> = script.lists[0].replies.iter().map(|reply| reply.steps.clone()).collect();
    assert_eq!(steps, [vec![Step::Text("one".into())], vec![Step::Text("t\n\"w\"".into())]]);
    assert_eq!((script.lists[0].line, script.lists[0].replies[1].line), (3, 5));
    assert_eq!(script.lists[2].replies.len(), 1);
}

#[test]
fn a_call_takes_json_or_pairs() {
    let step = |line: &str| reply(line).steps[0].clone();
    let call = |tool: &str, input| Step::Call { tool: tool.into(), input };
    assert_eq!(step("call Read"), call("Read", json!({})));
    assert_eq!(step(r#"call Read {"a": {"b": [1, "x y"]}}"#), call("Read", json!({"a":{"b":[1,"x y"]}})));
    assert_eq!(
        step(
            r#"call Bash command="ls -l = x" timeout=5000 background=true note=a=b list=[1, 2] half=0.5 none=null id="7""#
        ),
        call(
            "Bash",
            json!({"command":"ls -l = x","timeout":5000,"background":true,"note":"a=b","list":[1,2],
            "half":0.5,"none":null,"id":"7"})
        )
    );
}

#[test]
fn every_word_is_understood() {
    let reply = reply(
        "expect \"a\"\nexpect \"b\"\nerror 529 \"Overloaded\" times=2 retry_after=0.5\nerror network \"reset\" times=always\ncut 3 times=4\ngate one\nthink \"hm\"\nusage input=1 cache_read=2 cache_write=3 output=4\nstop max_tokens",
    );
    assert_eq!(reply.expects, ["a", "b"]);
    let [overload, network] = &reply.failures[..] else { panic!("two failures") };
    assert_eq!(
        (overload.error.fault, overload.error.status, overload.times),
        (Fault::Overloaded, Some(529), 2)
    );
    assert_eq!(overload.error.message, "Overloaded");
    assert_eq!(overload.error.retry_after, Some(Duration::from_millis(500)));
    assert_eq!((network.error.fault, network.error.status, network.times), (Fault::Network, None, u32::MAX));
    assert_eq!(reply.cut, Some(Cut { after: 3, times: 4 }));
    assert_eq!(reply.steps, [Step::Gate("one".into()), Step::Think("hm".into())]);
    let usage = Usage {
        input_tokens: 1,
        output_tokens: 4,
        cache_read_input_tokens: 2,
        cache_creation_input_tokens: 3,
    };
    assert_eq!((reply.usage, reply.stop), (usage, Some(Stop::MaxTokens)));
}

#[test]
fn a_failure_is_read_as_a_servers_is() {
    let fault = |line: &str| reply(line).failures[0].error.fault;
    assert_eq!(fault("error 400 \"prompt is too long: 9 > 8\""), Fault::PromptTooLong);
    assert_eq!(fault("error 429 \"over the spend limit\""), Fault::Billing);
    assert_eq!(fault("error 503 \"x\""), Fault::Server);
    assert_eq!(fault("error timeout \"x\""), Fault::Timeout);
    assert_eq!(fault("error malformed \"x\""), Fault::Malformed);
}

#[test]
fn an_error_names_the_line_and_what_would_be_right() {
    for (text, what, right) in [
        ("reply", "demo.script:1: a reply before any agent", AGENT),
        ("agent", "demo.script:1: an agent without a name", AGENT),
        ("agent a b", "`b` is no part of a prompt between slashes", AGENT),
        ("agent a //", "`//` is no part", AGENT),
        ("agent a /x/\nagent a /x/", "demo.script:2: `a /x/` has its replies in line 1 already", "one list"),
        ("agent a\ntext \"x\"", "demo.script:2: `text` before any reply", REPLY),
        ("agent a\n\n# c\nreply\nfoo", "demo.script:5: `foo` is no word of a script", WORDS),
        ("agent a\nreply hello", "a text in quotes is missing", REPLY),
        ("agent a\nreply \"x\" y", "`y` is too much", NOTHING),
        ("agent a\nreply\ntext \"x", "is no JSON", STRING),
        ("agent a\nreply\ntext \"x\"y", "`y` follows a value without a blank", STRING),
        ("agent a\nreply\nerror 200 \"x\"", "`200` is no status of a failure", ERROR),
        ("agent a\nreply\nerror", "an error without a status", ERROR),
        ("agent a\nreply\nerror 500 \"x\" times=-1", "times is no number", ERROR),
        ("agent a\nreply\nerror 500 \"x\" often=1", "an error has no `often`", ERROR),
        ("agent a\nreply\nerror 500 \"x\" retry_after=-1", "no number of seconds", ERROR),
        ("agent a\nreply\ncut", "a cut without a number", CUT),
        ("agent a\nreply\ncut 1\ncut 2", "a second cut", CUT),
        ("agent a\nreply\ngate", "a gate without a name", GATE),
        ("agent a\nreply\ncall", "a call without a tool", CALL),
        ("agent a\nreply\ncall T x", "`x` is no key=value", CALL),
        ("agent a\nreply\ncall T a=", "`a` has no value", CALL),
        ("agent a\nreply\ncall T a=1 a=2", "`a` is given twice", CALL),
        ("agent a\nreply\ncall T {\"a\":", "is no JSON", CALL),
        ("agent a\nreply\nusage input=x", "`input` is no number of tokens", USAGE),
        ("agent a\nreply\nusage tokens=1", "usage has no `tokens`", USAGE),
        ("agent a\nreply\nstop tired", "the stop reason `tired` is not known", STOP),
    ] {
        let error = error(text);
        assert!(error.contains(what) && error.contains(right), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(lines in proptest::collection::vec(
        prop_oneof![Just("agent a"), Just("reply"), Just("call T "), Just("error 500 "), Just("text "), Just("cut ")]
            .prop_flat_map(|word| "[ a-z=\"{}/0-9é]{0,12}".prop_map(move |rest| format!("{word}{rest}"))),
        0..8,
    )) {
        let _ = Script::parse("x", &lines.join("\n"));
    }
}
