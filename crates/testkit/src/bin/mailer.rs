//! A process of a team that only writes mail, or only reads it: for tests that kill it, and to measure.
//!
//! `mailer write HOME FORMAT FROM TO,… FIRST PAUSE_MS BYTES` sends message after message, one to each in turn, until it is killed,
//! and prints `sent N` when number N was acknowledged.
//! `mailer read HOME FORMAT NAME FILE` appends the id of each message to a file, as if that were its transcript.
//! `mailer serve` does what each line of its input says ([`Order`]), and answers with a line ([`Answer`]).
//! `mailer fill HOME` sends until the disk is full, and prints what was acknowledged and what is there.
//! `mailer bench FOLDER` measures.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a tool of the tests: it says what it does, and fails by panicking"
)]

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use troupe_engine::team::mailbox::Mailbox;
use troupe_engine::team::reader::Reader;
use troupe_engine::team::{TeamError, TeamPlace, Teams};
use troupe_testkit::post::{Answer, Order, TEAM, bench, message};

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["write", home, format, from, to, first, pause, bytes] => {
            let to: Vec<&str> = to.split(',').collect();
            let pause = Duration::from_millis(pause.parse().unwrap());
            let mailbox = mail(home, format);
            let (first, bytes) = (first.parse().unwrap(), bytes.parse().unwrap());
            runtime.block_on(write(&mailbox, from, &to, first, pause, bytes));
        }
        ["read", home, format, name, file] => {
            runtime.block_on(read(mail(home, format), name, Path::new(file)));
        }
        ["serve"] => runtime.block_on(serve()),
        ["fill", home] => runtime.block_on(fill(home)),
        ["latency", home, count] => runtime.block_on(bench::report_latency(home, count.parse().unwrap())),
        ["bench", folder] => runtime.block_on(bench::run(Path::new(folder))),
        other => panic!("{other:?}"),
    }
}

fn place(home: &str) -> TeamPlace {
    Teams::new(home.into()).place(TEAM).unwrap()
}

fn mail(home: &str, format: &str) -> Arc<dyn Mailbox> {
    place(home).mail(format == "array")
}

async fn write(
    mailbox: &Arc<dyn Mailbox>,
    from: &str,
    to: &[&str],
    first: usize,
    pause: Duration,
    bytes: usize,
) {
    for n in first.. {
        let message = message(from, to[n % to.len()], n, bytes);
        // What was not taken is tried again, under its id: whether it was written is not known.
        while let Err(error) = mailbox.send(&message).await {
            println!("refused {n}: {error}");
            tokio::time::sleep(pause).await;
        }
        println!("sent {n}");
        tokio::time::sleep(pause).await;
    }
}

async fn read(mailbox: Arc<dyn Mailbox>, name: &str, file: &Path) {
    let mut reader = loop {
        match Reader::open(mailbox.clone(), name).await {
            Ok(reader) => break reader,
            Err(TeamError::Held { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let mut known = transcript(file);
    let mut out = OpenOptions::new().create(true).append(true).open(file).unwrap();
    loop {
        let waiting = match reader.next().await {
            Ok(waiting) => waiting,
            Err(error) => {
                println!("failed: {error}");
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        if known.insert(waiting.message.id.clone()) {
            out.write_all(format!("{}\n", waiting.message.id).as_bytes()).unwrap();
        } else {
            println!("again {}", waiting.message.id);
        }
        if let Err(error) = reader.done(waiting.position).await {
            println!("failed: {error}");
        }
    }
}

/// The ids in a file, which is cut behind its last whole line first.
fn transcript(file: &Path) -> HashSet<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or(0, |last| last + 1);
    if whole < text.len() {
        OpenOptions::new().write(true).open(file).unwrap().set_len(whole as u64).unwrap();
    }
    text[..whole].lines().map(str::to_owned).collect()
}

async fn serve() {
    for line in std::io::stdin().lock().lines() {
        let order: Order = serde_json::from_str(&line.unwrap()).unwrap();
        let place = place(&order.home);
        let mailbox = place.mail(false);
        let mut answer = Answer::default();
        for n in 0..order.count {
            let sent = async {
                let to = place.recipient(&order.to).await?;
                mailbox.send(&message(&order.from, &to, n, order.bytes)).await
            };
            match sent.await {
                Ok(()) => answer.sent += 1,
                Err(error) => answer.errors.push(error.to_string()),
            }
        }
        println!("{}", serde_json::to_string(&answer).unwrap());
    }
}

async fn fill(home: &str) {
    let mailbox = mail(home, "journal");
    let mut sent = 0;
    let refused = loop {
        match mailbox.send(&message("a", "lead", sent, 3_000)).await {
            Ok(()) => sent += 1,
            Err(error) => break error.to_string(),
        }
    };
    println!("refused: {refused}");
    // Smaller ones may still fit, until none does.
    let mut small = 0;
    while mailbox.send(&message("b", "lead", small, 0)).await.is_ok() {
        small += 1;
    }
    let kept = mailbox.kept("lead").await.unwrap();
    let from = |name: &str| kept.iter().filter(|kept| kept.message.from == name).count();
    println!("{sent} and {small} sent, {} and {} kept", from("a"), from("b"));
}
