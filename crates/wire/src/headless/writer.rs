//! Standard output: one task writes, line by line, and each line is flushed.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Lines that wait to be written.
const WAITING: usize = 64;

/// How long what waits may take to be written once nothing more comes.
const FINISH: Duration = Duration::from_secs(10);

/// The writing end; dropped, it ends the task.
pub(super) struct Writer {
    sender: mpsc::Sender<String>,
    task: JoinSet<Result<(), Closed>>,
}

/// Nothing more can be written: nobody reads, or, with its words, another fault such as a full disk.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed(pub(super) Option<String>);

impl Writer {
    pub(super) fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let mut task = JoinSet::new();
        task.spawn(write(output, receiver));
        Self { sender, task }
    }

    /// Hands a line on; waits while too many wait.
    pub(super) async fn line(&self, mut line: String) -> Result<(), Closed> {
        line.push('\n');
        self.sender.send(line).await.map_err(|_| Closed(None))
    }

    /// Waits until nobody reads any more.
    pub(super) async fn closed(&self) {
        self.sender.closed().await;
    }

    /// Writes what waits, and ends. A reader that takes nothing any more must not keep the program.
    pub(super) async fn finish(mut self) -> Result<(), Closed> {
        drop(self.sender);
        match tokio::time::timeout(FINISH, self.task.join_next()).await {
            Ok(Some(Ok(end))) => end,
            _ => Err(Closed(None)),
        }
    }
}

/// Ends when a line can't be written: a closed pipe is the ordinary case, and no other can be mended here.
async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut receiver: mpsc::Receiver<String>,
) -> Result<(), Closed> {
    while let Some(line) = receiver.recv().await {
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the output is closed");
            let fault = error.kind() != std::io::ErrorKind::BrokenPipe;
            return Err(Closed(fault.then(|| error.to_string())));
        }
    }
    Ok(())
}
