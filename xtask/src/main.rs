//! The project's own commands, behind `cargo xtask`; no part of the product.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a command did is its output")]

mod args;
mod bench;
mod environment;
mod fuzz;
mod process;
mod project;
mod requirements;
mod test;
mod tidy;
mod tree;

use std::process::ExitCode;

use args::Command;
use project::Project;
use tree::Tree;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the arguments ask for; false when it ran and found a fault.
fn run() -> anyhow::Result<bool> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = args::parse(&words)?;
    if let Command::Help = command {
        println!("{}", args::USAGE);
        return Ok(true);
    }
    let project = Project::read()?;
    match command {
        Command::Help => Ok(true),
        Command::Tidy => Ok(tidy::run(&Tree::read(&project)?, &project)),
        Command::Test(options) => test::run(&project, options),
        Command::Bench(suite) => bench::run(&project, &suite),
        Command::Fuzz(options) => fuzz::run(&project, options),
        Command::Requirements => {
            print!("{}", requirements::report(&Tree::read(&project)?));
            Ok(true)
        }
    }
}
