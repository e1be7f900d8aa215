//! The words of a case of mail, read: its operations, its setup, and what it expects.

use serde_json::Value;

/// What is sent, in an operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Send {
    /// The processes that each do it.
    pub(crate) from: Vec<String>,
    pub(crate) to: String,
    pub(crate) count: usize,
    pub(crate) bytes: usize,
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expect {
    /// So many messages, each once; all that were sent where no number is given.
    Messages(Option<usize>),
    Intact,
    Ordered,
    /// Each is refused, and told who there is.
    NamesMembers,
    /// Each is refused.
    Rejected,
    /// To this member, or refused.
    DeliveredOrError(String),
    /// Nothing but the mailboxes of members, and nothing outside of the team's folder.
    NothingNew,
}

/// A case that processes can play.
#[derive(Debug, PartialEq)]
pub(crate) struct Case {
    /// Those of one step send at the same time.
    pub(crate) steps: Vec<Vec<Send>>,
    /// None where all who are sent to are.
    pub(crate) members: Option<Vec<String>>,
    pub(crate) expected: Vec<Expect>,
    pub(crate) rounds: usize,
}

/// The names of `P1..P10`, or of one name.
fn names(word: &str) -> Option<Vec<String>> {
    let Some((first, last)) = word.split_once("..") else {
        let is_name = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '-');
        return is_name.then(|| vec![word.to_owned()]);
    };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |name: &str| name.strip_prefix(stem)?.parse::<usize>().ok();
    Some((number(first)?..=number(last)?).map(|number| format!("{stem}{number}")).collect())
}

/// The words of a text; what stands in quotes is one, and may be empty.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c));
        let (word, after) = match quote {
            Some(quote) => rest[1..].split_once(quote).unwrap_or((&rest[1..], "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

fn send(text: &str) -> Option<Send> {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (from, rest) = match words.as_slice() {
        [from, "each", "send" | "sends", rest @ ..] | [from, "send" | "sends", rest @ ..] => {
            (names(from)?, rest)
        }
        _ => return None,
    };
    let [to, what @ ..] = rest else { return None };
    let (count, bytes) = match what {
        [number, "message" | "messages", size @ ..] => {
            let bytes = match size {
                [] => 0,
                ["of", number, unit, ..] => {
                    let unit = match unit.trim_end_matches(',') {
                        "B" | "bytes" => 1,
                        "KiB" | "KB" => 1 << 10,
                        "MiB" | "MB" => 1 << 20,
                        _ => return None,
                    };
                    number.parse::<usize>().ok()? * unit
                }
                _ => return None,
            };
            (number.parse().ok()?, bytes)
        }
        [_text] => (1, 0),
        _ => return None,
    };
    Some(Send { from, to: (*to).to_owned(), count, bytes })
}

fn expect(part: &str) -> Option<(Vec<Expect>, usize)> {
    let (part, rounds) = match part.rsplit_once(" in ") {
        Some((before, share)) if share.ends_with("rounds") => {
            let (all, of) = share.strip_suffix("rounds")?.trim().split_once('/')?;
            (before, of.parse().ok().filter(|_| all == of)?)
        }
        _ => (part, 1),
    };
    let words: Vec<&str> = part.split_whitespace().collect();
    let expects = match words.as_slice() {
        [inbox, "=", set] if inbox.starts_with("inbox(") => {
            let set = set.strip_prefix('{')?.strip_suffix('}')?;
            vec![Expect::Messages(Some(set.split(',').count()))]
        }
        [number, "messages"] | [number, "distinct", "messages"] => {
            vec![Expect::Messages(Some(number.parse().ok()?))]
        }
        [number, "intact", "messages"] => vec![Expect::Messages(Some(number.parse().ok()?)), Expect::Intact],
        ["per-sender", "order", "kept"] => vec![Expect::Ordered],
        ["error", "naming", "known", "members"] => vec![Expect::NamesMembers],
        ["all", "rejected"] => vec![Expect::Rejected],
        ["delivered", "to", name, "or", "error"] => vec![Expect::DeliveredOrError((*name).to_owned())],
        ["no", "file", "created"] | ["never", "a", "new", "inbox"] | ["nothing", "outside", ..] => {
            vec![Expect::NothingNew]
        }
        _ => return None,
    };
    Some((expects, rounds))
}

impl Case {
    /// Reads a case; none of one that agents play.
    pub(crate) fn read(case: &Value) -> Result<Option<Self>, String> {
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let members = text("setup").strip_prefix("members:");
        if text("store") != "mailbox" || (case["processes"].is_null() && members.is_none()) {
            return Ok(None);
        }
        for key in case.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
            if !["id", "log", "store", "ops", "expect", "processes", "setup"].contains(&key) {
                return Err(format!("unknown key `{key}`"));
            }
        }
        if members.is_none() && !["", "inbox file absent"].contains(&text("setup")) {
            return Err(format!("unknown setup `{}`", text("setup")));
        }
        let members = members.map(|names| names.split(',').map(|name| name.trim().to_owned()).collect());
        let read = |op: &Value| {
            let text = op.as_str().unwrap_or_default();
            send(text).ok_or_else(|| format!("unknown operation `{text}`"))
        };
        let mut steps = Vec::new();
        for op in case["ops"].as_array().into_iter().flatten() {
            let step =
                op.as_array().map_or_else(|| Ok(vec![read(op)?]), |ops| ops.iter().map(read).collect());
            steps.push(step?);
        }
        let (mut expected, mut rounds) = (Vec::new(), 1);
        for part in text("expect").split(';').map(str::trim) {
            let (expects, times) = expect(part).ok_or_else(|| format!("unknown expectation `{part}`"))?;
            expected.extend(expects);
            rounds = rounds.max(times);
        }
        Ok(Some(Self { steps, members, expected, rounds }))
    }
}

#[test]
fn a_word_that_is_not_known_is_named() {
    for (case, word) in [
        (
            r#"{"store": "mailbox", "processes": 2, "ops": ["A sings"], "expect": "30 messages"}"#,
            "operation `A sings`",
        ),
        (
            r#"{"store": "mailbox", "processes": 2, "ops": [["A send b 3 messages of 2 miles"]], "expect": "x"}"#,
            "2 miles",
        ),
        (
            r#"{"store": "mailbox", "processes": 2, "ops": [], "expect": "30 messages; all well"}"#,
            "`all well`",
        ),
        (r#"{"store": "mailbox", "processes": 2, "ops": [], "expect": "3 messages in 9/10 rounds"}"#, "9/10"),
        (
            r#"{"store": "mailbox", "processes": 2, "ops": [], "setup": "a flood", "expect": "x"}"#,
            "`a flood`",
        ),
        (r#"{"store": "mailbox", "processes": 2, "ops": [], "flag": 1, "expect": "x"}"#, "key `flag`"),
    ] {
        let read = Case::read(&serde_json::from_str(case).unwrap());
        assert!(read.as_ref().is_err_and(|error| error.contains(word)), "{case}: {read:?}");
    }
    let to = |text: &str| send(text).unwrap().to;
    assert_eq!((to("A send '' hello"), to("A send 'a/b' hello")), (String::new(), "a/b".to_owned()));
    let large = send("P1..P3 each send lead 20 messages of 64 KiB with newlines").unwrap();
    assert_eq!((large.from.len(), large.count, large.bytes), (3, 20, 65_536));
}
