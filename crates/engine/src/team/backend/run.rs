//! One call of a pane's program: arguments as they are, a bounded time.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::PaneError;

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Runs it; gives what it printed, without the end of the last line.
pub(super) async fn run(program: &Path, args: &[&str]) -> Result<String, PaneError> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The first words say what it was; the rest may be long.
    let verb = args.iter().find(|word| !word.starts_with('-') && !word.contains('/')).unwrap_or(&"");
    let what = format!("{name} {verb}");
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).kill_on_drop(true);
    let output = match timeout(LIMIT, command.output()).await {
        Err(_) => return Err(PaneError::TimedOut { what, seconds: LIMIT.as_secs() }),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(PaneError::Missing(name));
        }
        Ok(Err(source)) => return Err(PaneError::Io { what, source }),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(PaneError::Refused { what, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
