//! What binds a lead's session binds its members in processes of their own as well, also what came after their start (X7):
//! the lead writes its rules, and the most that its mode lets pass, into the membership; each member follows them.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use troupe_core::ids::AgentId;
use troupe_core::policy::{Behaviour, Destination, Mode, Scope, Update};
use troupe_core::team::{Change, Member, Team};

use super::delivery::set_mode;
use super::outside::is_outside;
use super::seat::{Here, Seat};
use crate::supervisor::Shared;
use crate::supervisor::spawn::mode_below;
use crate::team::TeamError;

/// The field of a member with the rules of its lead's session and of its lead's flags.
const RULES: &str = "sessionRules";
/// The field with the mode that an agent of its definition would get below its lead now.
const MOST: &str = "mostMode";

/// What a member has taken over.
#[derive(Default)]
pub(super) struct Bound {
    rules: Vec<(String, Behaviour)>,
    most: Option<Mode>,
}

/// The rules that a member can't read in the files.
pub(crate) fn session_rules(shared: &Shared) -> (String, Value) {
    let word = |behaviour| match behaviour {
        Behaviour::Allow => "allow",
        Behaviour::Ask => "ask",
        Behaviour::Deny => "deny",
    };
    let rules = shared.rules(None);
    let binding = rules.iter().filter(|rule| matches!(rule.scope, Scope::Session | Scope::CommandLine));
    let rules: Vec<Value> =
        binding.map(|rule| json!({"rule": rule.text, "behaviour": word(rule.behaviour)})).collect();
    (RULES.to_owned(), rules.into())
}

/// Writes the rules of now to all members of other processes of the teams that this session leads.
pub(crate) async fn bind_rules(shared: &Shared) {
    for seat in shared.seats.all().into_iter().filter(|seat| seat.leads()) {
        bind(shared, &seat.here, false).await;
    }
}

/// Writes rules, and where asked for the modes, to the members of a team that have processes of their own.
pub(super) async fn bind(shared: &Shared, here: &Here, modes: bool) {
    let rules = session_rules(shared);
    let fields = |member: &Member| {
        let most = modes.then(|| most_of(shared, member)).flatten();
        let most = most.map(|mode| (MOST.to_owned(), mode.as_str().into()));
        let fields = std::iter::once(rules.clone()).chain(most);
        fields.filter(|(key, value)| member.other.get(key) != Some(value)).collect::<Map<_, _>>()
    };
    let decide = |team: Option<&Team>| {
        let members = team.map(|team| team.members.as_slice()).unwrap_or_default();
        let changes = members.iter().filter(|member| is_outside(member)).filter_map(|member| {
            let fields = fields(member);
            (!fields.is_empty()).then(|| Change::Altered { name: member.name.clone(), fields })
        });
        Ok::<_, TeamError>(changes.collect())
    };
    if let Err(error) = here.place.members.change(decide).await {
        tracing::warn!(%error, "members of other processes do not know of the rules of now");
    }
}

fn most_of(shared: &Shared, member: &Member) -> Option<Mode> {
    let lead = shared.row(&AgentId::main())?;
    let def = shared.catalogue().find(member.agent_type.as_deref()?).cloned()?;
    Some(mode_below(shared, Some(&lead), &def))
}

/// Takes over what the membership says by now; gives what could not be applied.
pub(super) async fn take(shared: &Shared, here: &Here, member: &Member) -> Vec<String> {
    let rule = |rule: &Value| {
        let behaviour = match rule["behaviour"].as_str()? {
            "allow" => Behaviour::Allow,
            "ask" => Behaviour::Ask,
            _ => Behaviour::Deny,
        };
        Some((rule["rule"].as_str()?.to_owned(), behaviour))
    };
    let listed = member.other.get(RULES).and_then(Value::as_array);
    let rules: Vec<_> = listed.into_iter().flatten().filter_map(rule).collect();
    let mut bound = here.bound.lock().await;
    let destination = Destination::Session;
    let added = rules.iter().filter(|rule| !bound.rules.contains(rule)).map(|(text, behaviour)| {
        Update::AddRules { rules: vec![text.clone()], behaviour: *behaviour, destination }
    });
    let removed = bound.rules.iter().filter(|rule| !rules.contains(rule)).map(|(text, behaviour)| {
        Update::RemoveRules { rules: vec![text.clone()], behaviour: *behaviour, destination }
    });
    let mut faults = Vec::new();
    // One by one: a faulty one takes no other with it. What denies comes before what allowed goes.
    for update in added.chain(removed).collect::<Vec<_>>() {
        faults.extend(shared.update(&[update]).await);
    }
    bound.rules = rules;
    faults
}

/// The same, and lowers the mode where the lead's lets less pass than when this was last looked at.
pub(super) async fn follow(shared: &Arc<Shared>, seat: &Seat) {
    if shared.config.teams.member.is_none() || !seat.agent.is_main() {
        return;
    }
    // What can't be read for a moment changes nothing.
    let Ok(team) = seat.here.team().await else { return };
    let Some(member) = team.member(&seat.name) else { return };
    for fault in take(shared, &seat.here, member).await {
        tracing::warn!(fault, "a rule of the lead's session is not applied");
    }
    let most = member.other.get(MOST).and_then(Value::as_str).and_then(Mode::parse);
    let is_new = std::mem::replace(&mut seat.here.bound.lock().await.most, most) != most;
    let now = shared.row(&seat.agent).map(|row| row.state().mode);
    if let Some((most, now)) = most.zip(now)
        && is_new
        && now.lets_pass_more_than(most)
    {
        set_mode(shared, seat, most).await;
    }
}
