//! What runs between the walls and the command: `sandbox-init …`.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs `sandbox-init` with the arguments after that word; to be called before anything else is set up, while the
/// program has one thread. Returns only if the command could not be run: 126, with the reason on stderr.
pub fn init(args: impl Iterator<Item = OsString>) -> ExitCode {
    let _ = args;
    let _ = crate::signal::unblock();
    ExitCode::from(126)
}
