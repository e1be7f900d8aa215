//! Worktrees of this session's agents: made when one is started or asks for one, given up at its end (W3, W4, B12).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use troupe_core::BoxFuture;
use troupe_core::entry::Header;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::outcome::Envelope;
use troupe_core::ports::supervisor::SpawnError;
use troupe_core::ports::worktrees::{Leaving, Left, Opened, Wanted, Worktrees as Port};
use troupe_core::worktree::{Entered, Kept, Worktree};

use super::door::Door;
use super::{Row, Shared};
use crate::load::git::Checkout;
use crate::worktree::{Finished, Made, Name, State, User, WorktreeError, Worktrees};

/// How long a look may take before whoever waits for the agent wakes.
const LOOK: Duration = Duration::from_secs(10);
/// How long giving one up may take after that.
const END: Duration = Duration::from_mins(1);
/// What a worktree is called that nobody named; characters of a random id follow.
const UNNAMED: &str = "w-";
const RANDOM: usize = 6;

/// Makes a worktree for an agent that is about to be started.
pub(crate) async fn make(shared: &Arc<Shared>, agent: &AgentId) -> Result<Made, SpawnError> {
    let made = made(shared, Name::of_agent(agent.as_str()), agent).await;
    made.map_err(|why| SpawnError::Invalid(format!("isolation: {why}")))
}

/// Makes one in a task of its own: whoever stops waiting for it leaves none behind.
async fn made(shared: &Arc<Shared>, name: Name, agent: &AgentId) -> Result<Made, String> {
    let trees = trees(shared)?;
    let user = user(shared, agent);
    let now = shared.parts.clock.now().0;
    let (done, made) = oneshot::channel();
    let task = async move {
        let made = trees.make(&name, &user, now).await;
        if let Err(Ok(Made { tree, .. })) = done.send(made) {
            give_back(&trees, &tree, &user).await;
        }
    };
    let closing = || "the session is ending".to_owned();
    if !shared.run(task) {
        return Err(closing());
    }
    made.await.map_err(|_| closing())?.map_err(|error| error.to_string())
}

async fn give_back(trees: &Worktrees, tree: &Worktree, user: &User) {
    if let Err(error) = trees.finish(tree, user).await {
        tracing::warn!(%error, tree = tree.name, "a worktree that nobody uses is there still");
    }
}

/// Gives up the worktree of an agent that was not started after all.
pub(crate) async fn undo(shared: &Shared, tree: &Worktree) {
    if let Ok(trees) = trees(shared) {
        give_back(&trees, tree, &user(shared, &tree.owner)).await;
    }
}

fn trees(shared: &Shared) -> Result<Worktrees, String> {
    let none = || WorktreeError::NotGit(shared.config.place.cwd.clone()).to_string();
    shared.parts.worktrees.clone().ok_or_else(none)
}

fn user(shared: &Shared, agent: &AgentId) -> User {
    User::here(shared.paths.session().clone(), agent.clone())
}

/// The worktree that goes with an agent's end: the main agent's goes when it leaves it, a member's with its seat.
fn own(row: &Row) -> Option<Arc<Worktree>> {
    let header = &row.header;
    row.worktree().filter(|tree| tree.owner == header.agent && !header.resident)
}

/// What of an ended agent's worktree stays, for its envelope. What can't be told in time counts as work.
pub(crate) async fn kept(shared: &Shared, row: &Row) -> Option<Kept> {
    let tree = own(row)?;
    let trees = trees(shared).ok()?;
    let state = timeout(LOOK, trees.state(&tree)).await;
    let state =
        state.unwrap_or_else(|_| State::Unknown(format!("git took longer than {} s", LOOK.as_secs())));
    match state {
        State::Clean | State::Gone => None,
        State::Work { .. } | State::Unknown(_) => Some(stays(&tree, &state.words())),
    }
}

fn stays(tree: &Worktree, holds: &str) -> Kept {
    Kept { path: tree.path.clone(), branch: tree.branch.clone(), holds: holds.to_owned() }
}

/// Gives up the worktree of an agent that has ended; what of it is to be told besides what its envelope says.
pub(crate) async fn settle(shared: &Arc<Shared>, row: &Row, envelope: &Envelope) -> Option<String> {
    let tree = own(row)?;
    let trees = trees(shared).ok()?;
    let user = user(shared, &row.header.agent);
    let ended = timeout(END, trees.finish(&tree, &user)).await;
    let told = match ended {
        Ok(Ok(Finished::Removed)) => None,
        Ok(Ok(Finished::Kept(holds))) => envelope.worktree.is_none().then(|| {
            format!("its worktree {} is kept, with the branch {}: {holds}", tree.path.display(), tree.branch)
        }),
        Ok(Err(error)) => Some(format!("its worktree was not given up: {error}")),
        Err(_) => Some(format!(
            "its worktree {} was not given up within {} s: troupe worktrees shows it",
            tree.path.display(),
            END.as_secs()
        )),
    };
    if let Some(told) = &told {
        shared.bus.tell(&row.header.agent, EventKind::Notice(Notice::Warning(told.clone())));
    }
    told
}

/// An agent that is taken up again uses its worktree again.
pub(crate) async fn taken_up(shared: &Shared, header: &Header) {
    let Some(tree) = header.worktree.as_ref().filter(|tree| tree.owner == header.agent) else { return };
    let Ok(trees) = trees(shared) else { return };
    if let Err(error) = trees.enter(tree, &user(shared, &header.agent)).await {
        tracing::warn!(%error, tree = tree.name, "that a worktree is in use is not recorded");
    }
}

/// Takes away what dead processes have left, beside the work.
pub(crate) fn sweep(shared: &Arc<Shared>) {
    let Ok(trees) = trees(shared) else { return };
    let ours = Arc::clone(shared);
    shared.run(async move {
        match trees.sweep(ours.parts.clock.now().0).await {
            Ok((gone, kept)) => {
                tracing::debug!(?gone, "worktrees that were left behind are gone");
                for line in kept {
                    let told = format!("a worktree was left behind and is kept: {line}");
                    ours.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(told)));
                }
            }
            Err(error) => tracing::warn!(%error, "worktrees that were left behind were not looked at"),
        }
    });
}

impl Port for Door {
    fn open<'a>(
        &'a self,
        me: &'a AgentId,
        from: PathBuf,
        wanted: Wanted,
    ) -> BoxFuture<'a, Result<Opened, String>> {
        Box::pin(async move {
            let shared = &self.0;
            let row = shared.row(me).ok_or("the session is ending")?;
            if let Some(tree) = row.worktree() {
                return Err(format!("you work in the worktree {} already", tree.path.display()));
            }
            let name = match wanted {
                Wanted::At(path) => return entered(shared, me, from, &path).await,
                Wanted::New(Some(name)) => Name::parse(&name).map_err(|error| error.to_string())?,
                Wanted::New(None) => {
                    let random: String = shared.parts.clock.uuid().chars().rev().take(RANDOM).collect();
                    Name::parse(&format!("{UNNAMED}{random}")).map_err(|error| error.to_string())?
                }
            };
            let Made { tree, notes } = made(shared, name, me).await?;
            Ok(Opened { entered: Entered { tree, from }, notes })
        })
    }

    fn leave<'a>(
        &'a self,
        me: &'a AgentId,
        tree: &'a Worktree,
        how: Leaving,
    ) -> BoxFuture<'a, Result<Left, String>> {
        Box::pin(async move {
            let shared = &self.0;
            let (trees, user) = (trees(shared)?, user(shared, me));
            let Leaving::Remove { discard } = how else {
                trees.leave(tree, &user).await.map_err(|error| error.to_string())?;
                return Ok(Left::default());
            };
            let (files, commits) = match trees.state(tree).await {
                State::Work { files, commits, .. } => (files, commits),
                State::Clean | State::Unknown(_) | State::Gone => (0, 0),
            };
            let now = shared.parts.clock.now().0;
            let removed = trees.remove(&tree.name, Some(&user), discard, now).await;
            let refs = removed.map_err(|error| match error {
                WorktreeError::Work { .. } => {
                    format!("{error}. With `discard_changes` it goes all the same; ask the person first")
                }
                error => error.to_string(),
            })?;
            let mut refs = refs.into_iter();
            let rescue = refs.next();
            let notes = refs.map(|name| format!("its branch is kept at {name}")).collect();
            Ok(Left { removed: true, files, commits, rescue, notes })
        })
    }
}

/// Enters a worktree that there is: one of ours, or another of this repository, which nobody but its maker removes.
async fn entered(shared: &Shared, me: &AgentId, from: PathBuf, path: &Path) -> Result<Opened, String> {
    let trees = trees(shared)?;
    if let Some(known) = trees.at(path).await.map_err(|error| error.to_string())? {
        trees.enter(&known.tree, &user(shared, me)).await.map_err(|error| error.to_string())?;
        return Ok(Opened { entered: Entered { tree: known.tree, from }, notes: Vec::new() });
    }
    let none = || format!("{} is no worktree of this repository", path.display());
    let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
    let there =
        Checkout::around(&path).filter(|there| there.root == path && there.main != path).ok_or_else(none)?;
    let main = there.main.canonicalize().map_err(|_| none())?;
    if main != trees.checkout() {
        return Err(none());
    }
    let tree = Worktree {
        name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        branch: there.branch().unwrap_or_else(|| "a detached HEAD".to_owned()),
        base: trees.head(&path).await.map_err(|error| error.to_string())?,
        checkout: main,
        owner: AgentId::new("person"),
        path,
    };
    Ok(Opened { entered: Entered { tree, from }, notes: Vec::new() })
}
