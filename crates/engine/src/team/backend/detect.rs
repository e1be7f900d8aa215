//! Which back end members get (T4): what is asked for; else, where it is to be found out, the terminal that the lead
//! runs in.

use std::path::PathBuf;

use super::tmux::Where;
use super::{Backend, Iterm2, PaneError, Tmux};
use crate::load::Env;
use crate::load::variables as var;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TeammateMode {
    /// What the lead's terminal offers.
    Auto,
    /// Tasks of the lead's process.
    #[default]
    InProcess,
    /// Panes of tmux.
    Tmux,
    /// Panes of iTerm2.
    Iterm2,
}

impl TeammateMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::InProcess, Self::Tmux, Self::Iterm2];

    /// As flags and settings have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::InProcess => "in-process",
            Self::Tmux => "tmux",
            Self::Iterm2 => "iterm2",
        }
    }

    /// The one of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

/// The terminal that the lead runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// tmux: the server's socket and the lead's pane.
    pub tmux: Option<(String, String)>,
    /// iTerm2: the lead's session there; empty where it is iTerm2 and says no more.
    pub iterm: Option<String>,
    /// The program of each.
    pub programs: (PathBuf, PathBuf),
}

impl Default for Terminal {
    fn default() -> Self {
        Self { tmux: None, iterm: None, programs: ("tmux".into(), "it2".into()) }
    }
}

impl Terminal {
    /// What the environment says.
    pub fn of(env: &Env) -> Self {
        // `socket,process,session`; a path may have commas in it.
        let socket = env.text(&var::TMUX).and_then(|said| said.rsplitn(3, ',').nth(2));
        let pane = env.text(&var::TMUX_PANE).filter(|pane| pane.starts_with('%'));
        let is_iterm = env.text(&var::TERM_PROGRAM) == Some("iTerm.app");
        let session = env.text(&var::ITERM_SESSION_ID);
        let iterm = session.map(|id| id.split_once(':').map_or(id, |(_, id)| id).to_owned());
        Self {
            tmux: socket.zip(pane).map(|(socket, pane)| (socket.to_owned(), pane.to_owned())),
            iterm: iterm.or_else(|| is_iterm.then(String::new)),
            ..Self::default()
        }
    }
}

/// The back end for a team's members; none is this process.
///
/// # Errors
/// When what is asked for is not to be had.
pub async fn choose(
    mode: TeammateMode,
    terminal: &Terminal,
    own_socket: &str,
) -> Result<Option<Box<dyn Backend>>, PaneError> {
    let tmux = |place| Some(Box::new(Tmux::at(terminal.programs.0.clone(), place)) as Box<dyn Backend>);
    let beside = terminal
        .tmux
        .as_ref()
        .map(|(socket, pane)| Where::Beside { socket: socket.clone(), pane: pane.clone() });
    let iterm2 = || {
        let session = terminal.iterm.clone().filter(|session| !session.is_empty());
        Iterm2::beside(terminal.programs.1.clone(), session)
    };
    Ok(match mode {
        TeammateMode::InProcess => None,
        TeammateMode::Tmux => tmux(beside.unwrap_or_else(|| Where::Own(own_socket.to_owned()))),
        TeammateMode::Iterm2 => {
            let iterm2 = iterm2();
            if !iterm2.answers().await {
                return Err(PaneError::Unable(
                    "it2, the command-line tool of iTerm2, does not answer".into(),
                ));
            }
            Some(Box::new(iterm2))
        }
        TeammateMode::Auto => match beside {
            Some(place) => tmux(place),
            None if terminal.iterm.is_some() => {
                let iterm2 = iterm2();
                if iterm2.answers().await { Some(Box::new(iterm2)) } else { None }
            }
            None => None,
        },
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use troupe_core::team::BackendKind;

    use super::*;

    fn terminal(vars: &[(&str, &str)]) -> Terminal {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let env = Env { vars, cwd: "/w".into(), home: None };
        // A tool that answers, and one that doesn't, without either program.
        Terminal { programs: ("/bin/true".into(), "/bin/true".into()), ..Terminal::of(&env) }
    }

    async fn kind(mode: TeammateMode, terminal: &Terminal) -> Option<BackendKind> {
        choose(mode, terminal, "own").await.unwrap().map(|backend| backend.kind())
    }

    // proves: T4
    #[tokio::test]
    async fn tmux_goes_before_iterm2_and_that_before_this_process() {
        let tmux = [("TMUX", "/tmp/a,b/default,12,3"), ("TMUX_PANE", "%4")];
        let iterm = [("TERM_PROGRAM", "iTerm.app"), ("ITERM_SESSION_ID", "w0t0p0:AB")];
        let both = terminal(&[tmux, iterm].concat());
        assert_eq!(both.tmux, Some(("/tmp/a,b/default".into(), "%4".into())));
        assert_eq!(both.iterm.as_deref(), Some("AB"));
        assert_eq!(kind(TeammateMode::Auto, &both).await, Some(BackendKind::Tmux));
        let iterm = terminal(&iterm);
        assert_eq!(kind(TeammateMode::Auto, &iterm).await, Some(BackendKind::Iterm2));
        let dumb = Terminal { programs: ("/bin/true".into(), "/bin/false".into()), ..iterm };
        assert_eq!(kind(TeammateMode::Auto, &dumb).await, None);
        assert!(choose(TeammateMode::Iterm2, &dumb, "own").await.is_err());
        let plain = terminal(&[]);
        assert_eq!(kind(TeammateMode::Auto, &plain).await, None);
        assert_eq!(kind(TeammateMode::Tmux, &plain).await, Some(BackendKind::Tmux));
        assert_eq!(kind(TeammateMode::InProcess, &both).await, None);
    }
}
