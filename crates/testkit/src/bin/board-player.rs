//! A process that moves on task lists, for tests with many of them: `board-player HOME NAME`, then a line of standard
//! input for each move, and a line of standard output for what came of it. `claim LIST` claims the list's task 7,
//! `work LIST` claims and completes until all is done, and says what it did, in order.

#![expect(clippy::print_stdout, reason = "what came of a move goes to the test")]
#![expect(clippy::unwrap_used, reason = "a test's program fails by panicking")]

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use troupe_core::board::{Changes, Move, MoveError, Patch, Refused, Status, TaskId, Who};
use troupe_engine::team::Teams;
use troupe_engine::team::board::{Mover, TaskList};

/// The pause of one that finds nothing to claim.
const PAUSE: Duration = Duration::from_millis(5);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [home, name] = words.as_slice() else { panic!("board-player HOME NAME") };
    let teams = Teams::new(home.into());
    let who = Who::member(name.as_str());
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (word, list) = line.split_once(' ').unwrap();
        let list = teams.tasks(list).unwrap();
        let answer = match word {
            "claim" => match make(&list, &who, &Move::Claim(TaskId(7))).await {
                Ok(_) => "won".to_owned(),
                Err(error) => error.to_string(),
            },
            _ => work(&list, &who).await,
        };
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}

async fn make(list: &TaskList, who: &Who, step: &Move) -> Result<Changes, MoveError> {
    let mover = Mover { who, listeners: &[], gone: &|_| None, now_ms: 0, mark: None };
    list.make(step, &mover).await.map(|made| made.changes)
}

/// Claims and completes until nothing is left; the numbers of what was done.
async fn work(list: &TaskList, who: &Who) -> String {
    let mut done = Vec::new();
    loop {
        match make(list, who, &Move::ClaimNext).await {
            Ok(changes) => done.push(complete(list, who, changes.about.unwrap()).await),
            Err(MoveError::Refused(Refused::NoneFree { open: 0 })) => break,
            // The rest is under way elsewhere, or others were quicker each time.
            Err(MoveError::Refused(Refused::NoneFree { .. }) | MoveError::Failed(_)) => {
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    done.join(" ")
}

async fn complete(list: &TaskList, who: &Who, id: TaskId) -> String {
    let patch = Patch { status: Some(Status::Completed), ..Patch::default() };
    let step = Move::Update { id, patch, expect: None };
    loop {
        match make(list, who, &step).await {
            Ok(_) => return id.to_string(),
            Err(MoveError::Failed(_)) => tokio::time::sleep(PAUSE).await,
            Err(error) => panic!("{error}"),
        }
    }
}
