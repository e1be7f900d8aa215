//! What an agent that works in a worktree is refused, on real command lines and paths.

use std::path::{Path, PathBuf};

use troupe_core::access::{Access, PathUse};
use troupe_core::ids::AgentId;
use troupe_core::policy::{Command, Walls};
use troupe_core::ports::tool::Place;
use troupe_core::worktree::Worktree;
use troupe_tools::shell::parse::parse;

const TREE: &str = "/w/.troupe/worktrees/a1";
const SCRATCH: &str = "/h/.troupe/temp/s/scratch/a1";

fn tree() -> Worktree {
    Worktree {
        name: "a1".into(),
        path: TREE.into(),
        branch: "agent-a1".into(),
        base: "c".into(),
        checkout: "/w".into(),
        owner: AgentId::new("a1"),
    }
}

fn place() -> Place {
    Place {
        cwd: TREE.into(),
        home: "/h".into(),
        roots: vec![TREE.into()],
        scratch: vec![SCRATCH.into()],
        read_only: false,
    }
}

fn told(access: Access) -> Option<String> {
    tree().refuses(&[access], &place(), |path| path.ends_with("src/a.txt"))
}

fn run(line: &str, walls: Walls) -> Option<String> {
    let mut command = Command { walls, ..parse(line) };
    command.resolve(&place(), Path::to_path_buf);
    told(Access::Exec(Box::new(command)))
}

fn uses(typed: &str, resolved: &str) -> PathUse {
    PathUse { typed: PathBuf::from(typed), resolved: PathBuf::from(resolved) }
}

// proves: X8
#[test]
fn file_tools_write_in_the_worktree_alone_and_the_right_file_is_named() {
    let write = |typed: &str, resolved: &str| told(Access::Write(uses(typed, resolved)));
    let own = format!("{TREE}/src/a.txt");
    assert_eq!(write(&own, &own), None);
    assert_eq!(write(&format!("{SCRATCH}/x"), &format!("{SCRATCH}/x")), None);
    for other in ["/w/src/a.txt", "/w/.troupe/worktrees/a2/src/a.txt"] {
        let told = write(other, other).unwrap_or_default();
        assert!(told.contains(&format!("The file to change is {own}.")), "{told}");
    }
    for outside in ["/elsewhere/x", "/tmp/x", "/h/.bashrc", "/w/.git/config"] {
        assert!(write(outside, outside).is_some(), "{outside}");
    }
    assert!(write(&own, "/w/src/a.txt").is_some(), "a link out of it");
}

// proves: X8
#[test]
fn a_look_at_another_checkouts_file_is_led_to_the_own_one() {
    let read = |path: &str| told(Access::Read(uses(path, path)));
    assert!(
        read("/w/src/a.txt").is_some_and(|told| told.contains(&format!("Read {TREE}/src/a.txt instead")))
    );
    assert_eq!(read("/w/.env"), None, "the worktree has no such file");
    assert_eq!(read("/usr/include/stdio.h"), None);
    assert_eq!(read(&format!("{TREE}/src/a.txt")), None);
}

// proves: X8
#[test]
fn commands_that_name_a_change_elsewhere_are_refused_with_and_without_walls() {
    let held = Walls::Sandbox { free: true, holds_project: false };
    for line in [
        "echo x > /w/src/a.txt",
        "cd /w && touch b",
        "cd ../../.. && rm -rf src",
        "touch ../a2/x",
        "cp src/a.txt /w/src/a.txt",
        "sed -i s/a/b/ /w/src/a.txt",
        "git -C /w commit -am x",
        "cd /w && git commit -am x",
        "cd /w; git checkout main",
        "GIT_DIR=/w/.git git commit -am x",
        "git --git-dir=/w/.git --work-tree=/w checkout .",
        "git -c core.worktree=/w checkout .",
        "git worktree remove ../a2",
        "git worktree prune",
        "mkdir -p /elsewhere/x",
        "mv src/a.txt ~/a.txt",
        "tee /w/x < a",
        "dd if=a of=/w/x",
    ] {
        for walls in [held, Walls::None] {
            assert!(run(line, walls).is_some_and(|told| told.contains(TREE)), "{line} {walls:?}");
        }
    }
    for line in ["cd /w && npm install", "cd /w && patch -p1 < /tmp/x"] {
        assert!(run(line, Walls::None).is_some(), "{line}");
    }
}

// proves: X8
#[test]
fn work_in_the_worktree_is_free() {
    for line in [
        "cargo test",
        "npm install && npm test",
        "git add -A && git commit -m x",
        "git status",
        "git stash && git stash pop",
        "git rebase main",
        "git push origin agent-a1",
        "git worktree list",
        "echo x > src/a.txt",
        "rm -rf target 2>/dev/null",
        "mkdir -p src/b && touch src/b/c",
        "cat /w/src/a.txt",
        "ls /w > files.txt",
        "git -C /w log --oneline",
        "grep -rn x /w/src | head",
        "echo x > /tmp/y",
        "cd src && make",
        "python3 build.py",
    ] {
        for walls in [Walls::None, Walls::Sandbox { free: true, holds_project: false }] {
            assert_eq!(run(line, walls), None, "{line}");
        }
    }
}
