//! Making a team and starting its members.

use troupe_core::ids::AgentId;
use troupe_testkit::reading::{close, data, entries, entries_of, results, told};
use troupe_testkit::world::{World, say, turn};

use super::stage::{config, lead_says, member, names, playing, position, quiet};

/// The texts of the lead's results.
async fn of_lead(session: &troupe_engine::Session) -> Vec<String> {
    results(&entries(session).await)
}

// proves: T1, T2, T6, T9, A1, A10, F067
#[tokio::test]
async fn a_named_agent_is_a_member_and_an_unnamed_one_is_not() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=Blue description=\"paint it\"\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann too\" name=ann team_name=blue\n\
         reply\n  call Agent description=\"look\" prompt=\"look once\"\n\
         reply\n  call Agent description=\"look\" prompt=\"look twice\" team_name=blue\n\
         reply\n  call TeamCreate team_name=red\n\
         reply \"made\"\n\
         agent general-purpose /be ann/\n\
         reply \"here\"\n\
         agent general-purpose /look/\n\
         reply \"looked\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let data = data(&entries(&session).await);
    assert_eq!(data[0]["team_name"], "blue");
    assert_eq!(data[0]["lead_agent_id"], "team-lead@blue");
    assert_eq!(data[1]["status"], "teammate_spawned");
    assert_eq!((&data[1]["agent_id"], &data[1]["name"]), (&"ann@blue".into(), &"ann".into()));
    assert_eq!((&data[1]["backend"], &data[1]["pane"]), (&"in-process".into(), &"in-process".into()));
    assert_eq!((&data[1]["agent_type"], &data[1]["model"]), (&"general-purpose".into(), &"script".into()));
    assert_eq!(data[1]["plan_mode_required"], false);
    assert_eq!(data[2]["agent_id"], "ann-2@blue", "a taken name is numbered");
    assert_ne!(data[1]["color"], data[2]["color"]);
    assert_eq!((&data[3]["status"], &data[4]["status"]), (&"completed".into(), &"completed".into()));
    assert!(of_lead(&session).await[5].contains("leads the team `blue`"));
    assert_eq!(names(&world), ["team-lead", "ann", "ann-2"]);
    let team = config(&world);
    assert_eq!(team["description"], "paint it");
    assert_eq!(team["leadSessionId"], session.id().as_str());
    assert_eq!(team["members"][1]["color"], data[1]["color"]);
    assert_eq!(team["members"][1]["backendType"], "in-process");
    assert_eq!(team["members"][1]["isActive"], false);
    assert!(world.config.place.root.join("tasks/blue").is_dir());
    close(session).await;
    assert!(!world.config.place.root.join("teams/blue").exists(), "what the session made goes with it (T7)");
    assert!(!world.config.place.root.join("tasks/blue").exists());
}

// proves: T1, T7
#[tokio::test]
async fn a_name_that_others_took_gets_a_number_and_what_is_theirs_stays() {
    // A team of another session, and a task list that stands without a team.
    for theirs in ["teams/blue", "tasks/blue"] {
        let (world, _) =
            playing("agent main\nreply\n  call TeamCreate team_name=\"Blue!\"\nreply \"made\"\n");
        let theirs = world.config.place.root.join(theirs);
        std::fs::create_dir_all(&theirs).unwrap();
        std::fs::write(theirs.join("1.json"), "{}").unwrap();
        let session = world.start().await;
        turn(&session, 0, "go").await;
        assert_eq!(data(&entries(&session).await)[0]["team_name"], "blue-2");
        close(session).await;
        assert!(theirs.join("1.json").exists(), "it is another's");
    }
}

// proves: T1, A1
#[tokio::test]
async fn without_the_flag_there_are_no_teams() {
    let (world, _) = World::playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"look\" prompt=\"look\" name=ann\n\
         reply\n  call Agent description=\"look\" prompt=\"look\" name=bob team_name=blue\n\
         reply\n  call SendMessage to=* message=hi summary=hi\n\
         reply \"ok\"\n\
         agent general-purpose\nreply \"looked\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let told = of_lead(&session).await;
    assert!(told[0].contains("no tool `TeamCreate`"), "{told:?}");
    assert!(told[1].contains("looked"), "{told:?}");
    assert!(told[2].contains("there is no team here"), "{told:?}");
    assert!(told[3].contains("there is no team"), "{told:?}");
    close(session).await;
}

// proves: A1, T5
#[tokio::test]
async fn a_member_starts_no_members_and_knows_who_it_is() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         agent general-purpose /be ann/\n\
         reply\n  call Agent description=\"paint\" prompt=\"help\" name=bob team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"help\" name=bob\n\
         \x20 call TeamCreate team_name=green\n\
         reply \"done\"\n\
         agent general-purpose /help/\n\
         reply \"helped\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let told = results(&entries_of(&session, &member("ann")).await);
    assert!(told[0].contains("a member starts no members"), "{told:?}");
    assert!(told[1..].iter().any(|text| text.contains("helped")), "an agent of its own: {told:?}");
    assert!(told[1..].iter().any(|text| text.contains("no tool `TeamCreate`")), "{told:?}");
    assert_eq!(names(&world), ["team-lead", "ann"]);
    close(session).await;
}

// proves: T5, X6, F049, F053
#[tokio::test]
async fn a_report_comes_before_the_idle_note_and_idling_costs_no_request() {
    let (world, model) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann\n\
         reply \"made\"\n\
         reply\n  expect \"it is blue\"\n  text \"heard\"\n\
         reply\n  expect \"ann: available; last wrote: the colour\"\n  text \"later\"\n\
         agent general-purpose /be ann/\n\
         reply\n  gate work\n  call SendMessage to=team-lead message=\"it is blue\" summary=\"the colour\"\n\
         reply \"idle now\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    lead_says(&mut events, "made").await;
    assert_eq!(position(&world, "team-lead"), 0);
    model.release("work");
    lead_says(&mut events, "heard").await;
    quiet(&session).await;
    let read = entries(&session).await;
    let mail = read.iter().position(|entry| format!("{:?}", entry.body).contains("it is blue")).unwrap();
    let note = read.iter().position(|entry| format!("{:?}", entry.body).contains("went idle"));
    assert!(note.is_none_or(|note| note > mail), "the report first");
    turn(&session, 1, "and?").await;
    let notes = told(&entries(&session).await, |from| *from == troupe_core::entry::Origin::System);
    let notes: Vec<_> = notes.iter().filter(|text| text.contains("went idle")).collect();
    assert_eq!(notes.len(), 1, "one note a change: {notes:?}");
    assert_eq!(session.waiting(&AgentId::main()).len(), 0);
    assert!(position(&world, "team-lead") >= 1);
    close(session).await;
}

// proves: A10, M5
#[tokio::test]
async fn a_name_that_would_be_anothers_in_the_team_is_refused() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be one\" name=main_\n\
         \x20 call Agent description=\"paint\" prompt=\"be one\" name=user-\n\
         reply \"made\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let all = of_lead(&session).await;
    assert!(all[1].contains("name") && all[2].contains("name"), "{all:?}");
    assert_eq!(names(&world), ["team-lead"], "{all:?}");
    close(session).await;
}

// proves: M6
#[tokio::test]
async fn a_tool_is_called_by_its_older_name_too() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call ListPeers\n\
         reply\n  call ListPears\n\
         reply \"listed\"\n",
    );
    let session = world.start().await;
    turn(&session, 0, "go").await;
    let all = of_lead(&session).await;
    assert_eq!(all[1], "none");
    assert!(all[2].contains("There is no tool `ListPears`"), "{all:?}");
    close(session).await;
}

// proves: X14
#[tokio::test]
async fn a_member_has_the_effort_tools_and_limits_of_its_own_definition() {
    let (world, _) = playing(
        "agent main\n\
         reply\n  call TeamCreate team_name=blue\n\
         reply\n  call Agent description=\"paint\" prompt=\"be ann\" name=ann subagent_type=narrow\n\
         \x20 call Agent description=\"paint\" prompt=\"be bob\" name=bob\n\
         reply \"made\"\n\
         agent narrow\n\
         reply\n  call Bash command=\"echo x > made\"\n\
         reply\n  call Glob pattern=*\n\
         reply\n  call Glob pattern=*\n\
         agent general-purpose\n\
         reply \"here\"\n",
    );
    let types =
        "---\nname: narrow\ndescription: d\ntools: Glob, SendMessage\neffort: low\nmaxTurns: 2\n---\nDo it.";
    world.write(".troupe/agents/narrow.md", types);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    quiet(&session).await;
    let members = &config(&world)["members"];
    let of = |name: &str| members.as_array().unwrap().iter().find(|member| member["name"] == name).unwrap();
    assert_eq!((&of("ann")["agentType"], &of("ann")["effort"]), (&"narrow".into(), &"low".into()));
    assert_ne!(of("bob")["effort"], "low");
    let said = results(&entries_of(&session, &member("ann")).await);
    assert!(said[0].contains("There is no tool `Bash`"), "{said:?}");
    assert_eq!(said.len(), 2, "its own limit ends its run: {said:?}");
    assert!(!world.workspace().join("made").exists());
    close(session).await;
}
