//! What a shell call costs beside the process that it must start: `bash -c true`.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(dead_code, reason = "the supervisor is made for tests and does more")]

#[path = "../tests/shell/supervisor.rs"]
mod supervisor;

use std::process::Stdio;

use tokio::runtime::{Builder, Runtime};
use troupe_tools::shell::{Bash, Options};

use crate::supervisor::{Agent, World, text};

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The floor: the process alone, its output read through one pipe.
#[divan::bench(sample_count = 300)]
fn plain_true(bencher: divan::Bencher) {
    let runtime = runtime();
    bencher.bench_local(|| {
        runtime.block_on(async {
            let mut bash = tokio::process::Command::new("bash");
            bash.args(["-c", "true"]).stdin(Stdio::null()).process_group(0);
            assert!(bash.output().await.unwrap().status.success());
        });
    });
}

#[divan::bench(sample_count = 300, args = ["true", "cd ."])]
fn tool(bencher: divan::Bencher, command: &str) {
    let (runtime, world, tool) = (runtime(), World::new(), Bash::new(Options::default()));
    let mut agent = Agent::main(&world);
    bencher.bench_local(|| {
        let out = runtime.block_on(agent.run(&tool, command));
        assert_eq!(text(&out), "(no output)");
    });
}
