//! Tests of a team's changes.

use serde_json::json;

use super::*;

fn team() -> Team {
    Team::new("blue", Some("mends it".into()), "s-1", Member { cwd: "/w".into(), ..Member::default() }, 7)
}

fn ann() -> Member {
    Member { agent_id: "ann@blue".into(), name: "ann".into(), ..Member::default() }
}

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

// proves: T1, T2
#[test]
fn a_new_team_has_its_lead_and_the_shape_of_the_file() {
    let shown = serde_json::to_value(team()).unwrap_or_default();
    assert_eq!(shown["leadAgentId"], "team-lead@blue");
    assert_eq!(shown["leadSessionId"], "s-1");
    assert_eq!(shown["members"][0]["agentType"], "team-lead");
    assert_eq!(shown["members"][0]["joinedAt"], 7);
    assert_eq!(shown["hiddenPaneIds"], json!([]));
    assert!(shown["members"][0].get("isActive").is_none());
}

// proves: T2
#[test]
fn changes_add_up_and_one_of_somebody_unknown_changes_nothing() {
    let mut team = team();
    team.apply(Change::Joined { member: Box::new(ann()) });
    team.apply(Change::Altered {
        name: "ann".into(),
        fields: fields(&json!({"isActive": false, "name": "eve"})),
    });
    assert_eq!(team.member("ANN").and_then(|ann| ann.is_active), Some(false));
    team.apply(Change::Altered { name: "ann".into(), fields: fields(&json!({"isActive": null})) });
    assert_eq!(team.member("ann@blue").and_then(|ann| ann.is_active), None);
    let before = team.clone();
    team.apply(Change::Altered { name: "bob".into(), fields: fields(&json!({"mode": "plan"})) });
    team.apply(Change::Altered { name: "ann".into(), fields: fields(&json!({"joinedAt": "noon"})) });
    team.apply(Change::Set { fields: fields(&json!({"members": []})) });
    assert_eq!(team, before);
    team.apply(Change::Left { name: "ann".into(), reason: None });
    assert_eq!(team.names(), ["team-lead"]);
}

// proves: T2
#[test]
fn what_other_programs_put_there_stays() {
    let found = json!({"name": "x", "theme": {"a": 1}, "members": [{"name": "ann", "agentId": "ann@x", "mood": "good"}]});
    let mut team: Team = serde_json::from_value(found).unwrap_or_default();
    team.apply(Change::Altered { name: "ann".into(), fields: fields(&json!({"isActive": false})) });
    team.apply(Change::Set { fields: fields(&json!({"hiddenPaneIds": ["%3"]})) });
    let shown = serde_json::to_value(&team).unwrap_or_default();
    assert_eq!(shown["theme"], json!({"a": 1}));
    assert_eq!(shown["members"][0]["mood"], "good");
    assert_eq!(shown["hiddenPaneIds"], json!(["%3"]));
}
