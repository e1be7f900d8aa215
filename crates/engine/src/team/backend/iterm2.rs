//! Panes of iTerm2, through its command-line tool `it2`. It types a line into the new pane's shell; which process that
//! became, the member says itself.

use std::path::PathBuf;

use troupe_core::BoxFuture;
use troupe_core::team::{BackendKind, Owner, PaneAt};

use super::run::run;
use super::{Backend, PaneError, Wanted};

/// What stands before the id of a new pane.
const CREATED: &str = "Created new pane:";

/// iTerm2.
#[derive(Clone, Debug)]
pub struct Iterm2 {
    program: PathBuf,
    beside: Option<String>,
}

impl Iterm2 {
    /// Panes are opened beside this session of iTerm2's.
    pub fn beside(program: PathBuf, session: Option<String>) -> Self {
        Self { program, beside: session }
    }

    /// For panes that are there.
    pub(super) fn any() -> Self {
        Self::beside("it2".into(), None)
    }

    /// Whether the tool answers.
    pub(super) async fn answers(&self) -> bool {
        run(&self.program, &["session", "list"]).await.is_ok()
    }

    async fn open_pane(&self, wanted: &Wanted) -> Result<PaneAt, PaneError> {
        let line = typed(&wanted.command)?;
        let ours = wanted.ours_on(None);
        let last = ours.last().or(self.beside.as_ref());
        let mut words = vec!["session", "split"];
        if ours.is_empty() {
            words.push("-v");
        }
        if let Some(target) = last {
            words.extend(["-s", target]);
        }
        let said = run(&self.program, &words).await?;
        let id = said.lines().find_map(|line| Some(line.split_once(CREATED)?.1.trim().to_owned()));
        let id = id
            .filter(|id| !id.is_empty())
            .ok_or_else(|| PaneError::Unclear { what: "it2 session split".to_owned(), said: said.clone() })?;
        let pane = PaneAt { id, beside: self.beside.clone(), ..PaneAt::default() };
        if let Err(error) = run(&self.program, &["session", "run", "-s", &pane.id, &line]).await {
            // Nothing runs in it yet but the shell that it was opened with.
            let _ = run(&self.program, &["session", "close", "-f", "-s", &pane.id]).await;
            return Err(error);
        }
        Ok(pane)
    }

    fn unable() -> PaneError {
        PaneError::Unable("panes of iTerm2 can't be hidden".to_owned())
    }
}

/// The command as a line for a shell that ends with it.
fn typed(command: &[String]) -> Result<String, PaneError> {
    if command.iter().any(|word| word.contains(char::is_control)) {
        return Err(PaneError::Unable("a command with control characters can't be typed".to_owned()));
    }
    let words: Vec<String> =
        command.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    Ok(format!("exec {}", words.join(" ")))
}

impl Backend for Iterm2 {
    fn kind(&self) -> BackendKind {
        BackendKind::Iterm2
    }

    fn open<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<PaneAt, PaneError>> {
        Box::pin(self.open_pane(wanted))
    }

    fn how_to_see(&self, _: &PaneAt) -> Option<String> {
        None
    }

    fn hide<'a>(&'a self, _: &'a PaneAt) -> BoxFuture<'a, Result<(), PaneError>> {
        Box::pin(async { Err(Self::unable()) })
    }

    fn show<'a>(&'a self, _: &'a PaneAt, _: &'a [String]) -> BoxFuture<'a, Result<(), PaneError>> {
        Box::pin(async { Err(Self::unable()) })
    }

    fn close<'a>(&'a self, pane: &'a PaneAt, _: Option<&'a Owner>) -> BoxFuture<'a, Result<(), PaneError>> {
        Box::pin(async {
            // The shell became the member, so as a rule the pane went with it. Its id is never given again.
            match run(&self.program, &["session", "close", "-f", "-s", &pane.id]).await {
                Ok(_) | Err(PaneError::Refused { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A tool that writes down what it was called with, and makes the pane `P-1`.
    fn tool(folder: &std::path::Path, run: &str) -> PathBuf {
        let (tool, log) = (folder.join("it2"), folder.join("log"));
        let script = format!(
            "#!/bin/sh\nfor word in \"$@\"; do printf '[%s]' \"$word\" >> '{0}'; done; echo >> '{0}'\ncase \"$2\" in split) echo 'Created new pane: P-1';; run) {run};; esac\n",
            log.display()
        );
        std::fs::write(&tool, script).unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        tool
    }

    fn wanted() -> Wanted {
        Wanted {
            command: vec!["/bin/a b".into(), "it's;".into()],
            cwd: "/".into(),
            name: "ann".into(),
            team: "blue".into(),
            color: troupe_core::color::Color::Red,
            ours: Vec::new(),
        }
    }

    // proves: T4
    #[tokio::test]
    async fn a_pane_is_split_from_the_leads_and_typed_into() {
        let folder = tempfile::tempdir().unwrap();
        let backend = Iterm2::beside(tool(folder.path(), ":"), Some("LEAD".into()));
        assert!(backend.answers().await);
        let pane = backend.open(&wanted()).await.unwrap();
        assert_eq!(pane.id, "P-1");
        backend.close(&pane, None).await.unwrap();
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        let wanted = r"[session][list]
[session][split][-v][-s][LEAD]
[session][run][-s][P-1][exec '/bin/a b' 'it'\''s;']
[session][close][-f][-s][P-1]
";
        assert_eq!(log, wanted);
    }

    // proves: T9
    #[tokio::test]
    async fn a_pane_in_which_nothing_can_be_started_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let backend = Iterm2::beside(tool(folder.path(), "exit 1"), None);
        assert!(matches!(backend.open(&wanted()).await, Err(PaneError::Refused { .. })));
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        assert!(log.ends_with("[session][close][-f][-s][P-1]\n"), "{log}");
    }
}
