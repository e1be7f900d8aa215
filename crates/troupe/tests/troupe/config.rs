//! `troupe config`: flags and variables with their values and where these come from.

use serde_json::Value;

use crate::stage::{Stage, end};

/// A line of the list.
fn line<'t>(text: &'t str, name: &str) -> &'t str {
    text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap_or_default()
}

#[test]
fn each_value_says_where_it_comes_from() {
    let stage = Stage::new();
    let settings = "{\n  \"env\": {\"TROUPE_MAX_RETRIES\": \"2\"},\n  \"flags\": {\"FORK_SUBAGENT\": true,\n    \"NOPE\": true}\n}\n";
    let file = stage.write("home/.troupe/settings.json", settings);
    let set = |name: &str| end(stage.troupe().args(["config"]).env("CLAUDE_CODE_KAIROS", "1").arg(name));
    let listed = end(stage.troupe().arg("config").env("CLAUDE_CODE_KAIROS", "1"));
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let file = file.display();
    let nope = format!("warning: {file}:4 flags.NOPE: there is no such flag; there are FORK_SUBAGENT,");
    assert!(listed.err.starts_with(&nope), "{listed:?}");
    let text = &listed.out;
    assert!(line(text, "FORK_SUBAGENT").ends_with(&format!("[{file}:3 flags.FORK_SUBAGENT]")), "{text}");
    assert!(line(text, "MAX_RETRIES").ends_with(&format!("[{file}:2 env.TROUPE_MAX_RETRIES]")), "{text}");
    let proactive = line(text, "PROACTIVE");
    assert!(proactive.contains(" on ") && proactive.ends_with("[environment CLAUDE_CODE_KAIROS]"), "{text}");
    assert!(proactive.contains("(not used yet)"), "{proactive}");
    assert!(!line(text, "MAX_RETRIES").contains("not used"), "{text}");
    assert!(line(text, "UDS_INBOX").contains(" on with a terminal "), "{text}");
    for name in ["PROACTIVE", "KAIROS", "TROUPE_PROACTIVE", "CLAUDE_KAIROS"] {
        let one = set(name);
        assert!(one.out.starts_with("PROACTIVE\n  value    on\n  from     environment CLAUDE_CODE_KAIROS\n"));
    }
    set("PROACTIV").says(2, &["there is no flag or variable PROACTIV", "troupe config lists"]);
}

#[test]
fn keys_are_never_shown_and_json_holds_the_same() {
    let stage = Stage::new();
    let run = |arguments: &[&str]| {
        let keys = [("ANTHROPIC_API_KEY", "sekret-1"), ("ANTHROPIC_AUTH_TOKEN", "sekret-2")];
        let mut command = stage.troupe();
        command.arg("config").args(arguments).envs(keys).env("https_proxy", "http://u:sekret-3@h:1");
        end(command
            .env("ANTHROPIC_BASE_URL", "https://u:sekret-4@host/x?api_key=sekret-5")
            .env("NO_PROXY", "u:sekret-6@host:1"))
    };
    for arguments in [&[][..], &["--json"], &["ANTHROPIC_API_KEY"], &["HTTPS_PROXY", "--json"], &["NO_PROXY"]]
    {
        let shown = run(arguments);
        assert!(!shown.clean().contains("sekret"), "{shown:?}");
    }
    assert!(run(&[]).out.contains("https://…@host/x?api_key=…"));
    assert!(line(&run(&[]).out, "ANTHROPIC_API_KEY").contains("set, not shown"));
    let all: Value = serde_json::from_str(run(&["--json"]).clean()).unwrap();
    let flag = |name: &str| {
        all["flags"].as_array().unwrap().iter().find(|row| row["name"] == name).cloned().unwrap_or_default()
    };
    assert_eq!(all["flags"].as_array().unwrap().len(), 20);
    assert_eq!(
        (&flag("UDS_INBOX")["default"], &flag("UDS_INBOX")["value"]),
        (&"interactive".into(), &false.into())
    );
    assert_eq!(
        (&flag("MONITOR_TOOL")["default"], &flag("MONITOR_TOOL")["from"]),
        (&"on".into(), &"default".into())
    );
    let token = all["variables"].as_array().unwrap().iter().find(|row| row["name"] == "ANTHROPIC_AUTH_TOKEN");
    let token = token.unwrap();
    assert_eq!((&token["set"], &token["value"]), (&true.into(), &Value::Null));
}

/// Who wrote the repository turns nothing on: not by a variable at all, and by the key only once it is trusted.
// proves: X13
#[test]
fn a_repository_turns_on_what_is_trusted_alone() {
    let stage = Stage::new();
    let settings = "{\"flags\": {\"AUTO_DREAM\": true}, \"env\": {\"TROUPE_PROACTIVE\": \"1\"}}";
    stage.write("work/.troupe/settings.json", settings);
    let of = |extra: &[&str]| end(stage.troupe().args(["config", "--json"]).args(extra));
    let on = |ended: &crate::stage::Ended| {
        let all: Value = serde_json::from_str(&ended.out).unwrap();
        let on = all["flags"].as_array().unwrap().iter().filter(|row| row["from"] != "default");
        on.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(on(&of(&[])), [""; 0]);
    assert!(end(stage.troupe().args(["trust", "--yes"])).code == Some(0));
    let trusted = of(&[]);
    assert_eq!(on(&trusted), ["AUTO_DREAM"]);
    assert!(trusted.err.contains("env.TROUPE_PROACTIVE"), "{trusted:?}");
}
