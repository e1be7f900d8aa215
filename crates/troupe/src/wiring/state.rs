//! Where a session's files go. A Home that can't be written to stops no work: another folder takes its place,
//! else memory does, and the person is told which and why.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tempfile::TempDir;
use troupe_core::ports::journal::Journal;
use troupe_engine::journal::{FileJournal, Locking, MemoryJournal};
use troupe_engine::load::project_key::project_key;
use troupe_engine::load::variables::{TMPDIR, XDG_RUNTIME_DIR};
use troupe_engine::load::{Env, Places};

/// Where a session's files go.
pub(crate) struct State {
    /// The folder that holds `projects/`.
    pub(crate) root: PathBuf,
    /// The project's slug.
    pub(crate) project: String,
    /// Transcripts and inboxes.
    pub(crate) journal: Arc<dyn Journal>,
    /// Whether anything is left when the process ends.
    pub(crate) lasts: bool,
    /// What must not outlive the run: output of commands of a session that is kept from disk.
    pub(crate) scratch: Option<TempDir>,
}

impl State {
    /// State in the files below a folder.
    pub(crate) fn in_files(root: PathBuf, cwd: &Path) -> Self {
        let journal = Arc::new(FileJournal::new(root.clone(), Locking::Leased));
        Self { root, project: project_key(cwd), journal, lasts: true, scratch: None }
    }

    fn in_memory(root: PathBuf, cwd: &Path) -> Self {
        let journal = Arc::new(MemoryJournal::default());
        Self { root, project: project_key(cwd), journal, lasts: false, scratch: None }
    }
}

/// The folder that sessions and teams lie below.
pub(crate) fn home_of_teams(places: &Places) -> &Path {
    places.projects.parent().unwrap_or(&places.state)
}

/// Finds the place, and what the person is to be told of it.
pub(super) fn find(places: Places, env: &Env, persist: bool) -> (Places, State, Option<String>) {
    let cwd = places.cwd.clone();
    let home = places.projects.parent().unwrap_or(&places.state).to_owned();
    if !persist {
        // Output of commands is still kept in files, for as long as the run lasts.
        let scratch = temporary(env).ok();
        let root = scratch.as_ref().map_or(home, |folder| folder.path().to_owned());
        return (places, State { scratch, ..State::in_memory(root, &cwd) }, None);
    }
    let (places, notice) = match places.clone().with_state(env) {
        Ok((places, notice)) => (places, notice.map(|notice| notice.to_string())),
        Err(error) => {
            let told = format!("failed to {error}; this session is kept in memory alone");
            return (places, State::in_memory(home, &cwd), Some(told));
        }
    };
    let root = home_of_teams(&places).to_owned();
    let Err(error) = probe(&places.projects) else {
        return (places, State::in_files(root, &cwd), notice);
    };
    let refused = match notice {
        Some(notice) => format!("{notice}, and that can't be written to either ({})", reason(&error, &root)),
        None => format!("{} can't be written to ({})", root.display(), reason(&error, &root)),
    };
    let place = temporary(env).and_then(|folder| probe(folder.path()).map(|()| folder));
    if let Ok(folder) = place {
        let folder = folder.keep();
        let told = format!(
            "{refused}; this session goes to {}; set TROUPE_HOME to choose the place",
            folder.display()
        );
        return (places, State::in_files(folder, &cwd), Some(told));
    }
    let told = format!(
        "{refused}, nor can the folder for temporary files; this session is kept in memory alone; set TROUPE_HOME to \
         choose a place"
    );
    (places, State::in_memory(root, &cwd), Some(told))
}

/// Where sockets go whose path would be too long in the Home.
pub(super) fn sockets(env: &Env) -> Vec<PathBuf> {
    let runtime = env.path(&XDG_RUNTIME_DIR).map(|folder| folder.join("troupe"));
    let temp = PathBuf::from(format!("/tmp/troupe-{}", rustix::process::geteuid().as_raw()));
    runtime.into_iter().chain([temp]).collect()
}

/// Makes the folder, and writes a page into a file without a name there: being allowed to is not enough on a full
/// disk.
fn probe(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&[0; 4096])
}

/// A new folder of ours alone, with a name that nobody can know beforehand.
pub(super) fn temporary(env: &Env) -> io::Result<TempDir> {
    let temp = env.path(&TMPDIR).unwrap_or_else(|| "/tmp".into());
    tempfile::Builder::new().prefix("troupe-").tempdir_in(temp)
}

fn reason(error: &io::Error, folder: &Path) -> String {
    let full = error.raw_os_error() == Some(Errno::NOSPC.raw_os_error());
    match rustix::fs::statvfs(folder).ok().filter(|_| full) {
        Some(stat) => format!("{error}, {} bytes free", stat.f_bavail.saturating_mul(stat.f_frsize)),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn env(home: &Path, temp: &Path) -> Env {
        let vars = [("TROUPE_HOME", home), ("TMPDIR", temp)];
        let vars = vars.map(|(name, path)| (name.to_owned(), path.to_str().unwrap().to_owned())).into();
        Env { vars, cwd: "/".into(), home: None }
    }

    // proves: F227
    #[test]
    fn a_home_that_is_no_folder_gives_way_to_a_private_one() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        let env = env(&file.join("home"), temp.path());
        let (_, state, told) = find(Places::of(&env), &env, true);
        let told = told.unwrap();
        assert!(state.lasts && state.root.starts_with(temp.path()), "{told}");
        assert!(told.contains(file.join("home").to_str().unwrap()) && told.contains("os error 20"), "{told}");
        // The name is known beforehand, so that the session can be gone on with; the folder is checked to be ours.
        assert_eq!(find(Places::of(&env), &env, true).1.root, state.root);
        let mode = state.root.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }

    // proves: F227
    #[test]
    fn without_any_folder_there_is_memory() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        let env = env(&file.join("home"), &file.join("temp"));
        let (_, state, told) = find(Places::of(&env), &env, true);
        assert!(!state.lasts);
        assert!(told.is_some_and(|told| told.contains("memory") && told.contains("TROUPE_HOME")));
    }

    #[test]
    fn a_usual_home_is_used_in_silence() {
        let temp = tempfile::tempdir().unwrap();
        let env = env(&temp.path().join("home"), temp.path());
        let (_, state, told) = find(Places::of(&env), &env, true);
        assert_eq!((state.root.as_path(), told), (temp.path().join("home").as_path(), None));
        let (_, state, _) = find(Places::of(&env), &env, false);
        assert!(!state.lasts);
    }
}
