//! The binary: arguments, wiring, exit codes. What runs is in the other crates.
//!
//! Exit codes: 0 done; 1 failed; 2 the command line can't be understood; 101 a bug; 130 interrupted (SIGINT);
//! 143 ended (SIGTERM, SIGHUP).

mod agents;
mod args;
mod ask_trust;
mod config;
mod cost;
mod crash;
mod demo;
mod docs;
mod fault;
mod headless;
mod mask;
mod member;
mod permissions;
mod prompt;
mod sandbox;
mod sessions;
mod signals;
mod team;
mod telemetry;
mod trace;
mod trust;
mod wiring;
mod worktrees;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use tokio::runtime::{Builder, Runtime};
use troupe_engine::load::Env;

use args::{Cli, Command, Run};
use crash::Trail;
use fault::{Fault, tell};
use wiring::{COMPATIBLE, VERSION};

/// Threads that agents share: they wait far more than they work.
const WORKERS: usize = 2;

/// How long blocking reads get at the end; one of stdin never ends by itself.
const LAST_WAIT: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    // What stands between the walls and a command is this program too, and nothing else of it.
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first.as_ref().is_some_and(|word| word == "sandbox-init") {
        return troupe_sandbox::init(words);
    }
    // A pane of a member begins as this program.
    if first.is_some_and(|word| word == member::WORD) {
        return member::init(words.next());
    }
    crash::install();
    let cli = Cli::parse();
    let trail = Trail::default();
    let code = crash::guard(&trail, || {
        run(cli, &trail).unwrap_or_else(|fault| {
            tell(&fault);
            fault.code()
        })
    });
    ExitCode::from(code)
}

fn run(cli: Cli, trail: &Trail) -> Result<u8, Fault> {
    if cli.version {
        // Hosts read a version of the ecosystem's at the start of the line.
        return print(&format!("{COMPATIBLE} (troupe {VERSION})\n"));
    }
    match &cli.command {
        Some(Command::Demo { keep }) => block_on(demo::play(*keep)),
        Some(Command::Sessions) => print(&sessions::text(&environment()?)?),
        Some(Command::Cost(wish)) => print(&cost::text(wish, &environment()?)?),
        Some(Command::Trust(wish)) => print(&trust::run(wish, &environment()?)?),
        Some(Command::Sandbox { command }) => sandbox::run(command, &environment()?),
        Some(Command::Agents(wish)) => print(&block_on(agents::run(wish, environment()?))?),
        Some(Command::Worktrees(wish)) => block_on(worktrees::run(wish, environment()?)),
        Some(Command::Team(wish)) => block_on(team::run(wish, environment()?)),
        Some(Command::Permissions(wish)) => permissions::run(wish, environment()?),
        Some(Command::Config(wish)) => print(&config::text(wish, environment()?)?),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "troupe", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Some(Command::Man) => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(Fault::failed)?;
            print(&String::from_utf8_lossy(&page))
        }
        None => begin(cli.run, trail),
    }
}

/// Runs a session: as a member of a team, or on a prompt.
fn begin(mut run: Run, trail: &Trail) -> Result<u8, Fault> {
    let env = environment()?;
    run.settle_member(&env)?;
    if run.member.of.is_some() {
        return member::run(&run, env, trail);
    }
    if is_interactive(&run) {
        return Err(Fault::usage(
            "the terminal interface is not there yet; troupe answers without one: troupe -p \"…\"",
        )
        .hint("to see agents at work, without a key: troupe demo"));
    }
    headless::run(&run, env, trail)
}

/// Whether a person sits at a terminal and did not ask for an answer without one.
fn is_interactive(run: &Run) -> bool {
    !run.is_headless() && io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn environment() -> Result<Env, Fault> {
    Env::from_process().map_err(|error| Fault::failed(format_args!("failed to {error}")))
}

/// Prints a text. A reader that has gone away has seen enough.
fn print(text: &str) -> Result<u8, Fault> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Fault::failed(format_args!("failed to write to stdout: {error}")))
        }
        _ => Ok(0),
    }
}

/// Runs a future to its end, and gives up what it left behind.
fn block_on<T>(future: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime =
        runtime().map_err(|error| Fault::failed(format_args!("failed to start threads: {error}")))?;
    let result = runtime.block_on(future);
    runtime.shutdown_timeout(LAST_WAIT);
    result
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()
}
