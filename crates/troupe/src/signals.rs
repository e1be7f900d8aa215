//! The system's signals as a stream. What one leads to is decided by who hears it.

use tokio::signal::unix::{self, SignalKind, signal};
use troupe_wire::headless::Signal;

/// The signals of this process, from when it was made on.
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hang_up: unix::Signal,
    quit: unix::Signal,
}

impl Signals {
    /// Takes the signals out of the system's hands, which would end the process at once.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Waits for the next one. A hang-up, which says that the terminal is gone, and Ctrl-\ ask for the same as
    /// SIGTERM: whatever ends the program in its hands leaves no command behind.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hang_up.recv() => Signal::Terminate,
            _ = self.quit.recv() => Signal::Terminate,
            _ = self.interrupt.recv() => Signal::Interrupt,
        }
    }
}
