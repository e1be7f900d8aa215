//! Worktrees of agents and people: made, entered, left, found again, and taken away only when nothing of them would be
//! lost. See `docs/design/worktrees.md`.

mod ending;
mod error;
mod making;
mod merging;
mod name;
mod record;
mod state;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use troupe_core::ids::AgentId;
use troupe_core::ports::journal::{Journal, Key};
use troupe_core::worktree::Worktree;

use crate::git::{Git, GitError};
use crate::journal::{FileJournal, Locking};
use crate::load::{Env, Places};
use crate::store::private;

use crate::team::fold::Folded;
use record::{Book, Event, record};

pub use error::WorktreeError;
pub use making::Setup;
pub use merging::{Outcome, Test};
pub use name::{BadName, Name};
pub use record::{Known, User};
pub use state::State;

/// How long one waits until nobody else makes or removes a worktree of the repository.
const TURN: Duration = Duration::from_mins(1);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// How long an append to the record waits for its lock.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How old one has to be that nobody uses, to go by itself (W3).
const STALE: Duration = Duration::from_hours(24);
/// Most names that are tried for one.
const TRIES: usize = 1_000;

/// A worktree that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// It.
    pub tree: Worktree,
    /// What is to be known of it.
    pub notes: Vec<String>,
}

/// One in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// What the record says.
    pub known: Known,
    /// What is in it.
    pub state: State,
    /// How many commits its branch has past the one that it began from.
    pub ahead: Option<usize>,
    /// Its size on the disk, in bytes; links are not followed. None where it has too many files to count.
    pub bytes: Option<u64>,
}

/// What became of one that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It is gone, with its branch.
    Removed,
    /// It stays, since this is in it.
    Kept(String),
}

/// The worktrees of one repository.
#[derive(Clone)]
pub struct Worktrees {
    inner: Arc<Inner>,
}

struct Inner {
    env: Env,
    git: Git,
    /// In the checkout that the session works in: a new worktree begins from what is checked out there.
    here: Git,
    /// The main checkout.
    checkout: PathBuf,
    /// The folder of the worktrees.
    folder: PathBuf,
    lock: PathBuf,
    setup: Setup,
    book: Folded<Book>,
}

impl Worktrees {
    /// Those of the repository around the working folder of `env`. `home` is the folder that holds `projects/`.
    ///
    /// # Errors
    /// [`WorktreeError::NotGit`]; git's.
    pub fn open(env: &Env, home: &Path, setup: Setup) -> Result<Self, WorktreeError> {
        let journal = Arc::new(FileJournal::new(home.to_owned(), Locking::Shared(LOCK_WAIT)));
        Self::on(journal, env, home, setup)
    }

    /// The same with a journal of somebody else's.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn on(
        journal: Arc<dyn Journal>,
        env: &Env,
        home: &Path,
        setup: Setup,
    ) -> Result<Self, WorktreeError> {
        let none = || WorktreeError::NotGit(env.cwd.clone());
        let around = Places::of(env).checkout.ok_or_else(none)?;
        let checkout = around.main.canonicalize().map_err(|_| none())?;
        let here = Git::of(&Places::of(env), env)?;
        let env = Env { cwd: checkout.clone(), ..env.clone() };
        let git = Git::of(&Places::of(&env), &env)?;
        // The repository, whichever of its checkouts this is.
        let hash = Sha256::digest(
            around.common_dir().canonicalize().unwrap_or(checkout.clone()).to_string_lossy().as_bytes(),
        );
        let hex = hash.iter().take(8).fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let key = Key::new(format!("worktrees/{hex}")).ok_or_else(none)?;
        let inner = Inner {
            git,
            here,
            folder: checkout.join(".troupe/worktrees"),
            lock: home.join("worktrees").join(format!("{hex}.lock")),
            checkout,
            env,
            setup,
            book: Folded::new(journal, key),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes one for an agent, which uses it from then on. A name that is taken gets a number.
    ///
    /// # Errors
    /// See [`WorktreeError`]; nothing of it is left then.
    pub async fn make(&self, name: &Name, user: &User, now_ms: i64) -> Result<Made, WorktreeError> {
        let turn = self.turn().await?;
        let inner = Arc::clone(&self.inner);
        let (wanted, owner) = (name.clone(), user.agent.clone());
        let known = self.inner.book.now().await?;
        let taken: Vec<String> = known.state.0.keys().cloned().collect();
        let (tree, mut notes) = blocking(move || inner.plan(&wanted, &owner, &taken)).await?;
        // Before anything is there, so that what a kill leaves is found.
        let entered = Event::Entered { name: tree.name.clone(), user: user.clone() };
        self.note(&[Event::Made { tree: tree.clone(), at: now_ms }, entered]).await?;
        let (inner, laid) = (Arc::clone(&self.inner), tree.clone());
        let made = blocking(move || inner.lay(&laid)).await;
        let (links, more) = match made {
            Ok(made) => made,
            Err(error) => {
                self.undo(&tree).await;
                return Err(error);
            }
        };
        notes.extend(more);
        self.note(&[Event::Ready { name: tree.name.clone(), links }]).await?;
        drop(turn);
        Ok(Made { tree, notes })
    }

    /// Writes down that an agent uses a worktree of ours.
    ///
    /// # Errors
    /// When the record can't be written.
    pub async fn enter(&self, tree: &Worktree, user: &User) -> Result<(), WorktreeError> {
        self.note(&[Event::Entered { name: tree.name.clone(), user: user.clone() }]).await
    }

    /// Writes down that an agent uses it no more; it stays.
    ///
    /// # Errors
    /// When the record can't be written.
    pub async fn leave(&self, tree: &Worktree, user: &User) -> Result<(), WorktreeError> {
        self.note(&[Event::Left { name: tree.name.clone(), user: user.clone() }]).await
    }

    /// The main checkout.
    pub fn checkout(&self) -> &Path {
        &self.inner.checkout
    }

    /// The commit that is checked out in another checkout of the repository.
    ///
    /// # Errors
    /// Git's.
    pub async fn head(&self, checkout: &Path) -> Result<String, WorktreeError> {
        let env = Env { cwd: checkout.to_owned(), ..self.inner.env.clone() };
        blocking(move || {
            let said = Git::of(&Places::of(&env), &env)?.run(&["rev-parse", "HEAD"], TURN)?;
            Ok(String::from_utf8_lossy(&said).trim().to_owned())
        })
        .await
    }

    /// An agent leaves it, and it goes where nothing in it is its own and nobody else works there (W3).
    ///
    /// # Errors
    /// When it can't be looked at: it stays then.
    pub async fn finish(&self, tree: &Worktree, user: &User) -> Result<Finished, WorktreeError> {
        let turn = self.turn().await?;
        self.note(&[Event::Left { name: tree.name.clone(), user: user.clone() }]).await?;
        let known = match self.known(&tree.name).await {
            Ok(known) => known,
            Err(WorktreeError::NoTree { .. }) => return Ok(Finished::Removed),
            Err(error) => return Err(error),
        };
        if let Some(by) = in_use(&known) {
            return Ok(Finished::Kept(format!("{by} works in it")));
        }
        let state = self.remove_clean(&known).await?;
        drop(turn);
        Ok(if state == State::Gone { Finished::Removed } else { Finished::Kept(state.words()) })
    }

    /// What is in a worktree of ours now.
    pub async fn state(&self, tree: &Worktree) -> State {
        let known = self.known(&tree.name).await;
        let known = known.unwrap_or_else(|_| Known::bare(tree.clone()));
        let inner = Arc::clone(&self.inner);
        let looked = blocking(move || Ok(state::look(&known, &inner.env))).await;
        looked.unwrap_or_else(|error: WorktreeError| State::Unknown(error.to_string()))
    }

    /// Removes one. `discard`: also where there is work in it, which a ref holds then; those refs.
    ///
    /// # Errors
    /// [`WorktreeError::Work`], [`WorktreeError::Unknown`], [`WorktreeError::InUse`]; it stays then.
    pub async fn remove(
        &self,
        name: &str,
        by: Option<&User>,
        discard: bool,
        now_ms: i64,
    ) -> Result<Vec<String>, WorktreeError> {
        let turn = self.turn().await?;
        let mut known = self.known(name).await?;
        if let Some(by) = by {
            known.users.retain(|user| (&user.session, &user.agent) != (&by.session, &by.agent));
        }
        let path = known.tree.path.clone();
        if let Some(by) = in_use(&known) {
            return Err(WorktreeError::InUse { path, by });
        }
        match self.remove_clean(&known).await? {
            State::Gone | State::Clean => return Ok(Vec::new()),
            State::Work { words, .. } if !discard => return Err(WorktreeError::Work { path, words }),
            State::Unknown(why) => return Err(WorktreeError::Unknown { path, why }),
            State::Work { .. } => {}
        }
        let (inner, tree) = (Arc::clone(&self.inner), known.tree.clone());
        let refs = blocking(move || ending::rescue(&tree, &inner.env, now_ms)).await?;
        let rescued =
            |reference: &String| Event::Rescued { name: name.to_owned(), reference: reference.clone() };
        self.note(&refs.iter().map(rescued).collect::<Vec<_>>()).await?;
        let inner = Arc::clone(&self.inner);
        blocking(move || ending::take_away(&inner.git, &known, true)).await?;
        self.note(&[Event::Removed { name: name.to_owned() }]).await?;
        drop(turn);
        Ok(refs)
    }

    /// All of ours, by name.
    ///
    /// # Errors
    /// When the record can't be read.
    pub async fn list(&self) -> Result<Vec<Listed>, WorktreeError> {
        let all: Vec<Known> = self.inner.book.now().await?.state.0.values().cloned().collect();
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            let looked = all.into_iter().map(|known| {
                let state = state::look(&known, &inner.env);
                let (ahead, bytes) = (state::ahead(&inner.git, &known.tree), state::size(&known.tree.path));
                Listed { known, state, ahead, bytes }
            });
            Ok(looked.collect())
        })
        .await
    }

    /// All that differs in one from the commit that it began from, new files included, as git shows it.
    ///
    /// # Errors
    /// [`WorktreeError::NoTree`]; git's.
    pub async fn diff(&self, name: &str) -> Result<Vec<u8>, WorktreeError> {
        let tree = self.known(name).await?.tree;
        let inner = Arc::clone(&self.inner);
        blocking(move || ending::diff(&tree, &inner.env)).await
    }

    /// Merges the branch of one into the branch that the main checkout is on, where `test` passes on what comes of it. One at a
    /// time; whoever comes meanwhile waits for a minute.
    ///
    /// # Errors
    /// [`WorktreeError::NoTree`], [`WorktreeError::Busy`]; git's. Nothing has changed then.
    pub async fn merge(&self, name: &str, test: Option<Test>) -> Result<Outcome, WorktreeError> {
        let queue = self.inner.lock.with_extension("merge.lock");
        let turn = blocking(move || wait_for(&queue)).await?;
        let known = self.known(name).await?;
        let inner = Arc::clone(&self.inner);
        let outcome = blocking(move || merging::merge(&inner, &known, test.as_ref())).await?;
        drop(turn);
        Ok(outcome)
    }

    /// Takes away what processes that died have left: what was never complete, and what is old and has nothing of its own.
    /// The names of those that went, and what of the others is to be told.
    ///
    /// # Errors
    /// When the record can't be read, or others are at it.
    pub async fn sweep(&self, now_ms: i64) -> Result<(Vec<String>, Vec<String>), WorktreeError> {
        let left = |known: &Known| in_use(known).is_none();
        let some = self.inner.book.now().await?.state.0.values().any(left);
        let (mut gone, mut told) = (Vec::new(), Vec::new());
        if !some {
            return Ok((gone, told));
        }
        let turn = self.turn().await?;
        let all: Vec<Known> = self.inner.book.now().await?.state.0.values().cloned().collect();
        for known in all.into_iter().filter(left) {
            let name = known.tree.name.clone();
            let age = u64::try_from(now_ms.saturating_sub(known.made)).unwrap_or_default();
            let removed = if !known.ready {
                self.undo(&known.tree).await;
                !known.tree.path.exists()
            } else if Duration::from_millis(age) >= STALE || !known.tree.path.exists() {
                match self.remove_clean(&known).await {
                    Ok(State::Gone | State::Clean) => true,
                    Ok(state) => {
                        told.push(format!("{}: {}", known.tree.path.display(), state.words()));
                        false
                    }
                    Err(error) => {
                        told.push(error.to_string());
                        false
                    }
                }
            } else {
                false
            };
            gone.extend(removed.then_some(name));
        }
        drop(turn);
        Ok((gone, told))
    }

    /// What the record says of one.
    ///
    /// # Errors
    /// [`WorktreeError::NoTree`].
    pub async fn known(&self, name: &str) -> Result<Known, WorktreeError> {
        let at = self.inner.book.now().await?;
        at.state.0.get(name).cloned().ok_or_else(|| WorktreeError::NoTree {
            name: name.to_owned(),
            known: at.state.0.keys().cloned().collect(),
        })
    }

    /// The one at a folder; none where that is none of ours.
    ///
    /// # Errors
    /// When the record can't be read.
    pub async fn at(&self, path: &Path) -> Result<Option<Known>, WorktreeError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let at = self.inner.book.now().await?;
        Ok(at.state.0.values().find(|known| known.tree.path == path).cloned())
    }

    async fn remove_clean(&self, known: &Known) -> Result<State, WorktreeError> {
        let (inner, of) = (Arc::clone(&self.inner), known.clone());
        let state = blocking(move || ending::remove_clean(&inner.git, &of, &inner.env)).await?;
        if state == State::Gone {
            self.note(&[Event::Removed { name: known.tree.name.clone() }]).await?;
        }
        Ok(state)
    }

    /// Takes away what was begun; nobody has worked in it.
    async fn undo(&self, tree: &Worktree) {
        let (inner, known) = (Arc::clone(&self.inner), Known::bare(tree.clone()));
        let undone = blocking(move || ending::take_away(&inner.git, &known, true)).await;
        if let Err(error) = undone {
            tracing::warn!(%error, tree = tree.name, "what was begun of a worktree is there still");
            return;
        }
        if let Err(error) = self.note(&[Event::Removed { name: tree.name.clone() }]).await {
            tracing::warn!(%error, tree = tree.name, "that a worktree is gone is not recorded");
        }
    }

    async fn note(&self, events: &[Event]) -> Result<(), WorktreeError> {
        Ok(self.inner.book.note(record(events)).await?)
    }

    /// Waits until nobody else makes or removes one.
    async fn turn(&self) -> Result<File, WorktreeError> {
        let lock = self.inner.lock.clone();
        blocking(move || wait_for(&lock)).await
    }
}

/// Waits until nobody else has this lock. Blocks, for a bounded time.
fn wait_for(lock: &Path) -> Result<File, WorktreeError> {
    let io = |source| WorktreeError::Io { path: lock.to_owned(), source };
    if let Some(folder) = lock.parent() {
        private::folder(folder).map_err(io)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(lock).map_err(io)?;
    let until = Instant::now() + TURN;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::park_timeout(PAUSE);
            }
            Err(std::fs::TryLockError::WouldBlock) => return Err(WorktreeError::Busy),
            Err(std::fs::TryLockError::Error(source)) => return Err(io(source)),
        }
    }
}

impl Inner {
    /// Finds a name that is free, and the commit to begin from.
    fn plan(
        &self,
        name: &Name,
        owner: &AgentId,
        taken: &[String],
    ) -> Result<(Worktree, Vec<String>), WorktreeError> {
        let (base, notes) = making::base(&self.here, &self.setup)?;
        for number in 1..=TRIES {
            let name = name.numbered(number);
            let (path, branch) = (self.folder.join(name.folder()), name.branch());
            let reference = format!("refs/heads/{branch}");
            let is_free = !taken.iter().any(|taken| taken == name.as_str())
                && path.symlink_metadata().is_err()
                && self.git.run(&["rev-parse", "--verify", "--quiet", &reference], TURN).is_err();
            if is_free {
                let (name, checkout) = (name.as_str().to_owned(), self.checkout.clone());
                return Ok((Worktree { name, path, branch, base, checkout, owner: owner.clone() }, notes));
            }
        }
        Err(BadName(name.as_str().to_owned()).into())
    }

    fn lay(
        &self,
        tree: &Worktree,
    ) -> Result<(std::collections::BTreeSet<PathBuf>, Vec<String>), WorktreeError> {
        let io = |source| WorktreeError::Io { path: self.folder.clone(), source };
        std::fs::create_dir_all(&self.folder).map_err(io)?;
        // Nothing here is anything to the project.
        let ignore = self.folder.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(io)?;
        }
        making::add(&self.git, tree, &self.setup)?;
        Ok(making::finish(tree, &self.setup, &self.env))
    }
}

/// Who uses a worktree and lives, in words.
fn in_use(known: &Known) -> Option<String> {
    let user = known.users.iter().find(|user| user.lives())?;
    Some(format!("{} of session {}", user.agent, user.session))
}

impl Known {
    /// One of which the record says nothing.
    fn bare(tree: Worktree) -> Self {
        Self { tree, made: 0, ready: true, links: std::collections::BTreeSet::default(), users: Vec::new() }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, WorktreeError> {
    // One that panics has done nothing that is known of.
    let lost = |_| WorktreeError::Git(GitError::Unclear);
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

#[cfg(test)]
#[path = "worktree_tests.rs"]
mod tests;
