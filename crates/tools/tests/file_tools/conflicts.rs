//! Two agents, or an agent and a program, that change one file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;

use super::agent::{Agent, text};
use super::{TEXT, edit, fails, fine, read, write};

// proves: F267, X11
#[test]
fn a_stale_edit_shows_what_was_read_and_what_is_there_now() {
    let mut one = Agent::new();
    let path = one.path("conflict.txt");
    fs::write(&path, TEXT).unwrap();
    read(&mut one, &path);
    let mut two = Agent::in_folder(Arc::clone(&one.folder));
    read(&mut two, &path);
    fine(&edit(&mut two, &path, "two", "TWO by the other"));
    let output = edit(&mut one, &path, "two", "2");
    fails(&output, "Read it again");
    fails(&output, "-two\n+TWO by the other");
}

// proves: F269, X11
#[test]
fn a_stale_write_shows_what_changed_since_it_was_read() {
    let mut one = Agent::new();
    let path = one.path("conflict.txt");
    fs::write(&path, TEXT).unwrap();
    // As `cat` shows it.
    one.saw_whole(&path);
    fs::write(&path, TEXT.replace("four\n", "four\nby a program\n")).unwrap();
    let output = write(&mut one, &path, "mine\n");
    fails(&output, "+by a program");
    assert!(!text(&output).contains("mine"), "{}", text(&output));
}

// proves: F267, X11
#[test]
fn after_an_own_edit_the_own_version_is_the_edited_one() {
    let mut one = Agent::new();
    let path = one.path("conflict.txt");
    fs::write(&path, TEXT).unwrap();
    read(&mut one, &path);
    fine(&edit(&mut one, &path, "two", "mine"));
    fs::write(&path, TEXT.replace("two", "theirs")).unwrap();
    let output = edit(&mut one, &path, "mine", "2");
    fails(&output, "-mine\n+theirs");
    assert!(!text(&output).contains("-two"), "{}", text(&output));
}

/// What an agent does to the file; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Read,
    /// Replaces the line that it knows at this place by as many new ones.
    Edit(usize, usize),
    /// Writes what it knows with a new line at this place.
    Write(usize),
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let step = prop_oneof![
        2 => Just(Step::Read),
        4 => (0..40_usize, 0..3_usize).prop_map(|(at, lines)| Step::Edit(at, lines)),
        1 => (0..40_usize).prop_map(Step::Write),
    ];
    (any::<bool>(), step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // proves: X11, F269
    // Each line is unique, so it is known who took it away: only who had it in sight may.
    #[test]
    fn no_line_is_lost_to_an_agent_that_had_not_seen_it(steps in prop::collection::vec(step(), 1..40)) {
        let one = Agent::new();
        let path = one.path("shared.txt");
        let two = Agent::in_folder(Arc::clone(&one.folder));
        let mut agents = [one, two];
        let mut next = 0;
        let mut fresh = |by: usize| { next += 1; format!("<{by}:{next}>") };
        let start: Vec<String> = (0..6).map(|_| fresh(9)).collect();
        fs::write(&path, start.join("\n") + "\n").unwrap();
        // What each agent knows, which is the file as it last read or wrote it.
        let mut known: [Vec<String>; 2] = [start.clone(), start];
        for agent in &mut agents {
            read(agent, &path);
        }
        for (second, step) in steps {
            let who = usize::from(second);
            let before = lines(&path);
            let (output, taken) = match step {
                Step::Read => {
                    prop_assert!(!read(&mut agents[who], &path).is_error);
                    known[who].clone_from(&before);
                    continue;
                }
                Step::Edit(at, new) if !known[who].is_empty() => {
                    let old = known[who][at % known[who].len()].clone();
                    let new: Vec<String> = (0..=new).map(|_| fresh(who)).collect();
                    let output = edit(&mut agents[who], &path, &old, &new.join("\n"));
                    if !output.is_error {
                        let at = known[who].iter().position(|line| *line == old).unwrap();
                        known[who].splice(at..=at, new);
                    }
                    (output, vec![old])
                }
                Step::Edit(..) => continue,
                Step::Write(at) => {
                    let mut content = known[who].clone();
                    content.insert(at % (content.len() + 1), fresh(who));
                    let output = write(&mut agents[who], &path, &(content.join("\n") + "\n"));
                    if !output.is_error {
                        known[who] = content;
                    }
                    (output, Vec::new())
                }
            };
            let after = lines(&path);
            let lost: Vec<&String> = before.iter().filter(|line| !after.contains(line)).collect();
            if output.is_error {
                prop_assert_eq!(&after, &before);
                let told = text(&output);
                prop_assert!(told.contains("changed on disk"), "{}", told);
                // Silently would be: without a word of what is there now.
                prop_assert!(told.contains("as it is now"), "{}", told);
            } else {
                prop_assert!(lost.iter().all(|line| taken.contains(line)), "lost {:?}", lost);
            }
        }
    }
}

fn lines(path: &std::path::Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}
