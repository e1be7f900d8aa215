//! Agents that work in worktrees: where they are, what they may change, and what stays of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use troupe_core::entry::Body;
use troupe_core::ids::AgentId;
use troupe_engine::Session;
use troupe_testkit::reading::{close, data, entries, entries_of, eventually, results};
use troupe_testkit::world::{World, ended, say, turn};

/// A world in a repository with a file in it.
fn world(script: &str) -> World {
    let (world, _) = World::playing(script);
    world.write("src/a.txt", "one\n");
    world.write(".gitignore", "node_modules/\n.env\n");
    world.commit_all();
    world
}

/// The folders of worktrees.
fn trees(world: &World) -> Vec<PathBuf> {
    let folder = world.workspace().join(".troupe/worktrees");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

fn branches(world: &World) -> String {
    world.git(&["branch", "--format=%(refname:short)"])
}

/// The first agent below the main one.
async fn child(session: &Session) -> AgentId {
    let told = results(&entries(session).await);
    let id = told.iter().find_map(|told| told.split_once("agentId: ")?.1.split(';').next().map(AgentId::new));
    id.expect("an agent was started")
}

fn isolated(prompt: &str) -> String {
    format!("reply\n  call Agent description=d prompt=\"{prompt}\" isolation=worktree\n")
}

// proves: W1, W3, X4, X8, A6
#[tokio::test]
async fn an_isolated_agent_works_in_a_worktree_that_stays_with_its_work() {
    let world = world(&format!(
        "agent main\n{}reply \"done\"\n\
         agent general-purpose\n\
         reply\n  expect \"You work in a git worktree of your own\"\n  call Read file_path=src/a.txt\n\
         reply\n  call Edit file_path=src/a.txt old_string=one new_string=two\n\
         \x20 call Write file_path=src/new.txt content=new\n\
         reply \"edited\"\n",
        isolated("change it")
    ));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert_eq!(world.read("src/a.txt"), "one\n", "the main checkout is as it was");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "and git sees nothing of it");
    let result = data(&entries(&session).await)[0].clone();
    let path = PathBuf::from(result["worktreePath"].as_str().unwrap_or_default());
    let id = child(&session).await;
    assert_eq!(path, world.workspace().join(".troupe/worktrees").join(id.as_str()), "{result:#}");
    assert_eq!(result["worktreeBranch"], format!("agent-{id}"));
    let told = &results(&entries(&session).await)[0];
    assert!(told.contains("worktree kept:") && told.contains("src/a.txt"), "{told}");
    assert_eq!(std::fs::read_to_string(path.join("src/a.txt")).unwrap(), "two\n");
    let header = session.entries(&id, 0).await.unwrap().into_iter().find_map(|entry| match &entry.body {
        Body::Opened(header) => header.worktree.clone(),
        _ => None,
    });
    assert_eq!(header.map(|tree| tree.base), Some(world.git(&["rev-parse", "HEAD"])));
    close(session).await;
}

// proves: W3
#[tokio::test]
async fn a_worktree_in_which_nothing_was_done_goes_with_its_branch() {
    let world = world(&format!(
        "agent main\n{}reply \"done\"\n\
         agent general-purpose\n\
         reply\n  call Read file_path=src/a.txt\n\
         reply \"looked\"\n",
        isolated("look at it")
    ));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    eventually("it is gone", async || trees(&world).is_empty() && branches(&world) == "main").await;
    let result = data(&entries(&session).await)[0].clone();
    assert_eq!(result["worktreePath"], Value::Null, "{result:#}");
    close(session).await;
}

// proves: X8, F078
#[tokio::test]
async fn whatever_path_it_is_given_it_changes_nothing_outside() {
    let script = |main: &Path| {
        let main = main.display();
        format!(
            "agent main\n{}reply \"done\"\n\
             agent general-purpose\n\
             reply\n  call Write file_path={main}/src/b.txt content=x\n\
             \x20 call Edit file_path={main}/src/a.txt old_string=one new_string=two\n\
             \x20 call Bash command=\"cd {main} && touch b\"\n\
             \x20 call Bash command=\"echo x > ../../../c\"\n\
             \x20 call Bash command=\"git -C {main} commit --allow-empty -m x\"\n\
             \x20 call Read file_path={main}/src/a.txt\n\
             reply \"tried\"\n",
            isolated("change it")
        )
    };
    // The script names the workspace, which is known once there is one.
    let place = world("agent main\nreply \"x\"\n");
    let model = troupe_models::script::ScriptModel::parse("test", &script(place.workspace())).unwrap();
    let mut world = place;
    world.model = std::sync::Arc::new(model);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let told = results(&entries_of(&session, &child(&session).await).await);
    assert_eq!(told.len(), 6);
    let own = world.workspace().join(".troupe/worktrees");
    for (told, file) in told.iter().zip(["src/b.txt", "src/a.txt"]) {
        assert!(
            told.contains("change nothing else")
                && told.contains(&own.display().to_string())
                && told.contains(file),
            "{told}"
        );
    }
    for told in &told[2..5] {
        assert!(told.contains("change nothing else"), "{told}");
    }
    assert!(told[5].contains("instead"), "{}", told[5]);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "1");
    close(session).await;
}

// proves: W3, F081
#[tokio::test]
async fn what_an_agent_has_committed_stays_also_when_it_goes_on_and_adds_nothing() {
    let world = world(&format!(
        "agent main\n{}\
         reply\n  call SendMessage to=w message=\"anything else?\" summary=hi\n\
         reply \"sent\"\nreply \"heard\"\n\
         agent general-purpose\n\
         reply\n  call Bash command=\"echo two > src/a.txt && git commit -qam two\"\n\
         reply \"committed\"\n\
         reply \"nothing else\"\n",
        isolated("commit it").replace("isolation", "name=w isolation")
    ));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let id = child(&session).await;
    eventually("it went on", async || {
        let read = session.entries(&id, 0).await.unwrap();
        read.iter().filter(|entry| matches!(entry.body, Body::Closed(_))).count() == 2
    })
    .await;
    close(session).await;
    assert_eq!(trees(&world).len(), 1);
    assert_eq!(world.git(&["log", "--format=%s", "-1", &format!("agent-{id}")]), "two");
}

// proves: F085
#[tokio::test]
async fn an_agent_whose_worktree_is_gone_does_nothing_elsewhere() {
    let (world, model) = World::playing(&format!(
        "agent main\n{}reply \"done\"\n\
         agent general-purpose\n\
         reply\n  gate lost\n  call Bash command=\"touch here\"\n  call Read file_path=src/a.txt\n\
         reply \"lost\"\n",
        isolated("lose it")
    ));
    world.write("src/a.txt", "one\n");
    world.commit_all();
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    eventually("it is at work", async || session.roster().len() == 2).await;
    std::fs::remove_dir_all(&trees(&world)[0]).unwrap();
    model.release("lost");
    ended(&mut events).await;
    let told = results(&entries_of(&session, &child(&session).await).await);
    assert!(told.len() == 2 && told.iter().all(|told| told.contains("working directory gone")), "{told:?}");
    assert!(!world.workspace().join("here").exists());
    close(session).await;
}

// proves: W4
#[tokio::test]
async fn a_session_enters_a_worktree_and_leaves_it_and_work_goes_only_when_told_so() {
    let world = world(
        "agent main\n\
         reply\n  call EnterWorktree name=try\n\
         reply\n  call Write file_path=src/b.txt content=x\n\
         reply\n  call ExitWorktree action=remove\n\
         reply\n  call ExitWorktree action=remove discard_changes=true\n\
         reply\n  call Write file_path=src/c.txt content=x\n\
         reply \"done\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let read = entries(&session).await;
    let (told, data) = (results(&read), data(&read));
    let tree = world.workspace().join(".troupe/worktrees/try");
    assert_eq!(data[0]["worktreePath"].as_str(), tree.to_str(), "{told:?}");
    assert_eq!(data[0]["worktreeBranch"], "worktree-try");
    assert!(told[2].contains("src/b.txt") && told[2].contains("discard_changes"), "{}", told[2]);
    assert_eq!((&data[3]["action"], &data[3]["discardedFiles"]), (&"remove".into(), &1.into()), "{told:?}");
    assert!(!tree.exists() && !branches(&world).contains("try"));
    assert!(!world.workspace().join("src/b.txt").exists() && world.workspace().join("src/c.txt").exists());
    let rescued = world.git(&["for-each-ref", "--format=%(refname)", "refs/troupe/rescue"]);
    assert_eq!(world.git(&["show", &format!("{rescued}:src/b.txt")]), "x");
    assert!(told[3].contains(&rescued), "{}", told[3]);
    close(session).await;
}

// proves: W2, F095
#[tokio::test]
async fn a_new_worktree_is_ready_to_use() {
    let mut world = world(&format!(
        "agent main\n{}reply \"done\"\n\
         agent general-purpose\nreply\n  call Write file_path=keep content=x\nreply \"x\"\n",
        isolated("look")
    ));
    world.write("node_modules/m/index.js", "x");
    world.write(".env", "KEY=1");
    world.write(".venv/x", "x");
    world.write(".worktreeinclude", ".env\n");
    world.setup.links = vec!["node_modules".into(), "../outside".into()];
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let tree = trees(&world).pop().unwrap();
    assert!(tree.join("node_modules").is_symlink() && tree.join("node_modules/m/index.js").exists());
    assert_eq!(std::fs::read_to_string(tree.join(".env")).unwrap(), "KEY=1");
    let read = session.entries(&child(&session).await, 0).await.unwrap();
    let brief = format!("{read:?}");
    assert!(brief.contains(".venv is not here") && brief.contains("../outside is no folder"), "{brief}");
    close(session).await;
    // What is linked is unlinked, and never followed.
    let trees = world.worktrees().unwrap();
    let name = tree.file_name().unwrap().to_str().unwrap();
    let refs = trees.remove(name, None, true, 7).await.unwrap();
    assert!(!tree.exists() && refs.len() == 1, "{refs:?}");
    assert!(world.workspace().join("node_modules/m/index.js").exists());
}

// proves: W5
#[tokio::test]
async fn where_there_is_nothing_to_begin_from_it_is_said_clearly() {
    let script = format!("agent main\n{}reply \"done\"\n", isolated("look"));
    let (plain, _) = World::playing(&script);
    let (empty, _) = World::playing(&script);
    empty.git(&["init", "-q"]);
    for (world, words) in [(plain, "is in no git repository"), (empty, "has no commit yet")] {
        let session = world.start().await;
        turn(&session, 0, "go").await;
        let told = &results(&entries(&session).await)[0];
        assert!(told.contains("No agent was started") && told.contains(words), "{told}");
        close(session).await;
    }
}
