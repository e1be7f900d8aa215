//! Worktrees of a real repository: whose they are, what is in them, and what becomes of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use tokio::task::JoinSet;
use troupe_core::ids::SessionId;
use troupe_core::team::Owner;

use super::*;
use crate::git::test_world::World;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// What is done in a worktree.
type Change<'c> = &'c dyn Fn(&Worktree);

struct Place {
    world: World,
    trees: Worktrees,
}

fn place() -> Place {
    let world = World::new();
    world.setup(&["init", "-q", "-b", "main"]);
    world.file("repo/a.txt", "one\n");
    world.file("repo/.gitignore", "ignored\n");
    world.setup(&["add", "-A"]);
    world.setup(&["commit", "-q", "-m", "first"]);
    let trees = open(&world);
    Place { world, trees }
}

fn open(world: &World) -> Worktrees {
    Worktrees::open(&world.env, &world.base.join("home/.troupe"), Setup::default()).unwrap()
}

fn alive(agent: &str) -> User {
    User::here(SessionId::new("s"), AgentId::new(agent))
}

/// Its process has a number that another has by now.
fn dead(agent: &str) -> User {
    User { process: Some(Owner { pid: std::process::id(), start: 0 }), ..alive(agent) }
}

async fn made(place: &Place, user: &User) -> Worktree {
    place.trees.make(&Name::of_agent(user.agent.as_str()), user, 0).await.unwrap().tree
}

impl Place {
    fn git_in(&self, tree: &Worktree, words: &[&str]) {
        let at = tree.path.to_str().unwrap();
        self.world.setup(&[&["-C", at], words].concat());
    }

    fn refs(&self) -> String {
        String::from_utf8(self.world.setup(&["for-each-ref", "--format=%(refname)"])).unwrap()
    }
}

// proves: W5, W1, F089
#[tokio::test]
async fn twenty_that_want_one_name_at_once_get_a_worktree_each() {
    let place = place();
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        // As in so many processes.
        let (trees, user) = (open(&place.world), alive(&format!("a{n}")));
        tasks.spawn(async move { trees.make(&Name::parse("same").unwrap(), &user, 0).await.unwrap().tree });
    }
    let made = tasks.join_all().await;
    let distinct =
        |of: fn(&Worktree) -> String| made.iter().map(of).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(
        (distinct(|tree| tree.branch.clone()), distinct(|tree| tree.path.display().to_string())),
        (20, 20)
    );
    assert!(made.iter().all(|tree| fs::read_to_string(tree.path.join("a.txt")).unwrap() == "one\n"));
    assert_eq!(place.world.setup(&["status", "--porcelain"]), b"", "the project does not see them");
    for tree in &made {
        let user = alive(tree.owner.as_str());
        assert_eq!(place.trees.finish(tree, &user).await.unwrap(), Finished::Removed);
    }
    assert_eq!(place.refs(), "refs/heads/main\n");
    assert!(place.trees.list().await.unwrap().is_empty());
}

// proves: W1, F090, F091
#[tokio::test]
async fn what_is_there_already_is_neither_taken_nor_touched() {
    let place = place();
    let file = place.world.file("repo/.troupe/worktrees/a1/mine.txt", "mine");
    place.world.setup(&["branch", "agent-a1-2"]);
    let tree = made(&place, &alive("a1")).await;
    assert_eq!((tree.name.as_str(), tree.branch.as_str()), ("a1-3", "agent-a1-3"));
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

// proves: W3, F081, F082, F083
#[tokio::test]
async fn whatever_is_its_own_keeps_it() {
    let place = place();
    let states: &[(&str, Change<'_>, &str)] = &[
        ("edited", &|tree| fs::write(tree.path.join("a.txt"), "two").unwrap(), "a.txt"),
        ("new", &|tree| fs::write(tree.path.join("new.txt"), "x").unwrap(), "new.txt"),
        ("gone", &|tree| fs::remove_file(tree.path.join("a.txt")).unwrap(), "a.txt"),
        (
            "committed",
            &|tree| place.git_in(tree, &["commit", "-q", "--allow-empty", "-m", "x"]),
            "1 commit that no other branch has",
        ),
        (
            "detached",
            &|tree| {
                place.git_in(tree, &["checkout", "-q", "--detach"]);
                place.git_in(tree, &["commit", "-q", "--allow-empty", "-m", "y"]);
            },
            "1 commit that no other branch has",
        ),
        (
            "left its branch",
            &|tree| {
                place.git_in(tree, &["commit", "-q", "--allow-empty", "-m", "z"]);
                place.git_in(tree, &["checkout", "-q", "--detach", "main"]);
            },
            "1 commit that no other branch has",
        ),
        ("broken", &|tree| fs::write(tree.path.join(".git"), "gitdir: /nowhere\n").unwrap(), "not known"),
    ];
    for (n, (what, change, words)) in states.iter().enumerate() {
        let user = dead(&format!("b{n}"));
        let tree = made(&place, &user).await;
        change(&tree);
        let Finished::Kept(holds) = place.trees.finish(&tree, &user).await.unwrap() else {
            panic!("{what}: it was removed")
        };
        assert!(holds.contains(words), "{what}: {holds}");
        let (gone, told) = place.trees.sweep(DAY * 90).await.unwrap();
        assert!(gone.is_empty() && told.len() == n + 1, "{what}: {gone:?} {told:?}");
        assert!(tree.path.exists());
    }
    // A file that git ignores, and a commit that another branch has, are no work.
    let user = alive("c");
    let tree = made(&place, &user).await;
    fs::write(tree.path.join("ignored"), "x").unwrap();
    place.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "x"]);
    place.world.setup(&["merge", "-q", &tree.branch]);
    assert_eq!(place.trees.finish(&tree, &user).await.unwrap(), Finished::Removed);
}

// proves: W3, F086, F098
#[tokio::test]
async fn one_that_somebody_else_works_in_stays_and_that_of_the_dead_goes_with_age() {
    let place = place();
    let (one, other) = (alive("x"), alive("y"));
    let tree = made(&place, &one).await;
    place.trees.enter(&tree, &other).await.unwrap();
    assert_eq!(
        place.trees.finish(&tree, &one).await.unwrap(),
        Finished::Kept("y of session s works in it".into())
    );
    assert!(matches!(place.trees.remove("x", None, true, 0).await, Err(WorktreeError::InUse { .. })));
    assert_eq!(place.trees.finish(&tree, &other).await.unwrap(), Finished::Removed);

    let left = made(&place, &dead("z")).await;
    assert_eq!(
        place.trees.sweep(DAY - 1).await.unwrap(),
        (vec![], vec![]),
        "its session may come back for it"
    );
    assert_eq!(place.trees.sweep(DAY).await.unwrap().0, ["z"]);
    assert!(!left.path.exists() && !place.refs().contains("agent-z"));
}

// proves: W3, X12
#[tokio::test]
async fn what_goes_with_a_worktree_that_is_dropped_hangs_on_the_refs_that_are_named() {
    let place = place();
    let tree = made(&place, &dead("a")).await;
    place.git_in(&tree, &["commit", "-q", "--allow-empty", "-m", "mine"]);
    fs::write(tree.path.join("staged.txt"), "staged").unwrap();
    place.git_in(&tree, &["add", "staged.txt"]);
    fs::write(tree.path.join("staged.txt"), "later").unwrap();
    fs::write(tree.path.join("new.txt"), [0, 159, 13, 10]).unwrap();
    assert!(matches!(place.trees.remove("a", None, false, 5).await, Err(WorktreeError::Work { .. })));
    assert!(tree.path.join("new.txt").exists());
    let refs = place.trees.remove("a", None, true, 5).await.unwrap();
    assert_eq!(refs, ["refs/troupe/rescue/a-5"]);
    assert!(!tree.path.exists() && !place.refs().contains("agent-a"));
    let show = |what: &str| place.world.setup(&["show", &format!("{}{what}", refs[0])]);
    assert_eq!((show(":new.txt"), show(":staged.txt")), (vec![0, 159, 13, 10], b"later".to_vec()));
    assert_eq!(show("^2:staged.txt"), b"staged", "what was staged, too");
    let log =
        String::from_utf8(place.world.setup(&["log", "--format=%s", &format!("{}^1", refs[0])])).unwrap();
    assert!(log.starts_with("mine\n"), "{log}");
}

// proves: W3, W5
#[tokio::test]
async fn what_a_kill_leaves_half_made_is_gone_after_the_next_start() {
    let place = place();
    let tree = made(&place, &alive("other")).await;
    // The record stands before anything is done; a kill may come after any step.
    let laid = |tree: &Worktree| {
        let path = tree.path.to_str().unwrap();
        place.world.setup(&["worktree", "add", "-q", "-b", &tree.branch, path, &tree.base]);
    };
    let steps: &[&dyn Fn(&Worktree)] = &[
        &|_| {},
        &|tree| drop(place.world.setup(&["branch", &tree.branch, &tree.base])),
        &laid,
        &|tree| {
            laid(tree);
            fs::remove_file(tree.path.join("a.txt")).unwrap();
        },
        &|tree| {
            laid(tree);
            fs::remove_dir_all(&tree.path).unwrap();
        },
    ];
    for (n, step) in steps.iter().enumerate() {
        let name = format!("half{n}");
        let half = Worktree {
            path: tree.path.with_file_name(&name),
            branch: format!("agent-{name}"),
            name: name.clone(),
            ..tree.clone()
        };
        let entered = Event::Entered { name: name.clone(), user: dead(&name) };
        place.trees.note(&[Event::Made { tree: half.clone(), at: 0 }, entered]).await.unwrap();
        step(&half);
        assert_eq!(place.trees.sweep(1).await.unwrap(), (vec![name.clone()], vec![]), "step {n}");
        assert!(!half.path.exists() && !place.refs().contains(&half.branch), "step {n}");
        let known = String::from_utf8(place.world.setup(&["worktree", "list"])).unwrap();
        assert!(!known.contains(&name), "step {n}: {known}");
    }
    assert!(tree.path.exists(), "that of the living is let be");
}

// proves: W1, F093
#[tokio::test]
async fn it_says_how_far_its_base_is_behind() {
    let place = place();
    place.world.setup(&["clone", "-q", ".", "../clone"]);
    for _ in 0..3 {
        place.world.setup(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }
    place.world.setup(&["-C", "../clone", "fetch", "-q"]);
    let env = Env { cwd: place.world.base.join("clone"), ..place.world.env.clone() };
    let trees = Worktrees::open(&env, &place.world.base.join("home/.troupe"), Setup::default()).unwrap();
    let made = trees.make(&Name::of_agent("a"), &alive("a"), 0).await.unwrap();
    assert!(made.notes[0].contains("3 commits behind"), "{:?}", made.notes);
    let fresh = Setup { from_remote: true, ..Setup::default() };
    let trees = Worktrees::open(&env, &place.world.base.join("home/.troupe"), fresh).unwrap();
    let made = trees.make(&Name::of_agent("b"), &alive("b"), 0).await.unwrap();
    let remote = place.world.setup(&["rev-parse", "HEAD"]);
    assert_eq!(made.tree.base, String::from_utf8(remote).unwrap().trim());
}

// proves: W6
#[tokio::test]
async fn of_five_branches_three_merge_and_two_come_back_and_the_checkout_is_never_half_way() {
    let place = place();
    let head = || String::from_utf8(place.world.setup(&["rev-parse", "HEAD"])).unwrap();
    for n in 0..5 {
        let tree = made(&place, &alive(&format!("q{n}"))).await;
        // The last two change what the first one changes.
        let file = if matches!(n, 1 | 2) { format!("{n}.txt") } else { "a.txt".to_owned() };
        fs::write(tree.path.join(file), format!("of {n}\n")).unwrap();
        place.git_in(&tree, &["add", "-A"]);
        place.git_in(&tree, &["commit", "-q", "-m", "work"]);
    }
    let test = |command: &str| Some(Test { command: command.to_owned(), limit: Duration::from_secs(20) });
    let before = head();
    let failed = place.trees.merge("q1", test("cat 1.txt; echo no >&2; exit 3")).await.unwrap();
    assert!(
        matches!(&failed, Outcome::Failed(how) if how.contains("of 1\nno") && how.contains('3')),
        "{failed:?}"
    );
    let slow = Some(Test {
        command: "while :; do read x < /dev/zero; done".into(),
        limit: Duration::from_millis(50),
    });
    assert!(
        matches!(place.trees.merge("q1", slow).await.unwrap(), Outcome::Failed(how) if how.contains("longer"))
    );
    assert_eq!(head(), before);
    let mut outcomes = Vec::new();
    for n in 0..5 {
        outcomes.push(place.trees.merge(&format!("q{n}"), test("test -f a.txt")).await.unwrap());
        assert_eq!(place.world.setup(&["status", "--porcelain"]), b"", "after {n}");
    }
    assert_eq!(outcomes.iter().filter(|one| matches!(one, Outcome::Merged(_))).count(), 3, "{outcomes:?}");
    let conflict = Outcome::Conflict(vec!["a.txt".to_owned()]);
    assert_eq!(outcomes[3..], [conflict.clone(), conflict]);
    assert_eq!(fs::read_to_string(place.world.base.join("repo/a.txt")).unwrap(), "of 0\n");
    assert!(place.world.base.join("repo/2.txt").exists());
    assert_eq!(place.trees.merge("q2", None).await.unwrap(), Outcome::Nothing);
    assert_eq!(place.trees.list().await.unwrap().len(), 5, "no checkout of a test is left");
    let known = String::from_utf8(place.world.setup(&["worktree", "list"])).unwrap();
    assert_eq!(known.lines().count(), 6, "{known}");

    // What is not committed, here or there, waits.
    place.world.file("repo/a.txt", "mine\n");
    let waits = place.trees.merge("q3", None).await.unwrap();
    assert!(matches!(&waits, Outcome::Waits(why) if why.contains("main checkout has changes")), "{waits:?}");
    place.world.setup(&["checkout", "-q", "a.txt"]);
    fs::write(place.world.base.join("repo/.troupe/worktrees/q3/new"), "x").unwrap();
    let waits = place.trees.merge("q3", None).await.unwrap();
    assert!(matches!(&waits, Outcome::Waits(why) if why.contains("not committed")), "{waits:?}");
}

// proves: W1
#[tokio::test]
async fn it_begins_from_what_is_checked_out_where_the_session_works() {
    let place = place();
    place.world.setup(&["worktree", "add", "-q", "-b", "topic", "../topic"]);
    let commit = ["-C", "../topic", "commit", "-q", "--allow-empty", "-m", "on the topic"];
    place.world.setup(&commit);
    let env = Env { cwd: place.world.base.join("topic"), ..place.world.env.clone() };
    let trees = Worktrees::open(&env, &place.world.base.join("home/.troupe"), Setup::default()).unwrap();
    let made = trees.make(&Name::of_agent("a"), &alive("a"), 0).await.unwrap();
    let topic = String::from_utf8(place.world.setup(&["rev-parse", "topic"])).unwrap();
    assert_eq!(made.tree.base, topic.trim());
    assert!(
        made.tree.path.starts_with(place.world.base.join("repo/.troupe/worktrees")),
        "beside the main checkout"
    );
}
