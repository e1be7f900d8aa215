//! What is printed without a model.

use crate::stage::{Stage, end};

#[test]
fn the_version_begins_as_hosts_expect_it() {
    for flag in ["-v", "-V", "--version"] {
        let ended = end(Stage::new().troupe().arg(flag));
        let line = ended.clean();
        assert!(line.starts_with("2.1.332 (troupe 0.") && line.ends_with(")\n"), "{line}");
    }
}

#[test]
fn help_speaks_of_what_works_alone() {
    let ended = end(Stage::new().troupe().arg("--help"));
    let help = ended.clean();
    for word in ["--output-format", "--resume", "--permission-mode", "demo", "completions"] {
        assert!(help.contains(word), "{word}");
    }
    for word in ["--fallback-model", "--fork-session", "--mcp-config"] {
        assert!(!help.contains(word), "{word}");
    }
}

#[test]
fn completions_and_the_manual_are_printed() {
    for (shell, mark) in [("bash", "_troupe()"), ("zsh", "#compdef troupe"), ("fish", "complete -c troupe")] {
        let ended = end(Stage::new().troupe().args(["completions", shell]));
        assert!(ended.clean().contains(mark), "{shell}");
    }
    let ended = end(Stage::new().troupe().arg("man"));
    assert!(ended.clean().contains(".TH troupe 1"), "{}", ended.out);
}

#[test]
fn what_makes_no_sense_is_refused_with_code_two() {
    let stage = Stage::new();
    let play = |arguments: &[&str]| stage.play("agent main\nreply \"x\"\n", arguments);
    play(&["-p", "hi", "--no-such-flag"]).says(2, &["--no-such-flag"]);
    play(&["-p"]).says(2, &["error: there is no prompt", "hint:"]);
    play(&["-p", "hi", "--setting-sources=user,moon"]).says(2, &["failed to understand", "moon"]);
    play(&["-p", "hi", "--session-id=x"]).says(2, &["UUID"]);
    play(&["-p", "hi", "--add-dir", "no-such-folder"]).says(2, &["no-such-folder"]);
    play(&["-p", "hi", "--settings", "{\"model\":"]).says(2, &["--settings", "line 1"]);
    play(&["-p", "hi", "--system-prompt-file", "none.md"]).says(2, &["none.md"]);
    play(&["hi", "--input-format", "stream-json"]).says(2, &["stdin"]);
}

#[test]
fn a_broken_script_is_told_with_its_line() {
    Stage::new().play("agent main\nreplay \"x\"\n", &["-p", "hi"]).says(1, &["model.script:2", "replay"]);
}

/// At a terminal, and without `-p`, there is nothing to show yet.
#[test]
fn at_a_terminal_two_lines_say_what_works() {
    let stage = Stage::new();
    let command = format!("{} hello", env!("CARGO_BIN_EXE_troupe"));
    // `script` gives it a terminal; its exit code is the program's.
    let ended = end(stage.program("script".as_ref()).args(["-qec", &command, "/dev/null"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("troupe -p") && lines[1].contains("troupe demo"), "{lines:?}");
}
