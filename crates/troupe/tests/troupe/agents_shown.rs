//! `troupe agents` beside what a run does: what is shown is what an agent that is started has.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::stage::{Ended, Stage, end};

/// What a run is begun with.
#[derive(Clone, Copy, Default)]
struct Run<'a> {
    flags: &'a [&'a str],
    vars: &'a [(&'a str, &'a str)],
    settings: &'a str,
}

/// The files of this name below a folder.
fn files(folder: &Path, is: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, is, found);
        } else if is(path.file_name().unwrap().to_str().unwrap()) {
            found.push(path);
        }
    }
}

/// What a started agent of the type was recorded with, and its tools.
fn started(stage: &Stage, kind: &str, run: Run<'_>) -> (Value, Value) {
    let main = if run.flags.contains(&"--coordinator") { "coordinator" } else { "main" };
    let script = format!(
        "agent {main}\nreply\n  call Agent subagent_type={kind} description=d prompt=p\nreply \"done\"\nreply \"done\"\n\
         agent {kind}\nreply \"here\"\n"
    );
    let mut command = stage.scripted(&script);
    command.args(["-p", "hi"]).args(run.flags).envs(run.vars.iter().copied()).env("IS_SANDBOX", "1");
    let ended = end(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut found = Vec::new();
    files(
        &stage.path("home/.troupe/projects"),
        &|name| name.starts_with("agent-") && name.contains(".jsonl"),
        &mut found,
    );
    assert_eq!(found.len(), 1, "{found:?} {ended:?}");
    let text = std::fs::read_to_string(&found[0]).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.map(|line| line["header"].clone()).find(|header| !header.is_null()).unwrap();
    let mut prompts = Vec::new();
    let name = header["prompt"].as_str().unwrap();
    files(&stage.path("home/.troupe/projects"), &|file| file.starts_with(name), &mut prompts);
    let rendered: Value = serde_json::from_str(&std::fs::read_to_string(&prompts[0]).unwrap()).unwrap();
    let tools: Vec<&Value> = rendered["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    let recorded = json!({
        "model": header["model"], "mode": header["mode"],
        "effort": header.get("effort").unwrap_or(&Value::Null),
        "background": header.get("background").unwrap_or(&json!(false)),
    });
    (recorded, json!(tools))
}

fn show(stage: &Stage, words: &[&str], run: Run<'_>) -> Ended {
    let mut command = stage.troupe();
    command.args(["agents", "show"]).args(words).args(run.flags);
    command.arg("--model").arg(format!("script:{}", stage.path("model.script").display()));
    end(command.envs(run.vars.iter().copied()).env("IS_SANDBOX", "1"))
}

// proves: P3, C2, S1, D8
#[test]
fn what_is_shown_is_what_a_started_agent_has() {
    let plain = "name: x\ndescription: d";
    let model = "name: x\ndescription: d\nmodel: qwen\neffort: high\ntools: Read, Bash";
    let bold = "name: x\ndescription: d\npermissionMode: bypassPermissions\nbackground: true";
    let run = Run::default();
    let sub = Run { settings: r#"{"subagentModel": "usual", "effortLevel": "low"}"#, ..run };
    let var = Run { vars: &[("CLAUDE_CODE_SUBAGENT_MODEL", "var")], ..sub };
    let free = Run { flags: &["--dangerously-skip-permissions"], ..run };
    let plans = Run { flags: &["--permission-mode=plan", "--disallowed-tools=Grep"], ..run };
    let flat =
        Run { vars: &[("TROUPE_MAX_SUBAGENT_SPAWN_DEPTH", "1"), ("TROUPE_BACKGROUND_AGENTS", "1")], ..run };
    let leads = Run { flags: &["--coordinator"], ..run };
    let denied =
        Run { settings: r#"{"permissions": {"deny": ["Edit"], "defaultMode": "acceptEdits"}}"#, ..run };
    let cases = [
        (plain, "x", run),
        (model, "x", run),
        (model, "x", var),
        (plain, "x", sub),
        (model, "x", sub),
        (bold, "x", run),
        (bold, "x", free),
        (bold, "x", plans),
        (plain, "x", flat),
        (plain, "x", denied),
        (plain, "worker", leads),
        (model, "x", leads),
        (plain, "Explore", run),
        (plain, "verification", run),
    ];
    for (front, kind, run) in cases {
        let stage = Stage::new();
        stage.write("home/.troupe/agents/x.md", &format!("---\n{front}\n---\nDo it.\n"));
        if !run.settings.is_empty() {
            stage.write("home/.troupe/settings.json", run.settings);
        }
        let (recorded, tools) = started(&stage, kind, run);
        // The flag that lets everything pass is a mode here.
        let mode: &[&str] = &["--permission-mode=bypassPermissions"];
        let flags = if run.flags == free.flags { mode } else { run.flags };
        let shown = show(&stage, &[kind, "--json"], Run { flags, ..run });
        let shown: Value = serde_json::from_str(shown.clean()).unwrap();
        assert_eq!((&shown["recorded"], &shown["pool"]), (&recorded, &tools), "{front} {kind}");
    }
}

// proves: C2
#[test]
fn who_named_the_model_is_said() {
    let stage = Stage::new();
    stage.write("model.script", "agent main\n");
    stage.write("home/.troupe/settings.json", r#"{"subagentModel": "usual"}"#);
    let shown = show(&stage, &["general-purpose"], Run::default());
    assert!(shown.clean().contains("by the setting subagentModel\n"), "{shown:?}");
    let var = Run { vars: &[("CLAUDE_CODE_SUBAGENT_MODEL", "var")], ..Run::default() };
    let shown = show(&stage, &["general-purpose"], var);
    assert!(shown.clean().contains("which is set for all sub-agents\n"), "{shown:?}");
}

fn state(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).nth(1).unwrap().to_owned()
}

// proves: D1, D5, A8, O1
#[test]
fn the_list_says_what_can_not_be_started_and_why() {
    let stage = Stage::new();
    let agent = |name: &str, more: &str| {
        stage.write(
            &format!("work/.claude/agents/{name}.md"),
            &format!("---\nname: {name}\ndescription: d\n{more}\n---\nx"),
        );
    };
    agent("walled", "isolation: remote");
    agent("served", "requiredMcpServers: [git*, docs]");
    agent("Explore", "skills: [a]\nhooks: {}");
    agent("lead", "tools: Agent(Plan)");
    agent("fork", "");
    stage.write("home/.troupe/settings.json", r#"{"permissions": {"deny": ["Agent(guide)"]}}"#);
    let list = |words: &[&str]| end(stage.troupe().arg("agents").args(words)).clean().to_owned();
    let text = list(&[]);
    for (name, expected) in [
        ("walled", "can't be started"),
        ("served", "can't be started"),
        ("guide", "a rule denies it"),
        ("Explore", "active, in place of a built-in, 1 fault"),
        ("Plan", "active"),
    ] {
        assert_eq!(state(&text, name), expected, "{text}");
    }
    assert!(text.contains("fork.md:2: `name`: ") && text.contains("(skipped)"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("fork ")), "{text}");
    let shown = end(stage.troupe().args(["agents", "show", "Served"])).clean().to_owned();
    assert!(
        shown.contains("lacks       `requiredMcpServers`: ") && shown.contains("git*, docs\n"),
        "{shown}"
    );
    let shown = end(stage.troupe().args(["agents", "show", "Explore"])).clean().to_owned();
    assert!(
        shown.contains("no effect   `skills` has no effect in this version\n"),
        "hooks wait for trust: {shown}"
    );
    assert!(shown.contains("replaces    the built-in agent"), "{shown}");
    let shown = end(stage.troupe().args(["agents", "show", "guide"])).clean().to_owned();
    assert!(shown.contains("refused     a rule denies it\n"), "{shown}");
    // A run says it too.
    let ended = stage.play("agent main\nreply \"done\"\n", &["-p", "hi"]);
    assert!(ended.err.contains("agent type served can't be started: `requiredMcpServers`"), "{ended:?}");
    // A coordinator has other built-in agents; an agent that limits its types leaves the others out.
    let text = list(&["--coordinator"]);
    assert_eq!(state(&text, "worker"), "active", "{text}");
    assert!(!text.contains("general-purpose") && !text.contains("guide"), "{text}");
    let text = list(&["--agent", "lead"]);
    assert_eq!(state(&text, "lead"), "active, main");
    assert_eq!(state(&text, "verification"), "the main agent may not start it");
    assert_eq!(state(&text, "Plan"), "active");
    let main = end(stage.troupe().args(["agents", "show", "coordinator", "--coordinator", "--json"]));
    let main: Value = serde_json::from_str(main.clean()).unwrap();
    assert_eq!(main["pool"], json!(["Agent", "SendMessage", "TaskStop"]));
    // What is set for all sub-agents stands where their own models would.
    let set = end(stage.troupe().arg("agents").env("CLAUDE_CODE_SUBAGENT_MODEL", "var")).clean().to_owned();
    assert!(set.lines().any(|line| line.starts_with("Plan ") && line.contains(" var ")), "{set}");
}

// proves: X13
#[test]
fn a_run_says_that_the_repository_replaces_what_is_built_in() {
    let stage = Stage::new();
    let script = "agent main\nreply \"done\"\n";
    let told = "this repository has agents of its own in place of built-in ones: Explore;";
    stage.write("home/.troupe/agents/p.md", "---\nname: Plan\ndescription: d\n---\nx");
    assert_eq!(stage.play(script, &["-p", "hi"]).clean(), "done\n", "the person's own needs no word");
    stage.write("work/.troupe/agents/e.md", "---\nname: Explore\ndescription: d\n---\nx");
    let ended = stage.play(script, &["-p", "hi"]);
    assert_eq!(ended.err.matches(told).count(), 1, "{ended:?}");
    assert_eq!(stage.play(script, &["-p", "hi", "--trust-workspace"]).clean(), "done\n");
}

// proves: D3
#[test]
fn an_agent_by_flag_says_what_of_it_comes_to_nothing() {
    let stage = Stage::new();
    let given =
        r#"{"odd": {"description": "d", "prompt": "p", "tools": ["Reed", "mcp__docs"], "skills": ["s"]}}"#;
    let ended = stage.play("agent odd\nreply \"done\"\n", &["-p", "hi", "--agents", given, "--agent", "odd"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "done\n"), "{ended:?}");
    for told in [
        "agent type odd: it names tools that there are none of: Reed\n",
        "agent type odd: `skills` has no effect in this version\n",
    ] {
        assert_eq!(ended.err.matches(told).count(), 1, "{told}: {ended:?}");
    }
    let given = r#"{"far": {"description": "d", "prompt": "p", "isolation": "remote"}}"#;
    stage
        .play("agent far\nreply \"done\"\n", &["-p", "hi", "--agents", given, "--agent", "far"])
        .says(1, &["agent `far` can't be started: `isolation`: it is to work on another machine"]);
}
