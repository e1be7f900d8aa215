//! The binary driven by the agent SDK for Python. The tests themselves are in `crates/wire/tests/sdk`.

use std::path::Path;
use std::process::{Command, Stdio};

/// Names the interpreter that has the SDK; `cargo xtask test` sets it.
const PYTHON: &str = "TROUPE_TEST_PYTHON";

// proves: E2, S2
#[test]
#[expect(clippy::disallowed_methods, reason = "a test is told its environment by the test run")]
fn the_sdk_drives_the_binary() {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| {
        panic!("{PYTHON} is not set: run `cargo xtask test`, which sets the environment up")
    });
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/sdk");
    let output = Command::new(python)
        .args(["-B", "sdk_test.py"])
        .current_dir(tests)
        .env("TROUPE_TEST_BINARY", env!("CARGO_BIN_EXE_troupe"))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{PYTHON} can't be run: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
