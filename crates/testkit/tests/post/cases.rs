//! The cases of mail that processes play (`coordination-cases.jsonl` in `$TROUPE_CASES`, else `cases/`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use troupe_core::team::{Change, Member, Message, Team};
use troupe_engine::team::{TeamError, TeamPlace, Teams};
use troupe_testkit::post::{Answer, Order, TEAM, text};

use super::MAILER;
use super::ops::{Case, Expect};

/// A process that sends when it is told to.
struct Sender {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Sender {
    fn start() -> Self {
        let mut command = Command::new(MAILER);
        let mut child = command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    fn answer(&mut self) -> Answer {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where one round is played.
struct Round {
    home: tempfile::TempDir,
    place: TeamPlace,
    members: BTreeSet<String>,
    /// What was sent, by sender.
    sent: BTreeMap<String, usize>,
    bytes: usize,
    answers: Vec<Answer>,
}

impl Round {
    async fn open(case: &Case) -> Self {
        let home = tempfile::tempdir().unwrap();
        let place = Teams::new(home.path().join("home")).place(TEAM).unwrap();
        let to = || case.steps.iter().flatten().map(|send| send.to.clone()).collect();
        let members: BTreeSet<String> =
            case.members.clone().map_or_else(to, |members| members.into_iter().collect());
        let member = |name: &str| Member { name: name.to_owned(), ..Member::default() };
        let made = Change::Made { team: Box::new(Team::new(TEAM, None, "s", Member::default(), 1)) };
        let mut changes = vec![made];
        changes.extend(members.iter().map(|name| Change::Joined { member: Box::new(member(name)) }));
        let decide = |team: Option<&Team>| Ok(if team.is_none() { changes.clone() } else { vec![] });
        place.members.change::<TeamError>(decide).await.unwrap();
        Self { home, place, members, sent: BTreeMap::new(), bytes: 0, answers: Vec::new() }
    }

    async fn play(mut self, case: &Case, senders: &mut HashMap<String, Sender>) -> Result<(), String> {
        let before = files(self.home.path());
        for step in &case.steps {
            // All read their order at the same time: they wait for it already.
            let mut asked = Vec::new();
            for send in step {
                self.bytes = self.bytes.max(send.bytes);
                for from in &send.from {
                    let home = self.home.path().join("home").to_str().unwrap().to_owned();
                    let (to, count, bytes) = (send.to.clone(), send.count, send.bytes);
                    let order = Order { home, from: from.clone(), to, count, bytes };
                    let sender = senders.entry(from.clone()).or_insert_with(Sender::start);
                    writeln!(sender.orders, "{}", serde_json::to_string(&order).unwrap()).unwrap();
                    asked.push(from.clone());
                    *self.sent.entry(from.clone()).or_default() += send.count;
                }
            }
            for from in asked {
                self.answers.push(senders.get_mut(&from).unwrap().answer());
            }
        }
        for expect in &case.expected {
            self.check(expect, &before).await.map_err(|why| format!("{expect:?}: {why}"))?;
        }
        Ok(())
    }

    async fn inbox(&self, name: &str) -> Vec<Message> {
        let mailbox = self.place.mail(false);
        let (mut at, mut messages) = (0, Vec::new());
        loop {
            let unread = mailbox.unread(name, at).await.unwrap();
            assert_eq!(unread.damaged, [""; 0]);
            let Some(last) = unread.waiting.last() else { return messages };
            at = last.position;
            messages.extend(unread.waiting.into_iter().map(|waiting| waiting.message));
        }
    }

    async fn check(&self, expect: &Expect, before: &BTreeSet<PathBuf>) -> Result<(), String> {
        let mut all = Vec::new();
        for name in &self.members {
            all.extend(self.inbox(name).await);
        }
        let ids: BTreeSet<&str> = all.iter().map(|message| message.id.as_str()).collect();
        let acknowledged: usize = self.answers.iter().map(|answer| answer.sent).sum();
        let holds = match expect {
            Expect::Messages(count) => {
                let sent = self.sent.values().sum();
                acknowledged == sent && all.len() == count.unwrap_or(sent) && ids.len() == all.len()
            }
            Expect::Intact => all.iter().all(|message| {
                let (_, n) = message.id.split_once('-').unwrap();
                message.text == text(n.parse().unwrap(), self.bytes)
            }),
            Expect::Ordered => self.sent.iter().all(|(from, count)| {
                let own =
                    all.iter().filter(|message| message.from == *from).map(|message| message.id.clone());
                own.eq((0..*count).map(|n| format!("{from}-{n}")))
            }),
            Expect::Rejected => acknowledged == 0 && self.errors().count() == self.answers.len(),
            Expect::NamesMembers => {
                acknowledged == 0
                    && self.errors().all(|error| self.members.iter().all(|name| error.contains(name)))
            }
            Expect::DeliveredOrError(name) => acknowledged == self.inbox(name).await.len(),
            Expect::NothingNew => {
                let mailboxes: BTreeSet<PathBuf> =
                    self.members.iter().map(|name| self.place.mail(false).file(name)).collect();
                files(self.home.path()).difference(before).all(|file| mailboxes.contains(file))
            }
        };
        if holds {
            Ok(())
        } else {
            Err(format!("{acknowledged} acknowledged, {} there; {:?}", all.len(), self.answers))
        }
    }

    fn errors(&self) -> impl Iterator<Item = &String> {
        self.answers.iter().flat_map(|answer| &answer.errors)
    }
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            files.append(&mut self::files(&entry.path()));
        } else {
            files.insert(entry.path());
        }
    }
    files
}

#[expect(clippy::disallowed_methods, reason = "the folder of the cases is chosen by a variable")]
fn cases() -> PathBuf {
    std::env::var_os("TROUPE_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases"), PathBuf::from)
}

// proves: M1, M5, F042, F043, F045, F046, F047
#[tokio::test]
#[expect(clippy::print_stderr, reason = "what ran and what did not is for who reads the test's output")]
async fn every_case_of_mail_between_processes_holds() {
    let lines = std::fs::read_to_string(cases().join("coordination-cases.jsonl")).unwrap();
    let (mut ran, mut others, mut failed) = (0, 0, Vec::new());
    let mut senders = HashMap::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap_or_default();
        let case = match Case::read(&case) {
            Ok(Some(case)) => case,
            Ok(None) => {
                others += 1;
                continue;
            }
            Err(word) => {
                failed.push(format!("{id}: {word}"));
                continue;
            }
        };
        ran += 1;
        for round in 0..case.rounds {
            if let Err(why) = Round::open(&case).await.play(&case, &mut senders).await {
                failed.push(format!("{id}, round {round}: {why}"));
                break;
            }
        }
    }
    eprintln!("{ran} cases ran; {others} are played by agents, or are of other stores");
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(ran > 0, "there are cases");
}
