//! Memory of agents: what they are shown of it, and what they may do there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use troupe_core::block::text_of;
use troupe_core::entry::{Body, Origin};
use troupe_core::policy::Mode;
use troupe_engine::Session;
use troupe_testkit::reading::{close, entries, entries_of, results};
use troupe_testkit::world::{World, turn};

const CALL: &str = "reply\n  call Agent subagent_type=keeper description=d prompt=";

fn world(script: &str, head: &str) -> World {
    let (mut world, _) = World::playing(script);
    world.config.place.memory = Some(world.workspace().to_owned());
    world
        .write(".troupe/agents/keeper.md", &format!("---\nname: keeper\ndescription: d\n{head}\n---\nKeep."));
    world
}

/// What each agent below the main one was told by the harness at its start.
async fn told(session: &Session) -> Vec<String> {
    let ids: Vec<_> = results(&entries(session).await)
        .iter()
        .filter_map(|told| told.split_once("agentId: ")?.1.split(';').next().map(Into::into))
        .collect();
    let mut all = Vec::new();
    for id in ids {
        let read = entries_of(session, &id).await;
        all.extend(read.iter().find_map(|entry| match &entry.body {
            Body::User { blocks, from: Origin::System, .. } => Some(text_of(blocks)),
            _ => None,
        }));
    }
    all
}

// proves: Y1
#[tokio::test]
async fn what_one_agent_writes_down_the_next_of_its_type_is_shown() {
    for (scope, folder) in [
        ("project", "ws/.troupe/agent-memory/keeper"),
        ("local", "ws/.troupe/agent-memory-local/keeper"),
        ("user", "state/agent-memory/keeper"),
    ] {
        let place = World::playing("agent main\nreply \"x\"\n").0;
        drop(place);
        let mut world = world("agent main\nreply \"x\"\n", &format!("memory: {scope}\ntools: Glob"));
        world.config.leave.mode = Some(Mode::Default);
        let folder = world.folder().join(folder);
        let script = format!(
            "agent main\n{CALL}one\n{CALL}two\nreply \"done\"\n\
             agent keeper /one/\n\
             reply\n  expect \"It is empty yet\"\n  call Write file_path={0}/MEMORY.md content=\"- build.md: how it is built\"\n\
             reply \"kept\"\n\
             agent keeper /two/\n\
             reply\n  expect \"- build.md: how it is built\"\n  call Read file_path={0}/MEMORY.md\n\
             reply \"seen\"\n",
            folder.display()
        );
        world.model =
            std::sync::Arc::new(troupe_models::script::ScriptModel::parse("test", &script).unwrap());
        let session = world.start().await;
        let end = turn(&session, 0, "go").await;
        assert_eq!(end.text, "done", "{scope}: {:?}", results(&entries(&session).await));
        assert!(folder.join("MEMORY.md").exists(), "{scope}: {:?}", results(&entries(&session).await));
        let told = told(&session).await;
        assert!(told[1].contains(&folder.display().to_string()), "{told:?}");
        close(session).await;
    }
}

// proves: Y1
#[tokio::test]
async fn tools_that_an_agent_has_for_its_memory_reach_nothing_else() {
    let world = world(
        &format!(
            "agent main\n{CALL}one\nreply \"done\"\n\
             agent keeper /one/\n\
             reply\n  call Read file_path=a.txt\n  call Write file_path=b.txt content=x\n\
             \x20 call Edit file_path=.troupe/agent-memory/other/MEMORY.md old_string=a new_string=b\n\
             reply \"tried\"\n"
        ),
        "memory: project\ntools: Glob",
    );
    world.write("a.txt", "x");
    world.write(".troupe/agent-memory/other/MEMORY.md", "a");
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let id = results(&entries(&session).await)[0]
        .split_once("agentId: ")
        .unwrap()
        .1
        .split(';')
        .next()
        .unwrap()
        .into();
    let told = results(&entries_of(&session, &id).await);
    assert!(told.iter().all(|told| told.contains("for its memory alone")), "{told:?}");
    assert!(!world.workspace().join("b.txt").exists());
    close(session).await;
}

// proves: Y1
#[tokio::test]
async fn a_folder_that_leads_elsewhere_is_not_used_and_said() {
    let world = world(
        &format!("agent main\n{CALL}one\nreply \"done\"\nagent keeper /one/\nreply \"here\"\n"),
        "memory: project",
    );
    std::fs::create_dir_all(world.folder().join("elsewhere")).unwrap();
    std::fs::create_dir_all(world.workspace().join(".troupe/agent-memory")).unwrap();
    let link = world.workspace().join(".troupe/agent-memory/keeper");
    std::os::unix::fs::symlink(world.folder().join("elsewhere"), link).unwrap();
    let session = world.start().await;
    turn(&session, 0, "go").await;
    assert!(!told(&session).await[0].contains("memory of your own"));
    close(session).await;
}
