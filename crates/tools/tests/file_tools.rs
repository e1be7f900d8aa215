//! The file tools as an agent calls them, on real files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "file_tools/agent.rs"]
mod agent;
#[path = "file_tools/conflicts.rs"]
mod conflicts;
#[path = "file_tools/formats.rs"]
mod formats;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::ports::tool::ToolOutput;
use troupe_core::state::{Effect, Part};
use troupe_tools::file;

use agent::{Agent, text};

fn read(agent: &mut Agent, path: &Path) -> ToolOutput {
    agent.call("Read", json!({"file_path": path}))
}

fn edit(agent: &mut Agent, path: &Path, old: &str, new: &str) -> ToolOutput {
    agent.call("Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
}

fn write(agent: &mut Agent, path: &Path, content: &str) -> ToolOutput {
    agent.call("Write", json!({"file_path": path, "content": content}))
}

#[track_caller]
fn fine(output: &ToolOutput) -> String {
    let text = agent::text(output);
    assert!(!output.is_error, "{text}");
    text
}

#[track_caller]
fn fails(output: &ToolOutput, with: &str) {
    let text = agent::text(output);
    assert!(output.is_error && text.contains(with), "{text}");
    assert_eq!(output.effects, []);
}

const TEXT: &str = "one\ntwo\nthree\nfour\n";

/// What an agent knows of a file before it changes it.
#[derive(Clone, Copy, Debug)]
enum Known {
    Unread,
    /// Lines 1 and 2.
    Partial,
    Full,
    /// Read whole; then its last line was changed by another program.
    Stale,
    /// Read whole; then its time stamp alone changed.
    Touched,
    /// Shown by another tool.
    Shell,
}

fn prepared(known: Known) -> (Agent, std::path::PathBuf) {
    let mut agent = Agent::new();
    let path = agent.path("f.txt");
    fs::write(&path, TEXT).unwrap();
    match known {
        Known::Unread => {}
        Known::Partial => {
            agent.call("Read", json!({"file_path": path, "limit": 2}));
        }
        Known::Shell => agent.saw_whole(&path),
        Known::Full | Known::Stale | Known::Touched => {
            read(&mut agent, &path);
        }
    }
    match known {
        Known::Stale => fs::write(&path, "one\ntwo\nthree\nFOUR\n").unwrap(),
        Known::Touched => {
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000)).unwrap();
        }
        _ => {}
    }
    (agent, path)
}

// proves: F267, F269, X11
#[test]
fn what_was_read_decides_what_may_be_changed() {
    let done = "";
    for (known, edit_seen, edit_unseen, overwrite) in [
        (Known::Unread, "not been read", "not been read", "not been read"),
        (Known::Partial, done, "lines 3-3", "only a part"),
        (Known::Full, done, done, done),
        (Known::Stale, done, done, "changed on disk"),
        (Known::Touched, done, done, done),
        (Known::Shell, done, done, done),
    ] {
        for (what, expected) in [("two", edit_seen), ("three", edit_unseen), ("", overwrite)] {
            let (mut agent, path) = prepared(known);
            let before = fs::read(&path).unwrap();
            let output = match what {
                "" => write(&mut agent, &path, "mine\n"),
                old => edit(&mut agent, &path, old, "new"),
            };
            let words = text(&output);
            assert_eq!(output.is_error, !expected.is_empty(), "{known:?} {what:?}: {words}");
            assert!(words.contains(expected), "{known:?} {what:?}: {words}");
            if output.is_error {
                assert_eq!(fs::read(&path).unwrap(), before, "{known:?} {what:?}");
            } else {
                assert_ne!(fs::read(&path).unwrap(), before, "{known:?} {what:?}");
            }
        }
    }
}

// proves: F267
#[test]
fn an_edit_of_a_changed_file_says_so_and_keeps_the_other_change() {
    let (mut agent, path) = prepared(Known::Stale);
    let output = edit(&mut agent, &path, "two", "2");
    assert!(fine(&output).contains("had been changed on disk"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n2\nthree\nFOUR\n");
    // A formatter that runs after each edit must not force a read after each edit.
    let output = edit(&mut agent, &path, "three", "3");
    fine(&output);
    // What the other program wrote was never seen: it must not be overwritten.
    let output = write(&mut agent, &path, "mine\n");
    fails(&output, "changed on disk");
    let output = edit(&mut agent, &path, "four", "4");
    fails(&output, "Read it again");
    read(&mut agent, &path);
    let output = write(&mut agent, &path, "mine\n");
    fine(&output);
}

// proves: F270
#[test]
fn own_changes_count_as_seen() {
    let (mut agent, path) = prepared(Known::Full);
    for (old, new) in [("one", "1\n1.5"), ("1.5", "1.6")] {
        let output = edit(&mut agent, &path, old, new);
        fine(&output);
    }
    let output = write(&mut agent, &path, "all\n");
    fine(&output);
    let output = edit(&mut agent, &path, "all", "new");
    fine(&output);
    assert_eq!(agent.state.changed, [path]);
}

#[test]
fn seen_lines_move_with_an_own_edit() {
    let (mut agent, path) = prepared(Known::Partial);
    let output = edit(&mut agent, &path, "one", "1\n1\n1");
    fine(&output);
    let output = edit(&mut agent, &path, "two", "2");
    fine(&output);
    let output = edit(&mut agent, &path, "three", "3");
    fails(&output, "lines 5-5");
    let output = write(&mut agent, &path, "x");
    fails(&output, "only a part");
}

// proves: F269, X11
#[test]
fn two_agents_do_not_erase_each_others_work() {
    let (mut one, path) = prepared(Known::Full);
    let mut two = Agent::in_folder(Arc::clone(&one.folder));
    let output = edit(&mut two, &path, "one", "1");
    fails(&output, "not been read");
    read(&mut two, &path);
    let output = edit(&mut two, &path, "one", "1");
    fine(&output);
    let output = edit(&mut one, &path, "one", "ONE");
    fails(&output, "Read it again");
    let output = write(&mut one, &path, "mine");
    fails(&output, "changed on disk");
    let output = edit(&mut one, &path, "two", "2");
    fine(&output);
    assert_eq!(fs::read_to_string(&path).unwrap(), "1\n2\nthree\nfour\n");
}

#[test]
fn results_have_the_shape_that_hooks_and_frontends_read() {
    let (mut agent, path) = prepared(Known::Full);
    let output = edit(&mut agent, &path, "two", "2");
    let hunk = json!({"oldStart": 1, "oldLines": 4, "newStart": 1, "newLines": 4,
        "lines": [" one", "-two", "+2", " three", " four"]});
    assert_eq!(
        output.data.unwrap(),
        json!({"filePath": path, "oldString": "two", "newString": "2", "originalFile": TEXT,
            "structuredPatch": [hunk], "userModified": false, "replaceAll": false})
    );
    let output = write(&mut agent, &path, "x\n");
    let data = output.data.unwrap();
    assert_eq!((&data["type"], &data["originalFile"]), (&json!("update"), &json!("one\n2\nthree\nfour\n")));
    let new = agent.path("sub/new.txt");
    let output = write(&mut agent, &new, "y\n");
    assert_eq!(
        output.data.unwrap(),
        json!({"type": "create", "filePath": new, "content": "y\n", "structuredPatch": [],
            "originalFile": null, "userModified": false})
    );
    let output = agent.call("Read", json!({"file_path": path, "offset": 1}));
    assert_eq!(
        output.data.unwrap(),
        json!({"type": "text", "file": {"filePath": path, "content": "x", "numLines": 1, "startLine": 1, "totalLines": 1}})
    );
}

#[test]
fn an_edit_with_nothing_to_find_creates_a_file_once() {
    let mut agent = Agent::new();
    let path = agent.path("a/b.txt");
    let output = edit(&mut agent, &path, "", "new\n");
    assert!(fine(&output).contains("Created"));
    let output = edit(&mut agent, &path, "", "again\n");
    fails(&output, "old_string is empty");
    let none = agent.path("none");
    let output = edit(&mut agent, &none, "x", "y");
    fails(&output, "does not exist");
    assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
}

#[test]
fn a_link_is_written_through() {
    let mut agent = Agent::new();
    let (file, link) = (agent.path("file"), agent.path("link"));
    fs::write(&file, TEXT).unwrap();
    symlink("file", &link).unwrap();
    read(&mut agent, &link);
    let output = edit(&mut agent, &link, "two", "2");
    fine(&output);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().contains("\n2\n"));
}

// proves: F245
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let mut agent = Agent::new();
    let (fifo, socket) = (agent.path("fifo"), agent.path("socket"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    let folder = agent.path("");
    for (path, what) in [
        (fifo.as_path(), "named pipe"),
        (&socket, "socket"),
        (Path::new("/dev/zero"), "device"),
        (&folder, "directory"),
    ] {
        for (tool, input) in [
            ("Read", json!({"file_path": path})),
            ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
            ("Write", json!({"file_path": path, "content": "b"})),
            ("NotebookEdit", json!({"notebook_path": path, "cell_id": "a", "new_source": "b"})),
        ] {
            let output = agent.call(tool, input);
            fails(&output, what);
        }
    }
}

// proves: F245
#[test]
fn a_huge_file_is_read_in_its_window_only() {
    let mut agent = Agent::new();
    let path = agent.path("huge");
    let file = fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut &file, &b"line\n".repeat(20_000)).unwrap();
    // The rest is a hole of 5 GB.
    file.set_len(5_000_000_000).unwrap();
    let output = read(&mut agent, &path);
    let text = fine(&output);
    assert!(
        text.contains("  2000\tline\n[PARTIAL view: lines 1-2000. Go on with offset=2001.]"),
        "{text:.50}"
    );
    let output = agent.call("Read", json!({"file_path": path, "offset": 19_000, "limit": 3}));
    assert_eq!(fine(&output).lines().count(), 3);
    let output = edit(&mut agent, &path, "line", "x");
    fails(&output, "use sed");
}

// proves: F245
#[test]
fn empty_and_past_the_end_are_told_plainly() {
    let mut agent = Agent::new();
    let path = agent.path("f");
    fs::write(&path, "").unwrap();
    let output = read(&mut agent, &path);
    assert!(fine(&output).contains("file is empty"));
    fs::write(&path, TEXT).unwrap();
    let output = agent.call("Read", json!({"file_path": path, "offset": 5}));
    assert!(fine(&output).contains("has 4 lines"));
    assert_eq!(output.effects, []);
}

// proves: F246
#[test]
fn one_huge_line_is_cut_and_can_still_be_edited() {
    let mut agent = Agent::new();
    let path = agent.path("min.js");
    fs::write(&path, format!("{}needle;", "é".repeat(2_500_000))).unwrap();
    let output = read(&mut agent, &path);
    let text = fine(&output);
    assert!(text.len() < 5000 && text.contains("sed -n 1p"), "{}", text.len());
    let output = write(&mut agent, &path, "x");
    fails(&output, "only a part");
    let output = edit(&mut agent, &path, "needle", "thread");
    fine(&output);
    assert!(fs::read_to_string(&path).unwrap().ends_with("éthread;"));
}

#[test]
fn a_window_shows_its_lines_and_says_what_it_leaves_out() {
    let mut agent = Agent::new();
    let path = agent.path("f");
    let text = (1..=3000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    fs::write(&path, text).unwrap();
    let output = read(&mut agent, &path);
    let shown = fine(&output);
    assert!(shown.starts_with("     1\tline 1\n"));
    assert!(
        shown.ends_with("  2000\tline 2000\n[PARTIAL view: lines 1-2000 of 3000. Go on with offset=2001.]")
    );
    let output = agent.call("Read", json!({"file_path": path, "offset": 2999, "limit": 50}));
    assert_eq!(fine(&output), "  2999\tline 2999\n  3000\tline 3000");
    // Both reads do not make the whole: line 2500 was not shown.
    let output = edit(&mut agent, &path, "line 2500\n", "");
    fails(&output, "lines 2500-2500");
}

#[test]
fn the_token_cap_cuts_a_whole_read_and_refuses_a_range() {
    let mut agent = Agent::new();
    let path = agent.path("f");
    fs::write(&path, format!("{}\n", "x".repeat(500)).repeat(1000)).unwrap();
    let output = read(&mut agent, &path);
    let text = fine(&output);
    assert!(text.len() < 100_300 && text.contains("[PARTIAL view: lines 1-196 of 1000."), "{}", text.len());
    assert_eq!(output.data.unwrap()["file"]["truncatedByTokenCap"], true);
    let output = agent.call("Read", json!({"file_path": path, "offset": 1, "limit": 900}));
    fails(&output, "about 114300 tokens");
}

#[test]
fn an_unchanged_file_is_not_shown_twice_unless_asked_for() {
    let (mut agent, path) = prepared(Known::Full);
    let output = read(&mut agent, &path);
    assert!(fine(&output).contains("file unchanged since you read it"));
    let output = agent.call("Read", json!({"file_path": path, "offset": 1}));
    assert!(fine(&output).contains("three"));
    fs::write(&path, "other").unwrap();
    let output = read(&mut agent, &path);
    assert!(fine(&output).contains("other"));
    // A part is not the whole.
    let (mut agent, path) = prepared(Known::Partial);
    let output = read(&mut agent, &path);
    assert!(fine(&output).contains("four"));
}

#[test]
fn a_missing_file_hints_at_one_that_is_there() {
    let mut agent = Agent::new();
    fs::create_dir(agent.path("src")).unwrap();
    fs::write(agent.path("src/main.rs"), "").unwrap();
    for typed in ["src/Main.rs", "src/main.ts", "src/mian.rs", "/elsewhere/src/main.rs"] {
        let output = agent.call("Read", json!({"file_path": typed}));
        fails(&output, "did you mean");
        assert!(text(&output).contains("src/main.rs?"), "{typed}");
    }
    let output = agent.call("Read", json!({"file_path": "src/zzz"}));
    assert!(!text(&output).contains("mean"));
}

#[test]
fn a_large_file_is_edited_off_the_runtime_with_the_same_result() {
    let mut agent = Agent::new();
    let path = agent.path("big");
    let text = "0123456789\n".repeat(200_000);
    fs::write(&path, format!("{text}here\n{text}")).unwrap();
    let output = agent.call("Read", json!({"file_path": path, "offset": 200_000, "limit": 3}));
    fine(&output);
    let output = edit(&mut agent, &path, "here\n", "there\n");
    fine(&output);
    let data = output.data.unwrap();
    assert_eq!(data["originalFile"], Value::Null);
    assert_eq!(data["structuredPatch"][0]["oldStart"], 199_998);
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{text}there\n{text}"));
}

#[test]
fn a_cancelled_call_writes_nothing() {
    let (mut agent, path) = prepared(Known::Full);
    agent.cancel.cancel();
    let output = edit(&mut agent, &path, "two", "2");
    fails(&output, "cancelled");
    assert_eq!(fs::read_to_string(&path).unwrap(), TEXT);
}

#[test]
fn a_resumed_agent_knows_what_it_had_seen() {
    let (agent, path) = prepared(Known::Full);
    let seen = agent.state.seen(&path).unwrap();
    assert_eq!(seen.part, Part::Whole);
    let effect = Effect::Saw(path.clone(), seen.clone());
    let kept: Effect = serde_json::from_str(&serde_json::to_string(&effect).unwrap()).unwrap();
    assert_eq!(kept, effect);
}

#[test]
fn what_the_model_is_told_stays_short() {
    for tool in file::tools() {
        let spec = tool.spec();
        let size = spec.description.len() + spec.input_schema.to_string().len();
        assert!(size <= 900, "{}: {size} bytes", spec.name);
    }
}
