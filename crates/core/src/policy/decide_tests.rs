//! The order of the judgement, and the modes.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::json;

use super::super::explain::{explain, explain_waved};
use super::{Asking, Judged, Verdict, decide};
use crate::access::{Access, PathUse};
use crate::policy::{
    Behaviour, Bounds, Command, Destination, Mode, ReasonKind, Rules, Scope, Simple, Update, Word,
};
use crate::ports::tool::Place;

fn place() -> Place {
    Place {
        cwd: "/home/ann/p".into(),
        home: "/home/ann".into(),
        roots: vec!["/home/ann/p".into()],
        scratch: vec![],
        read_only: false,
    }
}

fn judge(rules: &[(&str, Behaviour)], mode: Mode, tool: &str, access: Access) -> Verdict {
    let mut all = Rules::default();
    for (text, behaviour) in rules {
        let _ = all.add(text, *behaviour, Scope::Project, PathBuf::from("/home/ann/p"));
    }
    decide(&all, mode, &Judged { tool, input: &json!({}), access: &[access], place: &place() })
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask(asking) if asking.hard => "hard",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

fn write(path: &str) -> Access {
    Access::Write(PathUse::new(path.into()))
}

fn read(path: &str) -> Access {
    Access::Read(PathUse::new(path.into()))
}

fn exec(line: &str) -> Access {
    let words = line.split(' ').map(Word::plain).collect();
    let parts = vec![Simple { words, ..Simple::default() }];
    Access::Exec(Box::new(Command { text: line.into(), parts, ..Command::default() }))
}

// proves: S1
#[test]
fn the_table_of_modes() {
    let table: [(&str, Access, [&str; 8]); 11] = [
        // Default, AcceptEdits, Plan, Auto, DontAsk, BypassPermissions, Review, Micro
        (
            "Read",
            read("/home/ann/p/a"),
            ["allow", "allow", "allow", "allow", "allow", "allow", "allow", "ask"],
        ),
        ("Read", read("/etc/a"), ["ask", "ask", "ask", "ask", "deny", "allow", "ask", "ask"]),
        ("Edit", write("/home/ann/p/a"), ["ask", "allow", "deny", "allow", "deny", "allow", "ask", "ask"]),
        ("Edit", write("/etc/a"), ["ask", "ask", "deny", "ask", "deny", "allow", "ask", "ask"]),
        (
            "Edit",
            write("/home/ann/p/.git/config"),
            ["hard", "hard", "deny", "hard", "deny", "allow", "hard", "hard"],
        ),
        ("Bash", exec("ls src"), ["allow", "allow", "allow", "allow", "allow", "allow", "allow", "ask"]),
        ("Bash", exec("make all"), ["ask", "ask", "ask", "ask", "deny", "allow", "ask", "ask"]),
        ("Bash", exec("mkdir a"), ["ask", "allow", "deny", "ask", "deny", "allow", "ask", "ask"]),
        ("Bash", exec("rm -rf /home"), ["hard", "hard", "deny", "hard", "deny", "hard", "hard", "hard"]),
        (
            "Agent",
            Access::Spawn { agent: "x".into() },
            ["allow", "allow", "allow", "allow", "allow", "allow", "allow", "ask"],
        ),
        ("mcp__s__t", Access::Unknown, ["ask", "ask", "ask", "ask", "deny", "allow", "ask", "ask"]),
    ];
    for (tool, access, expected) in table {
        for (mode, expected) in Mode::ALL.into_iter().zip(expected) {
            let verdict = judge(&[], mode, tool, access.clone());
            assert_eq!(word(&verdict), expected, "{tool} {access:?} in {mode:?}: {verdict:?}");
        }
    }
}

// proves: S1, S7
#[test]
fn the_table_of_walls() {
    use crate::policy::Walls;

    let behind = |line, walls| match exec(line) {
        Access::Exec(command) => Access::Exec(Box::new(Command { walls, ..*command })),
        other => other,
    };
    let (free, held) = (
        Walls::Sandbox { free: true, holds_project: false },
        Walls::Sandbox { free: false, holds_project: false },
    );
    let deny = [("Bash(make *)", Behaviour::Deny)];
    let ask = [("Bash(make *)", Behaviour::Ask)];
    type Row<'a> = (&'a [(&'a str, Behaviour)], &'a str, Mode, [&'a str; 4]);
    let table: [Row<'_>; 9] = [
        // None, held, free, Left
        (&[], "make all", Mode::Default, ["ask", "ask", "allow", "ask"]),
        (&[], "make all", Mode::DontAsk, ["deny", "deny", "allow", "deny"]),
        (&[], "make all", Mode::Plan, ["ask", "ask", "ask", "ask"]),
        (&[], "make all", Mode::Review, ["ask", "ask", "ask", "ask"]),
        (&[], "make all", Mode::BypassPermissions, ["allow", "allow", "allow", "allow"]),
        (&[], "mkdir a", Mode::Plan, ["deny", "deny", "deny", "deny"]),
        (&[], "rm -rf /home", Mode::Default, ["hard", "hard", "hard", "hard"]),
        (&deny, "make all", Mode::Default, ["deny", "deny", "deny", "deny"]),
        (&ask, "make all", Mode::Default, ["hard", "hard", "hard", "hard"]),
    ];
    for (rules, line, mode, expected) in table {
        for (walls, expected) in [Walls::None, held, free, Walls::Left].into_iter().zip(expected) {
            let verdict = judge(rules, mode, "Bash", behind(line, walls));
            assert_eq!(word(&verdict), expected, "{line} in {mode:?} with {walls:?}: {verdict:?}");
            let outside = match &verdict {
                Verdict::Ask(asking) => asking.reason.starts_with("it is to run outside the sandbox; "),
                Verdict::Allow | Verdict::Deny(_) => continue,
            };
            assert_eq!(outside, walls == Walls::Left, "{verdict:?}");
        }
    }
}

#[test]
fn deny_comes_before_ask_before_allow() {
    let (allow, ask, deny) =
        (("Edit(a)", Behaviour::Allow), ("Edit(a)", Behaviour::Ask), ("Edit(a)", Behaviour::Deny));
    let of = |rules: &[_]| word(&judge(rules, Mode::Default, "Edit", write("/home/ann/p/a")));
    assert_eq!(of(&[allow]), "allow");
    assert_eq!(of(&[allow, ask]), "hard");
    assert_eq!(of(&[allow, deny, ask]), "deny");
    assert_eq!(word(&judge(&[ask], Mode::BypassPermissions, "Edit", write("/home/ann/p/a"))), "hard");
    assert_eq!(word(&judge(&[deny], Mode::BypassPermissions, "Edit", write("/home/ann/p/a"))), "deny");
}

#[test]
fn an_allowed_change_is_still_approved_in_review() {
    let allow = [("Edit(**)", Behaviour::Allow), ("Bash(make *)", Behaviour::Allow)];
    for (tool, access) in [("Edit", write("/home/ann/p/a")), ("Bash", exec("make all"))] {
        assert_eq!(word(&judge(&allow, Mode::Default, tool, access.clone())), "allow");
        assert_eq!(word(&judge(&allow, Mode::Review, tool, access)), "ask");
    }
}

#[test]
fn both_ends_of_a_link_are_judged() {
    let linked = |typed: &str, resolved: &str| {
        Access::Read(PathUse { typed: typed.into(), resolved: resolved.into() })
    };
    let deny = [("Read(//etc/**)", Behaviour::Deny)];
    assert_eq!(word(&judge(&deny, Mode::Default, "Read", linked("/home/ann/p/a", "/etc/passwd"))), "deny");
    assert_eq!(word(&judge(&deny, Mode::Default, "Read", linked("/etc/a", "/home/ann/p/a"))), "deny");
    assert_eq!(word(&judge(&[], Mode::Default, "Read", linked("/home/ann/p/a", "/var/x"))), "ask");
}

#[test]
fn rules_for_hosts_agents_and_servers() {
    let fetch = |host: &str| Access::Fetch { host: host.into() };
    let allow = [("WebFetch(domain:*.x.example)", Behaviour::Allow)];
    assert_eq!(word(&judge(&allow, Mode::Default, "WebFetch", fetch("a.x.example"))), "allow");
    assert_eq!(word(&judge(&allow, Mode::Default, "WebFetch", fetch("x.example"))), "ask");
    let deny = [("Task(spy)", Behaviour::Deny)];
    assert_eq!(word(&judge(&deny, Mode::Default, "Agent", Access::Spawn { agent: "spy".into() })), "deny");
    let server = [("mcp__s", Behaviour::Allow)];
    assert_eq!(word(&judge(&server, Mode::Default, "mcp__s__t", Access::Unknown)), "allow");
    assert_eq!(word(&judge(&server, Mode::Plan, "mcp__s__t", Access::Unknown)), "ask");
}

#[test]
fn always_saves_no_more_than_was_shown() {
    let saved = |tool: &str, access: Access| match judge(&[], Mode::Default, tool, access) {
        Verdict::Ask(asking) => asking.suggestions,
        other => panic!("{other:?}"),
    };
    let rule = |text: &str| Update::AddRules {
        rules: vec![text.into()],
        behaviour: Behaviour::Allow,
        destination: Destination::LocalSettings,
    };
    assert_eq!(saved("Bash", exec("make *.o")), [rule("Bash(make \\*.o)")]);
    assert_eq!(saved("Bash", exec("rm -rf /")), []);
    let accept = Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session };
    assert_eq!(saved("Write", write("/home/ann/p/a")), [accept]);
    assert_eq!(
        saved("WebFetch", Access::Fetch { host: "x.example".into() }),
        [rule("WebFetch(domain:x.example)")]
    );
}

// proves: E3
#[test]
fn what_reads_is_known_to_the_schedule() {
    let reads = |line: &str| match exec(line) {
        Access::Exec(command) => command.is_read_only(),
        _ => false,
    };
    for line in [
        "true",
        "false",
        ":",
        "sleep 5",
        "test -f a",
        "[ -f a ]",
        "echo a",
        "printf a",
        "git log",
        "cat /etc/a",
    ] {
        assert!(reads(line), "{line}");
    }
    for line in
        ["make", "rm a", "git push", "find . -delete", "sort -o a b", "date -s 1", "env", "printf -v a b"]
    {
        assert!(!reads(line), "{line}");
    }
    assert!(!Command::default().is_read_only());
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    let update = prop_oneof![Just("Bash(a)"), Just("Bash(b)")].prop_map(|text: &str| Update::AddRules {
        rules: vec![text.to_owned()],
        behaviour: Behaviour::Allow,
        destination: Destination::Session,
    });
    let updates = proptest::collection::vec(update, 0..2);
    let asking = ("[ab]", proptest::option::of("[ab]"), updates, any::<bool>()).prop_map(
        |(reason, blocked_path, suggestions, hard)| {
            Verdict::Ask(Asking { reason, blocked_path, suggestions, hard, ..Asking::default() })
        },
    );
    prop_oneof![Just(Verdict::Allow), "[ab]".prop_map(Verdict::Deny), asking]
}

/// A verdict without the order in which its reasons came.
fn bare(verdict: Verdict) -> (&'static str, Vec<String>) {
    let word = word(&verdict);
    let mut suggestions = match verdict {
        Verdict::Ask(asking) => asking.suggestions.iter().map(|update| format!("{update:?}")).collect(),
        Verdict::Allow | Verdict::Deny(_) => Vec::new(),
    };
    suggestions.sort();
    (word, suggestions)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn meet_is_a_lattice(a in any_verdict(), b in any_verdict(), c in any_verdict()) {
        prop_assert_eq!(a.clone().meet(a.clone()), a.clone());
        prop_assert_eq!(bare(a.clone().meet(b.clone())), bare(b.clone().meet(a.clone())));
        prop_assert_eq!(a.clone().meet(b.clone()).meet(c.clone()), a.meet(b.meet(c)));
    }

    #[test]
    fn a_path_that_is_denied_is_denied_in_every_mode(
        path in "(/home/ann/p|/etc|)(/[a-z.]{1,4}){1,4}",
        mode in proptest::sample::select(&Mode::ALL[..]),
        pattern in prop_oneof![Just("Read(//**)"), Just("Edit(//**)")],
    ) {
        let rules = [(pattern, Behaviour::Deny), ("Edit(//**)", Behaviour::Allow), ("Edit", Behaviour::Allow)];
        prop_assert_eq!(word(&judge(&rules, mode, "Edit", write(&path))), "deny");
    }
}

fn bounded(bounds: Bounds, allow: &[&str], mode: Mode, access: Access) -> Verdict {
    let mut rules = Rules::default();
    for rule in allow {
        assert!(rules.add(rule, Behaviour::Allow, Scope::User, "/".into()).is_ok());
    }
    rules.set_bounds(bounds);
    decide(&rules, mode, &Judged { tool: "T", input: &json!({}), access: &[access], place: &place() })
}

// proves: S1, S7
#[test]
fn what_is_blocked_outside_is_denied_whatever_allows_it() {
    let both = Bounds { reads_outside: true, writes_outside: true, ..Bounds::default() };
    let allow = ["Read(//**)", "Edit(//**)", "Bash"];
    for mode in Mode::ALL {
        for access in [
            read("/etc/x"),
            write("/etc/x"),
            exec("cat /etc/x"),
            exec("touch /etc/x"),
            exec("cp a /x/b"),
            exec("find / -name a"),
        ] {
            let verdict = bounded(both, &allow, mode, access.clone());
            assert!(matches!(&verdict, Verdict::Deny(_)), "{mode:?} {access:?} {verdict:?}");
        }
        let program = bounded(both, &allow, mode, exec("make -C /elsewhere"));
        assert_ne!(
            program,
            Verdict::Allow,
            "what a program does with a file outside is for a person: {mode:?}"
        );
    }
    for access in [
        read("/home/ann/p/a"),
        exec("cat a"),
        exec("ls -l a"),
        exec("cat /dev/null"),
        exec("echo /etc/x"),
        exec("touch b"),
    ] {
        assert_eq!(bounded(both, &allow, Mode::Default, access.clone()), Verdict::Allow, "{access:?}");
    }
    let writes = Bounds { writes_outside: true, ..Bounds::default() };
    assert_eq!(bounded(writes, &allow, Mode::Default, read("/etc/x")), Verdict::Allow);
    assert_eq!(word(&bounded(writes, &allow, Mode::BypassPermissions, write("/etc/x"))), "deny");
}

// proves: S1
#[test]
fn settings_can_deny_what_would_be_asked() {
    let quiet = Bounds { questions: true, ..Bounds::default() };
    for (access, mode) in
        [(write("/home/ann/p/a"), Mode::Default), (exec("rm -rf /"), Mode::BypassPermissions)]
    {
        match bounded(quiet, &[], mode, access) {
            Verdict::Deny(reason) => assert!(reason.contains("denyInsteadOfPrompting"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bounded(quiet, &["Edit"], Mode::Default, write("/home/ann/p/a")), Verdict::Allow);
}

// proves: S1
#[test]
fn what_a_gatekeeper_allows_overrides_no_rule_and_nothing_hard() {
    let waved = |rules: &[(&str, Behaviour)], mode, access: Access| {
        let mut all = Rules::default();
        for (text, behaviour) in rules {
            assert!(all.add(text, *behaviour, Scope::Project, "/home/ann/p".into()).is_ok());
        }
        explain_waved(
            &all,
            mode,
            &Judged { tool: "T", input: &json!({}), access: &[access], place: &place() },
        )
        .verdict
    };
    for access in [write("/home/ann/p/a"), exec("make all"), Access::Unknown, read("/etc/x")] {
        assert_eq!(waved(&[], Mode::Default, access.clone()), Verdict::Allow, "{access:?}");
        assert_eq!(waved(&[], Mode::DontAsk, access.clone()), Verdict::Allow, "{access:?}");
        assert_eq!(word(&waved(&[("T", Behaviour::Deny)], Mode::BypassPermissions, access.clone())), "deny");
        assert_eq!(word(&waved(&[("T", Behaviour::Ask)], Mode::BypassPermissions, access)), "hard");
    }
    assert_eq!(word(&waved(&[("Bash(make *)", Behaviour::Ask)], Mode::Default, exec("make all"))), "hard");
    assert_eq!(word(&waved(&[], Mode::Default, write("/home/ann/p/.git/config"))), "hard");
    assert_eq!(word(&waved(&[], Mode::Default, exec("rm -rf /"))), "hard");
    assert_eq!(word(&waved(&[], Mode::Plan, write("/home/ann/p/a"))), "deny");
    assert_eq!(word(&waved(&[], Mode::Review, write("/home/ann/p/a"))), "ask");
}

// proves: S2
#[test]
fn a_question_says_what_kind_of_reason_it_has() {
    let kind = |rules: &[(&str, Behaviour)], mode, access| match judge(rules, mode, "T", access) {
        Verdict::Ask(asking) => asking.reason_kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(&[("T", Behaviour::Ask)], Mode::Default, write("/home/ann/p/a")), ReasonKind::Rule);
    assert_eq!(kind(&[], Mode::Default, write("/home/ann/p/a")), ReasonKind::Other);
    assert_eq!(kind(&[], Mode::Default, read("/etc/x")), ReasonKind::Folder);
    assert_eq!(kind(&[], Mode::Default, exec("rm -rf /")), ReasonKind::Safety);
    assert_eq!(kind(&[], Mode::Micro, read("/home/ann/p/a")), ReasonKind::Mode);
    assert_eq!(kind(&[], Mode::Default, Access::Person), ReasonKind::Person);
}

// proves: S1, F186
#[test]
fn what_a_gatekeeper_asks_about_is_asked_whatever_allows_it() {
    let asked = |rules: &[(&str, Behaviour)], mode| {
        let mut all = Rules::default();
        for (text, behaviour) in rules {
            assert!(all.add(text, *behaviour, Scope::Project, "/home/ann/p".into()).is_ok());
        }
        let access = [read("/home/ann/p/a")];
        let call = Judged { tool: "T", input: &json!({}), access: &access, place: &place() };
        explain(&all, mode, &call).asked(&all, mode, &call, Some("look twice")).verdict
    };
    match asked(&[("T", Behaviour::Allow)], Mode::BypassPermissions) {
        Verdict::Ask(asking) => {
            assert_eq!(asking.reason, "a gatekeeper asks: look twice");
            assert!(asking.hard && asking.reason_kind == ReasonKind::Gatekeeper);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(word(&asked(&[], Mode::DontAsk)), "deny");
    assert_eq!(word(&asked(&[("T", Behaviour::Deny)], Mode::Default)), "deny");
}

// proves: M5, S1
#[test]
fn a_message_that_leaves_the_session_is_asked_about_and_has_rules_of_its_own() {
    use Behaviour::{Allow, Ask, Deny};
    let to = |address: &str| Access::Send { to: address.into() };
    let word = |rules: &[(&str, Behaviour)], mode, address: &str| {
        word(&judge(rules, mode, "SendMessage", to(address)))
    };
    let socket = "uds:/run/a.sock";
    for (mode, wanted) in [
        (Mode::Default, "ask"),
        (Mode::AcceptEdits, "ask"),
        (Mode::DontAsk, "deny"),
        (Mode::BypassPermissions, "allow"),
    ] {
        assert_eq!(word(&[], mode, socket), wanted, "{mode:?}");
    }
    let default = |rules: &[(&str, Behaviour)], address: &str| word(rules, Mode::Default, address);
    assert_eq!(default(&[("SendMessage(uds:/run/*)", Allow)], socket), "allow");
    assert_eq!(default(&[("SendMessage(uds:/tmp/*)", Allow)], socket), "ask");
    assert_eq!(default(&[("SendMessage(bridge:*)", Allow)], socket), "ask");
    assert_eq!(default(&[("SendMessage(bridge:*)", Allow)], "bridge:7c1d"), "allow");
    assert_eq!(default(&[("SendMessage", Allow)], socket), "allow");
    assert_eq!(default(&[("SendMessage", Allow), ("SendMessage(uds:*)", Deny)], socket), "deny");
    assert_eq!(default(&[("SendMessage", Allow), ("SendMessage(uds:*)", Ask)], socket), "hard");
    assert_eq!(default(&[("SendMessage(uds:*)", Deny)], "bridge:7c1d"), "ask");
    let Verdict::Ask(asking) = judge(&[], Mode::Default, "SendMessage", to(socket)) else { panic!("asks") };
    let rules = vec!["SendMessage(uds:/run/a.sock)".to_owned()];
    assert_eq!(
        asking.suggestions,
        [Update::AddRules { rules, behaviour: Allow, destination: Destination::LocalSettings }]
    );
    let Verdict::Ask(asking) = judge(&[], Mode::Default, "SendMessage", to("uds:/run/*")) else {
        panic!("asks")
    };
    assert_eq!(asking.suggestions, [], "what would cover more is not offered");
}
