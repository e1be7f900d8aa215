//! Sends the log of agents to a collector of OpenTelemetry (B10), where the person configured one. No agent waits for
//! it: what a slow or dead collector does not take stands in the session's own file alone, which has every line that comes
//! here.

mod body;
mod collector;
#[cfg(test)]
mod telemetry_tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use troupe_engine::export::{Export, LogLine};

use collector::{Collector, Unsent};

/// Lines that wait for their batch; more are not sent.
const QUEUE: usize = 2_048;
/// Lines of one request.
const BATCH: usize = 512;

/// How long things may take.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// A line's wait for others to go with it.
    gather: Duration,
    /// The wait of a batch that did not get through for its next try.
    again: Duration,
    /// The wait of the program's end for the last lines.
    flush: Duration,
}

impl Pace {
    const USUAL: Self =
        Self { gather: Duration::from_secs(1), again: Duration::from_secs(5), flush: Duration::from_secs(2) };
}

/// Where lines go.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// The collector's address for logs, whole.
    pub(crate) url: Url,
    /// What goes with each request, such as a token.
    pub(crate) headers: HeaderMap,
    /// Who sends, as names and values.
    pub(crate) resource: Vec<(String, String)>,
    /// Files of more certificate authorities.
    pub(crate) extra_ca: Vec<PathBuf>,
}

/// Tells the person a line.
pub(crate) type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// The queue of lines, and the task that sends them. It ends when it is dropped.
pub(crate) struct Exporter {
    /// The only one that keeps the queue open.
    queue: mpsc::Sender<LogLine>,
    task: JoinSet<()>,
    warning: Arc<Warning>,
    pace: Pace,
}

/// Tells of what goes wrong, once in a process.
struct Warning {
    tell: Tell,
    told: AtomicBool,
    /// Whether the queue was full.
    full: AtomicBool,
}

impl Warning {
    fn tell(&self, what: &str) {
        if !self.told.swap(true, Ordering::Relaxed) {
            (self.tell)(&format!("telemetry: {what}; the session's own log goes on"));
        }
    }
}

impl Exporter {
    /// Begins to take lines. Needs a runtime.
    pub(crate) fn start(to: Destination, tell: Tell) -> Self {
        Self::paced(to, tell, Pace::USUAL)
    }

    fn paced(to: Destination, tell: Tell, pace: Pace) -> Self {
        let (queue, lines) = mpsc::channel(QUEUE);
        let warning = Arc::new(Warning { tell, told: AtomicBool::default(), full: AtomicBool::default() });
        let mut task = JoinSet::new();
        task.spawn(send(lines, Collector::new(to), Arc::clone(&warning), pace));
        Self { queue, task, warning, pace }
    }

    /// What the engine hands lines to.
    pub(crate) fn export(&self) -> Export {
        let (queue, warning) = (self.queue.downgrade(), Arc::clone(&self.warning));
        Arc::new(move |line| {
            let sent = queue.upgrade().is_none_or(|queue| queue.try_send(line).is_ok());
            if !sent {
                // Told by the task that sends: a write to stderr could hold an agent up.
                warning.full.store(true, Ordering::Relaxed);
            }
        })
    }

    /// Sends what waits, for a limited time; lines that come later are not sent.
    pub(crate) async fn flush(self) {
        let Self { queue, mut task, warning, pace } = self;
        drop(queue);
        if timeout(pace.flush, task.join_next()).await.is_err() {
            warning.tell("the collector did not take the last lines in time");
        }
    }
}

/// Sends batches until the queue is closed and empty.
async fn send(mut queue: mpsc::Receiver<LogLine>, collector: Collector, warning: Arc<Warning>, pace: Pace) {
    let mut batch = Vec::new();
    let mut pause = pace.gather;
    loop {
        let open = gather(&mut queue, &mut batch, pause).await;
        pause = pace.gather;
        if !batch.is_empty() {
            match collector.send(&batch).await {
                Ok(()) => batch.clear(),
                Err(Unsent { what, again }) => {
                    warning.tell(&what);
                    pause = pace.again;
                    // A full one is given up: without bounds it would grow, or be sent without a pause.
                    if !again || batch.len() >= BATCH {
                        batch.clear();
                    }
                }
            }
        }
        if warning.full.load(Ordering::Relaxed) {
            warning.tell("the collector takes lines more slowly than they come, so some are not sent");
        }
        if !open {
            return;
        }
    }
}

/// Fills a batch for so long after its first line; `false` when nothing more comes.
async fn gather(queue: &mut mpsc::Receiver<LogLine>, batch: &mut Vec<LogLine>, pause: Duration) -> bool {
    if batch.is_empty() {
        let Some(line) = queue.recv().await else { return false };
        batch.push(line);
    }
    let fill = async {
        while batch.len() < BATCH {
            let Some(line) = queue.recv().await else { return false };
            batch.push(line);
        }
        true
    };
    timeout(pause, fill).await.unwrap_or(true)
}
