//! What the tests and the bench of this crate have in place of the harness's own program: it knows
//! `sandbox-init` alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == "sandbox-init" => troupe_sandbox::init(args),
        _ => ExitCode::from(2),
    }
}
