//! What an agent costs beside others: many sub-agents at once in one process, on a scripted model, with their
//! transcripts on disk. Each reads three small files, one after the other.
//!
//! `cargo bench -p troupe-testkit --bench agents`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints what it found"
)]

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use tokio::runtime::{Builder, Runtime};
use troupe_core::block::{Block, text_of};
use troupe_core::entry::Body;
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::outcome::{Ending, Envelope};
use troupe_core::policy::Mode;
use troupe_core::ports::model::{Delta, Model, ModelError, ModelInfo, Request};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::bus::Heard;
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::World;
use troupe_testkit::world::{say, session};

/// The definition that the sub-agents run.
const DEFINITION: &str = "general-purpose";
/// What each of them reads.
const FILES: [&str; 3] = ["a.txt", "b.txt", "c.txt"];
/// What a file says, again and again.
const WORDS: &str = "one line of a file of a few hundred bytes";
/// What each sub-agent says at the end.
const REPORT: &str = "They all say the same.";
/// Threads of the runtime, as the binary has them.
const WORKERS: usize = 2;
/// The longest that a run may take.
const LIMIT: Duration = Duration::from_mins(2);

fn main() {
    // First, in a process that has held nothing yet; and not where the benches are only listed or filtered.
    if std::env::args().skip(1).eq(["--bench".to_owned()]) {
        report_memory();
    }
    divan::main();
}

/// A scripted model that answers no sub-agent before the last of them has asked, so that all are at work at once.
struct AllAtOnce {
    script: ScriptModel,
    awaited: AtomicUsize,
}

impl AllAtOnce {
    fn new(agents: usize) -> Self {
        let mut script = "agent main\nreply\n".to_owned();
        for n in 0..agents {
            let call = "call Agent description=\"read files\" subagent_type=";
            writeln!(script, "  {call}{DEFINITION} prompt=\"job {n}: read the three files\"").unwrap();
        }
        writeln!(script, "reply \"All of them have read them.\"\nagent {DEFINITION}\nreply\n  gate all")
            .unwrap();
        for (n, file) in FILES.iter().enumerate() {
            if n > 0 {
                writeln!(script, "reply\n  expect \"{WORDS}\"").unwrap();
            }
            writeln!(script, "  call Read file_path={file}").unwrap();
        }
        writeln!(script, "reply\n  expect \"{WORDS}\"\n  text \"{REPORT}\"").unwrap();
        Self { script: ScriptModel::parse("agents", &script).unwrap(), awaited: AtomicUsize::new(agents) }
    }
}

impl Model for AllAtOnce {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let arrives = request.definition == DEFINITION && request.replies == 0;
        if arrives && self.awaited.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.script.release("all");
        }
        self.script.stream(request, cancel)
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        self.script.count(request)
    }

    fn info(&self, name: &str) -> ModelInfo {
        self.script.info(name)
    }
}

/// A world for so many sub-agents, with its transcripts on disk.
fn world(agents: usize) -> World {
    let mut world = World::new(Arc::new(AllAtOnce::new(agents)));
    for file in FILES {
        world.write(file, &format!("{WORDS}\n").repeat(10));
    }
    world.journal = Arc::new(FileJournal::new(world.config.place.root.clone(), Locking::Leased));
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.config.ceilings.live_agents = agents + 1;
    world.config.ceilings.agents = agents + 1;
    world
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().unwrap()
}

/// Runs them, from the opening of the session to its end.
async fn run(world: &World, agents: usize) {
    let session = world.open(Start::New(session())).await;
    let ended = tokio::time::timeout(LIMIT, work(&session)).await.unwrap();
    assert_eq!(ended.ending, Ending::Completed, "{ended:?}");
    let entries = session.entries(&AgentId::main(), 0).await.unwrap();
    let reports = entries.iter().filter(|entry| is_report(&entry.body)).count();
    assert_eq!(reports, agents, "{entries:?}");
    session.close(LIMIT).await;
}

/// Whether it is the result of an agent that read all it was to read.
fn is_report(body: &Body) -> bool {
    let Body::Result { blocks, .. } = body else { return false };
    matches!(&**blocks, [Block::ToolResult { content, is_error: false, .. }] if text_of(content).contains(REPORT))
}

/// Says the prompt, and waits for the main agent's end.
async fn work(session: &Session) -> Arc<Envelope> {
    let mut events = session.subscribe(false);
    say(session, 1, "Have the files read.").await;
    loop {
        match events.next().await {
            Heard::Event(event) if event.agent.is_main() => {
                if let EventKind::Ended(envelope) = &event.kind {
                    return Arc::clone(envelope);
                }
            }
            Heard::Event(_) | Heard::Missed(_) => {}
            Heard::Closed => panic!("the session ended"),
        }
    }
}

#[divan::bench(args = [1, 100, 1_000], sample_count = 5, sample_size = 1)]
fn at_once(bencher: Bencher<'_, '_>, agents: usize) {
    let runtime = runtime();
    let counter = ItemsCount::new(agents);
    bencher
        .counter(counter)
        .with_inputs(|| world(agents))
        .bench_local_refs(|world| runtime.block_on(run(world, agents)));
}

/// Runs one agent and then a thousand, and prints what each beyond the first added to the peak of memory.
fn report_memory() {
    const MANY: usize = 1_000;
    let peak_of = |agents: usize| {
        let (runtime, world) = (runtime(), world(agents));
        let began = Instant::now();
        runtime.block_on(run(&world, agents));
        (peak(), began.elapsed())
    };
    let (one, _) = peak_of(1);
    let (many, took) = peak_of(MANY);
    println!(
        "{MANY} agents at once: {took:.2?}; memory at most {:.1} MB, with one agent {:.1} MB; {} kB for each beyond the first",
        megabytes(many),
        megabytes(one),
        (many - one) / (MANY as u64 - 1),
    );
}

/// The largest resident size so far, in kB: VmHWM, see proc(5).
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1000.0
}
