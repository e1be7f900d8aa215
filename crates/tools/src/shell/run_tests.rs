//! The runner with small bounds, without a supervisor.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::oneshot;
use troupe_core::CancellationToken;
use troupe_core::outcome::{Ending, Outcome, ShellEnd};
use troupe_core::ports::supervisor::JobCx;
use troupe_core::ports::tool::Reporter;

use super::exit::Meaning;
use super::process::Launch;
use super::run::{Finished, Link, Plan, run};
use super::spool::{Bounds, Spool};

const SMALL: Bounds = Bounds { memory: 1000, tail: 100, file: 2000, output: 1_000_000 };

async fn run_in(folder: &Path, command: &str, bounds: Bounds, background: bool) -> (ShellEnd, Finished) {
    let plan = Plan {
        launch: Launch {
            program: "bash".into(),
            command: command.into(),
            cwd: folder.into(),
            prologue: None,
            git_settings: 0,
            sandbox: None,
        },
        prologue: None,
        limit: Duration::from_mins(1),
        bounds,
        inline_chars: 250,
        meaning: Meaning::Failure,
        background,
        report: Reporter::silent(),
        lines: None,
    };
    let (started, _started) = oneshot::channel();
    let (_ask, to_background) = oneshot::channel();
    let (finished, shown) = oneshot::channel();
    let cx = JobCx { id: "b1".into(), output: folder.join("out"), cancel: CancellationToken::new() };
    let Outcome::Shell(end) = run(plan, cx, Link { started, to_background, finished }).await else {
        panic!("not a shell")
    };
    (end, shown.await.unwrap())
}

// proves: B4
// proves: F041
#[tokio::test]
async fn a_command_with_too_much_output_is_killed() {
    for background in [false, true] {
        let folder = TempDir::new().unwrap();
        let (end, shown) = run_in(folder.path(), "yes", SMALL, background).await;
        assert_eq!(end.ending, Ending::Failed);
        assert_eq!(end.error.as_deref(), Some("killed: too much output"));
        assert!(end.bytes > SMALL.output && end.bytes < 2 * SMALL.output, "{}", end.bytes);
        assert_eq!(shown.capture.total, end.bytes);
        let size = std::fs::metadata(folder.path().join("out")).unwrap().len();
        let most = if background { SMALL.output } else { SMALL.file };
        assert!(size > most && size < most + 200, "{size}");
    }
}

// proves: F041
#[tokio::test]
async fn a_command_that_reads_its_own_output_stays_within_the_cap() {
    let folder = TempDir::new().unwrap();
    let (end, _) = run_in(folder.path(), "echo x; while :; do cat out; done", SMALL, true).await;
    assert_eq!(end.error.as_deref(), Some("killed: too much output"));
    let size = std::fs::metadata(folder.path().join("out")).unwrap().len();
    assert!(size <= SMALL.output + 200, "{size}");
}

#[tokio::test]
async fn a_file_past_its_cap_keeps_start_and_end() {
    let folder = TempDir::new().unwrap();
    let (_, shown) = run_in(folder.path(), "seq 1 1000", SMALL, false).await;
    let whole = (1..=1000).fold(String::new(), |whole, line| whole + &line.to_string() + "\n");
    let left_out = whole.len() - 2000 - 100;
    let wanted = format!("{}\n[{left_out} bytes left out]\n{}", &whole[..2000], &whole[whole.len() - 100..]);
    assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), wanted);
    assert_eq!(shown.capture.head, &whole.as_bytes()[..1000]);
    assert_eq!(shown.capture.file, Some((folder.path().join("out"), 2100)));
}

// Whatever the sizes and however the output is chopped: nothing is lost, doubled or out of order.
#[tokio::test]
async fn output_of_any_size_and_shape_is_kept_right() {
    for total in [0, 1, 999, 1000, 1001, 1099, 1100, 1999, 2000, 2001, 2099, 2100, 2101, 5000] {
        for step in [1, 7, 100, 101, 1000, 5000] {
            for to_file in [false, true] {
                let folder = TempDir::new().unwrap();
                let path = folder.path().join("out");
                let whole: Vec<u8> = (0..total).map(|n: u32| (n % 251) as u8).collect();
                let mut spool = Spool::new(path.clone(), SMALL);
                for chunk in whole.chunks(step) {
                    spool.push(chunk).await;
                }
                let capture = spool.finish(to_file).await;
                let case = format!("{total} by {step}, {to_file}");
                assert_eq!(capture.total, u64::from(total), "{case}");
                assert_eq!(capture.head, &whole[..whole.len().min(1000)], "{case}");
                let past = whole.len().saturating_sub(1000).min(100);
                assert_eq!(capture.tail, &whole[whole.len() - past..], "{case}");
                assert_eq!(capture.file.is_some(), to_file || total > 1000, "{case}");
                if capture.file.is_some() {
                    let file = std::fs::read(&path).unwrap();
                    if total <= 2100 {
                        assert_eq!(file, whole, "{case}");
                    } else {
                        assert!(
                            file.starts_with(&whole[..2000])
                                && file.ends_with(&whole[total as usize - 100..])
                        );
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn output_moves_to_the_background_whole() {
    for before in [0, 500, 1500, 1900] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("out");
        let mut spool = Spool::new(path.clone(), SMALL);
        spool.push(&vec![b'a'; before]).await;
        spool.move_to_background().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len(), before);
        spool.push(&vec![b'b'; 5000]).await;
        spool.finish(false).await;
        let file = std::fs::read(&path).unwrap();
        assert_eq!(file.len(), before + 5000, "{before}");
    }
}
