//! `troupe agents`, and agents of files and flags in runs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::stage::{Ended, Stage, end};

const REVIEWER: &str = "---\nname: reviewer\ndescription: Use when: code is to be reviewed\ntools: Read, Grep, Edit, FileWrite, AskUserQuestion\ndisallowedTools: Edit\nmodel: fast\nmaxTurns: 5\n---\nReview it.\n";

fn agents(stage: &Stage, words: &[&str]) -> Command {
    let mut command = stage.troupe();
    command.arg("agents").args(words);
    command
}

fn run(stage: &Stage, words: &[&str]) -> Ended {
    end(&mut agents(stage, words))
}

fn parsed(ended: &Ended) -> Value {
    serde_json::from_str(ended.clean()).unwrap()
}

/// The line of a list that begins so, its cells joined by one space.
fn line(text: &str, start: &str) -> String {
    let line =
        text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in {text}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

// proves: D1, D3
#[test]
fn the_list_says_what_counts_what_is_shadowed_and_what_is_wrong() {
    let stage = Stage::new();
    stage.write("home/.claude/agents/a.md", REVIEWER);
    stage.write("work/.troupe/agents/sub/b.md", &REVIEWER.replace("fast", "a b"));
    stage.write("work/.claude/agents/explore.md", "---\nname: Explore\ndescription: d\ncolour: red\n---\nx");
    stage.write("work/.claude/agents/\u{1b}[2J.md", "no agent");
    let text = run(&stage, &[]).clean().to_owned();
    assert_eq!(
        line(&text, "reviewer"),
        "reviewer active, 1 fault inherit Read, Grep, Edit, Write, AskUserQuestion but Edi… project .troupe/agents/sub/b.md"
    );
    let shadowed = text
        .lines()
        .find(|line| line.starts_with("reviewer  ") && line.contains("shadowed by project"))
        .unwrap();
    assert!(shadowed.starts_with("reviewer ") && shadowed.ends_with("user ~/.claude/agents/a.md"), "{text}");
    assert!(
        text.contains("project .claude/agents/explore.md") && text.contains("shadowed by project"),
        "{text}"
    );
    for words in [
        ".troupe/agents/sub/b.md:6: `model`: expected the name or alias",
        ".claude/agents/explore.md:4: there is no field `colour`",
        ".claude/agents/\\u{1b}[2J.md:1: it has no front matter",
        "(skipped)",
    ] {
        assert!(text.contains(words), "no {words} in {text}");
    }
    let listed = parsed(&run(&stage, &["list", "--json"]));
    let reviewer = |active: bool| {
        let all = listed["agents"].as_array().unwrap();
        all.iter().find(|agent| agent["name"] == "reviewer" && agent["active"] == active).unwrap()
    };
    assert_eq!((&reviewer(true)["source"], &reviewer(true)["maxTurns"]), (&json!("project"), &json!(5)));
    assert_eq!(reviewer(false)["shadowedBy"]["source"], "project");
    assert_eq!(listed["faults"].as_array().unwrap().len(), 3);
    // What flags leave out is left out here too.
    let text = run(&stage, &["--setting-sources=user"]).clean().to_owned();
    assert_eq!(line(&text, "reviewer").split(' ').nth(1), Some("active"));
    let given = r#"{"reviewer": {"description": "d", "prompt": "p"}}"#;
    let bare = run(&stage, &["--bare", "--agents", given]).clean().to_owned();
    assert!(line(&bare, "reviewer").ends_with("all flag") && !bare.contains("Faults"), "{bare}");
}

// proves: P3, P1
#[test]
fn an_agent_is_shown_with_its_tools_and_what_took_the_others_away() {
    let stage = Stage::new();
    stage.write("work/.troupe/agents/r.md", &REVIEWER.replace("Grep", "Grep, Nonsense"));
    stage.write(
        "home/.troupe/settings.json",
        r#"{"permissions": {"deny": ["Grep"], "defaultMode": "acceptEdits"}}"#,
    );
    let text = run(&stage, &["show", "Reviewer"]).clean().to_owned();
    for words in [
        "name        reviewer\n",
        "source      project .troupe/agents/r.md\n",
        "when        Use when: code is to be reviewed\n",
        "model       fast (claude-haiku-4-5)\n",
        "mode        that of whoever starts it, at first acceptEdits\n",
        "turns       at most 5\n",
        "tools       Read, Write\n",
        "Edit: disallowedTools\n",
        "Bash: not in tools\n",
        "Grep: a rule denies it\n",
        "AskUserQuestion: not for agents below the main one\n",
        "unknown     Nonsense: there is no such tool\n",
        "\nprompt:\nReview it.\n",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let shown = |words: &[&str]| parsed(&run(&stage, &[&["show"], words, &["--json"]].concat()));
    assert_eq!(shown(&["reviewer", "--as", "main"])["pool"], json!(["AskUserQuestion", "Read", "Write"]));
    let general = shown(&["general-purpose", "--as", "background"]);
    let why = |tool: &str| {
        let removed = general["removed"].as_array().unwrap();
        removed.iter().find(|removed| removed["tool"] == tool).map(|removed| removed["why"].clone())
    };
    assert_eq!(why("ExitPlanMode"), Some(json!("not for agents below the main one")));
    assert_eq!(why("Agent"), None);
    let flat =
        end(agents(&stage, &["show", "general-purpose", "--json"])
            .env("TROUPE_MAX_SUBAGENT_SPAWN_DEPTH", "1"));
    assert!(flat.clean().contains("agents nest no deeper"), "{flat:?}");
    assert_eq!(shown(&["main"])["resolvedModel"], "claude-opus-4-8");
}

// proves: D3, A8
#[test]
fn an_unknown_name_names_those_that_there_are() {
    let stage = Stage::new();
    stage.write("work/.troupe/agents/r.md", "---\nname: r\n---\n");
    run(&stage, &["show", "r"])
        .says(1, &["there is no agent `r`; there are: general-purpose", "r.md: a description is missing"]);
    stage
        .play("agent main\nreply\n", &["-p", "hi", "--agent", "nobody"])
        .says(1, &["there is no agent `nobody`", "--agent names it"]);
    stage.write("home/.troupe/settings.json", r#"{"agent": "somebody"}"#);
    stage
        .play("agent main\nreply\n", &["-p", "hi"])
        .says(1, &["there is no agent `somebody`", "the setting `agent`"]);
    stage
        .play("agent main\nreply\n", &["-p", "hi", "--agents", "[]"])
        .says(2, &["understand --agents: it is no object"]);
}

#[test]
fn a_new_file_is_a_sound_agent_and_is_never_written_over() {
    let stage = Stage::new();
    let made = run(&stage, &["new", "my agent", "--description", "Use: \"now\"\nor -- never #1"]);
    let path = stage.path("work/.troupe/agents/my agent.md");
    assert!(made.clean().contains(
        "my agent.md\nWrite its prompt, then look at what comes of it: troupe agents show 'my agent'"
    ));
    let shown = parsed(&run(&stage, &["show", "my agent", "--json"]));
    assert_eq!(shown["description"], "Use: \"now\"\nor -- never #1");
    assert_eq!(
        (&shown["faults"], &shown["tools"], &shown["source"]),
        (&json!([]), &Value::Null, &json!("project"))
    );
    std::fs::write(&path, "mine").unwrap();
    run(&stage, &["new", "my agent"]).says(1, &["is there already"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    // Each comment shows a field as it may be written.
    let made = run(&stage, &["new", "all", "--user"]);
    assert!(made.clean().contains("home/.troupe/agents/all.md"), "{made:?}");
    let text = std::fs::read_to_string(stage.path("home/.troupe/agents/all.md")).unwrap();
    let shown_field = |line: &str| match line.strip_prefix("# ") {
        None => Some(line.to_owned()),
        Some(field) => field.split_once(": ").filter(|(key, _)| !key.contains(' ')).map(|_| field.to_owned()),
    };
    let lines: Vec<String> = text.lines().filter_map(shown_field).collect();
    assert!(lines.len() > 12, "{lines:?}");
    stage.write("home/.troupe/agents/all.md", &lines.join("\n"));
    let shown = parsed(&run(&stage, &["show", "all", "--json"]));
    assert_eq!(
        (&shown["faults"], &shown["maxTurns"], &shown["color"]),
        (&json!([]), &json!(30), &json!("cyan"))
    );
    for bad in ["a:b", "a/b", "../x", "-x"] {
        run(&stage, &["new", "--", bad]).says(2, &["a name can't"]);
    }
}

#[test]
fn a_new_file_says_literally_what_its_description_says() {
    let stage = Stage::new();
    let said = "Use {name} for {description} and {called}";
    run(&stage, &["new", "{called}", "--description", said]).clean();
    let shown = parsed(&run(&stage, &["show", "{called}", "--json"]));
    assert_eq!((&shown["description"], &shown["name"]), (&json!(said), &json!("{called}")));
    assert!(shown["prompt"].as_str().unwrap().starts_with("You are {called}. "), "{shown}");
}

// proves: X13
#[test]
fn a_new_file_stays_in_its_project() {
    for link in ["work/.troupe", "work/.troupe/agents"] {
        for there in [true, false] {
            let stage = Stage::new();
            let outside = stage.path("outside");
            std::fs::create_dir_all(stage.path(link).parent().unwrap()).unwrap();
            if there {
                std::fs::create_dir(&outside).unwrap();
            }
            std::os::unix::fs::symlink(&outside, stage.path(link)).unwrap();
            run(&stage, &["new", "a"]).says(1, &["link out of the project", "--user"]);
            let made = outside.read_dir().map_or(0, Iterator::count);
            assert_eq!(made, 0, "{link}");
        }
    }
    // A link to another place of the project is the project's.
    let stage = Stage::new();
    std::fs::create_dir(stage.path("work/kept")).unwrap();
    std::os::unix::fs::symlink("kept", stage.path("work/.troupe")).unwrap();
    run(&stage, &["new", "a"]).clean();
    assert!(stage.path("work/kept/agents/a.md").is_file());
    // The person's own link is followed, and told.
    std::fs::create_dir(stage.path("dotfiles")).unwrap();
    std::fs::create_dir(stage.path("home/.troupe")).unwrap();
    std::os::unix::fs::symlink(stage.path("dotfiles"), stage.path("home/.troupe/agents")).unwrap();
    let made = run(&stage, &["new", "b", "--user"]);
    assert!(made.clean().contains("dotfiles/b.md)") && stage.path("dotfiles/b.md").is_file(), "{made:?}");
}

const LEADS: &str = "agent main\nreply\n  call Agent subagent_type=reviewer description=d prompt=p\nreply \"done\"\nagent reviewer\nreply\n  call Bash command=true\nreply\n  expect \"no tool\"\n  text \"reviewed\"\n";

// proves: D1, D3
#[test]
fn a_run_has_the_agents_of_files_and_flags_and_tells_faults_once() {
    let stage = Stage::new();
    stage.write("work/.claude/agents/r.md", &REVIEWER.replace("maxTurns: 5", "maxTurns: many"));
    let ended = stage.play(LEADS, &["-p", "hi", "--output-format=json", "--verbose"]);
    let result: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(result["result"], "done", "{ended:?}");
    assert_eq!(ended.err.matches("warning: ").count(), 1, "{ended:?}");
    assert!(ended.err.contains("r.md:7: `maxTurns`: expected a whole number"), "{ended:?}");
    // The flag's stands before the file's.
    let given = r#"{"reviewer": {"description": "d", "prompt": "p", "tools": ["Bash"]}}"#;
    let script = LEADS.replace("no tool", "").replace("expect \"\"", "");
    let ended = stage.play(
        &script,
        &["-p", "hi", "--agents", given, "--setting-sources=", "--allowed-tools", "Bash(true)"],
    );
    assert_eq!(ended.clean(), "done\n");
}

// proves: C1
#[test]
fn an_agent_can_be_the_main_one() {
    let stage = Stage::new();
    stage.write(
        "work/.troupe/agents/lead.md",
        "---\nname: lead\ndescription: d\ntools: Agent(scout), Read\npermissionMode: plan\nmaxTurns: 2\ninitialPrompt: Look around first.\n---\nLead them.\n",
    );
    stage.write("work/.troupe/agents/scout.md", "---\nname: scout\ndescription: d\n---\nScout.\n");
    let script = "agent lead\nreply\n  expect \"Look around first.\"\n  call Agent description=d prompt=p\nreply\n  expect \"agents of type `general-purpose` can't be started from here; there are: scout\"\n  text \"led\"\nreply \"more\"\n";
    let ended =
        stage.play(script, &["-p", "hi", "--agent", "lead", "--output-format=stream-json", "--verbose"]);
    let frames: Vec<Value> = ended.clean().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let init = frames.iter().find(|frame| frame["subtype"] == "init").unwrap();
    assert_eq!((&init["tools"], &init["permissionMode"]), (&json!(["Agent", "Read"]), &json!("plan")));
    assert!(init["agents"].as_array().unwrap().contains(&json!("scout")));
    let result = frames.iter().find(|frame| frame["type"] == "result").unwrap();
    assert_eq!(result["result"], "led", "{result}");
    // Its own first prompt will do; the setting chooses it too, and a flag's mode goes before its own.
    stage.write("home/.troupe/settings.json", r#"{"agent": "lead"}"#);
    let script = "agent lead\nreply\n  expect \"Look around first.\"\n  call Read file_path=a\nreply\n  call Read file_path=a\nreply \"x\"\n";
    let ended = stage.play(script, &["-p", "--output-format=json", "--permission-mode=default"]);
    let result: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(result["subtype"], "error_max_turns", "{ended:?}");
    let listed = end(stage.troupe().args(["sessions"])).clean().to_owned();
    assert!(!listed.contains("Look around first."), "a repository's words are not the person's: {listed}");
}

// proves: X13
#[test]
fn what_a_repositorys_agent_loosens_waits_for_trust() {
    let stage = Stage::new();
    let write = |mode: &str| {
        stage.write(
            "work/.claude/agents/bold.md",
            &format!("---\nname: bold\ndescription: d\npermissionMode: {mode}\n---\nx"),
        );
    };
    let script = "agent main\nreply\n  call Agent subagent_type=bold description=d prompt=p\nreply \"over\"\nagent bold\nreply\n  call Write file_path=done content=x\nreply \"over\"\n";
    let play = |arguments: &[&str]| {
        let ended = stage.play(script, &[&["-p", "hi"], arguments].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), "over\n"), "{ended:?}");
        let done = std::fs::remove_file(stage.path("work/done")).is_ok();
        (done, ended.err)
    };
    write("acceptEdits");
    let (done, told) = play(&[]);
    assert!(!done && told.contains(".claude/agents/bold.md (bold.permissionMode)"), "{told}");
    assert_eq!(told.matches("warning: ").count(), 1, "{told}");
    assert!(run(&stage, &[]).clean().contains("`permissionMode` of bold is not in force: it waits"));
    let waits = end(stage.troupe().arg("trust"));
    assert!(
        waits.clean().starts_with("waits    .claude/agents/bold.md: bold.permissionMode = acceptEdits\n"),
        "{waits:?}"
    );
    assert_eq!(play(&["--trust-workspace"]), (true, String::new()));
    assert_eq!(play(&["--setting-sources=user,project"]), (true, String::new()));
    end(stage.troupe().args(["trust", "--yes"])).clean();
    assert_eq!(play(&[]), (true, String::new()));
    write("bypassPermissions");
    let (done, told) = play(&[]);
    assert!(!done && told.contains("bold.permissionMode"), "{told}");
    // Trusted, it still gets no mode that the run was not started with.
    end(stage.troupe().args(["trust", "--yes"])).clean();
    let (done, told) = play(&[]);
    assert!(!done && !told.contains("warning: "), "{told}");
}

// proves: X13, S1
#[test]
fn a_repositorys_agent_does_not_loosen_a_stricter_session() {
    let stage = Stage::new();
    stage.write(
        "work/.claude/agents/bold.md",
        "---\nname: bold\ndescription: d\npermissionMode: default\n---\nx",
    );
    let script = "agent main\nreply\n  call Agent subagent_type=bold description=d prompt=p\nreply \"over\"\nagent bold\nreply\n  call Write file_path=done content=x\nreply \"over\"\n";
    let play = |mode: &str, more: &[&str]| {
        let usual = ["-p", "hi", "--allowed-tools", "Write", "--permission-mode", mode];
        let ended = stage.play(script, &[&usual, more].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), "over\n"), "{ended:?}");
        let done = std::fs::remove_file(stage.path("work/done")).is_ok();
        (done, ended.err.contains("so this waits: .claude/agents/bold.md (bold.permissionMode);"))
    };
    // In `review` no rule lets an edit pass; in `default` the flag's does.
    assert_eq!(play("default", &[]), (true, false));
    assert_eq!(play("review", &[]), (false, true));
    assert_eq!(play("review", &["--trust-workspace"]), (true, false));
    let waits = end(stage.troupe().arg("trust"));
    assert!(waits.clean().starts_with("waits    .claude/agents/bold.md: bold.permissionMode = default\n"));
    end(stage.troupe().args(["trust", "--yes"])).clean();
    assert_eq!(play("review", &[]), (true, false));
}

// proves: D1
#[test]
fn agents_that_a_host_gives_are_listed_and_can_be_started() {
    let stage = Stage::new();
    let script = "agent main\nreply\n  call Agent subagent_type=given description=d prompt=p\nreply \"done\"\nagent given\nreply \"here\"\n";
    let mut child = stage
        .scripted(script)
        .args(["--output-format=stream-json", "--input-format=stream-json", "--verbose"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = [
        json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "hooks": null,
            "agents": {"given": {"description": "of the host", "prompt": "p"}, "faulty": {"prompt": "p"}}}}),
        json!({"type": "user", "message": {"role": "user", "content": "hi"}, "parent_tool_use_id": null, "session_id": ""}),
    ];
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let ended = crate::stage::ended(child.wait_with_output().unwrap());
    let frames: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = frames.iter().find(|frame| frame["type"] == "control_response").unwrap();
    let listed = answer["response"]["response"]["agents"].as_array().unwrap();
    assert!(listed.contains(&json!({"name": "given", "description": "of the host"})), "{answer}");
    let init = frames.iter().find(|frame| frame["subtype"] == "init").unwrap();
    assert!(init["agents"].as_array().unwrap().contains(&json!("given")));
    assert!(ended.out.contains("here") && ended.out.contains("initialize: `faulty`"), "{ended:?}");
    assert!(!ended.err.contains("not done"), "{ended:?}");
}
