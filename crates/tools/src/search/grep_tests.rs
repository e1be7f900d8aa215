//! Grep against a folder of real files. Expected texts are what `rg` prints for the same flags.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use super::super::test_tree::Tree;
use super::*;

fn project() -> Tree {
    Tree::new(&[
        (".git/HEAD", "needle"),
        (".gitignore", "*.log\nbuild/\n"),
        ("a.rs", "fn one() {}\nlet needle = 1;\nfn two() {}\n"),
        ("b.py", "import os\n# Needle\n\nneedle()\nneedle()\n"),
        ("debug.log", "needle\n"),
        ("build/out.txt", "needle\n"),
        (".hidden/c.ts", "needle\n"),
        (".troupe/worktrees/w/a.rs", "needle\n"),
        ("docs/d.md", "no such thing\n"),
    ])
}

#[track_caller]
fn content(tree: &Tree, output: &ToolOutput) -> String {
    assert!(!output.is_error, "{}", tree.text(output));
    tree.text(output)
}

async fn grep(tree: &Tree, input: Value) -> String {
    let output = tree.call(&Grep::new(), input).await;
    content(tree, &output)
}

#[tokio::test]
async fn paths_are_the_default_newest_first_relative_to_the_folder() {
    let tree = project();
    let output = tree.call(&Grep::new(), json!({"pattern": "needle"})).await;
    assert_eq!(content(&tree, &output), ".hidden/c.ts\nb.py\na.rs");
    let data = output.data.unwrap();
    assert_eq!(data["mode"], "files_with_matches");
    assert_eq!(data["numFiles"], 3);
    assert_eq!(data["filenames"][2], tree.path("a.rs").to_str().unwrap());
    assert!(data.get("appliedLimit").is_none() && data.get("content").is_none());
}

#[tokio::test]
async fn every_parameter_does_what_rg_does() {
    let tree = project();
    let lines = |more: Value| {
        let mut input = json!({"pattern": "needle", "output_mode": "content", "path": "b.py"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    for (more, expected) in [
        (json!({}), "4:needle()\n5:needle()"),
        (json!({"-n": false}), "needle()\nneedle()"),
        (json!({"-i": true}), "2:# Needle\n4:needle()\n5:needle()"),
        (json!({"-o": true, "-i": true}), "2:Needle\n4:needle\n5:needle"),
        (json!({"pattern": "os", "-A": 2}), "1:import os\n2-# Needle\n3-"),
        (json!({"pattern": "Needle", "-B": 1}), "1-import os\n2:# Needle"),
        (json!({"pattern": "Needle", "-C": 1}), "1-import os\n2:# Needle\n3-"),
        (json!({"pattern": "Needle", "context": 1}), "1-import os\n2:# Needle\n3-"),
        (json!({"pattern": "Needle", "-C": 1, "-A": 0}), "1-import os\n2:# Needle"),
        (json!({"pattern": "import|5|\\(\\)$", "-A": 0, "-B": 0}), "1:import os\n4:needle()\n5:needle()"),
        (json!({"pattern": "import|^$", "-A": 0, "-B": 0}), "1:import os\n3:"),
        (json!({"pattern": "import|needle\\(\\)$", "-C": 0}), "1:import os\n4:needle()\n5:needle()"),
        (json!({"pattern": "os|l.\\(\\)", "-B": 1}), "1:import os\n--\n3-\n4:needle()\n5:needle()"),
        (json!({"pattern": "os\\n.*Needle", "multiline": true}), "1:import os\n2:# Needle"),
        (json!({"pattern": "os.*?dle\\(", "multiline": true, "-o": true}), "1:os\n2:# Needle\n4:needle("),
        (json!({"head_limit": 1}), "4:needle()\n[1 of 2 lines shown; `offset`: 1 goes on]"),
        (json!({"head_limit": 1, "offset": 1}), "5:needle()"),
        (json!({"head_limit": 1.0}), "4:needle()\n[1 of 2 lines shown; `offset`: 1 goes on]"),
        (json!({"offset": 2}), "Nothing after the first 2 lines: there are 2"),
        (json!({"path": ".", "glob": "*.rs"}), "a.rs:2:let needle = 1;"),
        (json!({"path": ".", "glob": "!*.{py,ts}"}), "a.rs:2:let needle = 1;"),
        (
            json!({"path": ".", "type": "py", "head_limit": 1, "-n": false}),
            "b.py:needle()\n[1 of 2 lines shown; `offset`: 1 goes on]",
        ),
        (json!({"path": "docs"}), "No matches found in 1 files"),
        (
            json!({"path": ".", "glob": "*.zig"}),
            "No matches found: no file was searched. Check `path`, `glob` and `type`",
        ),
    ] {
        assert_eq!(grep(&tree, lines(more.clone())).await, expected, "{more}");
    }
}

#[tokio::test]
async fn files_with_context_are_set_apart_and_named_as_rg_names_them() {
    let tree = project();
    let text =
        grep(&tree, json!({"pattern": "needle", "output_mode": "content", "-A": 1, "type": "rust"})).await;
    assert_eq!(text, "a.rs:2:let needle = 1;\na.rs-3-fn two() {}");
    let text = grep(&tree, json!({"pattern": "needle = |os", "output_mode": "content", "-A": 1})).await;
    assert_eq!(text, "b.py:1:import os\nb.py-2-# Needle\n--\na.rs:2:let needle = 1;\na.rs-3-fn two() {}");
}

#[tokio::test]
async fn counts_cover_everything_also_when_the_list_is_cut() {
    let tree = project();
    let output =
        tree.call(&Grep::new(), json!({"pattern": "needle", "output_mode": "count", "head_limit": 2})).await;
    assert_eq!(
        content(&tree, &output),
        ".hidden/c.ts:1\nb.py:2\n[4 matches in 3 files]\n[2 of 3 files shown; `offset`: 2 goes on]"
    );
    let data = output.data.unwrap();
    assert_eq!(
        (&data["numMatches"], &data["numFiles"], &data["totalFiles"]),
        (&json!(4), &json!(2), &json!(3))
    );
    assert_eq!(data["appliedLimit"], 2);
    let multiline =
        json!({"pattern": "needle\\(\\)", "output_mode": "count", "multiline": true, "path": "b.py"});
    assert!(grep(&tree, multiline).await.ends_with("[2 matches in 1 files]"));
}

#[tokio::test]
async fn the_limit_is_250_and_0_lifts_it() {
    let text: String = (0..300).fold(String::new(), |text, n| format!("{text}hit {n}\n"));
    let tree = Tree::new(&[("f.txt", &text)]);
    let output = tree.call(&Grep::new(), json!({"pattern": "hit", "output_mode": "content"})).await;
    assert!(
        content(&tree, &output).ends_with("250:hit 249\n[250 of 300 lines shown; `offset`: 250 goes on]")
    );
    let data = output.data.unwrap();
    assert_eq!((&data["numLines"], &data["totalLines"]), (&json!(250), &json!(300)));
    let all = grep(&tree, json!({"pattern": "hit", "output_mode": "content", "head_limit": 0})).await;
    assert_eq!(all.lines().count(), 300);
    let rest = json!({"pattern": "hit", "output_mode": "content", "offset": 250});
    let output = tree.call(&Grep::new(), rest).await;
    assert_eq!(content(&tree, &output).lines().count(), 50);
    assert_eq!(output.data.unwrap()["appliedOffset"], 250);
}

#[tokio::test]
async fn an_explicit_path_overrides_gitignore_and_the_folders_left_out() {
    let tree = project();
    for (path, expected) in [
        ("debug.log", "debug.log"),
        ("build", "out.txt"),
        ("build/out.txt", "out.txt"),
        (".git", "HEAD"),
        (".troupe/worktrees/w", "a.rs"),
        (".troupe/worktrees", "a.rs"),
    ] {
        let text = grep(&tree, json!({"pattern": "needle", "path": path})).await;
        assert!(text.ends_with(expected), "{path}: {text}");
    }
}

#[tokio::test]
async fn binary_files_are_left_out_whole_and_other_encodings_are_read() {
    let tree = Tree::new(&[]);
    tree.write("early.bin", b"needle\n\0needle\n", 1);
    let mut late = b"needle\n".repeat(40_000);
    late.push(0);
    tree.write("late.bin", &late, 2);
    let wide: Vec<u8> = "\u{FEFF}needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.write("wide.txt", &wide, 3);
    tree.write("broken.txt", b"\xff needle \xfe\n", 4);
    let text = grep(&tree, json!({"pattern": "needle", "output_mode": "content"})).await;
    assert_eq!(text, "broken.txt:1:\u{FFFD} needle \u{FFFD}\nwide.txt:1:needle");
    let text = grep(&tree, json!({"pattern": "needle", "path": "early.bin"})).await;
    assert!(text.contains("1 of them binary"), "{text}");
}

#[tokio::test]
async fn long_lines_are_clipped_with_the_match_in_sight() {
    let line = format!("{}needle{}\n", "a".repeat(500_000), "b".repeat(500_000));
    let tree = Tree::new(&[("min.js", &line)]);
    let text = grep(&tree, json!({"pattern": "needle", "output_mode": "content"})).await;
    assert!(text.contains("needle") && text.contains("1000006 bytes"));
    assert!(text.chars().count() < 2_100);
}

#[tokio::test]
async fn faults_are_errors_in_rgs_words_with_a_hint() {
    let tree = project();
    for (input, words) in [
        (json!({"pattern": "fn ("}), ["unclosed group", "backslash"]),
        (json!({"pattern": "interface{"}), ["repetition", "backslash"]),
        (json!({"pattern": "(?=x)"}), ["look-around", "neither lookaround"]),
        (json!({"pattern": "(?<!x)y"}), ["look-around", "neither lookaround"]),
        (json!({"pattern": "(a)\\1"}), ["backreferences", "plainer"]),
        (json!({"pattern": "a\\nb"}), ["not allowed", "`multiline`"]),
        (json!({"pattern": "((a{99}){99}){99}"}), ["size limit", "smaller"]),
        (json!({"pattern": "x", "glob": "{a"}), ["`glob`", "unclosed"]),
        (json!({"pattern": "x", "type": "tsx"}), ["no file type `tsx`", "ts"]),
        (json!({"pattern": "x", "type": "pythn"}), ["no file type", "python"]),
        (json!({"pattern": "x", "type": "golang"}), ["no file type", "go"]),
        (json!({"pattern": "x", "path": "src/gone"}), ["does not exist", " exists"]),
        (json!({"pattern": "x", "path": "/dev/null"}), ["neither a file", "folder"]),
        (json!({"pattern": "a\0b"}), ["`pattern`", "NUL"]),
    ] {
        let output = tree.call(&Grep::new(), input.clone()).await;
        let text = tree.text(&output);
        assert!(output.is_error, "{input}: {text}");
        for word in words {
            assert!(text.contains(word), "{input}: {text}");
        }
    }
}

#[tokio::test]
async fn a_pipe_in_the_tree_or_as_the_path_blocks_nothing() {
    let tree = project();
    let pipe = tree.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(grep(&tree, json!({"pattern": "needle"})).await.contains("a.rs"));
    assert!(tree.call(&Grep::new(), json!({"pattern": "x", "path": "pipe"})).await.is_error);
}

#[test]
fn a_search_over_its_time_says_so() {
    let tree = project();
    let query = Query::read(&tree.place(), &json!({"pattern": "needle"})).unwrap();
    let output = output(&query, Ranking::new(query.want()), true);
    assert!(!output.is_error);
    assert!(tree.text(&output).contains("the time was over"));
    assert_eq!(output.data.unwrap()["timedOut"], true);
}

#[test]
fn access_reads_the_path_searched() {
    let tree = project();
    let access = Grep::new().access(&tree.place(), &json!({"pattern": "x", "path": "~/notes"})).unwrap();
    assert_eq!(access, [Access::Read(PathUse::new(tree.place().home.join("notes")))]);
}

// proves: S7
#[cfg(unix)]
#[tokio::test]
async fn what_a_rule_denies_reading_is_not_found() {
    use troupe_core::policy::{Behaviour, Scope};
    let files = [(".env", "needle"), ("secrets/key", "needle"), ("sub/.env", "needle"), ("a.rs", "needle")];
    let mut tree = Tree::new(&files);
    std::os::unix::fs::symlink("secrets", tree.path("way")).unwrap();
    std::os::unix::fs::symlink(".env", tree.path("link.rs")).unwrap();
    for rule in ["Read(.env)", "Read(./secrets/**)"] {
        tree.rules.add(rule, Behaviour::Deny, Scope::Project, tree.as_ref().to_path_buf()).unwrap();
    }
    tree.rules.add("Read(a.rs)", Behaviour::Allow, Scope::Project, tree.as_ref().to_path_buf()).unwrap();
    assert_eq!(grep(&tree, json!({"pattern": "needle"})).await, "a.rs");
    let through = grep(&tree, json!({"pattern": "needle", "path": "way"})).await;
    assert!(!through.contains("key"), "{through}");
    let listed = tree.call(&crate::search::Glob::new(), json!({"pattern": "**/*"})).await;
    assert_eq!(tree.text(&listed), "./a.rs");
}
