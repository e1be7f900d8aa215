//! Worktrees as people meet them: an agent in one, what stays of it, and `troupe worktrees`.

use std::process::Command;

use serde_json::Value;

use crate::stage::{Ended, Stage, end};

fn git(stage: &Stage, words: &[&str]) {
    let of = ["-c", "user.name=A", "-c", "user.email=a@b"];
    let said = Command::new("git").args(of).args(words).current_dir(stage.path("work")).output().unwrap();
    assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
}

fn worktrees(stage: &Stage, words: &[&str]) -> Ended {
    end(stage.troupe().arg("worktrees").args(words))
}

// proves: W1, W3, W6, X12
#[test]
fn what_an_agent_leaves_in_a_worktree_is_listed_compared_and_dropped() {
    let stage = Stage::new();
    worktrees(&stage, &[]).says(1, &["is in no git repository"]);
    stage.write("work/a.txt", "one\n");
    git(&stage, &["init", "-q"]);
    git(&stage, &["add", "-A"]);
    git(&stage, &["commit", "-q", "-m", "first"]);
    assert_eq!(worktrees(&stage, &[]).clean(), "There are no worktrees of troupe's in this repository.\n");
    let script = "agent main\n\
         reply\n  call Agent description=d prompt=change isolation=worktree\nreply \"done\"\n\
         agent general-purpose\n\
         reply\n  call Write file_path=new.txt content=hello\nreply \"written\"\n";
    let played = stage.play(script, &["-p", "go", "--permission-mode", "acceptEdits", "--trust-workspace"]);
    assert_eq!(played.clean(), "done\n");
    assert!(!stage.path("work/new.txt").exists());

    let listed: Value = serde_json::from_str(worktrees(&stage, &["list", "--json"]).clean()).unwrap();
    let tree = &listed["worktrees"][0];
    let (name, path) = (tree["name"].as_str().unwrap(), tree["path"].as_str().unwrap());
    assert_eq!((&tree["state"], &tree["merge"]), (&"work".into(), &"no commit".into()), "{listed:#}");
    assert_eq!(tree["usedBy"], serde_json::json!([]), "nobody works there any more");
    let text = worktrees(&stage, &[]);
    assert!(text.clean().contains("new.txt") && text.out.contains("used by nobody"), "{text:?}");
    assert!(worktrees(&stage, &["diff", name]).clean().contains("+hello"));

    let waits = worktrees(&stage, &["merge", name, "--test", "true"]);
    assert_eq!(waits.code, Some(1));
    assert!(waits.out.contains("changes that are not committed"), "{waits:?}");
    git(&stage, &["-C", path, "add", "-A"]);
    git(&stage, &["-C", path, "commit", "-q", "-m", "work"]);
    assert!(worktrees(&stage, &["merge", name, "--test", "test -f new.txt"]).clean().contains("merged, "));
    assert!(stage.path("work/new.txt").exists());
    std::fs::write(std::path::Path::new(path).join("new.txt"), "later").unwrap();
    worktrees(&stage, &["drop", "nobody"]).says(1, &["there is no worktree `nobody`", name]);
    worktrees(&stage, &["drop", name]).says(1, &["new.txt", "nothing was removed", "--discard"]);
    assert!(std::path::Path::new(path).join("new.txt").exists());
    let dropped = worktrees(&stage, &["drop", name, "--discard"]);
    assert!(dropped.clean().contains("refs/troupe/rescue/"), "{dropped:?}");
    assert!(!std::path::Path::new(path).exists());
    assert_eq!(stage.survivors(), Vec::<u32>::new());
}
