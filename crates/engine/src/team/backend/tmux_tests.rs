//! Panes in a real tmux.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use troupe_core::color::Color;
use troupe_core::team::{Owner, PaneAt};

use super::tmux::Where;
use super::{Backend, Tmux, Wanted, end, process};
use crate::journal::Watch;

/// A server of this test's own, with a person's session of one pane on it; gone with the test.
struct Server {
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let server = Self { folder: tempfile::tempdir().unwrap() };
        server.say(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "work",
            "-x",
            "160",
            "-y",
            "40",
            "sleep 600",
        ]);
        server
    }

    fn socket(&self) -> String {
        self.folder.path().join("s").display().to_string()
    }

    fn say(&self, words: &[&str]) -> String {
        let said = Command::new("tmux").arg("-S").arg(self.socket()).args(words).output().unwrap();
        assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8_lossy(&said.stdout).trim_end().to_owned()
    }

    fn panes(&self) -> Vec<String> {
        self.say(&["list-panes", "-a", "-F", "#{pane_id}"]).lines().map(str::to_owned).collect()
    }

    fn of(&self, pane: &str, what: &str) -> String {
        self.say(&["display-message", "-p", "-t", pane, what])
    }

    fn tmux(&self) -> Tmux {
        Tmux::at("tmux".into(), Where::Beside { socket: self.socket(), pane: "%0".into() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(self.socket()).arg("kill-server").output();
    }
}

fn wanted(command: &[&str], cwd: &Path, ours: &[&PaneAt]) -> Wanted {
    Wanted {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        cwd: cwd.to_owned(),
        name: "ann".into(),
        team: "blue".into(),
        color: Color::Green,
        ours: ours.iter().map(|pane| (*pane).clone()).collect(),
    }
}

async fn file(path: &PathBuf) -> String {
    let watch = Watch::default();
    let mut written = watch.follow(path);
    let read = async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => written.changed().await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read).await.unwrap()
}

// proves: T4, T10
#[tokio::test]
async fn a_members_pane_stands_beside_the_leads_with_its_name_and_nothing_of_its_words_is_run() {
    let server = Server::start();
    // Folder and words that tmux or a shell would act on.
    let folder = server.folder.path().join("a #(touch ran) 'b';");
    std::fs::create_dir(&folder).unwrap();
    let out = server.folder.path().join("out");
    let script = r#"{ pwd; printf '[%s]' "$@"; echo; } > "$0".part; mv "$0".part "$0"; exec sleep 600"#;
    let out_name = out.display().to_string();
    let command =
        ["/bin/sh", "-c", script, &out_name, "it's", "$(touch ran)", "two words;", ";", "#{pane_id}"];
    let first = server.tmux().open(&wanted(&command, &folder, &[])).await.unwrap();
    let said = file(&out).await;
    assert_eq!(said, format!("{}\n[it's][$(touch ran)][two words;][;][#{{pane_id}}]\n", folder.display()));
    assert!(!folder.join("ran").exists());
    let second = server.tmux().open(&wanted(&["sleep", "600"], &folder, &[&first])).await.unwrap();
    assert_eq!(server.panes(), ["%0", &first.id, &second.id]);
    // The lead's is wide and in front, the others stand below each other.
    let width = |pane: &str| server.of(pane, "#{pane_width}").parse::<u32>().unwrap();
    assert!((90..=100).contains(&width("%0")), "{}", width("%0"));
    assert_eq!(width(&first.id), width(&second.id));
    assert_eq!(server.say(&["display-message", "-p", "#{pane_id}"]), "%0");
    assert_eq!(server.of(&first.id, "#{pane_title}"), "ann@blue");
    assert_eq!(server.say(&["show-options", "-p", "-v", "-t", &first.id, "pane-border-style"]), "fg=green");
    assert_eq!((first.session.as_str(), first.beside.as_deref()), ("work", Some("%0")));
}

// proves: T9, F061
#[tokio::test]
async fn where_a_window_is_full_the_next_pane_has_its_own_and_a_failure_leaves_all_as_it_was() {
    let server = Server::start();
    server.say(&["resize-window", "-t", "%0", "-x", "40", "-y", "5"]);
    let tmux = server.tmux();
    let mut panes: Vec<PaneAt> = Vec::new();
    for _ in 0..4 {
        let ours: Vec<&PaneAt> = panes.iter().collect();
        let pane = tmux.open(&wanted(&["sleep", "600"], "/".as_ref(), &ours)).await.unwrap();
        panes.push(pane);
    }
    let lead = server.of("%0", "#{window_id}");
    assert_eq!(panes[0].window, lead);
    assert_ne!(panes[3].window, lead);
    let gone = Tmux::at("tmux".into(), Where::Beside { socket: server.socket(), pane: "%99".into() });
    assert!(gone.open(&wanted(&["sleep", "600"], "/".as_ref(), &[])).await.is_err());
    assert_eq!(server.panes().len(), 5);
    assert_eq!(server.say(&["display-message", "-p", "#{pane_id}"]), "%0");
}

// proves: T10
#[tokio::test]
async fn a_hidden_pane_goes_on_and_comes_back() {
    let server = Server::start();
    let tmux = server.tmux();
    let first = tmux.open(&wanted(&["sleep", "600"], "/".as_ref(), &[])).await.unwrap();
    tmux.hide(&first).await.unwrap();
    assert_eq!(server.of("%0", "#{window_panes}"), "1");
    assert!(process::is_alive(first.process.as_ref().unwrap()));
    // Another process has nothing but what stands in the membership.
    Tmux::any().show(&first, &[]).await.unwrap();
    assert_eq!(server.of(&first.id, "#{window_id}"), server.of("%0", "#{window_id}"));
}

// proves: X17, F061
#[tokio::test]
async fn a_pane_whose_id_and_number_were_given_again_is_neither_closed_nor_moved() {
    let server = Server::start();
    let tmux = server.tmux();
    let pane = tmux.open(&wanted(&["sleep", "600"], "/".as_ref(), &[])).await.unwrap();
    let now = pane.process.clone().unwrap();
    let earlier = Owner { start: now.start + 1, ..now.clone() };
    let another = PaneAt { process: Some(earlier), ..pane.clone() };
    end(&tmux, &another, None).await.unwrap();
    assert!(tmux.hide(&another).await.is_err() && tmux.show(&another, &["%0".to_owned()]).await.is_err());
    assert_eq!(server.panes(), ["%0", &pane.id]);
    assert_eq!(server.of("%0", "#{window_panes}"), "2");
    assert!(process::is_alive(&now));
}

// proves: X17
#[tokio::test]
async fn an_end_takes_the_process_that_ignores_it_and_its_tree_and_leaves_what_a_person_opened() {
    let server = Server::start();
    let tmux = server.tmux();
    let out = server.folder.path().join("pid");
    let script = "trap '' TERM HUP; sleep 600 & echo $! > \"$0\".part; mv \"$0\".part \"$0\"; wait; wait";
    let command = ["/bin/sh", "-c", script, &out.display().to_string()];
    let pane = tmux.open(&wanted(&command, "/".as_ref(), &[])).await.unwrap();
    let child = process::owner(file(&out).await.trim().parse().unwrap()).unwrap();
    server.say(&["split-window", "-d", "-t", "%0", "sleep 600"]);
    server.say(&["set-option", "-g", "remain-on-exit", "on"]);
    end(&tmux, &pane, None).await.unwrap();
    assert!(!process::is_alive(pane.process.as_ref().unwrap()));
    assert!(!process::is_alive(&child));
    assert_eq!(server.panes(), ["%0", "%2"]);
    // The id means another's pane by now: nothing is closed there.
    let other = PaneAt { id: "%2".into(), ..pane };
    end(&tmux, &other, None).await.unwrap();
    assert_eq!(server.panes(), ["%0", "%2"]);
}

// proves: T4
#[tokio::test]
async fn outside_of_tmux_the_team_has_a_server_of_its_own() {
    let name = format!("troupe-test-{}", std::process::id());
    let tmux = Tmux::at("tmux".into(), Where::Own(name.clone()));
    let first = tmux.open(&wanted(&["sleep", "600"], "/".as_ref(), &[])).await.unwrap();
    let second = tmux.open(&wanted(&["sleep", "600"], "/".as_ref(), &[&first])).await.unwrap();
    assert_eq!((first.session.as_str(), &first.window), ("blue", &second.window));
    assert_eq!(tmux.how_to_see(&first), Some(format!("tmux -L {name} attach -t blue")));
    for pane in [&first, &second] {
        end(&tmux, pane, None).await.unwrap();
    }
    let there = Command::new("tmux").args(["-L", &name, "list-sessions"]).output().unwrap();
    assert!(!there.status.success(), "the server goes with its last pane");
}
