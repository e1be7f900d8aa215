//! A call under a limit of the harness, for tools that keep none or fail to keep it (X2).

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use troupe_core::block::Block;
use troupe_core::ports::tool::{Tool, ToolCx, ToolOutput};

/// How long a call that was told to end may take for its last words.
const GRACE: Duration = Duration::from_secs(6);

/// Makes a call. One that takes longer than `limit` is told to end, then dropped.
pub(super) async fn call(tool: &dyn Tool, cx: &ToolCx, input: Value, limit: Option<Duration>) -> ToolOutput {
    let mut call = tool.call(cx, input);
    let Some(limit) = limit else { return call.await };
    if let Ok(output) = timeout(limit, &mut call).await {
        return output;
    }
    cx.cancel.cancel();
    let seconds = limit.as_secs_f32();
    match timeout(GRACE, call).await {
        Ok(mut output) => {
            output.is_error = true;
            output.content.insert(
                0,
                Block::text(format!("[Ended by the harness after {seconds} s, its limit for a call.]")),
            );
            output
        }
        Err(_) => ToolOutput::error(format!(
            "The call did not end within {seconds} s, the harness's limit for a call, nor when it was told to, and was dropped. Its effects are not known."
        )),
    }
}
