//! What the binary adds to a run with many sub-agents: the same run by the binary and by the bare client, turn
//! by turn, on one machine and one mock server.

use std::fs::{self, File};
use std::io::{BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::bare;
use super::cost::{Cost, Meter, load_average, median};
use super::mock::Mock;
use super::recording::Recording;
use crate::project::Project;

/// The longest that one run may take, as `timeout` reads it.
const LIMIT: &str = "180";
/// Shell calls of each sub-agent.
const CALLS: usize = 3;
/// How long the mock thinks before each reply, in milliseconds.
const THINK: usize = 200;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// The binary.
    pub(crate) binary: PathBuf,
    /// The mock server, a Python program.
    pub(crate) mock: PathBuf,
    /// Sub-agents at once.
    pub(crate) agents: usize,
    /// Runs of each kind.
    pub(crate) rounds: usize,
}

/// One run of the binary.
struct Run {
    cost: Cost,
    recording: Recording,
}

pub(super) fn run(project: &Project, options: &Options) -> Result<()> {
    let bench = Bench::set_up(&project.target.join("bench-agents"), options)?;
    println!("load average {}", load_average());
    // The first run of each fills the caches of the machine, and gives what the bare client sends.
    let recording = bench.binary()?.recording;
    bare::replay(bench.mock.address, &recording)?;
    let bytes: usize = recording.sent().map(|sent| sent.body.len()).sum();
    println!(
        "{} sub-agents, {} requests, {bytes} bytes sent",
        recording.agents.len(),
        recording.sent().count()
    );

    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        // Each goes first every other time.
        let first = round.is_multiple_of(2).then(|| bench.binary()).transpose()?;
        let bare = bare::replay(bench.mock.address, &recording)?;
        let run = first.map_or_else(|| bench.binary(), Ok)?;
        println!(
            "round {round}: bare {}; binary {}, {} requests, {} in flight",
            show(bare),
            show(run.cost),
            run.recording.sent().count(),
            run.recording.most_in_flight
        );
        floor.push(bare);
        ours.push(run);
    }
    let middle = |costs: Vec<Cost>| Cost {
        wall: median(costs.iter().map(|cost| cost.wall)),
        cpu: median(costs.iter().map(|cost| cost.cpu)),
    };
    let most = ours.iter().map(|run| run.recording.most_in_flight).max().unwrap_or_default();
    let (floor, ours) = (middle(floor), middle(ours.iter().map(|run| run.cost).collect()));
    println!("median: bare {}; binary {}", show(floor), show(ours));
    println!(
        "ratio of medians: wall {:.2}, CPU {:.2}; most requests in flight {most}; load average {}",
        ours.wall / floor.wall,
        ours.cpu / floor.cpu,
        load_average()
    );
    Ok(())
}

fn show(cost: Cost) -> String {
    format!("{:.3} s, {:.2} CPU s", cost.wall, cost.cpu)
}

/// All that stays the same between the runs.
struct Bench {
    mock: Mock,
    log: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
    binary: PathBuf,
    agents: usize,
}

impl Bench {
    /// Sets up an empty home and a small git repository to work in, below `folder`.
    fn set_up(folder: &Path, options: &Options) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("failed to remove {}", folder.display()))?;
        }
        let (home, workspace, log) =
            (folder.join("home"), folder.join("workspace"), folder.join("log.jsonl"));
        for made in [&home, &workspace] {
            fs::create_dir_all(made).with_context(|| format!("failed to make {}", made.display()))?;
        }
        fs::write(workspace.join("README.md"), "A workspace to measure in.\n")
            .context("failed to write README.md")?;
        let git = Command::new("git").args(["init", "--quiet"]).current_dir(&workspace).status();
        ensure!(git.context("failed to start git")?.success(), "git init failed");
        let binary = fs::canonicalize(&options.binary)
            .with_context(|| format!("failed to find {}", options.binary.display()))?;
        let mock = Mock::start(&options.mock, &log)?;
        Ok(Self { mock, log, home, workspace, binary, agents: options.agents })
    }

    /// One run of the binary, from its start to its end, with nothing of this user's environment.
    fn binary(&self) -> Result<Run> {
        self.mock.settle()?;
        let start = fs::metadata(&self.log).context("failed to find the log")?.len();
        let prompt = format!("Do the job. [[BENCH s=agents k={} m={CALLS} think={THINK}]]", self.agents);
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", LIMIT]).arg(&self.binary).args(["-p", &prompt]);
        command.args(["--output-format", "json", "--permission-mode", "bypassPermissions"]);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.home);
        command.envs([("TERM", "dumb"), ("LANG", "C.UTF-8"), ("USER", "bench"), ("IS_SANDBOX", "1")]);
        command.env("ANTHROPIC_BASE_URL", format!("http://{}", self.mock.address));
        command.env("ANTHROPIC_API_KEY", "sk-bench");
        command.current_dir(&self.workspace).stdin(Stdio::null());
        let meter = Meter::start()?;
        let output = command.output().context("failed to start timeout")?;
        let cost = meter.stop()?;
        ensure!(
            output.status.success(),
            "the binary ended with {}: {}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        self.mock.settle()?;
        let mut log = File::open(&self.log).context("failed to open the log")?;
        log.seek(SeekFrom::Start(start)).context("failed to read the log")?;
        let recording = Recording::read(BufReader::new(log))?;
        let found = recording.agents.len();
        ensure!(found == self.agents, "{found} sub-agents ran in place of {}", self.agents);
        Ok(Run { cost, recording })
    }
}
