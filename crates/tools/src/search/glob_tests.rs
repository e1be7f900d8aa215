//! Glob against a folder of real files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use serde_json::json;

use super::super::test_tree::Tree;
use super::*;

fn project() -> Tree {
    Tree::new(&[
        ("README.md", ""),
        ("src/main.rs", ""),
        ("src/deep/er/mod.rs", ""),
        ("src/style.css", ""),
        (".hidden/x.rs", ""),
        ("target/out.rs", ""),
        (".gitignore", "target/\n"),
        (".git/config.rs", ""),
        ("sub/.git", "gitdir: elsewhere.rs"),
        (".troupe/worktrees/a/copy.rs", ""),
        (".claude/worktrees/b/copy.rs", ""),
        (".claude/agents/x.md", ""),
        ("worktrees/own.rs", ""),
    ])
}

async fn found(tree: &Tree, pattern: &str) -> String {
    let output = tree.call(&Glob::new(), json!({"pattern": pattern})).await;
    assert!(!output.is_error, "{}", tree.text(&output));
    tree.text(&output).replace('\n', " ")
}

#[tokio::test]
async fn patterns_mean_what_they_say_and_the_newest_comes_first() {
    let tree = project();
    for (pattern, expected) in [
        ("**/*.rs", "./worktrees/own.rs ./target/out.rs ./.hidden/x.rs ./src/deep/er/mod.rs ./src/main.rs"),
        ("src/**/*.rs", "./src/deep/er/mod.rs ./src/main.rs"),
        ("src/*.rs", "./src/main.rs"),
        ("src/*.{rs,css}", "./src/style.css ./src/main.rs"),
        ("{src,target}/*.rs", "./target/out.rs ./src/main.rs"),
        ("*.md", "./.claude/agents/x.md ./README.md"),
        ("./*.md", "./README.md"),
        ("src/", "./src/style.css ./src/deep/er/mod.rs ./src/main.rs"),
        ("src/m[a-z]in.rs", "./src/main.rs"),
        ("src/main.rs", "./src/main.rs"),
        ("s?c/*/*/mod.rs", "./src/deep/er/mod.rs"),
        (".git/*", "./.git/config.rs"),
        ("absent/*.rs", "No files found"),
        ("src", "No files found"),
    ] {
        assert_eq!(found(&tree, pattern).await, expected, "{pattern}");
    }
    let absolute = format!("{}/src/*.rs", tree.as_ref().display());
    assert_eq!(found(&tree, &absolute).await, "./src/main.rs");
}

#[tokio::test]
async fn a_setting_leaves_out_what_gitignore_hides_and_the_text_says_so() {
    let tree = project();
    let tool = Glob::new().respecting_ignore_files();
    let output = tree.call(&tool, json!({"pattern": "**/*.rs"})).await;
    assert!(!tree.text(&output).contains("target"));
    assert!(tree.text(&output).contains(".hidden/x.rs"));
    assert!(tool.spec().description.contains("not what .gitignore hides"));
    assert!(Glob::new().spec().description.contains("also what .gitignore hides"));
}

#[tokio::test]
async fn a_hundred_files_at_most_and_the_rest_is_counted() {
    let names: Vec<String> = (0..150).map(|n| format!("f{n:03}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let tree = Tree::new(&files);
    let output = tree.call(&Glob::new(), json!({"pattern": "*.txt"})).await;
    let data = output.data.clone().unwrap();
    assert_eq!(data["numFiles"], 100);
    assert_eq!(data["truncated"], true);
    assert_eq!((&data["totalMatches"], &data["countIsComplete"]), (&json!(150), &json!(true)));
    assert_eq!(data["filenames"][0], tree.path("f149.txt").to_str().unwrap());
    assert_eq!(data["filenames"].as_array().unwrap().len(), 100);
    assert!(tree.text(&output).ends_with("[100 of 150 files, changed last first; narrow the pattern]"));
}

#[tokio::test]
async fn the_structured_result_of_an_uncut_list_has_the_four_required_keys() {
    let tree = project();
    let data = tree.call(&Glob::new(), json!({"pattern": "src/*", "path": "."})).await.data.unwrap();
    let keys: Vec<&String> = data.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["durationMs", "numFiles", "filenames", "truncated"]);
}

#[tokio::test]
async fn what_can_not_be_searched_is_an_error_that_says_why() {
    let tree = project();
    for (input, word) in [
        (json!({"pattern": "*", "path": "src/absent/deep"}), "does not exist"),
        (json!({"pattern": "*", "path": "src/main.rs"}), "is a file"),
        (json!({"pattern": "a\0b"}), "NUL"),
        (json!({"pattern": "*", "path": "a\0b"}), "NUL"),
        (json!({"pattern": "{a"}), "no glob"),
    ] {
        let output = tree.call(&Glob::new(), input.clone()).await;
        assert!(output.is_error, "{input}");
        assert!(tree.text(&output).contains(word), "{input}: {}", tree.text(&output));
    }
}

#[tokio::test]
async fn links_to_files_are_listed_and_no_link_is_followed_into_a_folder() {
    let tree = Tree::new(&[("real/a.md", "")]);
    std::os::unix::fs::symlink(tree.path("real/a.md"), tree.path("link.md")).unwrap();
    std::os::unix::fs::symlink(tree.path("real"), tree.path("folder.md")).unwrap();
    std::os::unix::fs::symlink(tree.as_ref(), tree.path("real/loop")).unwrap();
    std::os::unix::fs::symlink(tree.path("nowhere"), tree.path("broken.md")).unwrap();
    assert_eq!(found(&tree, "**/*.md").await, "./link.md ./real/a.md");
    assert_eq!(found(&tree, "folder.md/*").await, "./folder.md/a.md", "a link that is named is entered");
}

#[test]
fn a_search_over_its_time_gives_what_it_has_and_says_so() {
    let tree = project();
    let mut found = Ranking::new(MAX_FILES);
    let line = Lines { kept: vec!["/a".into()], total: 1, matches: 1 };
    found.add(Path::new("/a"), SystemTime::UNIX_EPOCH, line);
    let output = output(found, true, Duration::ZERO);
    let data = output.data.clone().unwrap();
    assert_eq!((&data["timedOut"], &data["countIsComplete"]), (&json!(true), &json!(false)));
    assert!(tree.text(&output).starts_with("/a\n[the time was over"));
}

#[tokio::test]
async fn a_cancelled_call_is_an_error() {
    let tree = project();
    let cx = tree.cx();
    cx.cancel.cancel();
    for (tool, input) in [
        (&Glob::new() as &dyn Tool, json!({"pattern": "*"})),
        (&super::super::Grep::new(), json!({"pattern": "x"})),
    ] {
        let output = tool.call(&cx, input).await;
        assert!(output.is_error && tree.text(&output).contains("cancelled"));
    }
}

#[test]
fn access_names_the_folder_that_is_really_read() {
    let tree = project();
    let read = |input: Value| match Glob::new().access(&tree.place(), &input).unwrap().remove(0) {
        Access::Read(path) => path.typed,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(json!({"pattern": "*.rs"})), tree.as_ref());
    assert_eq!(read(json!({"pattern": "*.rs", "path": "src"})), tree.path("src"));
    assert_eq!(read(json!({"pattern": "/etc/**"})), Path::new("/etc"));
    assert_eq!(read(json!({"pattern": "src/../../../../../../../../etc/*"})), Path::new("/etc"));
    assert!(Glob::new().access(&tree.place(), &json!({"pattern": "*/../../etc/*"})).is_err());
}
