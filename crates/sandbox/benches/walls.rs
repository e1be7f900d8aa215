//! What walls cost a command: each runs `true`, from the policy to the swept placeholders.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use troupe_sandbox::{Names, Policy, Sandbox, Wall, Workspace};

const NAMES: Names<'static> =
    Names { folders: &[".git", ".troupe", ".claude", ".vscode"], files: &[".envrc"], config: &[] };

fn main() {
    divan::main();
}

/// The floor: the process alone.
#[divan::bench(sample_count = 200)]
fn plain(bencher: divan::Bencher) {
    bencher.bench_local(|| assert!(Command::new("/bin/true").status().unwrap().success()));
}

#[divan::bench(sample_count = 200, args = [Wall::Landlock, Wall::Bubblewrap])]
fn walled(bencher: divan::Bencher, wall: Wall) {
    let sandbox = Sandbox::probe_wall(env!("CARGO_BIN_EXE_sandbox-test-init").as_ref(), wall).unwrap();
    let (workspace, temp) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = workspace.path().canonicalize().unwrap();
    for folder in ["hooks", "info", "objects"] {
        std::fs::create_dir_all(root.join(".git").join(folder)).unwrap();
    }
    std::fs::write(root.join(".git/config"), "").unwrap();
    let roots: [PathBuf; 1] = [root.clone()];
    bencher.bench_local(|| {
        let policy = Policy::standard(&Workspace {
            roots: &roots,
            temp: Some(temp.path()),
            names: NAMES,
            ..Workspace::default()
        });
        let walled = sandbox.wrap(&policy, Path::new("/bin/true"), &[], &root).unwrap();
        assert!(walled.command().current_dir(&root).status().unwrap().success());
    });
}
