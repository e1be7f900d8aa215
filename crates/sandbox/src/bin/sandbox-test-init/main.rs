//! What the tests and the bench of this crate have in place of the harness's own program: it knows `sandbox-init`,
//! and `try`, which makes one call that a sandbox may refuse and says what came of it.

#[cfg(target_os = "linux")]
mod attempt;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == "sandbox-init" => troupe_sandbox::init(args),
        #[cfg(target_os = "linux")]
        Some(word) if word == "try" => attempt::run(args),
        _ => ExitCode::from(2),
    }
}
