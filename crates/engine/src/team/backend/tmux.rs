//! Panes of tmux: beside the lead's, where it runs in one, else in a session of the team's own.
//!
//! Every call names its server, and every pane by its id (`%N`), which tmux gives once: a call never acts on what
//! happens to be in front of somebody (F061).

use std::path::PathBuf;
use std::time::Duration;

use troupe_core::BoxFuture;
use troupe_core::color::Color;
use troupe_core::team::{BackendKind, Owner, PaneAt};

use super::run::run;
use super::{Backend, PaneError, Wanted, process};

/// What tmux prints of a pane that it made.
const FORMAT: &str = "#{pane_id} #{pane_pid} #{window_id} #{session_name}";
/// How much of the window stays the lead's.
const LEADS: &str = "60%";
/// The size of a window that nobody looks at yet.
const SIZE: [&str; 4] = ["-x", "200", "-y", "50"];

/// How often it is looked whether tmux has seen the end of a process, and how far apart.
const LOOKS: u32 = 40;
const LOOK: Duration = Duration::from_millis(25);

/// Where panes are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// Beside a pane of a person's: its server's socket, and its id.
    Beside {
        /// The socket's path.
        socket: String,
        /// `%N`.
        pane: String,
    },
    /// On a server of the team's own, by this name.
    Own(String),
}

/// tmux.
#[derive(Clone, Debug)]
pub struct Tmux {
    program: PathBuf,
    place: Option<Where>,
}

impl Tmux {
    /// Panes are opened there.
    pub fn at(program: PathBuf, place: Where) -> Self {
        Self { program, place: Some(place) }
    }

    /// For panes that are there.
    pub(super) fn any() -> Self {
        Self { program: "tmux".into(), place: None }
    }

    /// A call to one server. A name without a slash is one of the user's sockets.
    async fn call(&self, socket: &str, words: &[&str]) -> Result<String, PaneError> {
        let flag = if socket.contains('/') { "-S" } else { "-L" };
        let escaped: Vec<String> = words.iter().map(|word| argument(word)).collect();
        let mut args = vec![flag, socket];
        args.extend(escaped.iter().map(String::as_str));
        run(&self.program, &args).await
    }

    async fn on(&self, pane: &PaneAt, words: &[&str]) -> Result<String, PaneError> {
        let socket = pane.socket.as_deref().ok_or_else(|| unknown(&pane.id))?;
        self.call(socket, words).await
    }

    async fn open_pane(&self, wanted: &Wanted) -> Result<PaneAt, PaneError> {
        let place =
            self.place.as_ref().ok_or_else(|| PaneError::Unable("no place for panes is known".to_owned()))?;
        let cwd = literal(&wanted.cwd.display().to_string());
        let (socket, beside, made) = match place {
            Where::Beside { socket, pane } => {
                let there = self.call(socket, &["list-panes", "-t", pane, "-F", "#{pane_id}"]).await?;
                let ours = wanted.ours_on(Some(socket));
                let last = ours.iter().rev().find(|one| there.lines().any(|id| id == *one));
                let (target, way) = match last {
                    Some(last) => (last.as_str(), ["-v", "-l", "50%"]),
                    None => (pane.as_str(), ["-h", "-l", "40%"]),
                };
                let words = ["split-window", "-d", way[0], way[1], way[2], "-t", target, "-c", &cwd];
                let made = match self.made(socket, &words, wanted).await {
                    // A window of its own, where this one is full.
                    Err(PaneError::Refused { said, .. }) if said.contains("no space") => {
                        let beside = ["display-message", "-p", "-t", pane, "#{window_id}"];
                        let window = self.call(socket, &beside).await?;
                        let words = ["new-window", "-d", "-a", "-t", &window, "-c", &cwd];
                        self.made(socket, &words, wanted).await?
                    }
                    made => made?,
                };
                (socket, Some(pane.clone()), made)
            }
            Where::Own(socket) => {
                let target = format!("={}:", wanted.team);
                let there = self.call(socket, &["has-session", "-t", &target]).await.is_ok();
                let words = if there {
                    vec!["split-window", "-d", "-t", &target, "-c", &cwd]
                } else {
                    let mut words = vec!["new-session", "-d", "-s", &wanted.team, "-c", &cwd];
                    words.extend(SIZE);
                    words
                };
                (socket, None, self.made(socket, &words, wanted).await?)
            }
        };
        let mut words = made.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (id, pid, window, session) = (word(), word(), word(), word());
        if !id.starts_with('%') {
            return Err(PaneError::Unclear { what: "tmux".to_owned(), said: made });
        }
        let process = pid.parse().ok().and_then(process::owner);
        let pane = PaneAt { id, socket: Some(socket.clone()), session, window, process, beside };
        if let Err(error) = self.dress(&pane, wanted).await {
            tracing::warn!(%error, pane = pane.id, "a pane has not its name and colour");
        }
        if let Err(error) = self.arrange(&pane, &wanted.ours_on(Some(socket))).await {
            tracing::debug!(%error, pane = pane.id, "panes are not arranged");
        }
        Ok(pane)
    }

    async fn made(&self, socket: &str, words: &[&str], wanted: &Wanted) -> Result<String, PaneError> {
        let mut words = words.to_vec();
        words.extend(["-P", "-F", FORMAT, "--"]);
        words.extend(wanted.command.iter().map(String::as_str));
        self.call(socket, &words).await
    }

    /// Gives it its name and colour. What the program in it prints as its title changes none of it.
    async fn dress(&self, pane: &PaneAt, wanted: &Wanted) -> Result<(), PaneError> {
        let title = literal(&format!("{}@{}", wanted.name, wanted.team));
        let color = color(wanted.color);
        let (style, format) = (format!("fg={color}"), format!(" #[fg={color}]{title}#[default] "));
        self.on(pane, &["select-pane", "-t", &pane.id, "-T", &title]).await?;
        for (option, value) in [
            ("pane-border-style", &style),
            ("pane-active-border-style", &style),
            ("pane-border-format", &format),
        ] {
            self.on(pane, &["set-option", "-p", "-t", &pane.id, option, value]).await?;
        }
        self.on(pane, &["set-option", "-w", "-t", &pane.id, "pane-border-status", "top"]).await?;
        Ok(())
    }

    /// The lead's pane wide on the left, members below each other on the right; where a person has panes of their own
    /// in the window, they stay as they are.
    async fn arrange(&self, pane: &PaneAt, ours: &[String]) -> Result<(), PaneError> {
        let Some(lead) = &pane.beside else {
            self.on(pane, &["select-layout", "-t", &pane.id, "tiled"]).await?;
            return Ok(());
        };
        let there = self.on(pane, &["list-panes", "-t", lead, "-F", "#{pane_id}"]).await?;
        let mut ids = there.lines();
        let lead_first = ids.next() == Some(lead);
        if lead_first && ids.all(|id| id == pane.id || ours.iter().any(|one| one == id)) {
            self.on(pane, &["select-layout", "-t", lead, "main-vertical"]).await?;
            self.on(pane, &["resize-pane", "-t", lead, "-x", LEADS]).await?;
        }
        Ok(())
    }

    /// What a pane was opened with, by its number, and whether that has ended; none where there is no such pane.
    async fn runs(&self, pane: &PaneAt) -> Option<(u32, bool)> {
        let format = "#{pane_pid} #{pane_dead}";
        let said = self.on(pane, &["display-message", "-p", "-t", &pane.id, format]).await.ok()?;
        let (pid, is_dead) = said.split_once(' ')?;
        Some((pid.parse().ok()?, is_dead == "1"))
    }

    /// Makes sure that a pane is the member's: ids and process numbers are given again.
    async fn is_the_members(&self, pane: &PaneAt) -> Result<(), PaneError> {
        let runs = self.runs(pane).await.map(|(pid, _)| pid);
        let is_it = pane.process.as_ref().filter(|owner| runs == Some(owner.pid) && process::is_alive(owner));
        is_it.map(drop).ok_or_else(|| unknown(&pane.id))
    }

    async fn close_pane(&self, pane: &PaneAt, of: Option<&Owner>) -> Result<(), PaneError> {
        let Some(owner) = of else { return Ok(()) };
        // With its process most panes are gone. One that stays (`remain-on-exit`) still has that one's number.
        for _ in 0..LOOKS {
            let Some((pid, is_dead)) = self.runs(pane).await else { return Ok(()) };
            let now = process::owner(pid);
            if pid != owner.pid || (!is_dead && now.as_ref().is_some_and(|now| now != owner)) {
                return Ok(());
            }
            if is_dead || now.is_some() {
                return match self.on(pane, &["kill-pane", "-t", &pane.id]).await {
                    Err(error) if self.runs(pane).await.is_some_and(|(now, _)| now == pid) => Err(error),
                    _ => Ok(()),
                };
            }
            // It has just ended, and tmux has not seen that yet.
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    async fn hide_pane(&self, pane: &PaneAt) -> Result<(), PaneError> {
        self.is_the_members(pane).await?;
        let alone = self.on(pane, &["display-message", "-p", "-t", &pane.id, "#{window_panes}"]).await?;
        if alone == "1" {
            return Ok(());
        }
        self.on(pane, &["break-pane", "-d", "-s", &pane.id, "-n", "hidden"]).await.map(drop)
    }

    async fn show_pane(&self, pane: &PaneAt, others: &[String]) -> Result<(), PaneError> {
        self.is_the_members(pane).await?;
        let mut fault = unknown(&pane.id);
        for target in pane.beside.iter().chain(others).filter(|target| **target != pane.id) {
            match self.on(pane, &["join-pane", "-d", "-h", "-s", &pane.id, "-t", target]).await {
                Ok(_) => {
                    if let Err(error) = self.arrange(pane, others).await {
                        tracing::debug!(%error, pane = pane.id, "panes are not arranged");
                    }
                    return Ok(());
                }
                Err(error) => fault = error,
            }
        }
        // With nothing to stand beside it has its window to itself, which is a sight of it.
        if pane.beside.is_none() { Ok(()) } else { Err(fault) }
    }
}

impl Backend for Tmux {
    fn kind(&self) -> BackendKind {
        BackendKind::Tmux
    }

    fn open<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<PaneAt, PaneError>> {
        Box::pin(self.open_pane(wanted))
    }

    fn how_to_see(&self, pane: &PaneAt) -> Option<String> {
        let socket = pane.socket.as_deref().filter(|_| pane.beside.is_none())?;
        Some(format!("tmux -L {socket} attach -t {}", pane.session))
    }

    fn hide<'a>(&'a self, pane: &'a PaneAt) -> BoxFuture<'a, Result<(), PaneError>> {
        Box::pin(self.hide_pane(pane))
    }

    fn show<'a>(&'a self, pane: &'a PaneAt, others: &'a [String]) -> BoxFuture<'a, Result<(), PaneError>> {
        Box::pin(self.show_pane(pane, others))
    }

    fn close<'a>(&'a self, pane: &'a PaneAt, of: Option<&'a Owner>) -> BoxFuture<'a, Result<(), PaneError>> {
        Box::pin(self.close_pane(pane, of))
    }
}

fn unknown(id: &str) -> PaneError {
    PaneError::Unable(format!("the pane {id} is not there any more"))
}

/// A word as tmux takes it for one: a `;` at its end would begin another command.
fn argument(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(rest) => format!("{rest}\\;"),
        None => word.to_owned(),
    }
}

/// A text in which tmux fills in nothing: `#(…)` would be run.
fn literal(text: &str) -> String {
    text.replace('#', "##")
}

fn color(color: Color) -> &'static str {
    match color {
        Color::Orange => "colour208",
        Color::Pink => "colour213",
        Color::Purple => "magenta",
        other => other.as_str(),
    }
}
