//! The judge as the properties ask it.

use std::path::PathBuf;

use serde_json::json;
use troupe_core::access::Access;
use troupe_core::policy::{Behaviour, Command, Judged, Mode, Rules, Scope, Verdict, decide};
use troupe_core::ports::tool::Place;

use super::random::Random;

/// What a rule does, and its text.
pub(crate) type Picked = (Behaviour, String);

const PATTERNS: &[&str] = &[
    "Bash",
    "Bash(*)",
    "Bash(pa *)",
    "Bash(pa)",
    "Bash(pb -x *)",
    "Bash(cat:*)",
    "Bash(ls)",
    "Bash(* a)",
    "Bash(env *)",
    "Bash(eval *)",
    "Bash(rm -rf *)",
    "Bash(pa *a*)",
    "Bash(echo hi",
    "Read(a)",
    "Read(.env)",
    "Read(//etc/**)",
    "Edit(**)",
    "Edit(out)",
    "Skill(x)",
    "*",
];

pub(crate) fn some_rules(random: &mut Random) -> Vec<Picked> {
    let count = random.below(5);
    (0..count).map(|_| some_rule(random)).collect()
}

pub(crate) fn some_rule(random: &mut Random) -> Picked {
    let behaviour = [Behaviour::Allow, Behaviour::Ask, Behaviour::Deny][random.below(3)];
    (behaviour, random.pick(PATTERNS).to_owned())
}

pub(crate) fn judge(picked: &[Picked], mode: Mode, command: &Command) -> Verdict {
    let workspace = PathBuf::from("/home/ann/code/project");
    let place = Place {
        cwd: workspace.clone(),
        home: "/home/ann".into(),
        roots: vec![workspace.clone()],
        scratch: vec![],
        read_only: false,
    };
    let mut rules = Rules::default();
    for (behaviour, text) in picked {
        // One that can't be read counts as it would in settings.
        let _ = rules.add(text, *behaviour, Scope::Project, workspace.clone());
    }
    let access = [Access::Exec(Box::new(command.clone()))];
    let input = json!({ "command": command.text });
    decide(&rules, mode, &Judged { tool: "Bash", input: &input, access: &access, place: &place })
}

pub(crate) fn strictness(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    }
}
