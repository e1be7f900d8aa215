//! Homes that can't be written to, and disks without room.

use std::process::Command;

use crate::stage::{Ended, Stage, end};

const HELLO: &str = "agent main\nreply \"hello there\"\n";
const LISTS: &str =
    "agent main\nreply\ncall Bash command=\"echo short\"\nreply\nexpect \"short\"\ntext \"listed\"\n";

/// Runs the program in a namespace of mounts of its own, in which `mounts` was done before. `None` where the
/// system does not let us: then a home that is a file must do.
fn mounted(stage: &Stage, mounts: &str, script: &str) -> Option<Ended> {
    let may = Command::new("unshare").args(["-rm", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let path = stage.write("model.script", script);
    let program = env!("CARGO_BIN_EXE_troupe");
    let line = format!("{mounts} && exec {program} -p hi --model script:{}", path.display());
    Some(end(stage.program("unshare".as_ref()).args(["-rm", "sh", "-c", &line])))
}

/// One line on stderr names the path and the error; the job is done all the same.
#[track_caller]
fn works_elsewhere(ended: &Ended, said: &str, path: &str, error: &str) {
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), said), "{ended:?}");
    let told = ended.err.lines().find(|line| line.contains(path)).unwrap_or_else(|| panic!("{ended:?}"));
    assert!(told.contains(error) && told.contains("TROUPE_HOME"), "{told}");
}

// proves: F227, F229
#[test]
fn a_home_that_is_a_file() {
    let stage = Stage::new();
    let file = stage.write("file", "");
    let ended = end(stage.scripted(HELLO).args(["-p", "hi"]).env("HOME", &file));
    works_elsewhere(&ended, "hello there\n", file.to_str().unwrap(), "os error 20");
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    // What was kept elsewhere can be gone on with.
    let ended = end(stage
        .scripted("agent main\nreply \"x\"\nreply \"on\"\n")
        .args(["-p", "-c", "hi"])
        .env("HOME", &file));
    assert_eq!(ended.out, "on\n", "{ended:?}");
}

// proves: F227
#[test]
fn a_home_on_a_read_only_mount() {
    let stage = Stage::new();
    let mounts = "mount -t tmpfs -o ro tmpfs \"$HOME\"";
    let Some(ended) = mounted(&stage, mounts, HELLO) else { return };
    works_elsewhere(&ended, "hello there\n", stage.path("home").to_str().unwrap(), "os error 30");
}

// proves: F231
#[test]
fn a_home_on_a_full_disk() {
    let stage = Stage::new();
    let mounts = "mount -t tmpfs -o size=64k tmpfs \"$HOME\" && { head -c 1000000 /dev/zero > \"$HOME/fill\" 2>&1; true; }";
    let Some(ended) = mounted(&stage, mounts, LISTS) else { return };
    works_elsewhere(&ended, "listed\n", stage.path("home").to_str().unwrap(), "os error 28");
    assert!(ended.err.contains("0 bytes free"), "{ended:?}");
}

// proves: F231
#[test]
fn no_room_anywhere() {
    let stage = Stage::new();
    let mounts = "for d in \"$HOME\" \"$TMPDIR\"; do mount -t tmpfs -o size=64k tmpfs \"$d\"; \
                  head -c 1000000 /dev/zero > \"$d/fill\" 2>/dev/null; done; true";
    let Some(ended) = mounted(&stage, mounts, HELLO) else { return };
    works_elsewhere(&ended, "hello there\n", stage.path("home").to_str().unwrap(), "memory");
}

/// A folder of the name that is used as a last resort, but not ours alone, is not used.
// proves: F167
#[test]
fn a_planted_folder_is_not_followed() {
    let stage = Stage::new();
    let file = stage.write("file", "");
    let victim = stage.path("victim");
    std::fs::create_dir(&victim).unwrap();
    let planted = stage.path("tmp").join(format!("troupe-{}", rustix::process::getuid().as_raw()));
    std::os::unix::fs::symlink(&victim, planted).unwrap();
    let ended = end(stage.scripted(HELLO).args(["-p", "hi"]).env("HOME", &file));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "hello there\n"), "{ended:?}");
    assert_eq!(std::fs::read_dir(victim).unwrap().count(), 0);
}

/// A Home that others may look into, as the ecosystem's is: nothing that is put there is theirs to read.
// proves: F167
#[test]
fn what_is_kept_is_the_persons_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let stage = Stage::new();
    std::fs::create_dir(stage.path("home/.troupe")).unwrap();
    std::fs::set_permissions(stage.path("home/.troupe"), std::fs::Permissions::from_mode(0o755)).unwrap();
    stage.write("work/.troupe/settings.json", r#"{"permissions": {"allow": ["Bash(touch *)"]}}"#);
    end(stage.troupe().args(["trust", "--yes"])).clean();
    let script = "agent main\nreply\ncall Bash command=\"seq 1 20000\"\nreply\n\
                  call Agent description=\"look\" prompt=\"look\" subagent_type=Explore\nreply \"over\"\n\
                  agent Explore\nreply \"seen\"\n";
    let rule = ["-p", "hi", "--allowed-tools", "Bash(seq *)"];
    let umask = "umask 000; exec \"$0\" \"$@\"";
    let model = format!("script:{}", stage.write("model.script", script).display());
    let mut command = stage.program("sh".as_ref());
    let ended = end(command.args(["-c", umask, env!("CARGO_BIN_EXE_troupe"), "--model", &model]).args(rule));
    assert_eq!(ended.clean(), "over\n");
    let (mut folders, mut files) = (vec![stage.path("home/.troupe"), stage.path("tmp")], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let meta = entry.metadata().unwrap();
            // A link has no mode of its own; what it leads to is looked at where it lies.
            if meta.is_symlink() {
                continue;
            }
            assert_eq!(meta.permissions().mode() & 0o077, 0, "{}", entry.path().display());
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    // Two transcripts, an inbox, two prompts, an output, a lease, what was trusted.
    assert!(files >= 8, "{files}");
}
