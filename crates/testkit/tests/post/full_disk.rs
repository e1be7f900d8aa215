//! A disk that is full.

use std::process::Command;

use super::MAILER;

// proves: M1
#[test]
#[expect(clippy::print_stderr, reason = "a test that can't run here says so")]
fn on_a_full_disk_the_sender_hears_of_it_and_what_was_acknowledged_is_there() {
    let home = tempfile::tempdir().unwrap();
    let mounted = |then: &str| {
        let script = format!("mount -t tmpfs -o size=256k none \"$0\" && {then}");
        Command::new("unshare").args(["-rm", "sh", "-c", &script]).arg(home.path()).arg(MAILER).output()
    };
    if !mounted("true").is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    }
    let output = mounted("exec \"$1\" fill \"$0\"").unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("refused: append to ") && said.contains("No space left"), "{said}");
    let (sent, kept) = said.lines().last().unwrap().split_once(" sent, ").unwrap();
    assert_eq!(sent, kept.strip_suffix(" kept").unwrap());
    assert_ne!(sent.split(' ').next(), Some("0"));
}
