//! How fast Grep and Glob are on a tree of 20,000 files, beside `rg` where it is on the PATH.
//!
//! `cargo bench -p troupe-tools --bench search`

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use divan::Bencher;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use troupe_core::ids::AgentId;
use troupe_core::policy::{Answer, Mode, Question};
use troupe_core::ports::supervisor::{Job, JobError, JobStart, SpawnError, Supervisor, Waiter};
use troupe_core::ports::tool::{Place, Reporter, Tool, ToolCx};
use troupe_core::spawn::Spawn;
use troupe_core::state::AgentState;
use troupe_core::{BoxFuture, CancellationToken};
use troupe_tools::search::{Glob, Grep};

const FILES: usize = 20_000;
const FILES_A_FOLDER: usize = 100;
/// One file in so many holds the word that is searched for.
const HIT_EVERY: usize = 50;

/// The tree, made once.
static TREE: OnceLock<tempfile::TempDir> = OnceLock::new();

fn main() {
    divan::main();
    // What is static is never dropped.
    if let Some(tree) = TREE.get() {
        std::fs::remove_dir_all(tree.path()).unwrap();
    }
}

fn tree() -> &'static Path {
    TREE.get_or_init(|| {
        let tree = tempfile::tempdir().unwrap();
        for n in 0..FILES {
            let folder = tree.path().join(format!("part{}/sub{}", n / 1000, n / FILES_A_FOLDER));
            if n.is_multiple_of(FILES_A_FOLDER) {
                std::fs::create_dir_all(&folder).unwrap();
            }
            let kind = ["rs", "py", "ts", "md"][n % 4];
            std::fs::write(folder.join(format!("file{n}.{kind}")), content(n)).unwrap();
        }
        std::fs::create_dir(tree.path().join(".git")).unwrap();
        std::fs::write(tree.path().join(".gitignore"), "*.md\n").unwrap();
        tree
    })
    .path()
}

/// About 3 kB, as source files have.
fn content(n: usize) -> String {
    let mut text = String::new();
    for line in 0..60 {
        writeln!(text, "    let value_{line} = compute({n}, {line}); // some words here").unwrap();
    }
    if n.is_multiple_of(HIT_EVERY) {
        text.push_str("// needle in the haystack\n");
    }
    text
}

fn call(bencher: Bencher<'_, '_>, tool: &dyn Tool, input: &Value) {
    let cwd: PathBuf = tree().into();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let cx = ToolCx {
        me: AgentId::main(),
        call: "call".into(),
        place: Place {
            cwd: cwd.clone(),
            home: cwd.clone(),
            roots: vec![cwd.clone()],
            scratch: vec![],
            read_only: false,
        },
        state: Arc::new(AgentState::new(cwd, Mode::Default, "m".into(), "p".into())),
        cancel: CancellationToken::new(),
        report: Reporter::silent(),
        supervisor: Arc::new(Nobody),
    };
    bencher.bench_local(|| {
        let output = runtime.block_on(tool.call(&cx, input.clone()));
        assert!(!output.is_error);
        output
    });
}

fn rg(bencher: Bencher<'_, '_>, flags: &[&str]) {
    let run = || Command::new("rg").args(flags).current_dir(tree()).stdout(Stdio::null()).status();
    if run().is_err() {
        // Not installed: nothing to compare with.
        return;
    }
    bencher.bench_local(|| run().unwrap());
}

#[divan::bench(sample_count = 20)]
fn grep_paths(bencher: Bencher<'_, '_>) {
    call(bencher, &Grep::new(), &json!({"pattern": "needle"}));
}

#[divan::bench(sample_count = 20)]
fn grep_paths_rg(bencher: Bencher<'_, '_>) {
    rg(bencher, &["--hidden", "-g", "!.git", "-l", "needle", "."]);
}

#[divan::bench(sample_count = 20)]
fn grep_lines(bencher: Bencher<'_, '_>) {
    call(bencher, &Grep::new(), &json!({"pattern": "value_\\d+ = .*words", "output_mode": "content"}));
}

#[divan::bench(sample_count = 20)]
fn grep_lines_rg(bencher: Bencher<'_, '_>) {
    rg(bencher, &["--hidden", "-g", "!.git", "-n", "value_\\d+ = .*words", "."]);
}

#[divan::bench(sample_count = 20)]
fn glob_all(bencher: Bencher<'_, '_>) {
    call(bencher, &Glob::new(), &json!({"pattern": "**/*.rs"}));
}

#[divan::bench(sample_count = 20)]
fn glob_all_rg(bencher: Bencher<'_, '_>) {
    rg(bencher, &["--files", "--hidden", "--no-ignore", "--sortr", "modified", "-g", "**/*.rs", "."]);
}

#[divan::bench(sample_count = 20)]
fn glob_one_folder(bencher: Bencher<'_, '_>) {
    call(bencher, &Glob::new(), &json!({"pattern": "part3/sub31/*.rs"}));
}

struct Nobody;

impl Supervisor for Nobody {
    fn spawn(&self, _spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async { Err(SpawnError::Ending) })
    }

    fn start(&self, _start: JobStart) -> Result<Waiter, SpawnError> {
        Err(SpawnError::Ending)
    }

    fn job(&self, _owner: &AgentId, id: &str) -> Result<Job, JobError> {
        Err(JobError::Unknown { id: id.into(), known: Vec::new() })
    }

    fn stop(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        self.job(owner, id)
    }

    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Deny { message: "nobody is there".into(), interrupt: false } })
    }
}
