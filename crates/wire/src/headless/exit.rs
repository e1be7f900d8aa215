//! How a run ends, as the program's exit code.

/// The end of a headless run. (Code 2 is a wrong command line, and comes from the parser of arguments.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The last result was a success, and nothing that was started is left undone.
    Success,
    /// The last result was an error.
    Error,
    /// The last result was a success, and jobs in the background were ended before they were done.
    Unfinished,
    /// Nobody reads the output any more.
    OutputClosed,
    /// A person ended the run (SIGINT).
    Interrupted,
    /// The system ended it (SIGTERM).
    Terminated,
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Error | Self::Unfinished => 1,
            // As the shell reports a program that wrote to a closed pipe: 128 + SIGPIPE.
            Self::OutputClosed => 141,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

/// A signal that ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    pub(super) fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
        }
    }
}
