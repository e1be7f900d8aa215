//! What the model and the structured result get of a command's output.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use troupe_core::ports::tool::Tool as _;
use troupe_tools::shell::{Bash, Options};

use crate::supervisor::{Agent, World, field, text};

fn bash() -> Bash {
    Bash::new(Options::default())
}

async fn run(command: &str) -> troupe_core::ports::tool::ToolOutput {
    Agent::main(&World::new()).run(&bash(), command).await
}

#[tokio::test]
async fn both_streams_are_one_in_the_order_in_which_they_were_written() {
    let out = run("for i in 1 2 3; do echo out $i; echo err $i >&2; done").await;
    assert_eq!(text(&out), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3");
    assert_eq!(field(&out, "stdout"), &json!(text(&out)));
    assert_eq!(field(&out, "stderr"), "");
    assert_eq!(field(&out, "interrupted"), false);
    assert_eq!(field(&out, "isImage"), false);
}

#[tokio::test]
async fn failures_begin_with_the_exit_code() {
    let out = run("echo why; exit 3").await;
    assert!(out.is_error);
    assert_eq!(text(&out), "Exit code 3\nwhy");
    assert_eq!(text(&run("nosuchprogram").await).lines().next(), Some("Exit code 127"));
    assert_eq!(text(&run("true").await), "(no output)");
}

#[tokio::test]
async fn one_is_an_answer_from_programs_that_compare_and_search() {
    for (command, meaning) in [
        ("grep zzz /dev/null", "No matches found"),
        ("cat /dev/null | grep 'a|b'", "No matches found"),
        ("cd . && LC_ALL=C /bin/egrep zzz /dev/null 2>/dev/null", "No matches found"),
        ("echo a > a; echo b > b; diff -q a b >/dev/null", "Files differ"),
        ("test a = b", "Condition is false"),
        ("[ a = b ]", "Condition is false"),
        ("git init -q . && git -c a.b=c grep zzz", "No matches found"),
        ("echo a > a; echo b > b; git --no-pager diff --no-index a b >/dev/null", "Files differ"),
    ] {
        let out = run(command).await;
        assert!(!out.is_error, "{command}");
        assert_eq!(text(&out), meaning, "{command}");
        assert_eq!(field(&out, "returnCodeInterpretation"), meaning);
    }
    for command in [
        "grep zzz /dev/null; false",
        "grep",
        "git status /nonexistent",
        "echo $(grep z /dev/null; exit 1); false",
    ] {
        assert!(run(command).await.is_error, "{command}");
    }
}

#[tokio::test]
async fn large_success_goes_to_a_file_with_a_preview() {
    let world = World::new();
    let out = Agent::main(&world).run(&bash(), "seq 1 20000").await;
    let path = world.outputs().join("b1.output");
    assert!(!out.is_error);
    assert!(text(&out).contains(path.to_str().unwrap()), "{}", text(&out));
    assert!(text(&out).len() < 3000);
    assert!(text(&out).contains("\n1\n2\n3\n") && text(&out).ends_with("\n20000"));
    let whole = (1..=20000).fold(String::new(), |whole, line| whole + &line.to_string() + "\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(field(&out, "persistedOutputSize"), whole.len());
    assert_eq!(field(&out, "persistedOutputPath"), path.to_str().unwrap());
}

// The limit counts characters, not bytes.
#[tokio::test]
async fn output_up_to_the_limit_is_shown_whole() {
    for (command, whole) in [
        ("printf 'a%.0s' {1..30000}", "a".repeat(30000)),
        ("printf 'é%.0s' {1..30000}", "é".repeat(30000)),
        ("printf '😀%.0s' {1..30000}", "😀".repeat(30000)),
    ] {
        let world = World::new();
        let out = Agent::main(&world).run(&bash(), command).await;
        assert!(text(&out) == whole, "{command}");
        assert_eq!(std::fs::read_dir(world.outputs()).unwrap().count(), 0);
        let longer = command.replace("30000", "30001");
        assert!(text(&Agent::main(&world).run(&bash(), &longer).await).contains("saved in"), "{longer}");
    }
}

#[tokio::test]
async fn a_failure_shows_start_and_end_and_needs_no_file() {
    let world = World::new();
    let out = Agent::main(&world).run(&bash(), "seq 1 10000; exit 2").await;
    let shown = text(&out);
    assert!(shown.starts_with("Exit code 2\n1\n2\n") && shown.ends_with("\n10000"), "{shown}");
    assert!(shown.chars().count() <= 10_000 && shown.chars().count() > 9_000);
    assert!(shown.contains("bytes left out]"));
    assert_eq!(std::fs::read_dir(world.outputs()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_is_not_utf_8_is_shown_with_marks() {
    assert_eq!(text(&run(r"printf 'a\xff\xfeb\xc3'").await), "a\u{fffd}\u{fffd}b\u{fffd}");
    // Cuts fall between characters, wherever the limit falls in one.
    for offset in 0..4 {
        for filler in ["😀é", "é", "€", "😀"] {
            let command = format!(
                "printf 'a%.0s' {{0..{offset}}}; yes '{filler}' | head -n 300000 | tr -d '\\n'; exit 1"
            );
            let shown = text(&run(&command).await);
            assert_eq!(shown.matches('\u{fffd}').count(), 0, "{offset} {filler}");
            assert!(shown.chars().count() > 9_900, "{offset} {filler}");
        }
    }
}

// proves: F243
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_stays_bounded_in_memory_and_on_disk() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let before = peak_kib();
    let out = agent.run(&bash(), "yes | head -c 1000000000; echo; echo END").await;
    let grown = peak_kib() - before;
    assert!(grown < 8 * 1024, "{grown} KiB");
    let path = world.outputs().join("b1.output");
    assert!(text(&out).contains("1000000005 bytes") && text(&out).ends_with("END"), "{}", text(&out));
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size > 60 << 20 && size < 66 << 20, "{size}");
    let file = std::fs::read(&path).unwrap();
    assert!(file.starts_with(b"y\ny\n") && file.ends_with(b"y\n\nEND\n"));
}

/// The largest size that this process had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

// proves: F231
#[tokio::test]
#[expect(clippy::print_stderr, reason = "tells what was not tried")]
async fn a_full_disk_leaves_short_output_alone_and_is_named() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let disk = world.work().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = Mounted::new(&disk) else {
        eprintln!("not run: no filesystem can be mounted here");
        return;
    };
    // The folder of the output files is a link to the full filesystem.
    std::fs::remove_dir(world.outputs()).unwrap();
    std::os::unix::fs::symlink(&disk, world.folder_of_outputs()).unwrap();
    let fill = std::process::Command::new("sh")
        .args(["-c", "head -c 10000000 /dev/zero > \"$0/fill\" 2>/dev/null"])
        .arg(&disk)
        .status();
    fill.unwrap();
    let out = agent.run(&bash(), "echo short; cd .").await;
    assert_eq!(text(&out), "short");
    let out = agent.run(&bash(), "seq 1 20000").await;
    let shown = text(&out);
    assert!(shown.contains(&format!("filesystem at {} has 0 bytes free", disk.display())), "{shown}");
    assert!(shown.ends_with("\n20000") && shown.len() > 29_000);
    let out = agent.run(&bash(), "seq 1 2000000").await;
    assert!(text(&out).contains("bytes free"), "{}", text(&out));
    assert!(text(&out).ends_with("\n2000000"));
}

/// A filesystem of one MiB, while it lives.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn new(at: &std::path::Path) -> Option<Self> {
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "none"])
            .arg(at)
            .stderr(std::process::Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn an_output_file_is_never_written_through_a_link() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let target = world.work().join("target");
    std::fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, world.outputs().join("b1.output")).unwrap();
    let out = agent.run(&bash(), "seq 1 20000").await;
    assert!(text(&out).contains("could not be saved"), "{}", text(&out));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    // Nor over a file that is there.
    let there = world.outputs().join("b2.output");
    std::fs::write(&there, "mine").unwrap();
    let out = agent.run(&bash(), "seq 1 20000").await;
    assert!(text(&out).contains("could not be saved"), "{}", text(&out));
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
}

// proves: F245
#[tokio::test]
async fn nothing_waits_for_standard_input() {
    assert_eq!(
        text(&run("cat; cat - | wc -c; python3 -c 'import sys; print(len(sys.stdin.read()))'").await),
        "0\n0"
    );
}

#[tokio::test]
async fn inputs_that_can_not_run_are_refused() {
    let place = Agent::main(&World::new()).place;
    for command in [" \n ", "echo \0", &"x".repeat(200_000)] {
        assert!(bash().access(&place, &json!({"command": command})).is_err());
        let out = Agent::main(&World::new()).run(&bash(), command).await;
        assert!(out.is_error && text(&out).contains("`command`"), "{}", text(&out));
    }
    let out = run(&format!(": {}", "x".repeat(131_000))).await;
    assert_eq!(text(&out), "(no output)");
}

#[test]
fn the_text_for_the_model_is_lean() {
    let tool = bash();
    let spec = tool.spec();
    let size = spec.description.len() + spec.input_schema.to_string().len();
    assert!(size <= 1600, "{size}");
}

#[test]
fn the_background_can_be_switched_off() {
    let tool = Bash::new(Options { background: false, ..Options::default() });
    assert!(!tool.spec().input_schema.to_string().contains("run_in_background"));
}
