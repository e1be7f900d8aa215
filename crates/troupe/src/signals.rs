//! Signals as a stream of wishes. What a wish leads to is decided by who hears it.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// End what is being done (SIGINT).
    Interrupt,
    /// End the program, in order (SIGTERM, or SIGHUP: the terminal is gone).
    Terminate,
}

/// The signals of this process, from when it was made on.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Takes the signals from the system's hands, which would end the process at once.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.terminate.recv() => Wish::Terminate,
            _ = self.hang_up.recv() => Wish::Terminate,
            _ = self.interrupt.recv() => Wish::Interrupt,
        }
    }
}
