//! The words of an expectation, read.

/// One thing that must hold. Names are those of the case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expect {
    /// Of ends and notices.
    ResultReturned,
    NoticeOnce,
    Completions(usize),
    Notifications(usize),
    NotCompletedYet(String),
    CommandOver(String),
    ToldOnceOf(String),
    /// What is told of the last named command names this agent.
    Labelled(String),
    NoSecondNotice,
    TextOnce,
    MostWakes(usize),
    TerminalStates(usize),
    /// Of agents.
    Loops(usize),
    ConsumedInOrder(Option<usize>),
    Complete(usize),
    Run(usize),
    ForkRefused(String),
    /// Of questions.
    EachAnswer,
    PromptWithdrawn,
    NothingRuns,
    NotBlocked,
    NotUnasked,
    Asks,
    Denied,
    Allowed,
    /// Of files; of all who tried where nobody is named.
    Refused(Option<String>),
    Succeeds(Option<String>),
    All(usize),
    WithNote,
    OtherKept,
    /// Says nothing that can be checked.
    Remark,
}

/// What a case expects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected {
    pub(crate) all: Vec<Expect>,
    /// How often the case is played.
    pub(crate) rounds: usize,
}

fn number(word: &str) -> Option<usize> {
    let words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    match word {
        "both" => Some(2),
        "zero" => Some(0),
        _ => word.parse().ok().or_else(|| words.iter().position(|known| *known == word)),
    }
}

/// The text without what stands in brackets.
fn plain(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|letter| {
        depth += usize::from(*letter == '(');
        let outside = depth == 0;
        depth -= usize::from(*letter == ')' && depth > 0);
        outside
    });
    outside.filter(|letter| !"`.:".contains(*letter)).collect()
}

/// Reads an expectation.
pub(crate) fn parse(text: &str) -> Result<Expected, String> {
    let mut expected = Expected { all: Vec::new(), rounds: 1 };
    let plain = plain(text);
    for part in plain.split([';', ',']).map(str::trim).filter(|part| !part.is_empty()) {
        let words: Vec<&str> = part.split_whitespace().collect();
        if let [share, "rounds"] = words.as_slice()
            && let Some((of, all)) = share.split_once('/')
            && of == all
            && let Ok(rounds) = all.parse()
        {
            expected.rounds = rounds;
            continue;
        }
        let read = of_ends(&words).or_else(|| of_others(&words)).or_else(|| of_files(&words));
        expected.all.push(read.ok_or_else(|| format!("unknown expectation `{part}` in `{text}`"))?);
    }
    Ok(expected)
}

fn of_ends(words: &[&str]) -> Option<Expect> {
    let expect = match words {
        ["result", "returned"] => Expect::ResultReturned,
        ["notice", "delivered", "once"] | ["notice", "still", "delivered", "once"] => Expect::NoticeOnce,
        [count, "completion" | "completions"] => Expect::Completions(number(count)?),
        [count, "notification" | "notifications" | "notice" | "notices"]
        | [count, "notification" | "notifications" | "notice" | "notices", "in", "all"] => {
            Expect::Notifications(number(count)?)
        }
        ["no", "completed", "for", name, "yet"] => Expect::NotCompletedYet((*name).to_owned()),
        ["waiting", "is", "fine"] => Expect::Remark,
        [command, "ends", "by", "itself", "or", "is", "killed", "with", _] => {
            Expect::CommandOver((*command).to_owned())
        }
        ["either", "way", rest @ ..] => return of_ends(rest),
        ["the", "lead", "is", "told", "of", of, "end", "once"] => {
            Expect::ToldOnceOf(of.strip_suffix("'s")?.to_owned())
        }
        ["labelled", "with", name] => Expect::Labelled((*name).to_owned()),
        ["no", "second", "notice"] => Expect::NoSecondNotice,
        ["notice", "text", "occurs", "once", "in", "history"] => Expect::TextOnce,
        ["at", "most", count, "wake" | "wakes"] => Expect::MostWakes(number(count)?),
        [count, "terminal", "state"] | [count, "terminal", "state", "each"] => {
            Expect::TerminalStates(number(count)?)
        }
        _ => return None,
    };
    Some(expect)
}

fn of_others(words: &[&str]) -> Option<Expect> {
    let expect = match words {
        [count, "loop" | "loops"] => Expect::Loops(number(count)?),
        ["messages" | "message", "consumed", "in", "order"] => Expect::ConsumedInOrder(None),
        ["all", "messages", "consumed", "in", "order"] => Expect::ConsumedInOrder(None),
        [count, "messages", "consumed", "in", "order"] => Expect::ConsumedInOrder(Some(number(count)?)),
        [count, "complete"] => Expect::Complete(number(count)?),
        [count, "forks", "run"] => Expect::Run(number(count)?),
        [name, "own", "fork", "is", "refused"] => Expect::ForkRefused(name.strip_suffix("'s")?.to_owned()),
        ["and", "the", "refusal", "says", "that", "it", "is", "permanent"] => Expect::Remark,
        ["each", "answer", "reaches", "its", "asker"] => Expect::EachAnswer,
        ["prompt", "withdrawn"] => Expect::PromptWithdrawn,
        ["nothing", "runs"] => Expect::NothingRuns,
        ["UI", "not", "blocked"] => Expect::NotBlocked,
        ["not", "written", "unasked", ..] => Expect::NotUnasked,
        ["or", "the", "user", "is", "asked"] => Expect::Remark,
        ["asks"] => Expect::Asks,
        ["denied"] => Expect::Denied,
        ["allowed"] => Expect::Allowed,
        _ => return None,
    };
    Some(expect)
}

fn of_files(words: &[&str]) -> Option<Expect> {
    let expect = match words {
        ["refused"] => Expect::Refused(None),
        [name, "refused"] | [name, "is", "refused"] => Expect::Refused(Some((*name).to_owned())),
        ["succeeds", "with", "a", "note"] => Expect::WithNote,
        ["other", "change", "kept"] => Expect::OtherKept,
        ["succeeds"] => Expect::Succeeds(None),
        [count, "succeed"] | [count, "succeed", "without", "a", "new", "read"] => Expect::All(number(count)?),
        [name, "succeeds"] => Expect::Succeeds(Some((*name).to_owned())),
        _ => return None,
    };
    Some(expect)
}
