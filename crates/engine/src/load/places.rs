//! Where things lie: the Home, the user's and the project's folders, the organisation's. It says where, and
//! makes nothing but the state folder.
//!
//! The specifications differ on two points. The SDK's puts `projects/` into `$CLAUDE_CONFIG_DIR` or `~/.claude` at all
//! times; here that holds only in a process that an SDK started, else it lies in the Home. The formats' calls
//! one folder `<config>`; here that is two, the Home (written) and the user's lower layer (only read).

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use troupe_core::policy::Destination;
use unicode_normalization::UnicodeNormalization as _;

use super::env::Env;
use super::git::Checkout;
use super::project_key::project_key;
use super::variables as var;

/// The project's folder that troupe writes to.
pub const OURS: &str = ".troupe";
/// The project's folder that is only read.
pub const THEIRS: &str = ".claude";

/// The places of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Home: settings, agents, skills of the person.
    pub home: PathBuf,
    /// Where sessions, teams and tasks are written: the Home, or what stands in for it.
    pub state: PathBuf,
    /// The folder with one folder of transcripts a project.
    pub projects: PathBuf,
    /// The user's lower layer, only read; the same as `home` when the person made them one.
    pub user: Option<PathBuf>,
    /// The ecosystem's file of what it knows about the user, only read.
    pub user_file: Option<PathBuf>,
    /// The organisation's folders, the stronger last.
    pub managed: Vec<PathBuf>,
    /// The working folder, links followed.
    pub cwd: PathBuf,
    /// The git checkout around it.
    pub checkout: Option<Checkout>,
    /// Whether an SDK started this process.
    pub by_sdk: bool,
}

/// A settings file that may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// The file.
    pub path: PathBuf,
    /// For a file of a project: the folder that it must not lead out of.
    pub within: Option<PathBuf>,
}

/// No folder can be written to.
#[derive(Debug, thiserror::Error)]
#[error("write to {} ({source}): set TROUPE_HOME to a folder of yours", folder.display())]
pub struct NoState {
    /// The last one tried.
    folder: PathBuf,
    /// Why it would not do.
    #[source]
    source: io::Error,
}

/// The Home can't be written to, and what stands in for it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} can't be written to ({reason}); sessions go to {}; set TROUPE_HOME to choose the place",
    home.display(), state.display()
)]
pub struct HomeNotice {
    /// The Home.
    pub home: PathBuf,
    /// What stands in for it.
    pub state: PathBuf,
    /// What the system said.
    pub reason: io::Error,
}

impl Places {
    /// Finds the places. Nothing is made, and a folder that is named need not be there.
    pub fn of(env: &Env) -> Self {
        let by_sdk = env.find(&var::CLAUDE_AGENT_SDK_VERSION).is_some();
        let config = env.path(&var::CLAUDE_CONFIG_DIR).map(|path| nfc(&path));
        let ours = env.path(&var::TROUPE_HOME);
        let chosen = if by_sdk { config.clone().or(ours) } else { ours.or_else(|| config.clone()) };
        let home =
            chosen.or_else(|| env.home.as_ref().map(|home| home.join(OURS))).unwrap_or_else(|| stand_in(env));
        let user = config.clone().or_else(|| env.home.as_ref().map(|home| home.join(THEIRS)));
        let user_file = config.as_ref().or(env.home.as_ref()).map(|folder| folder.join(".claude.json"));
        let projects = match &user {
            Some(user) if by_sdk => user.join("projects"),
            _ => home.join("projects"),
        };
        let cwd = env.cwd.canonicalize().unwrap_or_else(|_| env.cwd.clone());
        let checkout = Checkout::around(&cwd);
        let managed = managed_folders();
        Self { state: home.clone(), home, projects, user, user_file, managed, cwd, checkout, by_sdk }
    }

    /// Makes the state folder, or finds another when the Home can't be written to.
    ///
    /// # Errors
    /// [`NoState`] when neither will do.
    pub fn with_state(mut self, env: &Env) -> Result<(Self, Option<HomeNotice>), NoState> {
        let Err(reason) = writable(&self.state).and_then(|()| writable(&self.projects)) else {
            return Ok((self, None));
        };
        let state = stand_in(env);
        private(&state).map_err(|source| NoState { folder: state.clone(), source })?;
        self.projects = state.join("projects");
        self.state.clone_from(&state);
        let notice = HomeNotice { home: self.home.clone(), state, reason };
        Ok((self, Some(notice)))
    }

    /// The user's folders, the stronger last, each once.
    pub fn user_layers(&self) -> Vec<&Path> {
        let lower = self.user.as_deref().filter(|user| *user != self.home);
        lower.into_iter().chain([self.home.as_path()]).collect()
    }

    /// The root of the checkout, or the working folder.
    pub fn project_root(&self) -> &Path {
        self.checkout.as_ref().map_or(&self.cwd, |checkout| &checkout.root)
    }

    /// What trust is given to: the main checkout, so that worktrees share it; the working folder without git.
    pub fn trusted_root(&self) -> &Path {
        self.checkout.as_ref().map_or(&self.cwd, |checkout| &checkout.main)
    }

    /// Where local settings lie: the main checkout, so that worktrees share them; the working folder without git
    /// and for an SDK.
    pub fn local_root(&self) -> &Path {
        match &self.checkout {
            Some(checkout) if !self.by_sdk => &checkout.main,
            _ => &self.cwd,
        }
    }

    /// The folder of this project's transcripts.
    pub fn transcripts(&self) -> PathBuf {
        self.projects.join(project_key(&self.cwd))
    }

    /// The folder of this project's memory; worktrees share it.
    pub fn memory(&self) -> PathBuf {
        let main = self.checkout.as_ref().map_or(&self.cwd, |checkout| &checkout.main);
        self.projects.join(project_key(main)).join("memory")
    }

    /// The settings file that an answer "always" goes to; none for what lasts a session.
    pub fn settings_file(&self, destination: Destination) -> Option<SettingsFile> {
        let in_project = |root: &Path, name: &str| {
            Some(SettingsFile { path: root.join(OURS).join(name), within: Some(root.to_owned()) })
        };
        match destination {
            Destination::Session => None,
            Destination::LocalSettings => in_project(self.local_root(), "settings.local.json"),
            Destination::ProjectSettings => in_project(&self.cwd, "settings.json"),
            Destination::UserSettings => {
                Some(SettingsFile { path: self.home.join("settings.json"), within: None })
            }
        }
    }
}

/// A path from a person: `~` is the home folder, and a relative one starts at `base`.
pub(crate) fn expand(path: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => base.join(path),
    }
}

fn managed_folders() -> Vec<PathBuf> {
    if cfg!(target_os = "macos") {
        let shared = Path::new("/Library/Application Support");
        vec![shared.join("ClaudeCode"), shared.join("Troupe")]
    } else {
        vec!["/etc/claude-code".into(), "/etc/troupe".into()]
    }
}

/// The folder that stands in for a Home that is missing or can't be written to.
fn stand_in(env: &Env) -> PathBuf {
    let temp = env.path(&var::TMPDIR).unwrap_or_else(|| "/tmp".into());
    temp.join(format!("troupe-{}", rustix::process::getuid().as_raw()))
}

fn nfc(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| text.nfc().collect::<String>().into())
}

fn writable(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Makes a folder in a place that others can write to, and makes sure that it is ours alone.
fn private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = fs::symlink_metadata(folder)?;
    let ours = meta.is_dir()
        && meta.uid() == rustix::process::getuid().as_raw()
        && meta.mode().trailing_zeros() >= 6;
    if ours { writable(folder) } else { Err(io::Error::other("it belongs to somebody else")) }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
