//! The cases for paths, on real folders and links.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use troupe_core::access::{Access, PathUse};
use troupe_core::policy::{Behaviour, Judged, Mode, Rules, absolute, decide};
use troupe_core::ports::tool::Place;

/// The folders that the placeholders stand for.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        for name in ["<OUT>", "<WS>", "<WT>", "<WT2>", "~"] {
            std::fs::create_dir_all(world.path(name)).unwrap();
        }
        world
    }

    /// Replaces the placeholder at the start of a path.
    fn path(&self, text: &str) -> PathBuf {
        let root = self.root.path().canonicalize().unwrap();
        for (holder, at) in [
            ("<WT2>", "repo/.troupe/worktrees/w2"),
            ("<WT>", "repo/.troupe/worktrees/w1"),
            ("<REPO>", "repo"),
            ("<MAIN>", "repo"),
            ("<WS>", "parent/ws"),
            ("<PARENT>", "parent"),
            ("<OUT>", "out"),
            ("~", "home"),
        ] {
            if let Some(rest) = text.strip_prefix(holder) {
                return root.join(at).join(rest.trim_start_matches('/'));
            }
        }
        PathBuf::from(text)
    }

    /// A rule with its placeholder as an absolute path.
    fn rule(&self, text: &str) -> String {
        match text.split_once("(<") {
            Some((tool, rest)) => format!("{tool}(/{}", self.path(&format!("<{rest}")).display()),
            None => text.to_owned(),
        }
    }

    fn set_up(&self, case: &Value) {
        for step in case["setup"].as_array().unwrap_or(&Vec::new()) {
            let (Some(link), Some(to)) = (step["link"].as_str(), step["to"].as_str()) else { continue };
            let (link, to) = (self.path(link), self.path(to));
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            let below = self.path(case["path"].as_str().unwrap());
            let is_folder = below != link && below.starts_with(&link) || case["op"] == "list";
            if is_folder && !to.exists() {
                std::fs::create_dir_all(&to).unwrap();
            }
            std::os::unix::fs::symlink(to, link).unwrap();
        }
    }
}

/// Follows links, also those that lead nowhere. None for a path that can't exist.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut todo: Vec<_> = path.components().map(|part| part.as_os_str().to_owned()).collect();
    todo.reverse();
    let mut out = PathBuf::new();
    let mut links = 0;
    while let Some(part) = todo.pop() {
        if Path::new(&part).components().next() == Some(Component::ParentDir) {
            out.pop();
            continue;
        }
        let next = out.join(&part);
        match std::fs::read_link(&next) {
            Ok(to) => {
                links += 1;
                if links > 40 {
                    return None;
                }
                todo.extend(to.components().rev().map(|part| part.as_os_str().to_owned()));
            }
            Err(_) => out = next,
        }
    }
    Some(out)
}

fn outcome(case: &Value) -> &'static str {
    let world = World::new();
    world.set_up(case);
    let workspace = world.path(case["workspace"].as_str().unwrap_or("<WS>"));
    let place = Place {
        cwd: workspace.clone(),
        home: world.path("~"),
        roots: vec![workspace.clone()],
        scratch: vec![],
        read_only: false,
    };
    let mut rules = Rules::default();
    let of = |key: &str| -> Vec<String> {
        cases::texts(case, key).into_iter().map(|text| world.rule(text)).collect()
    };
    cases::add_rules(&mut rules, &of("rules_deny"), Behaviour::Deny, &workspace);
    cases::add_rules(&mut rules, &of("rules_allow"), Behaviour::Allow, &workspace);
    let protected: Vec<String> =
        cases::texts(case, "protected").iter().map(|path| format!("Read({path})")).collect();
    cases::add_rules(&mut rules, &protected, Behaviour::Deny, &workspace);
    rules.set_folding(case["case_insensitive"] == true);
    rules.resolve(&place, |path| resolve(path).unwrap_or_else(|| path.to_path_buf()));
    let text = case["path"].as_str().unwrap();
    if text.contains('\0') {
        return "error";
    }
    let typed = absolute(&world.path(text).to_string_lossy(), &place.cwd, &place.home);
    let Some(resolved) = resolve(&typed) else { return "error" };
    let path = PathUse { typed, resolved };
    let (tool, access) = match case["op"].as_str().unwrap() {
        "read" => ("Read", Access::Read(path)),
        "list" => ("Glob", Access::Read(path)),
        "write" => ("Write", Access::Write(path)),
        "edit" => ("Edit", Access::Write(path)),
        other => panic!("unknown op {other}"),
    };
    let mode = case["mode"].as_str().map_or(Mode::Default, |mode| Mode::parse(mode).unwrap());
    let verdict = decide(&rules, mode, &Judged { tool, input: &json!({}), access: &[access], place: &place });
    cases::word(&verdict, mode == Mode::Auto)
}

#[test]
fn paths() {
    let results: Vec<_> = cases::read("path-cases.jsonl")
        .iter()
        .map(|case| {
            let word = outcome(case);
            let fault = (!cases::is_right(case, word))
                .then(|| format!("{word}, not {}: {}", case["expect"], case["path"]));
            (case["id"].as_str().unwrap().to_owned(), fault)
        })
        .collect();
    cases::settle("path-cases.jsonl", &results);
}

/// Our own cases for the same contract.
// proves: S7
#[test]
fn more_paths() {
    let mut faults = Vec::new();
    for line in include_str!("cases/own_path_cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let word = outcome(&case);
        if !cases::is_right(&case, word) {
            faults.push(format!("{word}: {line}"));
        }
    }
    assert!(faults.is_empty(), "{}:\n{}", faults.len(), faults.join("\n"));
}
