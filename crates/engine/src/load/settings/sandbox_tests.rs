//! Tests of `sandbox` in settings.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use super::settings_tests::World;
use crate::load::Trust;

fn all_of_sandbox(loose: bool) -> Value {
    json!({"sandbox": {
        "enabled": !loose,
        "failIfUnavailable": !loose,
        "autoAllowBashIfSandboxed": loose,
        "allowUnsandboxedCommands": loose, "enableWeakerNestedSandbox": loose,
        "excludedCommands": ["docker *"],
        "ignoreViolations": {"*": ["/x"]},
        "filesystem": {
            "disabled": loose, "allowWrite": ["out", "~/o", "/abs/./o"], "denyWrite": ["no"],
            "allowRead": ["r"], "denyRead": ["../d"],
        },
        "network": {
            "allowedDomains": ["a.example"], "deniedDomains": ["b.example"], "strictAllowlist": !loose,
            "allowAllUnixSockets": loose, "allowUnixSockets": ["s"], "allowLocalBinding": loose,
        },
    }})
}

// proves: X13
#[test]
fn a_repository_may_tighten_the_walls_at_once_and_loosen_them_when_it_is_trusted() {
    let tight = [
        "enabled",
        "failIfUnavailable",
        "filesystem.denyWrite",
        "filesystem.denyRead",
        "network.deniedDomains",
        "network.strictAllowlist",
    ];
    let base = "repo/pkg";
    for file in ["repo/pkg/.claude/settings.json", "repo/.troupe/settings.local.json"] {
        let world = World::new();
        let home = world.base.join("home");
        world.json(
            "home/.troupe/settings.json",
            &json!({"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}}),
        );
        world.json(file, &all_of_sandbox(true));
        let settings = world.load(&Trust::UNTRUSTED);
        let waiting = settings.sandbox(Some(&home));
        assert_eq!(
            (waiting.enabled, waiting.allow_unsandboxed, waiting.auto_allow),
            (Some(true), false, true)
        );
        assert!(waiting.excluded_commands.is_empty() && waiting.ignore_violations.is_empty());
        assert!(!waiting.filesystem.disabled && waiting.filesystem.allow_write.is_empty());
        assert!(waiting.filesystem.allow_read.is_empty() && waiting.network.allowed_domains.is_empty());
        assert_eq!(waiting.filesystem.deny_write, [world.base.join(base).join("no")]);
        assert_eq!(waiting.filesystem.deny_read, [world.base.join(base).parent().unwrap().join("d")]);
        assert_eq!(waiting.network.denied_domains, ["b.example"]);
        assert!(settings.needs_trust.iter().any(|held| held.name == "sandbox.network.allowedDomains"));
        assert!(
            settings
                .needs_trust
                .iter()
                .all(|held| !tight[2..5].contains(&held.name.trim_start_matches("sandbox.")))
        );

        let trusted = world.load(&Trust::Trusted).sandbox(Some(&home));
        assert_eq!((trusted.enabled, trusted.allow_unsandboxed), (Some(false), true));
        let write = [world.base.join(base).join("out"), home.join("o")];
        assert_eq!(trusted.filesystem.allow_write, [write[0].clone(), write[1].clone(), "/abs/o".into()]);
        assert_eq!(trusted.ignore_violations, [("*".to_owned(), vec!["/x".to_owned()])]);
        assert_eq!(trusted.without_effect, ["sandbox.enableWeakerNestedSandbox"]);
        assert!(trusted.network.all_unix_sockets && !waiting.network.all_unix_sockets);
        assert_eq!(trusted.network.unix_sockets, [world.base.join(base).join("s")]);

        // What only tightens holds at once, but for walls that would spare the question.
        let world = World::new();
        world.json(file, &all_of_sandbox(false));
        let settings = world.load(&Trust::UNTRUSTED);
        let strict = settings.sandbox(None);
        assert_eq!((strict.enabled, strict.auto_allow, strict.allow_unsandboxed), (Some(true), false, false));
        assert!(strict.fail_if_unavailable && strict.network.strict_allowlist);
        let held: Vec<&str> = settings.needs_trust.iter().map(|held| held.name.as_str()).collect();
        assert_eq!(
            held,
            [
                "sandbox.enableWeakerNestedSandbox",
                "sandbox.excludedCommands",
                "sandbox.ignoreViolations",
                "sandbox.filesystem.allowWrite",
                "sandbox.filesystem.allowRead",
                "sandbox.network.allowedDomains",
                "sandbox.network.allowAllUnixSockets",
                "sandbox.network.allowUnixSockets",
                "sandbox.network.allowLocalBinding",
            ]
        );
    }
}

// proves: X13
#[test]
fn walls_put_up_by_a_repository_alone_spare_no_question() {
    let world = World::new();
    world.json(
        "repo/pkg/.claude/settings.json",
        &json!({"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true}}),
    );
    let waiting = world.load(&Trust::UNTRUSTED).sandbox(None);
    assert_eq!((waiting.enabled, waiting.auto_allow), (Some(true), false));
    let trusted = world.load(&Trust::Trusted).sandbox(None);
    assert_eq!((trusted.enabled, trusted.auto_allow), (Some(true), true));
}

#[test]
fn a_sandbox_of_wrong_types_is_reported_and_the_rest_holds() {
    let world = World::new();
    world.json(
        "home/.troupe/settings.json",
        &json!({"sandbox": {
            "enabled": "yes", "excludedCommands": ["a", 1], "ignoreViolations": {"a": "b", "c": ["d", 2]},
            "network": {"allowedDomains": "x", "strictAllowlist": true}, "filesystem": [],
        }}),
    );
    let settings = world.load(&Trust::Trusted);
    let sandbox = settings.sandbox(None);
    assert_eq!((sandbox.enabled, sandbox.excluded_commands), (None, vec!["a".to_owned()]));
    assert_eq!(sandbox.ignore_violations, [("c".to_owned(), vec!["d".to_owned()])]);
    assert!(sandbox.network.strict_allowlist);
    assert_eq!(settings.faults.len(), 6, "{:#?}", settings.faults);
}
