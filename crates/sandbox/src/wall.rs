//! Which walls a machine has.

/// What holds a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wall {
    /// bubblewrap, with Landlock and seccomp inside of it where the kernel has them.
    Bubblewrap,
    /// Landlock and seccomp alone: nothing inside a writable folder can be carved out, and there is no
    /// network at all.
    Landlock,
    /// macOS: `sandbox-exec`.
    Seatbelt,
}

impl Wall {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }

    /// Whether files inside a writable folder can be kept from being written, so that a command may run
    /// without a question.
    pub fn carves_out(self) -> bool {
        match self {
            Self::Bubblewrap | Self::Seatbelt => true,
            Self::Landlock => false,
        }
    }
}
