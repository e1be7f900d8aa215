//! The program is killed at random moments of a session with many calls, and started again. What calls did is
//! counted in files that are not the program's; what became of them is read from its transcripts as plain JSON.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;
use troupe_testkit::kills::{kill_at, progress, seed};
use troupe_testkit::process::{LIMIT, Run, Stage};

const ID: &str = "7c1d6a52-1f43-4a53-9c39-6fd2d1f2f010";
const PROMPT: &str = "do all of it";
const LAST: &str = "All of it is done.";
const END: &str = "completed: All of it is done.";
const KILLS: usize = 50;
/// Most kills of one session.
const OF_ONE: usize = 3;
/// Replies with calls of the main agent.
const REPLIES: usize = 21;
/// Agents that are started, by the replies that start them: two of them side by side.
const AGENTS: [(usize, &[&str]); 2] = [(6, &["one"]), (12, &["two", "three"])];

/// A call by its place: the call that started its agent (empty for the main one), reply, and block.
type Call = (String, usize, usize);

/// The script, and what its calls do that can be counted.
struct Plan {
    script: String,
    /// What each call leaves behind in the file of effects or in a file that it edits.
    effects: BTreeMap<Call, String>,
}

impl Plan {
    fn new(stage: &Stage) -> Self {
        let mut plan = Self { script: "agent main\n".to_owned(), effects: BTreeMap::new() };
        let mut starts = HashMap::new();
        for reply in 0..REPLIES {
            plan.script.push_str("reply\n");
            let parts = AGENTS.iter().find(|(at, _)| *at == reply).map_or(&[][..], |(_, parts)| *parts);
            for (block, part) in parts.iter().enumerate() {
                writeln!(plan.script, "call Agent description=\"part\" prompt=\"part {part} of it\"")
                    .unwrap();
                starts.insert(*part, format!("toolu_main_{reply}_{block}"));
            }
            if parts.is_empty() {
                plan.calls(stage, "main", "", reply);
            }
        }
        writeln!(plan.script, "reply \"{LAST}\"").unwrap();
        for (part, start) in starts {
            writeln!(plan.script, "agent general-purpose /part {part} of it/").unwrap();
            for reply in 0..4 {
                plan.script.push_str("reply\n");
                plan.calls(stage, part, &start, reply);
            }
            writeln!(plan.script, "reply \"part {part} is done\"").unwrap();
        }
        plan
    }

    /// The calls of one reply: two commands; or a file read and a command; or that file edited and a command.
    fn calls(&mut self, stage: &Stage, who: &str, start: &str, reply: usize) {
        let file = |n: usize| stage.path(&format!("work/{who}-{n}.txt"));
        let log = stage.path("effects");
        let bash = |plan: &mut Self, block: usize| {
            let mark = format!("{who}-{reply}-{block};");
            let command = format!("echo '{mark}' >> {}; echo said '{mark}'", log.display());
            writeln!(plan.script, "call Bash {}", serde_json::json!({"command": command})).unwrap();
            plan.effects.insert((start.to_owned(), reply, block), mark);
        };
        match reply % 3 {
            0 => bash(self, 0),
            1 => {
                stage.write(&format!("work/{who}-{reply}.txt"), "begin\nend\n");
                writeln!(self.script, "call Read file_path=\"{}\"", file(reply).display()).unwrap();
            }
            _ => {
                let mark = format!("{who}-{reply}-0;");
                let edit = serde_json::json!({
                    "file_path": file(reply - 1), "old_string": "begin\n", "new_string": format!("begin\n{mark}\n"),
                });
                writeln!(self.script, "call Edit {edit}").unwrap();
                self.effects.insert((start.to_owned(), reply, 0), mark);
            }
        }
        bash(self, 1);
    }
}

/// What is on disk of a session.
#[derive(Default)]
struct Record {
    /// The calls and their inputs.
    calls: BTreeMap<Call, Value>,
    /// The texts of their results.
    results: BTreeMap<Call, String>,
    /// Texts of the agents' replies.
    texts: BTreeMap<(String, usize), String>,
    prompts: usize,
    /// How the main agent's runs ended, and their last texts.
    ends: Vec<String>,
}

impl Record {
    fn read(stage: &Stage) -> Self {
        let mut record = Self::default();
        let Some(folder) = stage.sessions() else { return record };
        record.transcript(stage, &folder.join(format!("{ID}.jsonl")));
        for entry in std::fs::read_dir(folder.join(ID).join("subagents")).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                record.transcript(stage, &path);
            }
        }
        record
    }

    fn transcript(&mut self, stage: &Stage, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let header = lines.iter().find(|line| line["kind"] == "opened").map(|line| &line["header"]);
        let Some(header) = header else { return };
        let start = header["call"].as_str().unwrap_or_default().to_owned();
        let id = header["agent"].as_str().unwrap();
        let place = |call: &str| -> Call {
            let place = call.strip_prefix(&format!("toolu_{id}_")).unwrap();
            let (reply, block) = place.split_once('_').unwrap();
            (start.clone(), reply.parse().unwrap(), block.parse().unwrap())
        };
        let mut started = BTreeSet::new();
        for line in &lines {
            let message = line["message"]["id"].as_str().unwrap_or_default();
            let reply = message.rsplit('_').next().and_then(|number| number.parse().ok()).unwrap_or(0);
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                if block["type"] == "tool_use" {
                    let input = plain(&block["input"].to_string(), stage);
                    let input = serde_json::from_str(&input).unwrap();
                    let before = self.calls.insert(place(block["id"].as_str().unwrap()), input);
                    assert!(before.is_none(), "a reply stands there twice: {block}");
                } else if block["type"] == "tool_result" {
                    let call = place(block["tool_use_id"].as_str().unwrap());
                    let text = plain(&text_of(&block["content"]), stage);
                    assert!(self.calls.contains_key(&call), "a result without its call: {block}");
                    assert!(self.results.insert(call, text).is_none(), "a call is answered twice: {block}");
                } else if line["type"] == "assistant" {
                    self.texts.insert((start.clone(), reply), block["text"].as_str().unwrap().to_owned());
                }
            }
            if line["kind"] == "started" {
                assert!(started.insert(line["call"].to_string()), "a call is started twice: {line}");
            }
            if start.is_empty() {
                self.prompts += usize::from(line["message"]["content"] == PROMPT);
                let end = &line["envelope"];
                self.ends.extend(
                    end["text"].as_str().map(|text| format!("{}: {text}", end["ending"].as_str().unwrap())),
                );
            }
        }
    }

    fn is_lost(&self, call: &Call) -> bool {
        self.results.get(call).is_some_and(|text| text.contains("under way"))
    }
}

fn text_of(content: &Value) -> String {
    let texts = content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    texts.collect()
}

/// A text without what differs from run to run: the stage's place, and an agent's id and time.
fn plain(text: &str, stage: &Stage) -> String {
    let varies =
        |part: &&str| part.contains("agentId: ") || part.ends_with(" s") || part.contains("all it said: ");
    let text = text.replace(&*stage.path("").to_string_lossy(), "@/");
    text.split("; ").filter(|part| !varies(part)).collect::<Vec<_>>().join("; ")
}

/// Starts what is to be done next: the session with its prompt, or what is left of it.
fn start(stage: &Stage) -> Run {
    let size = |folder: std::path::PathBuf| {
        std::fs::metadata(folder.join(format!("{ID}.jsonl"))).map(|data| data.len()).ok()
    };
    // A kill may come between the making of the file and its first line: there is no session then.
    if stage.sessions().and_then(size).unwrap_or(0_u64) == 0 {
        return stage.start(&[
            "-p",
            PROMPT,
            "--session-id",
            ID,
            "--output-format",
            "stream-json",
            "--verbose",
        ]);
    }
    let resume = format!("--resume={ID}");
    let mut arguments = vec!["-p", &resume, "--output-format", "stream-json", "--verbose"];
    let folder = stage.sessions().unwrap();
    let asked = Record::read(stage).prompts > 0
        || std::fs::read_to_string(folder.join(ID).join("inbox/main.jsonl"))
            .is_ok_and(|text| text.contains(PROMPT));
    if asked {
        // No prompt: it goes on with what is unfinished.
        arguments.extend(["--input-format", "stream-json"]);
    } else {
        arguments.push(PROMPT);
    }
    stage.start(&arguments)
}

/// Runs to the end of the session, with so many kills on the way; gives how many there were.
fn play(stage: &Stage, kills: usize, whole: u64, rng: &mut Rng) -> usize {
    let mut done = 0;
    while done < kills {
        let state = stage.path("home/.troupe");
        let at = rng.u64(progress(&state).min(whole)..=whole);
        let later = Duration::from_micros(rng.u64(0..6_000));
        if !kill_at(start(stage), &state, at, later) {
            break;
        }
        done += 1;
    }
    if Record::read(stage).ends.is_empty() {
        let ended = start(stage).end(LIMIT);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let result = ended.out.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        let result = result.unwrap_or_default();
        let closed = Record::read(stage).ends;
        assert!(result["result"] == LAST || closed == [END], "{ended:?}");
    }
    done
}

/// The session came to the end of the undisturbed one, and nothing was done twice.
fn check(stage: &Stage, plan: &Plan, straight: &Record, kills: usize) -> usize {
    stage.is_deserted(LIMIT);
    let record = Record::read(stage);
    assert_eq!((record.prompts, record.ends.as_slice()), (1, &[END.to_owned()][..]));
    let agent_is_lost = |start: &str| {
        let (reply, block) = start.strip_prefix("toolu_main_").unwrap().split_once('_').unwrap();
        record.is_lost(&(String::new(), reply.parse().unwrap(), block.parse().unwrap()))
    };
    // An agent that went on says in its report what it knows that it did.
    let tells_of_lost = |call: &Call| {
        let inner = format!("toolu_main_{}_{}", call.1, call.2);
        call.0.is_empty() && record.calls.keys().any(|below| below.0 == inner && record.is_lost(below))
    };
    let mut lost = BTreeSet::new();
    let mut unsure = BTreeSet::new();
    for (call, input) in &straight.calls {
        if !call.0.is_empty() && agent_is_lost(&call.0) {
            continue;
        }
        assert_eq!(record.calls.get(call), Some(input));
        let file = input["file_path"].as_str();
        if record.is_lost(call) {
            lost.insert((call.0.clone(), call.1));
            // Whoever reads what it may have written finds one or the other.
            unsure.extend(file);
        } else if file.is_none_or(|file| !unsure.contains(file)) && !tells_of_lost(call) {
            assert_eq!(record.results.get(call), straight.results.get(call), "{call:?}");
        }
        assert!(record.results.contains_key(call), "{call:?} has no result");
    }
    for (place, text) in &straight.texts {
        if place.0.is_empty() || !agent_is_lost(&place.0) {
            assert_eq!(record.texts.get(place), Some(text));
        }
    }
    assert!(under_way(&lost) <= kills, "more was lost than was under way: {lost:?}");
    assert!(record.calls.keys().all(|call| straight.calls.contains_key(call)));

    let mut left = stage.read("effects");
    for entry in std::fs::read_dir(stage.path("work")).unwrap() {
        left.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    for (call, mark) in &plan.effects {
        let count = left.lines().filter(|line| line == mark).count();
        let open = record.is_lost(call) || (!call.0.is_empty() && agent_is_lost(&call.0));
        let failed = record.results.get(call) != straight.results.get(call);
        assert!(count <= 1, "{mark} was done {count} times");
        assert!(count == 1 || open || failed, "{mark} was not done, and nothing says so");
    }
    lost.len()
}

/// How many kills at least it took to lose these replies. One kill may meet a reply of each of the agents that work
/// side by side, and no two of one agent.
fn under_way(lost: &BTreeSet<(String, usize)>) -> usize {
    let mut of_agents: BTreeMap<&str, usize> = BTreeMap::new();
    for (start, _) in lost {
        *of_agents.entry(start).or_default() += 1;
    }
    let mut of_replies: BTreeMap<&str, usize> = BTreeMap::new();
    for (start, count) in of_agents {
        // The calls that start agents side by side differ in the block alone.
        let reply = start.rsplit_once('_').map_or("", |(reply, _)| reply);
        let most = of_replies.entry(reply).or_default();
        *most = count.max(*most);
    }
    of_replies.values().sum()
}

fn stage() -> (Stage, Plan) {
    let stage = Stage::new(env!("CARGO_BIN_EXE_troupe"));
    let plan = Plan::new(&stage);
    stage.write("model.script", &plan.script);
    (stage, plan)
}

// proves: E7, X1, C12
#[test]
#[expect(clippy::print_stderr, reason = "the figures are for who reads the test's output")]
fn killed_at_fifty_moments_nothing_is_done_twice_and_all_of_it_ends() {
    let mut rng = Rng::with_seed(seed(fastrand::u64(..)));
    let (undisturbed, plan) = stage();
    play(&undisturbed, 0, 0, &mut rng);
    let straight = Record::read(&undisturbed);
    assert_eq!(straight.results.len(), straight.calls.len());
    assert_eq!(check(&undisturbed, &plan, &straight, 0), 0);
    let whole = progress(&undisturbed.path("home/.troupe"));
    let (mut kills, mut sessions, mut lost) = (0, 0, 0);
    while kills < KILLS {
        let (stage, plan) = stage();
        let most = rng.usize(1..=OF_ONE).min(KILLS - kills);
        let done = play(&stage, most, whole, &mut rng);
        lost += check(&stage, &plan, &straight, done);
        kills += done;
        sessions += 1;
        assert!(sessions <= 2 * KILLS, "the kills come after the end");
    }
    eprintln!("{kills} kills in {sessions} sessions; {lost} replies had calls under way");
}
