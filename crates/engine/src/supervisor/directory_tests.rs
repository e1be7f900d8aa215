//! Who reaches whom.

use troupe_core::entry::FORMAT;
use troupe_core::policy::Mode;

use super::*;

fn header(id: &str, parent: Option<&str>, name: Option<&str>) -> Arc<Header> {
    Arc::new(Header {
        format: FORMAT,
        session: "s".into(),
        agent: id.into(),
        address: format!("x/{id}"),
        definition: "d".into(),
        description: String::new(),
        parent: parent.map(AgentId::new),
        call: None,
        depth: 0,
        cwd: "/".into(),
        model: "m".into(),
        effort: None,
        mode: Mode::Default,
        prompt: String::new(),
        resident: parent.is_none(),
        name: name.map(str::to_owned),
        background: false,
        fork: None,
        writes: troupe_core::def::Writes::default(),
        verdict: false,
        limits: troupe_core::budget::Limits::default(),
        team: None,
        worktree: None,
        version: "0".into(),
    })
}

/// Agents of an earlier process that spent nothing.
fn remember(directory: &Directory, headers: &[Arc<Header>]) {
    directory.remember(headers.iter().map(|header| (Arc::clone(header), Spent::default())));
}

/// `main` started `a` (named one), `b` (named two) and `c`; `a` started `aa` and `ab` (named one).
fn directory() -> Directory {
    let directory = Directory::default();
    remember(
        &directory,
        &[
            header("main", None, None),
            header("a", Some("main"), Some("one")),
            header("b", Some("main"), Some("two")),
            header("c", Some("main"), None),
            header("aa", Some("a"), None),
            header("ab", Some("a"), Some("one")),
        ],
    );
    directory
}

fn reach(directory: &Directory, from: &str, to: &str) -> Result<String, MailError> {
    let from = directory.known(&AgentId::new(from)).map(|known| known.header);
    let from = from.unwrap_or_else(|| header("nobody", None, None));
    directory.resolve(&from, to).map(|id| id.to_string())
}

// proves: M5
#[test]
fn one_reaches_those_below_the_parent_the_lead_and_named_ones_beside() {
    let directory = directory();
    for (from, to, found) in [
        ("main", "two", "b"),
        ("main", "c", "c"),
        ("main", "aa", "aa"),
        ("b", "main", "main"),
        ("b", "parent", "main"),
        ("aa", "parent", "a"),
        ("aa", "a", "a"),
        ("aa", "main", "main"),
        ("aa", "one", "ab"),
        ("b", "a", "a"),
        ("c", "two", "b"),
    ] {
        assert_eq!(reach(&directory, from, to).ok().as_deref(), Some(found), "{from} to {to}");
    }
    for (from, to) in
        [("b", "c"), ("b", "aa"), ("aa", "b"), ("aa", "two"), ("main", "parent"), ("b", "x"), ("b", "")]
    {
        assert!(matches!(reach(&directory, from, to), Err(MailError::Unknown { .. })), "{from} to {to}");
    }
    assert_eq!(reach(&directory, "b", "two"), Err(MailError::Own("two".into())));
    let Err(MailError::Unknown { known, .. }) = reach(&directory, "b", "x") else { unreachable!() };
    assert_eq!(known, ["a", "main"], "an agent whose name another has is listed by its id");
}

// proves: A10
#[test]
fn by_name_one_reaches_the_newest_and_by_id_any() {
    let directory = directory();
    assert_eq!(reach(&directory, "main", "one").ok().as_deref(), Some("ab"), "it stands below main too");
    assert_eq!(reach(&directory, "main", "a").ok().as_deref(), Some("a"));
    // The newest is out of reach for b: it is told by which id it reaches the one that it knew.
    let taken = MailError::TakenOver { name: "one".into(), id: "a".into() };
    assert_eq!(reach(&directory, "b", "one"), Err(taken));
    // An older agent that is met again does not take the name back.
    remember(&directory, &[header("a", Some("main"), Some("one"))]);
    assert_eq!(reach(&directory, "main", "one").ok().as_deref(), Some("ab"));
}

// proves: B7
#[test]
fn a_circle_in_damaged_headers_ends_no_search() {
    let directory = Directory::default();
    remember(
        &directory,
        &[header("x", Some("y"), None), header("y", Some("x"), None), header("z", None, None)],
    );
    assert!(!directory.is_above(&AgentId::new("z"), &AgentId::new("x")));
    assert!(directory.is_above(&AgentId::new("y"), &AgentId::new("x")));
}
