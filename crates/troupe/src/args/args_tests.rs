//! Tests of the command line's grammar.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::{CommandFactory as _, Parser as _};
use troupe_core::policy::Mode;

use super::{Cli, Command, InputFormat, OutputFormat, Run};

fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once(&"troupe").chain(words))
}

fn run(words: &[&str]) -> Run {
    parse(words).unwrap_or_else(|error| panic!("{words:?}: {error}")).run
}

#[test]
fn the_grammar_is_sound() {
    Cli::command().debug_assert();
}

/// The argument list that the Python SDK writes, with everything set.
#[test]
fn what_an_sdk_passes_is_taken() {
    let run = run(&[
        "--output-format",
        "stream-json",
        "--verbose",
        "--system-prompt",
        "",
        "--append-system-prompt",
        "- be brief",
        "--tools",
        "",
        "--allowedTools",
        "Bash(git *),Edit",
        "--max-turns",
        "3",
        "--max-budget-usd",
        "0.5",
        "--disallowedTools",
        "WebFetch",
        "--task-budget",
        "100",
        "--model",
        "opus",
        "--fallback-model",
        "haiku",
        "--betas",
        "a,b",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        "acceptEdits",
        "--settings",
        r#"{"model":"x"}"#,
        "--add-dir",
        "/a",
        "--add-dir",
        "/b",
        "--mcp-config",
        r#"{"mcpServers":{}}"#,
        "--include-partial-messages",
        "--include-hook-events",
        "--strict-mcp-config",
        "--resume-session-at=0b2e5c2e-6a3f-4a0b-9f6b-0d4b0a3f1c11",
        "--session-mirror",
        "--setting-sources=user,project",
        "--plugin-dir",
        "/p",
        "--replay-user-messages",
        "--thinking",
        "adaptive",
        "--thinking-display",
        "summarized",
        "--max-thinking-tokens",
        "5",
        "--effort",
        "high",
        "--json-schema",
        "{}",
        "--input-format",
        "stream-json",
    ]);
    assert!(run.is_headless());
    assert_eq!(run.format.output_format, Some(OutputFormat::StreamJson));
    assert_eq!(run.format.input_format, Some(InputFormat::StreamJson));
    assert_eq!(run.prompting.system_prompt.as_deref(), Some(""));
    assert_eq!(run.prompting.append_system_prompt.as_deref(), Some("- be brief"));
    assert_eq!(run.permissions.tools, Some(vec![String::new()]));
    assert_eq!(run.permissions.allowed_tools, ["Bash(git *),Edit"]);
    assert_eq!(run.mode(), Some(Mode::AcceptEdits));
    assert_eq!(run.permissions.add_dir.len(), 2);
    assert_eq!(run.model.max_turns, Some(3));
    assert_eq!(run.model.betas, ["a", "b"]);
    assert_eq!(run.model.effort, Some(troupe_core::def::Effort::High));
    assert_eq!(run.sources.setting_sources.as_deref(), Some("user,project"));
    let told = run.later.without_effect();
    for flag in ["--fallback-model", "--session-mirror", "--json-schema", "--thinking"] {
        assert!(told.contains(&flag), "{flag}");
    }
    assert!(!told.contains(&"--mcp-config"), "an empty configuration changes nothing");
}

#[test]
fn sessions_are_chosen() {
    assert_eq!(run(&["-p", "hi", "--resume=x"]).session.resume, Some(Some("x".into())));
    assert_eq!(run(&["-r", "x"]).session.resume, Some(Some("x".into())));
    assert_eq!(run(&["-r", "--print"]).session.resume, Some(None));
    assert!(run(&["-c"]).session.continue_last);
    assert!(parse(&["-c", "--resume"]).is_err());
    assert_eq!(run(&["--session-id=u"]).session.session_id.as_deref(), Some("u"));
}

#[test]
fn both_spellings_and_both_forms() {
    for words in [["--allowedTools", "Read"], ["--allowed-tools", "Read"]] {
        assert_eq!(run(&words).permissions.allowed_tools, ["Read"]);
    }
    assert_eq!(
        run(&["--allowedTools=Read", "--allowed-tools", "Edit", "Bash"]).permissions.allowed_tools.len(),
        3
    );
    assert_eq!(run(&["--maxTurns=2"]).model.max_turns, Some(2));
    assert_eq!(run(&["--permissionMode", "manual"]).mode(), Some(Mode::Default));
    assert_eq!(run(&["--dangerously-skip-permissions"]).mode(), Some(Mode::BypassPermissions));
    assert_eq!(run(&["--setting-sources="]).sources.setting_sources.as_deref(), Some(""));
    assert_eq!(run(&["--debug"]).debug.debug.as_deref(), Some("debug"));
    assert_eq!(run(&["--debug=troupe=trace", "hi"]).debug.debug.as_deref(), Some("troupe=trace"));
    assert_eq!(run(&["--debug", "hi"]).prompt.as_deref(), Some("hi"), "a filter needs its =");
}

// proves: F174
#[test]
fn a_value_stays_a_value() {
    let run_ = run(&["-p", "--append-system-prompt", "--settings={\"hooks\":{}}", "hi"]);
    assert_eq!(run_.prompting.append_system_prompt.as_deref(), Some("--settings={\"hooks\":{}}"));
    assert_eq!(run_.sources.settings, None);
    let run_ = run(&["-p", "--", "--settings={}"]);
    assert_eq!((run_.prompt.as_deref(), run_.sources.settings), (Some("--settings={}"), None));
    assert_eq!(run(&["--model=-odd"]).model.model.as_deref(), Some("-odd"));
}

#[test]
fn a_command_is_one_only_in_the_first_place() {
    assert!(matches!(parse(&["demo", "--keep"]).unwrap().command, Some(Command::Demo { keep: true })));
    let cli = parse(&["-p", "demo"]).unwrap();
    assert!(cli.command.is_none());
    assert_eq!(cli.run.prompt.as_deref(), Some("demo"));
}

#[test]
fn nonsense_is_refused() {
    for words in [
        ["--permission-mode", "yolo"],
        ["--max-budget-usd", "0"],
        ["--max-budget-usd", "NaN"],
        ["--max-turns", "-1"],
        ["--output-format", "xml"],
        ["--no-such-flag", "x"],
    ] {
        assert!(parse(&words).is_err(), "{words:?}");
    }
    assert!(parse(&["--resume-drops-turn="]).is_err());
}

#[test]
fn an_interactive_start_is_not_headless() {
    assert!(!run(&["hi"]).is_headless());
    assert!(!run(&["--output-format", "json", "hi"]).is_headless());
    assert!(run(&["--input-format=stream-json"]).is_headless());
}
