//! Commands that are watched: each line is told once, in order, before the end.

use serde_json::json;
use troupe_core::outcome::Ending;
use troupe_core::policy::{Behaviour, Mode, Verdict};
use troupe_tools::shell::{Monitor, Options};

use crate::supervisor::{Agent, World, field, fifo, shell_end, text};

fn monitor() -> Monitor {
    Monitor::new(Options::default())
}

// proves: A2
#[tokio::test]
async fn each_line_is_told_once_and_before_the_end() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let gate = fifo(&world.work(), "gate");
    let input = json!({
        "command": "echo one; cat gate; echo last >&2; printf 'no end of line'",
        "description": "a gate",
    });
    let output = agent.call(&monitor(), input).await;
    assert!(!output.is_error, "{}", text(&output));
    assert_eq!(field(&output, "timeoutMs"), 300_000);
    let job = world.job_of(field(&output, "taskId").as_str().unwrap());
    tokio::fs::write(&gate, "two\nthree\n").await.unwrap();
    let end = shell_end(job.ended().await);
    assert_eq!((end.ending, end.code), (Ending::Completed, Some(0)));
    let news = world.news.lock().unwrap().clone();
    let told: Vec<&str> = news.iter().flat_map(|news| news.text.lines()).collect();
    assert_eq!(told, ["one", "two", "three", "last", "no end of line"]);
    let numbers: Vec<u64> = news.iter().map(|news| news.number).collect();
    assert_eq!(numbers, (1..=news.len() as u64).collect::<Vec<_>>());
    assert!(news.iter().all(|news| news.job == job.id && news.title == "a gate"));
    assert_eq!(std::fs::read_to_string(&job.output).unwrap().lines().count(), 5);
}

// proves: A2
#[tokio::test]
async fn a_flood_is_told_in_part_and_kept_whole() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let input = json!({"command": "seq 100000", "description": "numbers"});
    let output = agent.call(&monitor(), input).await;
    let job = world.job_of(field(&output, "taskId").as_str().unwrap());
    job.ended().await;
    let news = world.news.lock().unwrap().clone();
    assert!(news.len() <= 3, "{} tellings", news.len());
    assert!(news[0].text.starts_with("1\n2\n") && news[0].text.len() < 5_000);
    assert!(news.iter().any(|news| news.text.contains(&format!("more lines: {}]", job.output.display()))));
    assert_eq!(std::fs::read_to_string(&job.output).unwrap().lines().count(), 100_000);
}

// proves: A2, S7
#[tokio::test]
async fn rules_for_bash_hold_for_it() {
    use troupe_core::policy::{Judged, Rules, Scope, decide};
    use troupe_core::ports::tool::Tool as _;
    let world = World::new();
    let agent = Agent::main(&world);
    let input = json!({"command": "rm -rf x; tail -F log", "description": "a log"});
    let access = monitor().access(&agent.place, &input).unwrap();
    let verdict = |rule: &str, behaviour| {
        let mut rules = Rules::default();
        rules.add(rule, behaviour, Scope::User, "/".into()).unwrap();
        let judged = Judged { tool: "Monitor", input: &input, access: &access, place: &agent.place };
        decide(&rules, Mode::Default, &judged)
    };
    for rule in ["Bash", "Bash(rm *)", "Monitor"] {
        assert!(matches!(verdict(rule, Behaviour::Deny), Verdict::Deny(_)), "{rule}");
    }
    assert!(matches!(verdict("Bash(tail *)", Behaviour::Allow), Verdict::Ask(_)));
    assert_eq!(verdict("Bash", Behaviour::Allow), Verdict::Allow);
}
