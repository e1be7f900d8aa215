//! Lines of shell made by chance, against properties of the judge and against a real shell.
//!
//! `cargo xtask fuzz` runs the same for minutes instead of a moment.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the seed makes a failure come again")]

mod grammar;
mod judge;
mod oracle;
mod properties;
mod random;

use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

use troupe_core::policy::{Behaviour, Mode, Verdict};
use troupe_tools::shell::parse::parse;

use judge::judge;
use random::Random;

/// A number that whoever starts the tests gives.
#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs the tests says for how long, and from which seed"
)]
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Calls `case` with numbers from a fresh seed: `cases` times, or for the minutes that were asked for.
fn repeat(what: &str, cases: u64, mut case: impl FnMut(u64)) {
    let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let seed = given("TROUPE_FUZZ_SEED").unwrap_or(chance >> 1);
    let limit = given("TROUPE_FUZZ_MINUTES").map(|minutes| Duration::from_secs(60 * minutes));
    println!("{what}: seed {seed}");
    let began = Instant::now();
    let mut seeds = Random::new(seed);
    let mut done = 0;
    while limit.map_or(done < cases, |limit| began.elapsed() < limit) {
        case(seeds.next());
        done += 1;
    }
    println!("{what}: {done} cases held");
}

// proves: S7
#[test]
fn properties_hold_of_any_line() {
    repeat("properties", 150, |seed| {
        let mut random = Random::new(seed);
        let line =
            if random.once_in(3) { grammar::line(&mut random).text } else { grammar::mutated(&mut random) };
        if let Err(fault) = properties::check(&line, &mut random) {
            panic!("{fault}");
        }
    });
}

// proves: S7
#[test]
fn no_spelling_hides_a_denied_program() {
    repeat("spellings", 400, |seed| {
        if let Err(fault) = properties::check_spellings(&mut Random::new(seed)) {
            panic!("{fault}");
        }
    });
}

/// What a shell really runs is denied if a rule denies it, and what is allowed runs nothing else and writes
/// nothing. A line that can't be followed asks at least; when fuzzing it must be denied too.
// proves: S7
#[test]
fn the_judge_sees_what_a_shell_runs() {
    let stage = oracle::Stage::new();
    let strict = given("TROUPE_FUZZ_MINUTES").is_some();
    repeat("oracle", 120, |seed| {
        let line = grammar::line(&mut Random::new(seed));
        let Some(done) = stage.run(&line.text) else { return };
        let command = parse(&line.text);
        for name in &done.ran {
            let rules =
                [(Behaviour::Deny, format!("Bash({name} *)")), (Behaviour::Allow, "Bash(*)".to_owned())];
            match judge(&rules, Mode::Default, &command) {
                Verdict::Deny(_) => {}
                Verdict::Ask(_) if line.dynamic => {}
                Verdict::Ask(asking) if asking.hard && command.doubt.is_some() && !strict => {}
                verdict => panic!("{name} ran, and was not denied in {:?}: {verdict:?}", line.text),
            }
        }
        for name in ["pa", "pb"] {
            let rules = [(Behaviour::Allow, format!("Bash({name} *)"))];
            if judge(&rules, Mode::Default, &command) == Verdict::Allow {
                let other = done.ran.iter().find(|ran| !["ls", "cat", "nohup", name].contains(&ran.as_str()));
                assert_eq!(other, None, "{name} alone is allowed in {:?}", line.text);
                assert!(!done.wrote, "nothing may be written by {:?}", line.text);
            }
        }
    });
}
