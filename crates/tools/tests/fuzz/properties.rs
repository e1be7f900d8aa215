//! What must hold of each line, rule and mode. A failure is told in words, with the line.

use std::time::{Duration, Instant};

use troupe_core::policy::{Behaviour, Mode, Verdict};
use troupe_tools::shell::parse::parse;

use super::judge::{judge, some_rule, some_rules, strictness};
use super::random::Random;

/// Longest that one line may take to be parsed and judged a dozen times, in a build without optimisation.
const LIMIT: Duration = Duration::from_secs(20);

/// Checks one line under rules and modes of chance.
pub(crate) fn check(line: &str, random: &mut Random) -> Result<(), String> {
    let began = Instant::now();
    let command = parse(line);
    let rules = some_rules(random);
    let mode = Mode::ALL[random.below(Mode::ALL.len())];
    let before = judge(&rules, mode, &command);
    let fault = |what: &str| Err(format!("{what}: {line:?} under {rules:?} in {mode:?}: {before:?}"));

    let (_, more) = some_rule(random);
    for behaviour in [Behaviour::Ask, Behaviour::Deny] {
        let mut wider = rules.clone();
        wider.push((behaviour, more.clone()));
        if strictness(&judge(&wider, mode, &command)) < strictness(&before) {
            return fault(&format!("a rule to {behaviour:?} `{more}` allows more"));
        }
    }
    let mut turned = rules.clone();
    turned.reverse();
    if strictness(&judge(&turned, mode, &command)) != strictness(&before) {
        return fault("the order of rules counts");
    }
    let allow = [(Behaviour::Allow, more.clone())];
    let deny = [(Behaviour::Deny, more.clone())];
    let opens = judge(&[], Mode::Default, &command) != Verdict::Allow
        && judge(&allow, Mode::Default, &command) == Verdict::Allow;
    // What a rule for files allows is the redirect; the rest of the line may be free.
    if opens && more.starts_with("Bash") && strictness(&judge(&deny, Mode::Default, &command)) != 2 {
        return fault(&format!("`{more}` allows what it does not deny"));
    }
    let wanted = Mode::ALL[random.below(Mode::ALL.len())];
    let child = strictness(&judge(&rules, mode.of_child(Some(wanted)), &command));
    let own = strictness(&judge(&rules, wanted, &command));
    if child < strictness(&before).min(own) {
        return fault(&format!("a child that wants {wanted:?} may do more than either"));
    }
    if mode == Mode::Plan && child < strictness(&judge(&rules, Mode::Default, &command)) {
        return fault(&format!("a child that wants {wanted:?} acts under a plan"));
    }
    if began.elapsed() > LIMIT {
        return fault("it takes too long");
    }
    Ok(())
}

/// Checks that a denied program stays denied in another spelling.
pub(crate) fn check_spellings(random: &mut Random) -> Result<(), String> {
    let name = random.pick(&["rm", "curl", "git", "dd"]);
    let rest = random.pick(&["", " x", " -rf x", " 'a b'", " -- x", " $x", " x > /dev/null"]);
    let (first, tail) = name.split_at(1);
    let mut line = random
        .pick(&[
            "N",
            "'N'",
            "\"N\"",
            "F\\T",
            "\\N",
            "$'N'",
            "F''T",
            "/bin/N",
            "./N",
            "F\\\nT",
            "$'F'\"T\"",
            "../x/N",
        ])
        .replace('N', name)
        .replace('F', first)
        .replace('T', tail);
    line.push_str(rest);
    for _ in 0..random.below(3) {
        let wrapper = random.pick(&[
            "command ",
            "env ",
            "env -i A=1 ",
            "nohup ",
            "nice -n 5 ",
            "timeout -k 1 5 ",
            "sudo -u root ",
            "xargs -n1 ",
            "time ",
            "exec ",
            "setsid -w ",
            "busybox ",
            "ionice -c3 ",
            "stdbuf -oL ",
            "doas ",
            "find . -exec ",
        ]);
        line.insert_str(0, wrapper);
    }
    if random.once_in(3) {
        line.insert_str(0, "A=1 ");
    }
    for _ in 0..random.below(3) {
        line = match random.below(11) {
            0 => format!("ls; {line}"),
            1 => format!("( {line} )"),
            2 => format!("if ls; then {line}\nfi"),
            3 => format!("echo $( {line})"),
            4 => format!("echo \"$( {line})\""),
            5 => format!("cat <<E\n$( {line})\nE\n"),
            6 => format!("{{ {line}\n}}"),
            7 if !line.contains('\'') => format!("bash -c '{line}'"),
            8 => format!("for i in a; do {line}\ndone > /dev/null"),
            9 => format!("cat <( {line})"),
            _ => format!("true &&\n{line}"),
        };
    }
    let rules = [(Behaviour::Deny, format!("Bash({name} *)")), (Behaviour::Allow, "Bash(*)".to_owned())];
    match judge(&rules, Mode::BypassPermissions, &parse(&line)) {
        Verdict::Deny(_) => Ok(()),
        verdict => Err(format!("`{name}` is denied, yet not in {line:?}: {verdict:?}")),
    }
}
