//! The four ways in which every scene plays, and what must hold in each.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::policy::Question;
use troupe_engine::bus::Heard;
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;

use crate::render::{Line, golden, lines, normal};
use crate::resting::come_to_rest;
use crate::scene::Scene;
use crate::standing::{asked, teams};
use crate::world::{World, say, session, turn};

/// How long a session may take to close.
const CLOSE: Duration = Duration::from_secs(10);
/// Tools that only the main agent has.
const FOR_MAIN: [&str; 3] = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];
/// Appends after which no scene is still at work; a sweep that gets here does not end.
const MOST: usize = 2_000;

/// Plays the scene as it stands and gives its golden text.
///
/// # Panics
/// When it does not end well.
pub async fn straight(scene: &Scene) -> String {
    let (world, model) = World::of(scene);
    let session = world.start().await;
    let mut opened = session.subscribe(false);
    play(&session, &world, &model, scene).await;
    let mut agents = vec![("main".to_owned(), AgentId::main())];
    let heard = drain(&mut opened).await;
    agents.extend(heard.opened);
    agents[1..].sort();
    // One that is taken up again is opened again.
    agents.dedup();
    let mut text = golden(&session, &agents, world.folder()).await;
    for question in heard.asked {
        text = text + &normal(&asked(&question), world.folder()) + "\n";
    }
    text += &standing(scene, &world).await;
    for (_, agent) in &agents {
        check_answers(&scene.name, &session.entries(agent, 0).await.unwrap_or_default());
    }
    let left = session.roster().into_iter().filter(|one| one.header.team.is_none()).count();
    assert_eq!(left, 1, "{}: only the main agent lives on, and members", scene.name);
    session.close(CLOSE).await;
    text
}

/// What was told so far.
#[derive(Default)]
struct Told {
    /// Agents that were opened, with their addresses.
    opened: Vec<(String, AgentId)>,
    /// Questions to the person.
    asked: Vec<Arc<Question>>,
}

async fn drain(events: &mut troupe_engine::bus::Subscription) -> Told {
    let mut told = Told::default();
    while let Ok(heard) = tokio::time::timeout(Duration::ZERO, events.next()).await {
        match heard {
            Heard::Event(event) => match &event.kind {
                EventKind::Opened(header) if !header.agent.is_main() => {
                    told.opened.push((header.address.clone(), header.agent.clone()));
                }
                EventKind::QuestionOpened(question) => told.asked.push(Arc::clone(question)),
                _ => {}
            },
            Heard::Closed => break,
            Heard::Missed(_) => {}
        }
    }
    told
}

/// What stands of its teams.
async fn standing(scene: &Scene, world: &World) -> String {
    teams(world).await.unwrap_or_else(|error| panic!("{}: {error}", scene.name))
}

/// Plays the scene as a child of a stub: the same calls, results and texts as straight.
///
/// # Panics
/// When they differ, or where no child can play it.
pub async fn as_child(scene: &Scene) {
    assert!(!scene.only_main && scene.prompts.len() == 1, "{}: no child can play it", scene.name);
    let (mut main, _) = World::of(scene);
    // What no child has; an error that lists the tools would tell it apart.
    main.config.pool.without = FOR_MAIN.map(str::to_owned).to_vec();
    let session = main.start().await;
    turn(&session, 0, &scene.prompts[0]).await;
    let expected = said(&session.entries(&AgentId::main(), 0).await.unwrap_or_default(), &main);
    session.close(CLOSE).await;

    let (world, _) = World::of(&scene.as_child());
    let session = world.start().await;
    let mut opened = session.subscribe(false);
    let envelope = turn(&session, 0, "Play the scene.").await;
    assert_eq!(envelope.text, "played", "{}: the stub ends: {envelope:?}", scene.name);
    let agents = drain(&mut opened).await.opened;
    let child = agents.iter().find(|(address, _)| address == "main/scene-1").map(|(_, agent)| agent.clone());
    let child = child.unwrap_or_else(|| AgentId::new("none"));
    let mut found = said(&session.entries(&child, 0).await.unwrap_or_default(), &world);
    session.close(CLOSE).await;
    // What the agents below it are called tells where it stands.
    for line in &mut found {
        if let Line::Called(text) | Line::Gave(text) | Line::Said(text) = line {
            *text = text.replace("main/scene-1/", "main/");
        }
    }
    assert_eq!(found, expected, "{}: as a child", scene.name);
}

/// Calls, results and texts.
fn said(entries: &[Arc<Entry>], world: &World) -> Vec<Line> {
    let lines = lines(entries, world.folder());
    lines.into_iter().filter(|line| !matches!(line, Line::User(_) | Line::Ended(_))).collect()
}

/// Plays the scene with a crash after each append, and resumes: it finishes as the undisturbed one did, save
/// for calls that were under way; every effect happened at most once.
///
/// The scene's commands tell their effects by appending a distinct line to the file `effects`.
///
/// # Panics
/// When that does not hold.
pub async fn crash_sweep(scene: &Scene) {
    let expected = {
        let (world, model) = World::of(scene);
        let session = world.start().await;
        play(&session, &world, &model, scene).await;
        let left = left_by(scene, &world, &session).await;
        session.close(CLOSE).await;
        left
    };
    for appends in 1..MOST {
        let (mut world, model) = World::of(scene);
        if !crash(&world, &model, scene, appends).await {
            return;
        }
        // The gates of another process are shut.
        let model = scene.model();
        world.model = Arc::new(model.clone());
        let session = resume_or_start(&world).await;
        play(&session, &world, &model, scene).await;
        let what = format!("{} after append {appends}", scene.name);
        let entries = session.entries(&AgentId::main(), 0).await.unwrap_or_default();
        check_answers(&what, &entries);
        let found = left_by(scene, &world, &session).await;
        if let Some(difference) = found.differs_from(scene, &expected, lost_below(&session, &entries).await) {
            let all = golden(&session, &members(&entries), world.folder()).await;
            let told = session.warnings().join("\n");
            panic!("{what}, {difference}\n{all}{}{told}", found.standing);
        }
        let effects = world.read("effects");
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for line in effects.lines() {
            *seen.entry(line).or_default() += 1;
        }
        let twice: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "{what}: effects {twice:?} happened twice");
        session.close(CLOSE).await;
    }
    unreachable_sweep(scene);
}

/// What a play leaves.
struct Left {
    main: Vec<Line>,
    /// The members' lines, sorted: what came while a member worked, it may read before its call or after it, in that run or
    /// in one of its own.
    members: Vec<(String, Vec<Line>)>,
    standing: String,
}

async fn left_by(scene: &Scene, world: &World, session: &Session) -> Left {
    let of =
        async |agent: &AgentId| lines(&session.entries(agent, 0).await.unwrap_or_default(), world.folder());
    let mut all = Vec::new();
    let main = session.entries(&AgentId::main(), 0).await.unwrap_or_default();
    for (name, agent) in members(&main) {
        let mut lines = of(&agent).await;
        lines.retain(|line| !matches!(line, Line::Ended(_)));
        lines.sort();
        all.push((name, lines));
    }
    Left { main: of(&AgentId::main()).await, members: all, standing: standing(scene, world).await }
}

impl Left {
    fn differs_from(&self, scene: &Scene, expected: &Self, lost_below: bool) -> Option<String> {
        let mut lines = self.members.iter().flat_map(|(_, lines)| lines).chain(&self.main);
        let lost = lines.any(|line| matches!(line, Line::Gave(text) if text.contains(LOST)));
        if lost && scene.loses {
            return None;
        }
        if let Some(difference) = difference(&expected.main, &self.main, lost_below) {
            return Some(difference);
        }
        if lost {
            return None;
        }
        for ((address, expected), (found, lines)) in expected.members.iter().zip(&self.members) {
            let not_in = |these: &[Line], those: &[Line]| {
                let mut those = those.to_vec();
                let mut left = these.to_vec();
                left.retain(|line| {
                    those.iter().position(|one| one == line).map(|at| those.remove(at)).is_none()
                });
                left
            };
            let (lost, more) = (not_in(expected, lines), not_in(lines, expected));
            if address != found || !lost.is_empty() || !more.is_empty() {
                return Some(format!("{address} and {found}: lost {lost:#?}\nmore {more:#?}"));
            }
        }
        let (expected, found) = (&expected.standing, &self.standing);
        (expected != found).then(|| format!("expected {expected}\nfound {found}"))
    }
}

fn unreachable_sweep(scene: &Scene) {
    panic!("{}: more than {MOST} appends", scene.name)
}

/// Plays until the process dies; `false` when the scene ended before.
async fn crash(world: &World, model: &ScriptModel, scene: &Scene, appends: usize) -> bool {
    let (parts, death) = world.dying(appends);
    let config = world.config.clone();
    let played = async {
        let session = Session::open(parts, config, Start::New(session())).await.ok()?;
        play(&session, world, model, scene).await;
        Some(session)
    };
    let outcome = tokio::select! {
        biased;
        session = played => Some(session),
        () = death.comes() => None,
    };
    match outcome {
        Some(Some(session)) => {
            session.close(CLOSE).await;
            false
        }
        Some(None) => false,
        None => true,
    }
}

/// Says all prompts, each when all that came of those before it is done. One that was read or waits already is dropped
/// by its id.
async fn play(session: &Session, world: &World, model: &ScriptModel, scene: &Scene) {
    for (number, prompt) in scene.prompts.iter().enumerate() {
        say(session, number, prompt).await;
        come_to_rest(session, world, model, scene).await;
    }
}

/// What a person does after a crash: resume, or start when nothing was written yet.
async fn resume_or_start(world: &World) -> Session {
    let parts = world.parts(Arc::clone(&world.journal));
    match Session::open(parts, world.config.clone(), Start::Resume(session())).await {
        Ok(session) => session,
        Err(_) => world.start().await,
    }
}

/// What the one answer to a call says that was under way.
const LOST: &str = "The program ended while this call was under way";

/// Whether an agent whose result stands in these entries has such an answer in its own.
async fn lost_below(session: &Session, entries: &[Arc<Entry>]) -> bool {
    let ids: Vec<AgentId> = results(entries).iter().filter_map(|text| agent_of(text)).collect();
    for id in ids {
        let below = session.entries(&id, 0).await.unwrap_or_default();
        if results(&below).iter().any(|text| text.contains(LOST)) {
            return true;
        }
    }
    false
}

/// The texts of all results.
fn results(entries: &[Arc<Entry>]) -> Vec<String> {
    let blocks = entries.iter().filter_map(|entry| match &entry.body {
        Body::Result { blocks, .. } => Some(blocks),
        _ => None,
    });
    let contents = blocks.flat_map(|blocks| blocks.iter()).filter_map(|block| match block {
        Block::ToolResult { content, .. } => Some(text_of(content)),
        _ => None,
    });
    contents.collect()
}

fn agent_of(text: &str) -> Option<AgentId> {
    let (_, id) = text.rsplit_once("[agentId: ")?;
    id.split(';').next().map(AgentId::new)
}

/// Whether two results differ in nothing but that the second is called unproven. They may be cut.
fn is_now_unproven(expected: &str, found: &str) -> bool {
    const MARK: &str = "[troupe: unproven: ";
    let said = |text: &str| {
        let said =
            if text.starts_with(MARK) { text.split_once('\n').map_or("", |(_, said)| said) } else { text };
        said.trim_end_matches('…').to_owned()
    };
    let (before, after) = (said(expected), said(found));
    found.starts_with(MARK) && (before.starts_with(&after) || after.starts_with(&before))
}

/// Where two transcripts differ: nowhere if the lines are the same, save that a result may say that its call was under way; where an agent below lost one, that nothing
/// proves its pass any more; and that one who was written to is by now at work again.
fn difference(expected: &[Line], found: &[Line], lost_below: bool) -> Option<String> {
    // What a lost call did not do, later results may show.
    let mut lost = false;
    // An agent that was taken up before the crash goes on by itself, and not for the call that is made again.
    let mut goes_on = false;
    let mut alike = |(expected, found): (&Line, &Line)| match (expected, found) {
        (Line::Gave(first), Line::Gave(text)) => {
            lost |= text.contains(LOST);
            let again = first != text && sent_to(first).is_some() && sent_to(first) == sent_to(text);
            goes_on |= again;
            lost || again || first == text || (lost_below && is_now_unproven(first, text))
        }
        (Line::User(first), Line::User(text)) if goes_on => without_call(first) == without_call(text),
        (expected, found) => expected == found,
    };
    let differs = expected.iter().zip(found).position(|pair| !alike(pair));
    let at = differs.or((expected.len() != found.len()).then(|| expected.len().min(found.len())));
    let at = at?;
    let part = |lines: &[Line]| lines.iter().skip(at.saturating_sub(2)).take(5).cloned().collect::<Vec<_>>();
    Some(format!("line {at}:\nexpected {:#?}\nfound {:#?}", part(expected), part(found)))
}

/// The members that the main agent has started, those that have left as well, by name.
fn members(main: &[Arc<Entry>]) -> Vec<(String, AgentId)> {
    let member = |text: &String| {
        let (who, _) = text.split_once(") is now a member of the team ")?;
        let (name, id) = who.split_once(" (")?;
        Some((name.to_owned(), AgentId::new(id)))
    };
    results(main).iter().filter_map(member).collect()
}

/// Whom a message was sent to, if a result says so.
fn sent_to(text: &str) -> Option<&str> {
    Some(text.strip_prefix("Sent to ")?.split_once(", which ")?.0)
}

/// A notice without the call that it is of.
fn without_call(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("<tool-use-id>")).collect()
}

/// Plays the scene with an interrupt at each event of it: whatever was open is answered, nothing is left
/// running, and the session takes another prompt.
///
/// # Panics
/// When that does not hold.
pub async fn cancel_sweep(scene: &Scene) {
    for at in 1..MOST {
        let (world, model) = World::of(scene);
        let session = world.start().await;
        let mut events = session.subscribe(true);
        say(&session, 0, &scene.prompts[0]).await;
        let mut heard = 0;
        {
            let mut rest = std::pin::pin!(come_to_rest(&session, &world, &model, scene));
            loop {
                tokio::select! {
                    biased;
                    event = events.next() => {
                        heard += usize::from(matches!(event, Heard::Event(_)));
                        if heard == at {
                            let _ = session.send(&AgentId::main(), Input::Interrupt).await;
                        }
                    }
                    () = &mut rest => break,
                }
            }
        }
        let what = format!("{} interrupted at event {at}", scene.name);
        let entries = session.entries(&AgentId::main(), 0).await.unwrap_or_default();
        check_answers(&what, &entries);
        assert!(session.background_jobs().is_empty(), "{what}: no job is left");
        // Members of a team stay: they are nobody's work that was interrupted.
        let left = session.roster().into_iter().filter(|one| one.header.team.is_none()).count();
        assert_eq!(left, 1, "{what}: no agent is left");
        session.close(CLOSE).await;
        if heard < at {
            return;
        }
    }
    unreachable_sweep(scene);
}

/// Every call has exactly one result.
///
/// # Panics
/// When one has none, or two.
pub fn check_answers(what: &str, entries: &[Arc<Entry>]) {
    let mut answers: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        match &entry.body {
            Body::Assistant { blocks, .. } => {
                for block in blocks.iter() {
                    if let Block::ToolUse { id, .. } = block {
                        answers.entry(id.to_string()).or_default();
                    }
                }
            }
            Body::Result { call, .. } => *answers.entry(call.to_string()).or_default() += 1,
            _ => {}
        }
    }
    let wrong: Vec<_> = answers.iter().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "{what}: calls without exactly one result: {wrong:?}");
}
