//! Plays the demo: opens a session as any run does, with the demo's script for a model, and tells what happens.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::Block;
use troupe_core::budget::Limits;
use troupe_core::def::Filter;
use troupe_core::entry::Origin;
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, InputId, SessionId};
use troupe_core::input::{Input, Prompt, When};
use troupe_core::outcome::Ending;
use troupe_core::policy::{Behaviour, Mode, Rules, Scope};
use troupe_engine::bus::Heard;
use troupe_engine::clock::SystemClock;
use troupe_engine::load::Env;
use troupe_engine::session::{
    Background, Caching, Ceilings, Contexts, Definitions, Forks, Leave, Models, PlaceConfig, Prompting,
    Watching,
};
use troupe_engine::team::Teams;
use troupe_engine::{Config, Parts, Session, Start};
use troupe_models::ScriptModel;
use troupe_wire::headless::{Exit, Signal};
use uuid::Uuid;

use super::account::Account;
use super::project::{Language, Project};
use crate::fault::Fault;
use crate::signals::Signals;
use crate::wiring::{State, VERSION, definitions};

/// How long the demo may take. It needs a few seconds.
const LIMIT: Duration = Duration::from_mins(2);
/// How long its session gets to end.
const CLOSE: Duration = Duration::from_secs(5);

/// What the lead is asked.
const PROMPT: &str = "The shop's tests fail. Find out why, have the code and the tests looked at in parallel, fix the bug, \
                      and run the tests again.";

/// Plays the demo; gives the exit code: 0 when the project's tests pass in the end.
///
/// # Errors
/// When the project or the session can't be made.
pub(crate) async fn play(keep: bool) -> Result<u8, Fault> {
    let signals = Signals::new().map_err(Fault::failed)?;
    let language = Language::choose().await;
    let make = |error| {
        Fault::failed(format_args!("failed to make the demo's project: {error}")).hint("TMPDIR chooses where")
    };
    let project = Project::make(language).await.map_err(make)?;
    let mut out = io::stdout();
    // Whoever stops reading has seen enough; the exit code still counts.
    let _ = introduce(&mut out, &project, language);
    let done = run(&project, language, signals).await?;
    if let Some(code) = done {
        return Ok(code);
    }
    let (passed, said) = project.test().await;
    let _ = conclude(&mut out, &project, language, passed, &said);
    if keep {
        let _ = writeln!(out, "\nThe project is kept in {}", project.keep().display());
    }
    Ok(u8::from(!passed))
}

fn introduce(out: &mut impl Write, project: &Project, language: Language) -> io::Result<()> {
    writeln!(out, "A scripted run: the model's words are written down beforehand (no key, no network).")?;
    writeln!(
        out,
        "Agents, tools, permissions and transcripts are those of every run; its token counts are made up."
    )?;
    let git = if project.has_git() { "a git repository" } else { "no git repository: git is not there" };
    writeln!(out, "Project: {} ({git})", project.root().display())?;
    writeln!(out, "Its test: {}\n", language.test())
}

fn conclude(
    out: &mut impl Write,
    project: &Project,
    language: Language,
    passed: bool,
    said: &str,
) -> io::Result<()> {
    writeln!(out, "\nWhat was changed:\n")?;
    writeln!(out, "{}", project.diff().trim_end())?;
    writeln!(out, "\n$ {}", language.test())?;
    writeln!(out, "{}", said.trim_end())?;
    writeln!(out, "\nThe test {}.", if passed { "passes" } else { "fails: the demo did not work" })
}

/// Runs the session to its end; gives an exit code when it was stopped before.
async fn run(project: &Project, language: Language, mut signals: Signals) -> Result<Option<u8>, Fault> {
    let (parts, config) = parts(project, language)?;
    let mut account = Account::new(io::stdout(), parts.tools.clone());
    let id = SessionId::new(Uuid::new_v4().to_string());
    let session = Session::open(parts, config, Start::New(id)).await.map_err(Fault::failed)?;
    let mut events = session.subscribe(false);
    if let Some(header) = session.header() {
        let opened =
            troupe_core::event::Event { agent: AgentId::main(), at: now(), kind: EventKind::Opened(header) };
        let _ = account.hear(&opened);
    }
    let prompt = Prompt {
        id: InputId::new(Uuid::new_v4().to_string()),
        blocks: vec![Block::text(PROMPT)],
        from: Origin::Human,
        when: When::Next,
        starts_turn: true,
    };
    session.send(&AgentId::main(), Input::Prompt(prompt)).await.map_err(Fault::failed)?;
    let end = async {
        loop {
            match events.next().await {
                Heard::Event(event) => {
                    let _ = account.hear(&event);
                    if let EventKind::Ended(envelope) = &event.kind
                        && event.agent.is_main()
                    {
                        return Some(envelope.ending);
                    }
                }
                Heard::Missed(_) => {}
                Heard::Closed => return None,
            }
        }
    };
    let code = tokio::select! {
        end = tokio::time::timeout(LIMIT, end) => match end {
            Ok(Some(Ending::Completed)) => None,
            Ok(_) => Some(1),
            Err(_) => {
                crate::fault::warn(format_args!("the demo did not end in {} s", LIMIT.as_secs()));
                Some(1)
            }
        },
        signal = signals.next() => Some(match signal {
            Signal::Interrupt => Exit::Interrupted.code(),
            Signal::Terminate => Exit::Terminated.code(),
        }),
    };
    session.close(CLOSE).await;
    Ok(code)
}

fn now() -> troupe_core::time::Time {
    use troupe_core::ports::clock::Clock as _;
    SystemClock.now()
}

fn parts(project: &Project, language: Language) -> Result<(Parts, Config), Fault> {
    let cwd = project.root().to_owned();
    let env = Env { vars: BTreeMap::new(), cwd: cwd.clone(), home: None };
    let state = State::in_files(project.state(), &cwd);
    let model = ScriptModel::parse("the demo's script", language.script()).map_err(Fault::failed)?;
    let mut rules = Rules::default();
    // The one command that the demo may run without asking; anything else would be denied.
    let rule = format!("Bash({})", language.test());
    rules.add(&rule, Behaviour::Allow, Scope::CommandLine, cwd.clone()).map_err(Fault::failed)?;
    let parts = Parts {
        model: Arc::new(model),
        tools: troupe_tools::builtin(troupe_tools::shell::Options::default()),
        defs: Definitions::fixed(definitions(&env, true)),
        journal: Arc::clone(&state.journal),
        teams: Teams::new(state.root.clone()),
        clock: Arc::new(SystemClock),
        export: None,
        worktrees: None,
        sweep: None,
    };
    let config = Config {
        contexts: Contexts::default(),
        place: PlaceConfig {
            cwd: cwd.clone(),
            roots: Vec::new(),
            home: cwd,
            root: state.root.clone(),
            project: state.project.clone(),
            plans: state.root.join("plans"),
            memory: None,
            branch: None,
        },
        leave: Leave { mode: Some(Mode::AcceptEdits), rules, ..Leave::default() },
        prompting: Prompting {
            system: None,
            append: None,
            instructions: Arc::new(Vec::new),
            status: None,
            platform: std::env::consts::OS.to_owned(),
        },
        model: Some("script".to_owned()),
        default_model: "script".to_owned(),
        subagent_model: None,
        models: Models::default(),
        small_model: None,
        pool: Filter::default(),
        limits: Limits::default(),
        ceilings: Ceilings::default(),
        watching: Watching::default(),
        guards: troupe_engine::guards::Guards::default(),
        background: Background::default(),
        forks: Forks::default(),
        cache: Caching::default(),
        tasks: None,
        teams: troupe_engine::session::Teamwork::default(),
        peers: troupe_engine::session::Peering::default(),
        version: VERSION.to_owned(),
    };
    Ok((parts, config))
}
