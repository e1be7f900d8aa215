//! Tests of the membership on disk.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;
use troupe_core::team::Member;

use super::super::{TeamError, Teams};
use super::*;

fn made() -> Change {
    Change::Made { team: Box::new(Team::new("blue", None, "s", Member::default(), 1)) }
}

fn joined(name: &str) -> Change {
    Change::Joined { member: Box::new(Member { name: name.into(), ..Member::default() }) }
}

// proves: T2
#[tokio::test]
async fn two_that_change_one_team_at_once_both_succeed_and_the_view_has_both() {
    let home = tempfile::tempdir().unwrap();
    let place = || Teams::new(home.path().to_owned()).place("blue").unwrap();
    place().members.change::<TeamError>(|_| Ok(vec![made()])).await.unwrap();
    let join = |n: usize| {
        let place = place();
        async move {
            place.members.change::<TeamError>(|_| Ok(vec![joined(&format!("m{n}"))])).await.unwrap();
        }
    };
    futures_util::future::join_all((0..6).map(join)).await;
    let team = place().members.load().await.unwrap().unwrap();
    assert_eq!(team.members.len(), 7);
    let view: Value =
        serde_json::from_slice(&std::fs::read(home.path().join("teams/blue/config.json")).unwrap()).unwrap();
    assert_eq!(view["leadSessionId"], "s");
}

// proves: T2, T11
#[tokio::test]
async fn a_team_of_another_program_is_found_and_keeps_its_fields() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("teams/red");
    std::fs::create_dir_all(&folder).unwrap();
    let found =
        json!({"theme": "dark", "members": [{"name": "team-lead", "agentId": "team-lead@red", "x": 1}]});
    std::fs::write(folder.join("config.json"), found.to_string()).unwrap();
    let teams = Teams::new(home.path().to_owned());
    let place = teams.find("red").await.unwrap();
    place.members.change::<TeamError>(|_| Ok(vec![joined("ann")])).await.unwrap();
    let view: Value = serde_json::from_slice(&std::fs::read(folder.join("config.json")).unwrap()).unwrap();
    assert_eq!(view["theme"], "dark");
    assert_eq!(view["members"][0]["x"], 1);
    assert_eq!(view["members"][1]["name"], "ann");
    let unknown = teams.find("green").await.map(|_| ()).unwrap_err().to_string();
    assert!(unknown.contains("there are: red"), "{unknown}");
}
