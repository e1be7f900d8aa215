//! Whether what a case expects holds.

use troupe_core::entry::Body;
use troupe_core::ids::{AgentId, JobId};
use troupe_core::outcome::Ending;
use troupe_testkit::reading;

use crate::expect::Expect;
use crate::play::Play;

/// Checks one expectation, once all has come to rest.
///
/// # Panics
/// When it does not hold.
#[expect(clippy::too_many_lines, reason = "a table: an arm an expectation")]
pub(crate) async fn check(play: &Play, all: &[Expect], expect: &Expect) {
    let session = play.session();
    let main = reading::entries(&session).await;
    let notices = reading::notices(&main);
    let agents = play.ids();
    match expect {
        Expect::Remark => {}
        Expect::ResultReturned => {
            let record = play.record();
            let last = record.answers.last().expect("the lead asked");
            assert!(last.contains("done t") && last.contains("completed"), "{last}");
        }
        Expect::NoticeOnce => {
            for (name, id) in &agents {
                let told = count(&notices, id);
                let asked =
                    play.record().answers.iter().any(|answer| answer.contains(&format!("done {name}.")));
                assert!(told == 1 || (told == 0 && asked), "{name}: {notices:?}");
            }
        }
        Expect::Completions(wanted) => {
            let completed = notices.iter().filter(|(_, text)| text.contains("<status>completed</status>"));
            assert_eq!(completed.count(), *wanted, "{notices:?}");
        }
        Expect::Notifications(wanted) => {
            assert_eq!(notices.len(), *wanted, "{notices:?}");
            let heard = play.record().heard.len();
            assert_eq!(heard, *wanted, "ends that the client was told of");
        }
        Expect::NotCompletedYet(name) => {
            let id = agents[name].clone();
            assert_eq!(count(&play.record().inbox, &id), 0, "{:?}", play.record().inbox);
        }
        Expect::CommandOver(name) => play.over(&command(play, name)).await,
        Expect::ToldOnceOf(name) => {
            let job = command(play, name);
            let told: Vec<_> = notices.iter().filter(|(_, text)| text.contains(job.as_str())).collect();
            assert_eq!(told.len(), 1, "{notices:?}");
        }
        Expect::Labelled(name) => {
            let named = all.iter().rev().find_map(|one| match one {
                Expect::ToldOnceOf(name) => Some(command(play, name)),
                _ => None,
            });
            let job = named.expect("a command is named before");
            let told = notices.iter().filter(|(_, text)| text.contains(job.as_str()));
            for (_, text) in told {
                assert!(text.contains(agents[name].as_str()) || text.contains(name.as_str()), "{text}");
            }
        }
        Expect::NoSecondNotice => {
            for (name, id) in &agents {
                assert_eq!(count(&notices, id), 1, "{name}: {notices:?}");
            }
        }
        Expect::TextOnce => {
            for name in agents.keys() {
                let text = format!("{main:?}");
                assert_eq!(text.matches(&format!("done {name}.")).count(), 1, "{text}");
            }
        }
        Expect::MostWakes(most) => {
            let (turns, prompts) = (reading::ends(&main), play.record().prompts);
            assert!(turns <= prompts + most, "{turns} turns, {prompts} prompts");
        }
        Expect::TerminalStates(wanted) => {
            for (name, id) in &agents {
                let ends = play.entries(id).await;
                assert_eq!(reading::ends(&ends), *wanted, "{name}");
                let told: Vec<_> = notices.iter().filter(|(job, _)| job.as_str() == id.as_str()).collect();
                assert_eq!(told.len(), *wanted, "{name}: {notices:?}");
                let heard = play.record().heard.iter().filter(|job| job.as_str() == id.as_str()).count();
                assert_eq!(heard, *wanted, "{name}: ends that the client was told of");
                let word = match closed(&ends) {
                    Some(Ending::Completed) => "completed",
                    Some(Ending::Stopped) => "stopped",
                    other => panic!("{name}: {other:?}"),
                };
                assert!(told.iter().all(|(_, text)| text.contains(&format!("<status>{word}<"))), "{told:?}");
            }
        }
        Expect::Loops(wanted) => {
            for (name, id) in &agents {
                assert_eq!(reading::ends(&play.entries(id).await), *wanted, "{name}");
            }
        }
        Expect::ConsumedInOrder(wanted) => {
            let sent = play.record().messages.clone();
            assert!(!sent.is_empty(), "something was sent");
            for (name, texts) in &sent {
                let mails = reading::mails(&play.entries(&agents[name]).await);
                assert_eq!(mails.len(), texts.len(), "{mails:?}");
                assert!(wanted.is_none_or(|wanted| wanted == mails.len()), "{mails:?}");
                assert!(mails.iter().zip(texts).all(|(mail, text)| mail.contains(text)), "{mails:?}");
            }
        }
        Expect::Complete(wanted) => {
            let many = play.record().many.clone();
            assert_eq!(many.len(), *wanted);
            for name in many {
                assert_eq!(closed(&play.entries(&agents[&name]).await), Some(Ending::Completed), "{name}");
            }
        }
        Expect::Run(wanted) => {
            assert_eq!(agents.len(), *wanted);
            for (name, id) in &agents {
                assert_eq!(closed(&play.entries(id).await), Some(Ending::Completed), "{name}");
            }
        }
        Expect::ForkRefused(name) => {
            let record = play.record();
            let told = record.refusals.get(name).expect("it tried to fork");
            assert!(told.iter().all(|text| text.contains("permanent")), "{told:?}");
        }
        Expect::EachAnswer => each_answer(play).await,
        Expect::PromptWithdrawn => {
            assert!(session.questions().is_empty());
            assert_eq!(play.record().reached.last(), Some(&false), "the late answer finds no question");
        }
        Expect::NothingRuns => {
            for name in agents.keys() {
                assert!(!play.world.workspace().join(format!("{name}.txt")).exists(), "{name}");
            }
        }
        Expect::NotBlocked => play.turn().await,
        Expect::NotUnasked => {
            let record = play.record();
            assert!(record.unasked.iter().all(|(done, _)| !done), "{:?}", record.unasked);
            assert!(record.asked.len() + record.unasked.len() > 0, "something was called");
        }
        Expect::Asks => {
            let record = play.record();
            assert!(record.unasked.is_empty() && !record.asked.is_empty(), "{:?}", record.unasked);
        }
        Expect::Denied | Expect::Allowed => {
            let record = play.record();
            let wanted = *expect == Expect::Allowed;
            assert!(!record.unasked.is_empty() && record.asked.is_empty(), "{:?}", record.asked);
            assert!(record.unasked.iter().all(|(done, _)| *done == wanted), "{:?}", record.unasked);
        }
        Expect::Refused(who) => {
            let (name, done, told) = last(play, who.as_deref());
            assert!(!done, "{name}: {told}");
        }
        Expect::Succeeds(who) => {
            let (name, done, told) = last(play, who.as_deref());
            assert!(done, "{name}: {told}");
        }
        Expect::WithNote => {
            let (name, done, told) = last(play, None);
            assert!(done && told.contains("changed"), "{name}: {told}");
        }
        Expect::OtherKept => {
            let text = play.world.read("f");
            assert!(text.contains("formatted!"), "{text}");
        }
        Expect::All(wanted) => {
            let record = play.record();
            assert_eq!(record.changes.len(), *wanted, "{:?}", record.changes);
            assert!(record.changes.iter().all(|(_, done, _)| *done), "{:?}", record.changes);
        }
    }
}

fn count(notices: &[(JobId, String)], agent: &AgentId) -> usize {
    notices.iter().filter(|(job, _)| job.as_str() == agent.as_str()).count()
}

fn command(play: &Play, name: &str) -> JobId {
    let commands = play.commands.lock().expect("nobody panicked");
    commands.get(name).map(|command| command.job.clone()).expect("the case starts it")
}

/// How an agent ended last.
fn closed(entries: &[std::sync::Arc<troupe_core::entry::Entry>]) -> Option<Ending> {
    entries.iter().rev().find_map(|entry| match &entry.body {
        Body::Closed(envelope) => Some(envelope.ending),
        _ => None,
    })
}

/// The last change that was tried, by this agent or by anyone.
fn last(play: &Play, who: Option<&str>) -> (String, bool, String) {
    let record = play.record();
    let of = |change: &&(String, bool, String)| who.is_none_or(|who| change.0 == who);
    record.changes.iter().rev().find(of).cloned().expect("a change was tried")
}

async fn each_answer(play: &Play) {
    let answered = play.record().answered.clone();
    assert_eq!(answered.len(), play.record().asked.len(), "each was answered");
    assert!(!answered.is_empty() && play.record().reached.iter().all(|reached| *reached));
    for (name, no) in answered {
        let results = reading::results(&play.entries(&play.id(&name)).await);
        let written = play.world.read(&format!("{name}.txt"));
        match no {
            Some(no) => assert!(results == [no] && written.is_empty(), "{name}: {results:?}"),
            None => assert!(written == name, "{name}: {results:?}"),
        }
    }
}
