//! What a transcript costs: to append to, to load, and to ask what must happen next.
//!
//! `cargo bench -p troupe-engine --bench transcript`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints what it found"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use troupe_core::block::{Block, text_of};
use troupe_core::budget::Left;
use troupe_core::entry::{Body, Entry, FORMAT, Header, Origin, Stop};
use troupe_core::ids::{AgentId, CallId, EntryId, SessionId};
use troupe_core::policy::Mode;
use troupe_core::ports::journal::{Journal as _, Key};
use troupe_core::state::AgentState;
use troupe_core::time::Time;
use troupe_core::transcript::Transcript;
use troupe_core::turn::{Step, next_step};
use troupe_core::usage::Usage;
use troupe_engine::clock::SystemClock;
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::store::{Codec, Restored, Writer, load};

/// The size of the large transcript.
const LARGE: u64 = 100 * 1000 * 1000;
/// Calls that follow one prompt.
const CALLS_A_TURN: usize = 50;
/// What a result shows to the model, in bytes; its structured form, kept on disk alone, has as many again.
const RESULT: usize = 4000;

fn main() {
    // First, in a process that has held nothing yet; and not where the benches are only listed or filtered.
    if std::env::args().skip(1).eq(["--bench".to_owned()]) {
        report_peak();
    }
    divan::main();
}

fn header() -> Header {
    Header {
        format: FORMAT,
        session: SessionId::new("00000000-0000-4000-8000-000000000001"),
        agent: AgentId::main(),
        address: "main".to_owned(),
        definition: "main".to_owned(),
        description: String::new(),
        parent: None,
        call: None,
        depth: 0,
        cwd: "/work".into(),
        model: "model".to_owned(),
        mode: Mode::Default,
        prompt: "prompt".to_owned(),
        resident: true,
        name: None,
        background: false,
        effort: None,
        fork: None,
        writes: troupe_core::def::Writes::default(),
        verdict: false,
        limits: troupe_core::budget::Limits::default(),
        team: None,
        worktree: None,
        version: "0.0.0".to_owned(),
    }
}

fn state() -> AgentState {
    AgentState::new("/work".into(), Mode::Default, "model".to_owned(), "prompt".to_owned())
}

/// Entry `n` of a session in which each prompt is followed by many calls, as work on code has them: the
/// header, then a prompt, then reply, start and result of each call.
fn body(n: usize) -> Body {
    let Some(n) = n.checked_sub(1) else { return Body::Opened(Box::new(header())) };
    let entries_a_turn = 1 + CALLS_A_TURN * 3;
    let (turn, place) = (n / entries_a_turn, n % entries_a_turn);
    let call = CallId::new(format!("toolu_{turn}_{}", place.saturating_sub(1) / 3));
    match place {
        0 => Body::User {
            blocks: Arc::from([Block::text(format!("prompt {turn}: see to the next part of the work"))]),
            from: Origin::Human,
            cause: None,
            starts_turn: true,
        },
        place if place % 3 == 1 => Body::Assistant {
            message: format!("msg_{n}").into(),
            model: "model".to_owned(),
            blocks: Arc::from([
                Block::text("The function is called from two places; this one first."),
                Block::ToolUse {
                    id: call,
                    name: "Read".to_owned(),
                    input: json!({"file_path": format!("src/part{n}.rs"), "limit": 80}),
                },
            ]),
            stop: Stop::ToolUse,
            usage: Usage {
                input_tokens: 3,
                output_tokens: 90,
                cache_read_input_tokens: 40_000,
                ..Usage::default()
            },
        },
        place if place % 3 == 2 => Body::Started { call, input: None, job: None },
        _ => {
            let text = format!("{n}: \tlet value = compute(\"here\");\n").repeat(RESULT / 36);
            let data = json!({"type": "text", "file": {"content": text}});
            Body::Result {
                blocks: Arc::from([Block::result(call.clone(), text, false)]),
                call,
                data: Some(Arc::new(data)),
                effects: Vec::new(),
            }
        }
    }
}

fn id(n: usize) -> EntryId {
    EntryId::new(format!("00000000-0000-4000-8000-{n:012}"))
}

fn entry(n: usize) -> Arc<Entry> {
    let parent = n.checked_sub(1).map(id);
    Arc::new(Entry { id: id(n), parent, at: Time(1_767_225_600_000), body: body(n) })
}

fn key(name: &str) -> Key {
    Key::new(name).unwrap()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

#[divan::bench(args = [1_000, 10_000], sample_count = 10, sample_size = 1)]
fn append(bencher: Bencher<'_, '_>, entries: usize) {
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(FileJournal::new(folder.path().to_owned(), Locking::Leased));
    let runtime = runtime();
    let mut run = 0;
    let fresh = || {
        run += 1;
        let key = key(&format!("transcript-{run}"));
        let writer = Writer::new(Arc::clone(&journal) as _, Arc::new(SystemClock), key, &header(), None);
        (writer, (0..entries).map(body).collect::<Vec<_>>())
    };
    bencher.counter(ItemsCount::new(entries)).with_inputs(fresh).bench_local_values(
        |(mut writer, bodies)| {
            runtime.block_on(async {
                for body in bodies {
                    writer.append(body).await.unwrap();
                }
            });
            assert_eq!(writer.transcript().entries().len(), entries);
            writer
        },
    );
}

/// Where the large transcript lies. It is made once, and stays for later runs.
fn large() -> (PathBuf, Key) {
    // The number changes with what `entry` makes.
    let (folder, name) = (Path::new(env!("CARGO_TARGET_TMPDIR")), "transcript-2");
    let key = key(name);
    let journal = FileJournal::new(folder.to_owned(), Locking::Leased);
    let path = journal.path(&key);
    if !path.exists() {
        let partial = Key::new(format!("{name}-part")).unwrap();
        let part = journal.path(&partial);
        if part.exists() {
            fs::remove_file(&part).unwrap();
        }
        let codec = Codec::new(&header(), None);
        runtime().block_on(async {
            for n in 0.. {
                let record = codec.encode(&entry(n), None, |_| None);
                journal.append(&partial, None, record).await.unwrap();
                if fs::metadata(&part).unwrap().len() >= LARGE {
                    break;
                }
            }
        });
        fs::rename(part, path).unwrap();
    }
    (folder.to_owned(), key)
}

fn load_from(folder: &Path, key: &Key) -> Restored {
    let journal = FileJournal::new(folder.to_owned(), Locking::Leased);
    let restored = runtime().block_on(load(&journal, key, state())).unwrap().unwrap();
    assert_eq!(restored.warnings, [""; 0]);
    restored
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn load_of_100_mb(bencher: Bencher<'_, '_>) {
    let (folder, key) = large();
    bencher.counter(BytesCount::new(LARGE)).bench_local(|| load_from(&folder, &key));
}

/// Loads the large transcript once, and prints how much memory that took at most and how much stays.
fn report_peak() {
    let (folder, key) = large();
    // Sets the peak back to what is held now: proc(5), clear_refs.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS");
    let began = Instant::now();
    let restored = load_from(&folder, &key);
    let took = began.elapsed();
    let entries = restored.transcript.entries();
    let text: usize = entries.iter().map(|entry| text_bytes(&entry.body)).sum();
    println!(
        "load of {} MB, {} entries with {} MB of text: {took:.2?}; memory at most {} MB, after it {} MB",
        LARGE / 1_000_000,
        entries.len(),
        text / 1_000_000,
        (memory("VmHWM") - before) / 1000,
        (memory("VmRSS") - before) / 1000,
    );
}

fn text_bytes(body: &Body) -> usize {
    match body {
        Body::User { blocks, .. } | Body::Assistant { blocks, .. } => text_of(blocks).len(),
        Body::Result { blocks, .. } => {
            let text = |block: &Block| {
                if let Block::ToolResult { content, .. } = block { text_of(content).len() } else { 0 }
            };
            blocks.iter().map(text).sum()
        }
        _ => 0,
    }
}

/// A line of `/proc/self/status`, in kB.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

/// A transcript of so many entries that ends with a result, so that the model is to be asked.
fn transcript(entries: usize) -> Transcript {
    let mut transcript = Transcript::new(state());
    for n in 0..entries {
        transcript.push(entry(n));
    }
    let mut n = entries;
    while next_step(&transcript, &Left::UNLIMITED) != Step::Sample {
        transcript.push(entry(n));
        n += 1;
    }
    transcript
}

#[divan::bench(args = [1_000, 10_000])]
fn next_step_of(bencher: Bencher<'_, '_>, entries: usize) {
    let transcript = transcript(entries);
    bencher.bench_local(|| next_step(divan::black_box(&transcript), &Left::UNLIMITED));
}

#[divan::bench(args = [1_000, 10_000])]
fn messages_of(bencher: Bencher<'_, '_>, entries: usize) {
    let transcript = transcript(entries);
    bencher.bench_local(|| divan::black_box(&transcript).messages());
}
