//! `troupe worktrees`: a person sees what agents have left in worktrees, and takes it away.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_core::ports::clock::Clock as _;
use troupe_core::visible::{visible, visible_lines};
use troupe_engine::clock::SystemClock;
use troupe_engine::load::{Env, Places};
use troupe_engine::worktree::{Listed, Outcome, Test, User, WorktreeError, Worktrees};

use crate::args::{WorktreesCommand, WorktreesWish};
use crate::fault::Fault;
use crate::{print, sessions, wiring};

/// Does what is asked; gives the exit code.
///
/// # Errors
/// Where there is no repository, no such worktree, or it can't be removed.
pub(crate) async fn run(wish: &WorktreesWish, env: Env) -> Result<u8, Fault> {
    let settings = wiring::settings(&Places::of(&env), &env)?;
    let trees =
        Worktrees::open(&env, &sessions::root(&env), wiring::worktree_setup(&settings)).map_err(fault)?;
    match &wish.command {
        None => print(&list(&trees, wish.json).await?),
        Some(WorktreesCommand::List(list_wish)) => print(&list(&trees, list_wish.json).await?),
        Some(WorktreesCommand::Diff(of)) => {
            let diff = trees.diff(&of.name).await.map_err(fault)?;
            print(&visible_lines(&String::from_utf8_lossy(&diff)))
        }
        Some(WorktreesCommand::Drop(of)) => {
            let now = SystemClock.now().0;
            let refs = trees.remove(&of.name, None, of.discard, now).await.map_err(fault)?;
            let mut out = format!("{} is removed, with its branch.\n", visible(&of.name));
            for name in refs {
                // Writing to a string can't fail.
                let _ = writeln!(out, "What was in it is kept at {name}: git show {name}");
            }
            print(&out)
        }
        Some(WorktreesCommand::Merge(of)) => {
            let test = of.test.clone();
            let test = test.map(|command| Test { command, limit: Duration::from_secs(of.limit) });
            let mut all_in = true;
            for name in &of.names {
                let outcome = trees.merge(name, test.clone()).await.map_err(fault)?;
                all_in &= matches!(outcome, Outcome::Merged(_) | Outcome::Nothing);
                let owner = trees.known(name).await.map_err(fault)?.tree.owner;
                print(&merged_in_words(name, owner.as_str(), &outcome))?;
            }
            Ok(u8::from(!all_in))
        }
    }
}

/// What became of a branch, for people. Whose it is can mend a conflict.
fn merged_in_words(name: &str, owner: &str, outcome: &Outcome) -> String {
    let (name, owner) = (visible(name), visible(owner));
    match outcome {
        Outcome::Merged(commit) => format!("{name}: merged, {}\n", commit.get(..12).unwrap_or(commit)),
        Outcome::Nothing => format!("{name}: nothing to merge\n"),
        Outcome::Conflict(files) => {
            let files: Vec<String> = files.iter().map(|file| visible(file)).collect();
            format!(
                "{name}: a conflict in {}; nothing has changed. Agent {owner} made it, and can merge there first.\n",
                files.join(", ")
            )
        }
        Outcome::Failed(how) => {
            format!("{name}: the test did not pass; nothing has changed: {}\n", visible_lines(how))
        }
        Outcome::Waits(why) => format!("{name}: not merged: {}\n", visible(why)),
    }
}

async fn list(trees: &Worktrees, as_json: bool) -> Result<String, Fault> {
    let all = trees.list().await.map_err(fault)?;
    let now = SystemClock.now().0;
    if as_json {
        let all: Vec<Value> = all.iter().map(|one| object(one, now)).collect();
        return Ok(format!("{:#}\n", json!({"worktrees": all})));
    }
    if all.is_empty() {
        return Ok("There are no worktrees of troupe's in this repository.\n".to_owned());
    }
    Ok(all.iter().map(|one| lines(one, now)).collect())
}

/// How far the branch is: nothing done, all of it on another branch, or yet to be merged.
fn merged(one: &Listed) -> &'static str {
    match (one.ahead, &one.state) {
        (Some(0), _) => "no commit",
        (Some(_), troupe_engine::worktree::State::Clean) => "merged",
        (Some(_), _) => "not merged",
        (None, _) => "no branch",
    }
}

fn minutes(one: &Listed, now: i64) -> u64 {
    u64::try_from(now.saturating_sub(one.known.made)).unwrap_or_default() / 60_000
}

fn object(one: &Listed, now: i64) -> Value {
    let tree = &one.known.tree;
    json!({
        "name": tree.name,
        "path": tree.path,
        "branch": tree.branch,
        "base": tree.base,
        "state": one.state.word(),
        "holds": one.state.words(),
        "merge": merged(one),
        "bytes": one.bytes,
        "ageMinutes": minutes(one, now),
        "owner": tree.owner,
        "usedBy": one.known.users.iter().map(|user| json!({
            "session": user.session, "agent": user.agent, "alive": user.lives(),
        })).collect::<Vec<_>>(),
    })
}

fn lines(one: &Listed, now: i64) -> String {
    let tree = &one.known.tree;
    let users = one.known.users.iter().filter(|user| user.lives());
    let users: Vec<String> =
        users.map(|User { session, agent, .. }| format!("{agent} of session {session}")).collect();
    let users = if users.is_empty() { "nobody".to_owned() } else { users.join(", ") };
    let size = one
        .bytes
        .map_or_else(|| "?".to_owned(), |bytes| format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10));
    format!(
        "{}, branch {}, {}, {} old, {size}, used by {}\n  {}\n  {}\n",
        visible(&tree.name),
        visible(&tree.branch),
        merged(one),
        age(minutes(one, now)),
        visible(&users),
        visible(&tree.path.display().to_string()),
        visible(&one.state.words()),
    )
}

fn age(minutes: u64) -> String {
    match minutes {
        0..=119 => format!("{minutes} min"),
        120..=2_879 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1_440),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn fault(error: WorktreeError) -> Fault {
    let fault = Fault::failed(&error);
    match error {
        WorktreeError::Work { .. } => fault
            .hint("troupe worktrees diff NAME shows it")
            .hint("--discard removes it all the same, and keeps what is in it on a ref"),
        WorktreeError::NoTree { .. } => fault.hint("troupe worktrees lists them"),
        _ => fault,
    }
}
