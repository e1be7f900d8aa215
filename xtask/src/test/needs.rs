//! Table: what the test run needs from the machine. A suite that needs more adds a row.

/// A program that must be on the path.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) from: Source,
    /// What is done with it.
    pub(super) used_by: &'static str,
}

/// Who brings a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A package of Debian and its descendants.
    Apt(&'static str),
    /// A component of the Rust toolchain.
    Rustup(&'static str),
    /// A crate that installs a program.
    Cargo(&'static str),
}

/// Tools of the run first, then those of single suites.
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "cc", from: Source::Apt("build-essential"), used_by: "crates with parts in C" },
    Program { name: "rustfmt", from: Source::Rustup("rustfmt"), used_by: "the format check" },
    Program { name: "cargo-clippy", from: Source::Rustup("clippy"), used_by: "the lints" },
    Program { name: "cargo-nextest", from: Source::Cargo("cargo-nextest"), used_by: "all tests" },
    Program {
        name: "python3",
        from: Source::Apt("python3"),
        used_by: "tests that drive the binary by an SDK",
    },
    Program { name: "pip3", from: Source::Apt("python3-pip"), used_by: "the Python packages of those tests" },
    Program { name: "bash", from: Source::Apt("bash"), used_by: "tests of the shell tool" },
    Program { name: "git", from: Source::Apt("git"), used_by: "tidy, tests of worktrees" },
    Program { name: "tmux", from: Source::Apt("tmux"), used_by: "tests of the screen and of panes" },
    Program { name: "bwrap", from: Source::Apt("bubblewrap"), used_by: "tests of the sandbox" },
    Program { name: "curl", from: Source::Apt("curl"), used_by: "tests of the sandbox's proxy" },
    Program { name: "pdftotext", from: Source::Apt("poppler-utils"), used_by: "tests of reading PDF files" },
];

/// The Python packages, from the root of the checkout; all versions are pinned there.
pub(super) const PYTHON_REQUIREMENTS: &str = "xtask/python-requirements.txt";

/// Tells the tests the interpreter that has those packages.
pub(super) const PYTHON_VARIABLE: &str = "TROUPE_TEST_PYTHON";
