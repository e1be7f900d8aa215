//! A process that is a member of a team: in a pane, for people to look on and to write a line to it. [`init`] is what a
//! pane is opened with, [`run`] what it becomes, [`show`] what is printed.

mod init;
mod show;

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use tokio::time::timeout;
use troupe_core::block::Block;
use troupe_core::entry::Origin;
use troupe_core::event::{EventKind, Idle, Phase};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Input, Prompt, When};
use troupe_engine::Session;
use troupe_engine::bus::Heard;
use troupe_engine::load::{Env, Places};
use troupe_engine::session::{MemberOf, could_not_start};
use troupe_models::detect::detect;
use troupe_wire::headless::Signal;

use crate::args::Run;
use crate::crash::Trail;
use crate::fault::{Fault, warn};
use crate::signals::Signals;
use crate::telemetry::Exporter;
use crate::trace::{self, Secrets};
use crate::wiring::{Outset, Wired, home_of_teams, nobody_answers, tell_without_effect, wire};

pub(crate) use init::{WORD, init};
use show::Show;

/// How long the record that it has left may take.
const LEAVE: Duration = Duration::from_secs(10);
/// How long its commands may take to end.
const CLOSE: Duration = Duration::from_secs(5);
/// Exit codes of the two signals.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// Runs as a member, until it has left its team.
///
/// # Errors
/// When no session can be opened.
pub(crate) fn run(run: &Run, env: Env, trail: &Trail) -> Result<u8, Fault> {
    let home = home_of_teams(&Places::of(&env)).to_owned();
    let began = begin(run, env, trail);
    if let (Err(fault), Some(of)) = (&began, &run.member.of) {
        tell_lead(&home, of, fault);
    }
    began
}

/// The lead tells what keeps a process from becoming its member.
fn tell_lead(home: &Path, of: &MemberOf, fault: &Fault) {
    let why = fault.to_string();
    let why = why.trim().trim_start_matches("error: ");
    let told = crate::block_on(async {
        timeout(LEAVE, could_not_start(home, of, why)).await.map_err(Fault::failed)?.map_err(Fault::failed)
    });
    if let Err(error) = told {
        warn(format_args!("the lead does not hear of that: {error}"));
    }
}

fn begin(run: &Run, env: Env, trail: &Trail) -> Result<u8, Fault> {
    let secrets = Secrets::of(&env);
    trace::start(&run.debug, &secrets)?;
    tell_without_effect(run);
    match wire(run, env, &secrets)? {
        Outset::NobodyAnswers => crate::block_on(async { Err(nobody_answers(&detect().await)) }),
        Outset::Quit => Ok(0),
        Outset::Ready(wired) => crate::block_on(play(*wired, trail)),
    }
}

async fn play(mut wired: Wired, trail: &Trail) -> Result<u8, Fault> {
    let tell = |words: &str| warn(words);
    let exporter = wired.telemetry.take().map(|to| Exporter::start(to, Box::new(tell)));
    wired.parts.export = exporter.as_ref().map(Exporter::export);
    let played = Box::pin(perform(wired, trail)).await;
    if let Some(exporter) = exporter {
        exporter.flush().await;
    }
    played
}

async fn perform(wired: Wired, trail: &Trail) -> Result<u8, Fault> {
    let signals =
        Signals::new().map_err(|error| Fault::failed(format_args!("failed to take signals: {error}")))?;
    let Wired { parts, config, start, lasts, folders: _folders, .. } = wired;
    let who = config.teams.member.clone();
    let mut show = Show::new(std::io::stdout(), parts.tools.clone());
    let session = Session::open(parts, config, start).await.map_err(Fault::failed)?;
    if lasts {
        trail.lay(&session.transcript_file(), session.id().as_str());
    }
    if let Some(who) = who {
        show.line(&format!("{}@{}: a line that you type here is a prompt of yours", who.name, who.team));
    }
    session.warnings().iter().for_each(warn);
    let code = live(&session, &mut show, signals).await;
    session.close(CLOSE).await;
    Ok(code)
}

/// Shows what happens and passes on what is typed, until the member has ended.
async fn live(session: &Session, show: &mut Show<std::io::Stdout>, mut signals: Signals) -> u8 {
    let main = AgentId::main();
    let mut heard = session.subscribe(true);
    let mut lines = BufReader::new(stdin()).split(b'\n');
    let (mut typed, mut idle) = (true, true);
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => match signal {
                Signal::Interrupt if !idle => {
                    // One that has ended meanwhile has no turn.
                    let _ = session.send(&main, Input::Interrupt).await;
                }
                Signal::Interrupt => return INTERRUPTED,
                Signal::Terminate => return TERMINATED,
            },
            event = heard.next() => match event {
                Heard::Event(event) => {
                    show.hear(&event);
                    if event.agent != main {
                        continue;
                    }
                    match &event.kind {
                        EventKind::Phase(Phase::Ended) => {
                            if timeout(LEAVE, session.out_of_its_team()).await.is_err() {
                                warn("that this member has left is not recorded");
                            }
                            return 0;
                        }
                        EventKind::Phase(phase) => {
                            idle = matches!(phase, Phase::Idle(idle) if *idle != Idle::Jobs);
                        }
                        _ => {}
                    }
                }
                Heard::Missed(count) => show.line(&format!("({count} events were missed here; the transcript has them)")),
                Heard::Closed => return 0,
            },
            line = lines.next_segment(), if typed => match line {
                Ok(Some(line)) => say(session, &String::from_utf8_lossy(&line)).await,
                ended => {
                    typed = false;
                    let why = ended.err().map(|error| format!(": {error}")).unwrap_or_default();
                    show.line(&format!("(what you type here is not read any more{why})"));
                }
            },
        }
    }
}

async fn say(session: &Session, line: &str) {
    let line = line.trim_end_matches('\r');
    if line.trim().is_empty() {
        return;
    }
    let prompt = Prompt {
        id: InputId::new(uuid::Uuid::new_v4().to_string()),
        blocks: vec![Block::text(line)],
        from: Origin::Human,
        when: When::Next,
        starts_turn: true,
    };
    if let Err(error) = session.send(&AgentId::main(), Input::Prompt(prompt)).await {
        warn(format_args!("what you typed was not taken: {error}"));
    }
}
