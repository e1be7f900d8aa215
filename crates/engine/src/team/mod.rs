//! Teams on disk, shared by processes: who is in one ([`members`]), what waits for each ([`mailbox`]), what is to be done ([`board`]). Rules and
//! shapes are in `troupe_core::team`; see `docs/design/teams.md`.

pub mod alive;
pub mod backend;
pub mod board;
mod damage;
pub mod end_member;
pub(crate) mod fold;
pub mod mailbox;
pub mod members;
pub mod orphans;
pub mod pane;
pub mod process;
pub mod reader;
mod removal;
pub mod standing;
pub mod telling;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use troupe_core::ports::journal::{Journal, JournalError, Key};
use troupe_core::team::slug;

use crate::journal::{FileJournal, Follow, Locking, Watch};
use board::TaskList;
use mailbox::{ArrayMail, JournalMail, Mailbox};
use members::Membership;
pub(crate) use removal::Kept;

/// How long an append waits for the lock of a file.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Most characters of a task list's name.
const LONGEST: usize = 64;

/// Why something of a team was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// No such team.
    #[error("there is no team `{name}`; there are: {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No such member.
    #[error("there is no `{name}` in the team {team}; there are: {}", .known.join(", "))]
    NoMember {
        /// What was asked for.
        name: String,
        /// Where.
        team: String,
        /// Who there is.
        known: Vec<String>,
    },
    /// Another process runs the member.
    #[error("{name} of the team {team} runs already, in the process {pid}: troupe team shows it")]
    Runs {
        /// The member.
        name: String,
        /// Its team.
        team: String,
        /// The process; 0 where it is not known.
        pid: u32,
    },
    /// The member goes with its lead's session, which rebuilds it.
    #[error(
        "{name} of the team {team} runs in its lead's process and goes on with that session: troupe --resume={session}; or \
         give another name, to join the team beside it"
    )]
    WithLead {
        /// The member.
        name: String,
        /// Its team.
        team: String,
        /// The lead's session.
        session: String,
    },
    /// A name without a letter or digit.
    #[error("`{0}` is no name: it needs a letter or a digit")]
    Name(String),
    /// A journal did not do what was asked.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Others changed it each time that we tried.
    #[error("{what} was changed by others each time; try again")]
    Contended {
        /// What.
        what: String,
    },
    /// The system refused.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Another process reads this mailbox.
    #[error("the mailbox of {name} is read by process {holder}")]
    Held {
        /// Whose.
        name: String,
        /// The process, or `?`.
        holder: String,
    },
}

impl TeamError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// The teams below a Home.
#[derive(Clone)]
pub struct Teams {
    home: PathBuf,
    journal: Arc<dyn Journal>,
    watch: Watch,
}

/// One team: its parts, each by what keeps it.
#[derive(Clone)]
pub struct TeamPlace {
    /// The name of its folder.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Who is in it.
    pub members: Arc<Membership>,
    journal: Arc<dyn Journal>,
    watch: Watch,
}

impl Teams {
    /// The teams below `home`, the folder that holds `projects/`.
    pub fn new(home: PathBuf) -> Self {
        let journal = Arc::new(FileJournal::new(home.clone(), Locking::Shared(LOCK_WAIT)));
        Self::on(home, journal)
    }

    /// The same on another journal. What reads and follows goes to files, so it is one that keeps its records in
    /// the files of [`FileJournal`], and lets others write them.
    pub fn on(home: PathBuf, journal: Arc<dyn Journal>) -> Self {
        Self { home, journal, watch: Watch::default() }
    }

    /// The journals that they stand on.
    pub fn journal(&self) -> Arc<dyn Journal> {
        self.journal.clone()
    }

    /// The watches on their files.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// The names of all teams on disk, sorted.
    ///
    /// # Errors
    /// When the folder can't be read; one that is missing holds none.
    pub fn names(&self) -> Result<Vec<String>, TeamError> {
        self.folders("teams")
    }

    /// The names that no new team may have: those of teams, and of task lists that are there without one, which
    /// would end with it.
    ///
    /// # Errors
    /// As [`Self::names`].
    pub fn taken(&self) -> Result<Vec<String>, TeamError> {
        let mut taken = self.names()?;
        taken.extend(self.folders("tasks")?);
        Ok(taken)
    }

    fn folders(&self, below: &str) -> Result<Vec<String>, TeamError> {
        let folder = self.home.join(below);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(TeamError::io("read", &folder)(error)),
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| slug(name) == *name)
            .collect();
        names.sort();
        Ok(names)
    }

    /// The place of a team of this name, whether or not there is one.
    ///
    /// # Errors
    /// [`TeamError::Name`].
    pub fn place(&self, name: &str) -> Result<TeamPlace, TeamError> {
        let slug = slug(name);
        let wrong = || TeamError::Name(name.to_owned());
        if slug.is_empty() {
            return Err(wrong());
        }
        let folder = self.home.join("teams").join(&slug);
        let key = Key::new(format!("teams/{slug}/members")).ok_or_else(wrong)?;
        let members = Membership::new(self.journal.clone(), key, folder.join("config.json"));
        let members = Arc::new(members);
        let (journal, watch) = (self.journal.clone(), self.watch.clone());
        Ok(TeamPlace { name: slug, folder, members, journal, watch })
    }

    /// The task list of this name: a team's, a session's, or one that several share by it. Letters, digits, `-` and `_`
    /// of the name are kept, so that other programs find the same folder.
    ///
    /// # Errors
    /// [`TeamError::Name`].
    pub fn tasks(&self, name: &str) -> Result<TaskList, TeamError> {
        let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
        let folder: String = name.trim().chars().map(plain).take(LONGEST).collect();
        let key =
            Key::new(format!("tasks/{folder}/board")).filter(|_| folder.contains(char::is_alphanumeric));
        let key = key.ok_or_else(|| TeamError::Name(name.to_owned()))?;
        let path = self.home.join("tasks").join(&folder);
        Ok(TaskList::new(self.journal.clone(), key, folder, path))
    }

    /// A team that exists.
    ///
    /// # Errors
    /// [`TeamError::Unknown`] with the names that exist.
    pub async fn find(&self, name: &str) -> Result<TeamPlace, TeamError> {
        let place = self.place(name)?;
        if place.members.load().await?.is_some() {
            return Ok(place);
        }
        Err(TeamError::Unknown { name: name.to_owned(), known: self.names()? })
    }
}

impl TeamPlace {
    /// The mailboxes of the team, in the format that it was made with.
    pub fn mail(&self, array: bool) -> Arc<dyn Mailbox> {
        let inboxes = self.folder.join("inboxes");
        if array {
            return Arc::new(ArrayMail::new(inboxes, self.watch.clone()));
        }
        let prefix = format!("teams/{}/inboxes", self.name);
        Arc::new(JournalMail::new(self.journal.clone(), prefix, inboxes, self.watch.clone()))
    }

    /// Waits for changes of the membership.
    pub fn follow(&self) -> Follow {
        self.watch.follow(&self.folder.join("members.jsonl"))
    }

    /// Waits for moves on the team's task list.
    pub fn follow_tasks(&self) -> Follow {
        let home = self.folder.parent().and_then(Path::parent).unwrap_or(&self.folder);
        self.watch.follow(&home.join("tasks").join(&self.name).join("board.jsonl"))
    }

    /// The member that a message to `name` is for. There is no mailbox for anybody else (F047).
    ///
    /// # Errors
    /// [`TeamError::NoMember`] with the names that exist; [`TeamError::Unknown`] where there is no such team.
    pub async fn recipient(&self, name: &str) -> Result<String, TeamError> {
        let Some(team) = self.members.load().await? else {
            return Err(TeamError::Unknown { name: self.name.clone(), known: Vec::new() });
        };
        let member = team.member(name).filter(|_| !name.is_empty()).map(|member| member.name.clone());
        member.ok_or_else(|| TeamError::NoMember {
            name: name.to_owned(),
            team: self.name.clone(),
            known: team.names(),
        })
    }
}
