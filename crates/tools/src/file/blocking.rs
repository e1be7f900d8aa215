//! Where file work runs: small work at once, large work on a thread for it.

use tokio_util::sync::CancellationToken;
use troupe_core::ports::tool::ToolOutput;

/// Files up to this size, in bytes, are worked on at once: a hop to another thread costs more.
const INLINE: u64 = 256 * 1024;

/// Runs file work for a call. The token that the work gets also fires when the call is dropped, so that
/// nothing is written for a call that nobody waits for.
pub(super) async fn run(
    large: bool,
    cancel: &CancellationToken,
    work: impl FnOnce(&CancellationToken) -> ToolOutput + Send + 'static,
) -> ToolOutput {
    let cancel = cancel.child_token();
    if !large {
        return work(&cancel);
    }
    let _fires = cancel.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(&cancel)).await {
        Ok(output) => output,
        Err(error) if error.is_panic() => {
            ToolOutput::error("the file could not be processed: it is malformed")
        }
        Err(_) => ToolOutput::error("the program is ending; the file was not processed"),
    }
}

/// Whether work on the file at `path` is large; a file that is not there is small.
pub(super) fn is_large(path: &std::path::Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.len() > INLINE)
}
