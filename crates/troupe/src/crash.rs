//! What is said when troupe itself has a bug. An agent's or a tool's panic is caught by the engine, and the run
//! goes on; one of the program's own frame ends it with exit code 101.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, OnceLock};

use crate::fault::{Fault, tell};

/// The exit code of a panic, as the language has it.
pub(crate) const CODE: u8 = 101;

/// Where the session lies, once there is one. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(Arc<OnceLock<String>>);

impl Trail {
    /// Tells how the session can be found again.
    pub(crate) fn lay(&self, transcript: &std::path::Path, session: &str) {
        let _ = self.0.set(format!(
            "the session is kept in {}; go on with: troupe --resume={session}",
            transcript.display()
        ));
    }
}

/// Says a panic in one line; a backtrace follows only when `RUST_BACKTRACE` asks for it.
pub(crate) fn install() {
    let usual = take_hook();
    let wants_backtrace =
        matches!(std::backtrace::Backtrace::capture().status(), std::backtrace::BacktraceStatus::Captured);
    set_hook(Box::new(move |info| {
        tell(Fault::failed(describe(info)));
        if wants_backtrace {
            usual(info);
        }
    }));
}

/// Runs `body`; on a panic says how to go on.
pub(crate) fn guard(trail: &Trail, body: impl FnOnce() -> u8) -> u8 {
    // What the panic leaves half-done is not looked at again.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        if let Some(trail) = trail.0.get() {
            tell(format_args!("hint: {trail}\n"));
        }
        CODE
    })
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let words = info.payload_as_str().unwrap_or("no words");
    match info.location() {
        Some(place) => format!("a bug in troupe: {words} ({}:{})", place.file(), place.line()),
        None => format!("a bug in troupe: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_exit_code() {
        let trail = Trail::default();
        trail.lay("/s/x.jsonl".as_ref(), "x");
        assert_eq!(guard(&trail, || 7), 7);
        assert_eq!(guard(&trail, || panic!("planned")), CODE);
        assert!(trail.0.get().is_some_and(|line| line.ends_with("troupe --resume=x")));
    }
}
