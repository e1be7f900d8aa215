//! The main loop of a headless run: one place that waits, for everything that may come.

use std::sync::Arc;

use tokio::io::AsyncWrite;
use tokio::time::Instant;
use troupe_core::block::Block;
use troupe_core::entry::{Body, Origin};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Prompt, When};
use troupe_engine::Session;
use troupe_engine::bus::Heard;

use super::driver::Driver;
use super::reader::{Answers, Lines, Read};
use super::writer::Writer;
use super::{Asker, Exit, Input, Io, Options};

/// Runs a session without a screen until its input has ended and all is done, and closes it.
pub async fn run<W>(session: Session, options: Options, io: Io<W>) -> Exit
where
    W: AsyncWrite + Send + Unpin + 'static,
{
    let writer = Writer::new(io.output);
    let (asker, mut terminal) = match io.asker {
        Asker::Terminal { answers, forget } => {
            (super::questions::Asking::terminal(), Some(Answers::new(answers, forget)))
        }
        Asker::Host => (super::questions::Asking::host(), None),
        Asker::Nobody => (super::questions::Asking::Nobody, None),
    };
    let mut driver = Driver::new(session, options, writer, Arc::clone(&io.tell), asker, io.signals);
    let exit = match drive(&mut driver, io.input, &mut terminal).await {
        Ok(exit) | Err(exit) => exit,
    };
    driver.finish(exit).await
}

/// An early end is an error, so that `?` leads out from anywhere.
async fn drive(driver: &mut Driver, input: Input, terminal: &mut Option<Answers>) -> Result<Exit, Exit> {
    let history = driver.engine.entries(&AgentId::main(), 0).await.unwrap_or_default();
    let mut ear = driver.engine.subscribe(driver.wants_deltas());
    // What came after this was done since the session was opened, and is heard of like all else.
    let end = driver.engine.history_end().cloned();
    let mut over = false;
    for entry in &history {
        if let Body::User { cause: Some(cause), .. } = &entry.body {
            driver.queue.knows(cause);
        }
        if !over {
            driver.projection.pass_over(entry);
        }
        over |= end.as_ref() == Some(&entry.id);
    }
    for (agent, end) in driver.engine.revived().to_vec() {
        for entry in driver.engine.entries(&agent, 0).await.unwrap_or_default() {
            driver.projection.pass_over_child(&entry);
            if end.as_ref() == Some(&entry.id) {
                break;
            }
        }
    }
    for waiting in driver.engine.waiting(&AgentId::main()) {
        driver.queue.knows(&waiting.id);
    }
    if driver.engine.is_pending() {
        let at = history.last().map(|entry| entry.at).unwrap_or_default();
        driver.projection.resume_turn(at);
    }
    driver.catch_up().await?;
    let mut lines = match input {
        Input::Prompt(blocks) => {
            driver.input_ended().await?;
            driver.queue.push(prompt(blocks));
            None
        }
        Input::Nothing => {
            driver.input_ended().await?;
            None
        }
        Input::Lines(reader) => Some(Lines::new(reader)),
    };
    loop {
        if let Some(exit) = driver.settle().await? {
            return Ok(exit);
        }
        let deadline = driver.deadline();
        let until = deadline.unwrap_or_else(Instant::now);
        let asks = driver.puts_a_question(terminal.as_mut());
        tokio::select! {
            biased;
            signal = driver.signals.recv(), if driver.signals_open => driver.signal(signal).await?,
            () = driver.writer.closed() => return Err(Exit::OutputClosed),
            read = next(&mut lines), if lines.is_some() => {
                if read == Read::End {
                    lines = None;
                }
                driver.host(read).await?;
            }
            read = answer(terminal), if asks => {
                if read == Read::End {
                    *terminal = None;
                }
                driver.person(read).await;
            }
            heard = ear.next() => match heard {
                Heard::Event(event) => driver.hear(&event).await?,
                Heard::Missed(_) => driver.catch_up().await?,
                Heard::Closed => return Ok(driver.verdict()),
            },
            () = tokio::time::sleep_until(until), if deadline.is_some() => {}
        }
    }
}

/// The next line; never comes where there is nobody to give one.
async fn next(lines: &mut Option<Lines>) -> Read {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

/// The next line of a person; never comes where there is nobody to give one.
async fn answer(terminal: &mut Option<Answers>) -> Read {
    match terminal {
        Some(answers) => answers.next().await,
        None => std::future::pending().await,
    }
}

/// A prompt from the arguments.
fn prompt(blocks: Vec<Block>) -> Prompt {
    Prompt {
        id: InputId::new(crate::frames::new_uuid()),
        blocks,
        from: Origin::Human,
        when: When::Later,
        starts_turn: true,
    }
}
