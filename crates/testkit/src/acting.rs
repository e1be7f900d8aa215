//! What is done in a scene from outside: the person's words and answers, and what other programs write into a team's files.

use serde_json::{Map, Value, json};
use troupe_core::block::Block;
use troupe_core::entry::Origin;
use troupe_core::ids::{AgentId, InputId, JobId};
use troupe_core::input::{Input, Prompt, When};
use troupe_core::policy::Answer;
use troupe_core::team::{AllowedPath, Change, Kind, LEAD, Message, Team};
use troupe_engine::Session;
use troupe_engine::team::{TeamError, TeamPlace, Teams};

use crate::reading::eventually;
use crate::scene::{Act, Leave, Scene};
use crate::world::World;

/// Answers the questions that are open and that the scene has an answer to.
pub(crate) async fn answer(session: &Session, scene: &Scene) {
    for question in session.questions() {
        let name = question.asker.address.rsplit('/').next().unwrap_or_default();
        let fits = |leave: &&Leave| leave.asker == name && leave.tool == question.tool;
        let Some(leave) = scene.answers.iter().find(fits) else { continue };
        let answer = match &leave.denial {
            None => Answer::Allow { input: None, updates: Vec::new() },
            Some(message) => Answer::Deny { message: message.clone(), interrupt: false },
        };
        // It may have been withdrawn meanwhile.
        let _ = session.send(&question.agent, Input::Answer(question.id.clone(), answer)).await;
    }
}

/// Does all that the scene has for a gate. What has nobody to be done to is left out: an agent may have ended otherwise.
pub(crate) async fn act(session: &Session, world: &World, scene: &Scene, gate: &str) {
    for (number, (_, act)) in scene.acts.iter().enumerate().filter(|(_, (at, _))| at == gate) {
        match act {
            Act::Say { to, text } => {
                let to = agent(session, to);
                let _ = session.send(&to, words(number, text)).await;
            }
            Act::Stop(whom) => {
                session.stop_job(&JobId::new(agent(session, whom).as_str())).await;
            }
            Act::Subscribe { name, word } => subscribe(world, name, word).await.unwrap_or_default(),
            Act::Allow { tool, folder } => {
                if allow(world, number, tool, folder).await.is_ok() {
                    let path = world.workspace().join(folder).display().to_string();
                    let holds = || async { session.rules().iter().any(|rule| rule.text.contains(&path)) };
                    eventually("the members have read of the folder", holds).await;
                }
            }
        }
    }
}

fn agent(session: &Session, name: &str) -> AgentId {
    session.agent_at_work(name).unwrap_or_else(|_| AgentId::main())
}

/// One id for each act, so that a second time, after a crash, it is the same.
fn words(number: usize, text: &str) -> Input {
    Input::Prompt(Prompt {
        id: InputId::new(format!("act-{number}")),
        blocks: vec![Block::text(text)],
        from: Origin::Human,
        when: When::Next,
        starts_turn: true,
    })
}

/// The team of the scene.
async fn team(world: &World) -> Result<TeamPlace, TeamError> {
    let teams = Teams::new(world.config.place.root.clone());
    let name = teams.names()?.into_iter().next().unwrap_or_default();
    teams.find(&name).await
}

async fn subscribe(world: &World, name: &str, word: &str) -> Result<(), TeamError> {
    let change = |team: Option<&Team>| {
        let mut words =
            team.and_then(|team| team.member(name)).map_or_else(Vec::new, |one| one.subscriptions.clone());
        if !words.iter().any(|one| one == word) {
            words.push(word.to_owned());
        }
        let fields = [("subscriptions".to_owned(), json!(words))].into_iter().collect();
        Ok::<_, TeamError>(vec![Change::Altered { name: name.to_owned(), fields }])
    };
    team(world).await?.members.change(change).await.map(drop)
}

async fn allow(world: &World, number: usize, tool: &str, folder: &str) -> Result<(), TeamError> {
    let place = team(world).await?;
    let path = world.workspace().join(folder).display().to_string();
    let paths =
        vec![AllowedPath { path, tool_name: tool.to_owned(), added_by: LEAD.to_owned(), added_at: 0 }];
    let fields: Map<String, Value> = [("teamAllowedPaths".to_owned(), json!(paths))].into_iter().collect();
    let change = |_: Option<&_>| Ok::<_, TeamError>(vec![Change::Set { fields: fields.clone() }]);
    let team = place.members.change(change).await?;
    let names = team.iter().flat_map(Team::names).filter(|name| name != LEAD);
    for to in names.collect::<Vec<_>>() {
        let message = Message {
            id: format!("act-{number}"),
            from: LEAD.to_owned(),
            to,
            text: "paths".to_owned(),
            timestamp: "2026-01-01T00:00:00Z".to_owned(),
            color: None,
            summary: None,
            kind: Kind::TeamPermissionUpdate { paths: paths.clone() },
        };
        place.mail(false).send(&message).await?;
    }
    Ok(())
}
