//! Questions of a member of another process: mail to the lead, whose session asks its person; only the lead's answer counts,
//! and without one in time it is a denial with words (S3).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use troupe_core::ids::{AgentId, CallId, QuestionId};
use troupe_core::policy::{Answer, Asker, Question, ReasonKind};
use troupe_core::team::{Kind, LEAD, Message, member_id};

use super::outside::{is_alive, is_outside};
use super::post::post;
use super::seat::{Seat, lock};
use crate::clock::{iso, parse_iso};
use crate::store::By;
use crate::supervisor::{Answered, Shared};
use crate::team::TeamError;

/// What came back from the lead.
pub(super) struct LeadsWord {
    allow: bool,
    input: Option<Value>,
    message: Option<String>,
}

/// Puts a question to the lead, where this process is a member of a team that another one leads; none where it is not.
/// `settled` ends the wait where rules decide by now: the inner none.
pub(crate) async fn ask_lead(
    shared: &Shared,
    question: &Question,
    settled: impl Fn() -> bool,
) -> Option<Option<Answered>> {
    shared.config.teams.member.as_ref()?;
    let Some(seat) = shared.seats.of(&AgentId::main()) else {
        return Some(Some(Answered::by_nobody(
            "The lead can't be asked: this member is leaving.".to_owned(),
        )));
    };
    let request_id = format!("ask-{}-{}", seat.name, question.id);
    let (sender, answered) = oneshot::channel();
    lock(&seat.asked).insert(request_id.clone(), sender);
    let _guard = Forget { seat: &seat, request: &request_id };
    if let Err(error) = post(shared, &seat, request(shared, &seat, question, &request_id)).await {
        return Some(Some(Answered::by_nobody(format!(
            "The lead could not be asked ({error}), so this call was denied."
        ))));
    }
    let limit = shared.config.teams.answer;
    let mut changes = shared.standing.changes();
    tokio::pin!(answered);
    let late = sleep(limit);
    tokio::pin!(late);
    loop {
        tokio::select! {
            biased;
            word = &mut answered => {
                return Some(Some(match word {
                    Ok(word) => of_lead(word),
                    Err(_) => Answered::by_nobody("The question was withdrawn before it was answered.".to_owned()),
                }));
            }
            () = &mut late => {
                return Some(Some(Answered::by_nobody(format!(
                    "This call needs leave ({}), the lead was asked, and no answer came within {} s, so it was denied. Go on without it, or say what you need.",
                    question.reason,
                    limit.as_secs_f32()
                ))));
            }
            Ok(()) = changes.changed() => {
                if settled() {
                    return Some(None);
                }
            }
        }
    }
}

fn request(shared: &Shared, seat: &Seat, question: &Question, request_id: &str) -> Message {
    let asker = if question.agent.is_main() {
        seat.name.clone()
    } else {
        format!("{}/{}", seat.name, question.agent)
    };
    let kind = Kind::PermissionRequest {
        request_id: request_id.to_owned(),
        tool: question.tool.clone(),
        input: question.input.clone(),
        path: question.blocked_path.clone(),
        asker,
        reason: Some(question.headline().to_owned()),
    };
    Message {
        id: request_id.to_owned(),
        from: seat.name.clone(),
        to: LEAD.to_owned(),
        text: format!("asks leave: {}", question.headline()),
        timestamp: iso(shared.parts.clock.now()),
        color: None,
        summary: None,
        kind,
    }
}

fn of_lead(word: LeadsWord) -> Answered {
    let answer = if word.allow {
        Answer::Allow { input: word.input, updates: Vec::new() }
    } else {
        let message = word.message.unwrap_or_else(|| "The lead's person did not allow this call.".to_owned());
        Answer::Deny { message, interrupt: false }
    };
    Answered { answer, by: By::Person }
}

/// Forgets a question that nobody waits for any more.
struct Forget<'a> {
    seat: &'a Seat,
    request: &'a str,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.seat.asked).remove(self.request);
    }
}

/// The lead's answer has come. One to a question that is not open any more changes nothing.
pub(super) fn answered(seat: &Seat, kind: &Kind) {
    let Kind::PermissionResponse { request_id, allow, updated_input, message } = kind else { return };
    let Some(asked) = lock(&seat.asked).remove(request_id) else { return };
    let word = LeadsWord { allow: *allow, input: updated_input.clone(), message: message.clone() };
    // Whoever asked may have stopped waiting.
    let _ = asked.send(word);
}

/// A member asks: the lead's session asks whoever answers its questions, and the answer goes back as mail.
pub(super) fn bubble(shared: &Arc<Shared>, seat: &Arc<Seat>, message: &Message) {
    let (task, seat, message) = (Arc::clone(shared), Arc::clone(seat), message.clone());
    shared.run(async move {
        tokio::select! {
            biased;
            () = seat.token.cancelled() => {}
            // With it the host hears that the question is withdrawn.
            () = given_up(&task, &seat, &message) => {}
            () = answer(&task, &seat, &message) => {}
        }
    });
}

/// Until the member waits for the answer no more: its time is up, or it is gone.
async fn given_up(shared: &Shared, seat: &Seat, message: &Message) {
    let limit = shared.config.teams.answer;
    let sent = parse_iso(&message.timestamp).map_or(0, |at| shared.parts.clock.now().0.saturating_sub(at.0));
    // A clock that was set back makes no question stay open longer than one that was asked now.
    let past = Duration::from_millis(u64::try_from(sent).unwrap_or_default());
    let mut changes = seat.here.place.follow();
    let gone = async {
        loop {
            match seat.here.team().await {
                Ok(team) if team.member(&message.from).is_some_and(|member| is_alive(shared, member)) => {}
                Ok(_) | Err(TeamError::Unknown { .. }) => return,
                // What can't be read for a moment withdraws nothing.
                Err(_) => {}
            }
            changes.changed().await;
        }
    };
    let _ = timeout(limit.saturating_sub(past), gone).await;
}

async fn answer(shared: &Arc<Shared>, seat: &Seat, message: &Message) {
    let Kind::PermissionRequest { request_id, tool, input, path, asker, reason } = &message.kind else {
        return;
    };
    let Ok(team) = seat.here.team().await else { return };
    let Some(member) = team.member(&message.from).filter(|member| is_outside(member)) else {
        tracing::warn!(from = message.from, "a question of somebody who is no member elsewhere");
        return;
    };
    // It asks for itself, or for an agent below it.
    let own =
        asker == &member.name || asker.strip_prefix(&member.name).is_some_and(|rest| rest.starts_with('/'));
    let asker = if own { asker } else { &member.name };
    let question = Question {
        id: QuestionId::new(format!("{}-{request_id}", member.agent_id)),
        agent: AgentId::new(member_id(&member.name, seat.here.name())),
        asker: Asker {
            address: format!("main/{asker}"),
            definition: member.agent_type.clone().unwrap_or_default(),
        },
        call: CallId::new(request_id.as_str()),
        tool: tool.clone(),
        input: input.clone(),
        title: reason.clone().unwrap_or_default(),
        reason: "a member of the team asks".to_owned(),
        reason_kind: ReasonKind::Other,
        blocked_path: path.clone(),
        suggestions: Vec::new(),
        alternatives: Vec::new(),
        hard: true,
        interactive: false,
    };
    let Some(Answered { answer, .. }) = shared.ask(question, || false).await else { return };
    let (allow, updated_input, text) = match answer {
        Answer::Allow { input, updates } => {
            for fault in shared.update(&updates).await {
                tracing::warn!(fault, "a rule of an answer to a member is not applied");
            }
            (true, input, None)
        }
        Answer::Deny { message, .. } => (false, None, Some(message)),
    };
    let reply = Message {
        id: format!("answer-{request_id}"),
        from: LEAD.to_owned(),
        to: member.name.clone(),
        text: (if allow { "allowed" } else { "not allowed" }).to_owned(),
        timestamp: iso(shared.parts.clock.now()),
        color: None,
        summary: None,
        kind: Kind::PermissionResponse {
            request_id: request_id.clone(),
            allow,
            updated_input,
            message: text,
        },
    };
    if let Err(error) = post(shared, seat, reply).await {
        tracing::warn!(%error, name = member.name, "the answer to a question did not reach the member");
    }
}
