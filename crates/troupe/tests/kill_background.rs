//! The program is killed at random moments while ten agents work in the background, and started again: each agent goes
//! on or was done, and its end is told exactly once.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use troupe_testkit::kills::{kill_at, progress, seed};
use troupe_testkit::process::{LIMIT, Run, Stage};

const ID: &str = "7c1d6a52-1f43-4a53-9c39-6fd2d1f2f011";
const PROMPT: &str = "start them";
const KILLS: usize = 50;
/// Most kills of one session.
const OF_ONE: usize = 4;
const AGENTS: usize = 10;
/// Replies with calls of each agent.
const REPLIES: usize = 3;

fn script(stage: &Stage) -> String {
    let mut script = "agent main\nreply\n".to_owned();
    for number in 0..AGENTS {
        let input =
            json!({"description": "one", "prompt": format!("number {number}."), "run_in_background": true});
        writeln!(script, "call Agent {input}").unwrap();
    }
    script.push_str(&"reply \"noted\"\n".repeat(8 * AGENTS));
    for number in 0..AGENTS {
        writeln!(script, "agent general-purpose /number {number}./").unwrap();
        for reply in 0..REPLIES {
            let command = format!("echo '{number}-{reply};' >> {}", stage.path("effects").display());
            writeln!(script, "reply\ncall Bash {}", json!({"command": command})).unwrap();
        }
        writeln!(script, "reply \"done {number}.\"").unwrap();
    }
    script
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn main_file(stage: &Stage) -> Option<std::path::PathBuf> {
    stage.sessions().map(|folder| folder.join(format!("{ID}.jsonl")))
}

/// How often the end of each agent was told to the main one.
fn told(stage: &Stage) -> BTreeMap<String, usize> {
    let mut told = BTreeMap::new();
    for line in main_file(stage).map(|file| lines(&file)).unwrap_or_default() {
        if let Some(agent) = line["troupe"]["from"]["job"].as_str() {
            *told.entry(agent.to_owned()).or_default() += 1;
        }
    }
    told
}

/// Starts what is to be done next: the session with its prompt, or what is left of it.
fn start(stage: &Stage) -> Run {
    let stream = ["--output-format", "stream-json", "--verbose"];
    let size = main_file(stage).and_then(|file| std::fs::metadata(file).ok()).map_or(0, |data| data.len());
    // A kill may come between the making of the file and its first line: there is no session then.
    if size == 0 {
        return stage.start(&[&["-p", PROMPT, "--session-id", ID], &stream[..]].concat());
    }
    let resume = format!("--resume={ID}");
    let folder = stage.sessions().unwrap();
    let read = std::fs::read_to_string(main_file(stage).unwrap()).unwrap_or_default();
    let asked = read.contains(PROMPT)
        || std::fs::read_to_string(folder.join(ID).join("inbox/main.jsonl"))
            .is_ok_and(|text| text.contains(PROMPT));
    let rest: &[&str] = if asked { &["--input-format", "stream-json"] } else { &[PROMPT] };
    stage.start(&[&["-p", &resume], &stream[..], rest].concat())
}

/// Runs to the end of the session, with so many kills on the way; gives how many there were.
fn play(stage: &Stage, kills: usize, whole: u64, rng: &mut Rng) -> usize {
    let mut done = 0;
    let state = stage.path("home/.troupe");
    while done < kills {
        let at = rng.u64(progress(&state).min(whole)..=whole);
        let later = Duration::from_micros(rng.u64(0..6_000));
        if !kill_at(start(stage), &state, at, later) {
            break;
        }
        done += 1;
    }
    let ended = start(stage).end(LIMIT);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    done
}

fn check(stage: &Stage) {
    stage.is_deserted(LIMIT);
    let mut agents: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(stage.sessions().unwrap().join(ID).join("subagents")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let lines = lines(&path);
        let Some(prompt) = lines.iter().find_map(|line| {
            let text = line["message"]["content"].as_str().map(str::to_owned);
            text.or_else(|| line["message"]["content"][0]["text"].as_str().map(str::to_owned))
                .filter(|text| text.starts_with("number ") && line["type"] == "user")
        }) else {
            // It was killed before it was told what to do, and another took its place.
            continue;
        };
        let ends: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "closed").collect();
        assert_eq!(ends.len(), 1, "{prompt} ends once: {ends:?}");
        let number = prompt.strip_prefix("number ").unwrap();
        assert_eq!(ends[0]["envelope"]["text"], format!("done {number}"), "{}", ends[0]);
        let id = path.file_stem().unwrap().to_str().unwrap().strip_prefix("agent-").unwrap().to_owned();
        agents.entry(prompt).or_default().push(id);
    }
    assert_eq!(agents.len(), AGENTS, "{agents:?}");
    let told = told(stage);
    assert_eq!(told.len(), AGENTS, "{told:?}");
    for (prompt, ids) in agents {
        assert_eq!(ids.len(), 1, "{prompt} was started once");
        assert_eq!(told.get(&ids[0]), Some(&1), "{prompt} is told of once");
    }
    let effects = stage.read("effects");
    for number in 0..AGENTS {
        for reply in 0..REPLIES {
            let mark = format!("{number}-{reply};");
            assert!(effects.lines().filter(|line| **line == mark).count() <= 1, "{mark} was done twice");
        }
    }
}

fn stage() -> Stage {
    let stage = Stage::new(env!("CARGO_BIN_EXE_troupe"));
    stage.write("model.script", &script(&stage));
    stage
}

// proves: X1, B3, B7, F003, F031
#[test]
#[expect(clippy::print_stderr, reason = "the figures are for who reads the test's output")]
fn killed_at_fifty_moments_no_background_agent_is_lost_or_told_of_twice() {
    let mut rng = Rng::with_seed(seed(fastrand::u64(..)));
    let undisturbed = stage();
    play(&undisturbed, 0, 0, &mut rng);
    check(&undisturbed);
    let whole = progress(&undisturbed.path("home/.troupe"));
    let (mut kills, mut sessions) = (0, 0);
    while kills < KILLS {
        let stage = stage();
        kills += play(&stage, rng.usize(1..=OF_ONE).min(KILLS - kills), whole, &mut rng);
        check(&stage);
        sessions += 1;
        assert!(sessions <= 2 * KILLS, "the kills come after the end");
    }
    eprintln!("{kills} kills in {sessions} sessions");
}
