//! How long a decision on a shell command takes, from the text of the line on.
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::path::PathBuf;

use divan::Bencher;
use divan::counter::ItemsCount;
use serde_json::{Value, json};
use troupe_core::access::Access;
use troupe_core::policy::{Behaviour, Judged, Mode, Rules, Scope, Verdict, decide, explain};
use troupe_core::ports::tool::Place;
use troupe_tools::shell::parse::parse;

fn main() {
    divan::main();
}

/// A line of the case file with its rules. Lines that are long on purpose are left out.
struct Case {
    line: String,
    rules: Rules,
    mode: Mode,
}

const WORKSPACE: &str = "/w/project";

fn cases() -> Vec<Case> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../cases/bash-permissions.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter_map(|line| case(&serde_json::from_str(line).unwrap())).collect()
}

fn case(case: &Value) -> Option<Case> {
    let mut rules = Rules::default();
    for (key, behaviour) in
        [("rule_allow", Behaviour::Allow), ("rule_ask", Behaviour::Ask), ("rule_deny", Behaviour::Deny)]
    {
        for text in case[key].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let _ = rules.add(text, behaviour, Scope::Project, WORKSPACE.into());
        }
    }
    let mode = case["mode"].as_str().map_or(Mode::Default, |mode| Mode::parse(mode).unwrap());
    Some(Case { line: case["command"].as_str()?.to_owned(), rules, mode })
}

fn place() -> Place {
    Place {
        cwd: WORKSPACE.into(),
        home: "/h".into(),
        roots: vec![WORKSPACE.into()],
        scratch: vec![],
        read_only: false,
    }
}

/// Every line once: divide by their number for the mean of one.
fn every_line(bencher: Bencher<'_, '_>, judge: impl Fn(&Rules, Mode, &Judged<'_>) -> Verdict + Sync) {
    let (cases, place) = (cases(), place());
    bencher.counter(ItemsCount::new(cases.len())).bench_local(|| {
        for case in &cases {
            let access = [Access::Exec(Box::new(parse(&case.line)))];
            let input = json!({ "command": case.line });
            let call = Judged { tool: "Bash", input: &input, access: &access, place: &place };
            divan::black_box(judge(&case.rules, case.mode, &call));
        }
    });
}

#[divan::bench(sample_count = 50)]
fn decide_each_line(bencher: Bencher<'_, '_>) {
    every_line(bencher, decide);
}

#[divan::bench(sample_count = 50)]
fn explain_each_line(bencher: Bencher<'_, '_>) {
    every_line(bencher, |rules, mode, call| explain(rules, mode, call).verdict);
}

/// The line whose time is the median of all.
#[divan::bench(sample_count = 200)]
fn decide_the_median_line(bencher: Bencher<'_, '_>) {
    let (mut cases, place) = (cases(), place());
    let judge = |case: &Case| {
        let access = [Access::Exec(Box::new(parse(&case.line)))];
        let input = json!({ "command": case.line });
        decide(
            &case.rules,
            case.mode,
            &Judged { tool: "Bash", input: &input, access: &access, place: &place },
        )
    };
    let cost = |case: &Case| {
        let begin = std::time::Instant::now();
        for _ in 0..20 {
            divan::black_box(judge(case));
        }
        begin.elapsed()
    };
    cases.sort_by_cached_key(cost);
    let median = &cases[cases.len() / 2];
    bencher.bench_local(|| judge(median));
}
