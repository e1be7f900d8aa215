//! A run without a screen of its own: wires it, opens the session, and hands both to the frontend.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::fs::File;
use tokio::io::{stdin, stdout};
use tokio::sync::mpsc;
use troupe_core::block::Block;
use troupe_core::ids::SessionId;
use troupe_core::visible::visible;
use troupe_engine::load::Env;
use troupe_engine::store::LeaseError;
use troupe_engine::team::{Teams, orphans};
use troupe_engine::{OpenError, Session};
use troupe_models::detect::detect;
use troupe_tools::shell::end_orphans;
use troupe_wire::headless::{Asker, Input, Io};

use crate::args::{InputFormat, Run};
use crate::crash::Trail;
use crate::fault::{Fault, tell, warn};
use crate::signals::Signals;
use crate::telemetry::Exporter;
use crate::trace::{self, Secrets};
use crate::wiring::{Asked, Outset, Wired, nobody_answers, tell_without_effect, unknown_session, wire};

/// Signals that wait to be heard; the second one ends the run.
const SIGNALS: usize = 4;
/// How long a start looks for teams that were left behind.
const ORPHANS: Duration = Duration::from_secs(2);

/// Runs; gives the exit code.
///
/// # Errors
/// When no session can be opened.
pub(crate) fn run(run: &Run, env: Env, trail: &Trail) -> Result<u8, Fault> {
    let secrets = Secrets::of(&env);
    trace::start(&run.debug, &secrets)?;
    tell_without_effect(run);
    let home = env.home.clone();
    match wire(run, env, &secrets)? {
        Outset::NobodyAnswers => crate::block_on(async { Err(nobody_answers(&detect().await)) }),
        Outset::Quit => Ok(0),
        Outset::Ready(wired) => {
            let input = input(run, wired.parts.defs.main.initial_prompt.is_some())?;
            crate::block_on(play(*wired, input, home, trail))
        }
    }
}

/// What the run works on.
enum Given {
    /// A prompt.
    Prompt(String),
    /// What a resumed session left unfinished.
    Unfinished,
    /// What a host sends.
    Lines,
}

/// Reads it before there are threads: a signal meanwhile ends the process as usual.
fn input(run: &Run, begins: bool) -> Result<Given, Fault> {
    if run.format.input_format != Some(InputFormat::StreamJson) {
        let resumes = run.session.resume.is_some() || run.session.continue_last;
        return match crate::prompt::read(run.prompt.as_deref())? {
            Some(prompt) => Ok(Given::Prompt(prompt)),
            None if resumes => Ok(Given::Unfinished),
            // The main agent's definition has a first prompt of its own.
            None if begins => Ok(Given::Prompt(String::new())),
            None => Err(crate::prompt::missing()),
        };
    }
    match &run.prompt {
        None => Ok(Given::Lines),
        Some(_) => Err(Fault::usage("with --input-format stream-json, prompts come from stdin")
            .hint("leave out the prompt, or the format")),
    }
}

/// Plays, and then gives the last lines of the log of agents a moment to get out.
async fn play(mut wired: Wired, given: Given, home: Option<PathBuf>, trail: &Trail) -> Result<u8, Fault> {
    let tell = |words: &str| warn(words);
    let exporter = wired.telemetry.take().map(|to| Exporter::start(to, Box::new(tell)));
    wired.parts.export = exporter.as_ref().map(Exporter::export);
    let played = Box::pin(perform(wired, given, home, trail)).await;
    if let Some(exporter) = exporter {
        exporter.flush().await;
    }
    played
}

async fn perform(wired: Wired, given: Given, home: Option<PathBuf>, trail: &Trail) -> Result<u8, Fault> {
    let mut signals =
        Signals::new().map_err(|error| Fault::failed(format_args!("failed to take signals: {error}")))?;
    let Wired { parts, config, start, lasts, folders: _folders, asked, options, .. } = wired;
    let teams = config.teams.enabled.then(|| Teams::new(config.place.root.clone()));
    let session = Session::open(parts, config, start).await.map_err(refused)?;
    session.warnings().iter().for_each(warn);
    tell_of_orphans(teams, session.id()).await;
    // Beside the work, which does not wait for it; it ends by itself.
    let _sweep = home.map(|home| tokio::task::spawn_blocking(move || end_orphans(&home)));
    if session.model_info(&session.model()).scripted && std::io::stderr().is_terminal() {
        tell("the model is a script: its words were written down beforehand\n");
    }
    let has_work = session.is_pending() || session.has_members_to_go_on();
    if matches!(given, Given::Unfinished) && !has_work {
        return Err(Fault::usage(format_args!(
            "session {} has nothing unfinished to go on with",
            session.id()
        ))
        .hint("give it a prompt"));
    }
    if lasts {
        trail.lay(&session.transcript_file(), session.id().as_str());
    }
    let (heard, hears) = mpsc::channel(SIGNALS);
    let io = Io {
        input: match given {
            Given::Prompt(prompt) if prompt.is_empty() => Input::Prompt(Vec::new()),
            Given::Prompt(prompt) => Input::Prompt(vec![Block::text(prompt)]),
            Given::Unfinished => Input::Nothing,
            Given::Lines => Input::Lines(Box::new(stdin())),
        },
        output: stdout(),
        tell: Arc::new(|words: &str| tell(words)),
        asker: asker(asked).await,
        signals: hears,
    };
    let forward = async {
        loop {
            // More than the frontend takes are of no more use.
            let _ = heard.try_send(signals.next().await);
        }
    };
    tokio::select! {
        exit = troupe_wire::headless::run(session, options, io) => Ok(exit.code()),
        () = forward => Ok(1),
    }
}

/// Names the teams that a killed session has left behind. Nothing of them is ended without a word.
async fn tell_of_orphans(teams: Option<Teams>, own: &SessionId) {
    let Some(teams) = teams else { return };
    let found = match tokio::time::timeout(ORPHANS, orphans::find(&teams)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return warn(format_args!("teams that were left behind: {error}")),
        Err(_) => return,
    };
    let others = found.iter().filter(|orphan| orphan.team.lead_session_id != own.as_str());
    others.for_each(|orphan| warn(visible(&orphan.words())));
}

async fn asker(asked: Asked) -> Asker {
    match asked {
        Asked::Nobody => Asker::Nobody,
        Asked::Host => Asker::Host,
        Asked::Person => match File::open("/dev/tty").await {
            Ok(terminal) => Asker::Terminal { answers: Box::new(terminal), forget: Arc::new(forget_typed) },
            Err(error) => {
                warn(format_args!("/dev/tty can't be read ({error}): what needs leave is denied"));
                Asker::Nobody
            }
        },
    }
}

/// Throws away what was typed at the terminal and not read yet.
pub(crate) fn forget_typed() {
    let flushed = std::fs::File::open("/dev/tty")
        .and_then(|tty| Ok(rustix::termios::tcflush(&tty, rustix::termios::QueueSelector::IFlush)?));
    if let Err(error) = flushed {
        tracing::debug!(%error, "what was typed before a question could not be thrown away");
    }
}

fn refused(error: OpenError) -> Fault {
    match error {
        OpenError::Unknown(id) => unknown_session(id.as_str()),
        OpenError::Exists(id) => Fault::failed(format_args!("there is a session {id} already"))
            .hint(format!("go on with it: --resume={id}"))
            .hint("or leave out --session-id, for a new one"),
        OpenError::Member { ref session, ref member } => {
            let words = format!("go on with it in its team: troupe --agent-id={member} --resume={session}");
            Fault::failed(&error).hint(words).hint("or clear the team away first: troupe team clean")
        }
        OpenError::Lease(LeaseError::Held { holder }) => {
            Fault::failed(format_args!("the session is in use by process {holder}"))
                .hint(format!("wait for its end, or end it: kill {holder}"))
                .hint("or start another session: leave out --continue and --resume")
        }
        error => Fault::failed(error).hint("TROUPE_HOME chooses the folder that sessions are kept in"),
    }
}
