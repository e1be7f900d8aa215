//! Permission settings and flags → the rules of a session. What a rule means is core's to say; here they get
//! their origin, and the widest ones a warning.

use std::path::{Path, PathBuf};

use troupe_core::policy::{Behaviour, Location, Position, RuleFault, Rules, Scope};

use super::settings::{PermissionSettings, Source};

/// `--allowed-tools` and `--disallowed-tools`, each value as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFlags {
    /// Rules that allow.
    pub allowed: Vec<String>,
    /// Rules that deny.
    pub disallowed: Vec<String>,
}

/// The rules of a session, and what to tell about them at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedRules {
    /// The rules.
    pub rules: Rules,
    /// Rules that can't be understood.
    pub faults: Vec<MisreadRule>,
    /// Rules that allow more than they seem to.
    pub warnings: Vec<BroadRule>,
}

/// A rule that can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("understand a rule in {from}{}: {fault}", place(.at.as_ref()))]
pub struct MisreadRule {
    /// The file or flag.
    pub from: Source,
    /// Where in the file.
    pub at: Option<Position>,
    /// The rule, and what is wrong with it.
    #[source]
    pub fault: RuleFault,
}

/// A rule that lets the model run anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}` in {from}{} allows {what}", place(.at.as_ref()))]
pub struct BroadRule {
    /// The rule.
    pub rule: String,
    /// The file or flag.
    pub from: Source,
    /// Where in the file.
    pub at: Option<Position>,
    /// What it allows.
    pub what: &'static str,
}

fn place(at: Option<&Position>) -> String {
    at.map(|at| format!(", line {}, column {}", at.line, at.column)).unwrap_or_default()
}

/// Makes the rules of a session. `cwd` is where flags' paths start.
pub fn load(settings: &PermissionSettings, flags: &RuleFlags, cwd: &Path) -> LoadedRules {
    let mut loaded = LoadedRules { rules: Rules::default(), faults: Vec::new(), warnings: Vec::new() };
    loaded.rules.set_bounds(settings.bounds);
    let lists = [
        (Behaviour::Deny, &settings.deny),
        (Behaviour::Ask, &settings.ask),
        (Behaviour::Allow, &settings.allow),
    ];
    for (behaviour, rules) in lists {
        for rule in rules {
            let origin = &rule.origin;
            let location = Location { source: origin.source.to_string().into(), position: rule.position };
            let (scope, base) = (origin.layer.scope(), origin.base.clone());
            loaded.add(&rule.text, behaviour, scope, base, &origin.source, location);
        }
    }
    for (behaviour, values, flag) in [
        (Behaviour::Deny, &flags.disallowed, "--disallowed-tools"),
        (Behaviour::Allow, &flags.allowed, "--allowed-tools"),
    ] {
        let location = Location { source: flag.into(), position: None };
        for rule in values.iter().flat_map(|value| split(value)) {
            loaded.add(rule, behaviour, Scope::CommandLine, cwd.to_owned(), &Source::Flag, location.clone());
        }
    }
    loaded
}

impl LoadedRules {
    fn add(
        &mut self,
        text: &str,
        behaviour: Behaviour,
        scope: Scope,
        base: PathBuf,
        from: &Source,
        location: Location,
    ) {
        let at = location.position;
        if let Err(fault) = self.rules.add_from(text, behaviour, scope, base, Some(location)) {
            self.faults.push(MisreadRule { from: from.clone(), at, fault });
        } else if behaviour == Behaviour::Allow
            && let Some(what) = breadth(text)
        {
            self.warnings.push(BroadRule { rule: text.to_owned(), from: from.clone(), at, what });
        }
    }
}

/// Splits a flag's value at commas and white space, but not inside parentheses: `Bash(git log *), Read` is two
/// rules. A parenthesis after a backslash does not count.
pub fn split(value: &str) -> Vec<&str> {
    let mut rules = Vec::new();
    let (mut start, mut depth, mut escaped) = (0, 0_usize, false);
    for (at, c) in value.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 && (c == ',' || c.is_whitespace()) => {
                rules.push(&value[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    rules.push(&value[start..]);
    rules.retain(|rule| !rule.trim().is_empty());
    rules
}

const ANYTHING: &str = "any command";
const INTERPRETER: &str = "any program text, through an interpreter";
const ELEVATED: &str = "commands as another user";
const REMOVAL: &str = "removing or overwriting any file";

/// Programs whose free arguments come to more than the program seems to be.
const PROGRAMS: &[(&str, &str)] = &[
    ("bash", ANYTHING),
    ("sh", ANYTHING),
    ("zsh", ANYTHING),
    ("dash", ANYTHING),
    ("ksh", ANYTHING),
    ("fish", ANYTHING),
    ("busybox", ANYTHING),
    ("pwsh", ANYTHING),
    ("eval", ANYTHING),
    ("source", ANYTHING),
    (".", ANYTHING),
    ("ssh", ANYTHING),
    ("find", ANYTHING),
    ("npx", ANYTHING),
    ("bunx", ANYTHING),
    ("uvx", ANYTHING),
    ("pipx", ANYTHING),
    ("docker", ANYTHING),
    ("podman", ANYTHING),
    ("kubectl", ANYTHING),
    ("python", INTERPRETER),
    ("python2", INTERPRETER),
    ("python3", INTERPRETER),
    ("ipython", INTERPRETER),
    ("node", INTERPRETER),
    ("deno", INTERPRETER),
    ("bun", INTERPRETER),
    ("ruby", INTERPRETER),
    ("perl", INTERPRETER),
    ("php", INTERPRETER),
    ("lua", INTERPRETER),
    ("awk", INTERPRETER),
    ("osascript", INTERPRETER),
    ("rm", REMOVAL),
    ("dd", REMOVAL),
    ("shred", REMOVAL),
    ("mkfs", REMOVAL),
];

/// Programs that run another as somebody else: too much with anything left open.
const ELEVATORS: &[&str] = &["sudo", "doas", "su", "pkexec"];

/// Programs that run the one named after them.
const WRAPPERS: &[&str] = &[
    "env", "xargs", "nohup", "nice", "time", "timeout", "command", "builtin", "exec", "setsid", "stdbuf",
    "ionice", "watch", "flock", "parallel", "strace",
];

/// What an allow rule lets through, if that is close to everything.
fn breadth(rule: &str) -> Option<&'static str> {
    let rule = rule.trim();
    let (tool, spec) = match rule.split_once('(') {
        Some((tool, rest)) => (tool.trim(), rest.strip_suffix(')').unwrap_or(rest).trim()),
        None => (rule, ""),
    };
    if tool == "*" {
        return Some("every tool");
    }
    if tool != "Bash" && tool != "PowerShell" {
        return None;
    }
    // `x:*` is an older way to write `x *`.
    let spec = spec.strip_suffix(":*").map_or_else(|| spec.to_owned(), |head| format!("{head} *"));
    let words: Vec<&str> = spec.split_whitespace().collect();
    let mut at = 0;
    loop {
        let Some(word) = words.get(at) else { return Some(ANYTHING) };
        let name = name_of(word);
        let rest = &words[at + 1..];
        // A star at the front, or behind a wrapper, stands for any program.
        if name.trim_matches('*').is_empty() {
            return Some(ANYTHING);
        }
        if ELEVATORS.iter().any(|program| covers(name, program)) {
            let free = rest.is_empty() || name.contains('*') || rest.iter().any(|word| word.contains('*'));
            return free.then_some(ELEVATED);
        }
        if WRAPPERS.iter().any(|program| covers(name, program)) {
            if rest.is_empty() || name.contains('*') {
                return Some(ANYTHING);
            }
            // Its own options, numbers and assignments lead to the program; the last option may take a word.
            let own = rest.iter().take_while(|word| is_own(word)).count();
            let taken = own > 0
                && rest.get(own).is_some_and(|word| !is_known(word))
                && rest.get(own + 1).is_some_and(|word| is_known(word));
            at += 1 + own + usize::from(taken);
            continue;
        }
        let (_, what) = PROGRAMS.iter().find(|(program, _)| covers(name, program))?;
        // Narrow enough as soon as the first argument is fixed.
        let free = rest.first().is_none_or(|next| next.starts_with('*')) || name.contains('*');
        return free.then_some(*what);
    }
}

fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_own(word: &str) -> bool {
    word.starts_with('-') || word.contains('=') || word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_known(word: &str) -> bool {
    let name = name_of(word);
    let mut all = PROGRAMS.iter().map(|(program, _)| program).chain(WRAPPERS).chain(ELEVATORS);
    !name.contains('*') && all.any(|program| covers(name, program))
}

/// Whether a rule's program word can be this program, also with a version behind it: `python*`, `python3.12`.
fn covers(word: &str, program: &str) -> bool {
    if let Some((head, tail)) = word.split_once('*') {
        let tail = tail.rsplit('*').next().unwrap_or(tail);
        return program.starts_with(head)
            && program.ends_with(tail)
            && program.len() >= head.len() + tail.len();
    }
    let version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    word.strip_prefix(program).is_some_and(|rest| rest.is_empty() || (program != "." && version(rest)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Arc;

    use super::super::settings::{Layer, Origin, RuleText};
    use super::*;

    fn settings(layer: Layer, base: &str, allow: &[&str]) -> PermissionSettings {
        let source = Source::File(PathBuf::from(base).join("settings.json"));
        let origin = Arc::new(Origin { layer, source, base: base.into() });
        let allow = allow.iter().map(|text| RuleText {
            text: (*text).into(),
            origin: Arc::clone(&origin),
            position: Some(Position { line: 3, column: 5 }),
        });
        PermissionSettings {
            allow: allow.collect(),
            ask: vec![],
            deny: vec![],
            default_mode: None,
            additional_directories: vec![],
            bypass_disabled: false,
            auto_disabled: false,
            bounds: troupe_core::policy::Bounds::default(),
        }
    }

    #[test]
    fn flags_are_split_outside_of_parentheses() {
        let cases: [(&str, &[&str]); 8] = [
            ("Bash(git log *),Read", &["Bash(git log *)", "Read"]),
            ("Read Edit,  Bash(a, b c)", &["Read", "Edit", "Bash(a, b c)"]),
            ("Bash(echo (x, y) z)\nRead", &["Bash(echo (x, y) z)", "Read"]),
            (r"Bash(echo \)),Read", &[r"Bash(echo \))", "Read"]),
            (r"Bash(echo \(),Read", &[r"Bash(echo \()", "Read"]),
            ("", &[]),
            (" , ,", &[]),
            ("Bash(open, Read", &["Bash(open, Read"]),
        ];
        for (value, expected) in cases {
            assert_eq!(split(value), expected, "{value}");
        }
    }

    // proves: F151
    #[test]
    fn the_broadest_rules_are_named() {
        for rule in [
            "Bash",
            "Bash(*)",
            "Bash( * )",
            "Bash(:*)",
            "Bash(bash *)",
            "Bash(bash:*)",
            "Bash(bash)",
            "Bash(/bin/sh *)",
            "Bash(sudo *)",
            "Bash(sudo)",
            "Bash(sudo:*)",
            "Bash(python*)",
            "Bash(python3 *)",
            "Bash(python3.12:*)",
            "Bash(env *)",
            "Bash(env:*)",
            "Bash(rm *)",
            "Bash(rm:*)",
            "Bash(sudo -u x rm *)",
            "Bash(sudo apt *)",
            "Bash(env -u X python *)",
            "Bash(sudo rm *)",
            "Bash(timeout 5 bash *)",
            "Bash(env A=1 python *)",
            "Bash(p*)",
            "Bash(* --version)",
            "Bash(node:*)",
            "Bash(xargs *)",
            "PowerShell",
            "Bash(./*)",
            "Bash(find:*)",
            "*",
        ] {
            assert!(breadth(rule).is_some(), "{rule}");
        }
        for rule in [
            "Read",
            "Bash(git *)",
            "Bash(npm test)",
            "Bash(rm build.log)",
            "Bash(sudo apt update)",
            "Bash(python -m pytest *)",
            "Bash(python3 x.py)",
            "Bash(rmdir *)",
            "Bash(shellcheck *)",
            "Bash(bashate *)",
            "Bash(envsubst *)",
            "Bash(.venv/bin/pytest *)",
            "Edit(*)",
            "WebFetch(domain:*)",
            "Bash(cargo *)",
            "Bash(timeout 5 cargo test *)",
        ] {
            assert_eq!(breadth(rule), None, "{rule}");
        }
        let project = settings(Layer::Project, "/p", &["Bash(sudo *)", "Read"]);
        let flags =
            RuleFlags { allowed: vec!["Bash(rm:*),Edit".into()], disallowed: vec!["Bash(env *)".into()] };
        let loaded = load(&project, &flags, Path::new("/w"));
        let texts: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "the rule `Bash(sudo *)` in /p/settings.json, line 3, column 5 allows commands as another user",
                "the rule `Bash(rm:*)` in a flag allows removing or overwriting any file",
            ]
        );
    }

    #[test]
    fn each_rule_keeps_its_scope_base_and_place() {
        let user = settings(Layer::UserLower, "/h/.claude", &["Read(/x)"]);
        let flags = RuleFlags { allowed: vec![], disallowed: vec!["Edit,Bash(rm *)".into()] };
        let loaded = load(&user, &flags, Path::new("/w"));
        let mut expected = Rules::default();
        let file = Location {
            source: "/h/.claude/settings.json".into(),
            position: Some(Position { line: 3, column: 5 }),
        };
        let flag = Location { source: "--disallowed-tools".into(), position: None };
        expected
            .add_from("Read(/x)", Behaviour::Allow, Scope::User, "/h/.claude".into(), Some(file))
            .unwrap();
        for rule in ["Edit", "Bash(rm *)"] {
            let flag = Some(flag.clone());
            expected.add_from(rule, Behaviour::Deny, Scope::CommandLine, "/w".into(), flag).unwrap();
        }
        assert_eq!(loaded.rules, expected);
        assert!(loaded.faults.is_empty());
    }
}
