//! The agents that are built in, as data. Which of them a session has, the program decides (D8).

use std::path::{Path, PathBuf};

use crate::def::{AgentDef, Filter, ModelChoice, Writes};

/// The tools that an agent is without which edits nothing and starts no one (D9).
const CHANGES: [&str; 4] = ["Agent", "Edit", "Write", "NotebookEdit"];

/// The tool that reads troupe's own documentation; an agent gets it only if its definition names it.
pub const DOCS: &str = "Docs";

/// The main agent's name where nothing else is chosen.
pub const MAIN: &str = "main";

/// The name of the main agent that only coordinates.
pub const COORDINATOR: &str = "coordinator";

/// What prompts are made from.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The person's settings file.
    pub settings: PathBuf,
}

/// A definition from its two texts.
macro_rules! define {
    ($name:literal, $file:literal) => {
        AgentDef {
            name: $name.to_owned(),
            when: include_str!(concat!($file, ".when.md")).trim_end().to_owned(),
            prompt: include_str!(concat!($file, ".md")).trim_end().to_owned(),
            ..AgentDef::default()
        }
    };
}

/// The main agent of a session.
pub fn main() -> AgentDef {
    AgentDef { name: MAIN.to_owned(), prompt: crate::prompt::MAIN.to_owned(), ..AgentDef::default() }
}

/// Any job; the type of an agent for which none is named.
pub fn general_purpose() -> AgentDef {
    define!("general-purpose", "general_purpose")
}

/// Searches, with a fast model.
pub fn explore() -> AgentDef {
    AgentDef { model: ModelChoice::Named("fast".to_owned()), ..looks_only(define!("Explore", "explore")) }
}

/// Plans.
pub fn plan() -> AgentDef {
    looks_only(define!("Plan", "plan"))
}

/// Tries to break what was made, and ends with a verdict (D10).
pub fn verification() -> AgentDef {
    AgentDef {
        tools: Filter { without: CHANGES.map(str::to_owned).to_vec(), ..Filter::default() },
        writes: Writes::Scratch,
        verdict: true,
        for_lead: true,
        background: true,
        reminder: Some(include_str!("verification.reminder.md").trim_end().to_owned()),
        ..define!("verification", "verification")
    }
}

/// Answers questions about troupe.
pub fn guide() -> AgentDef {
    AgentDef {
        for_lead: true,
        tools: only(&[DOCS, "Glob", "Grep", "Read"]),
        writes: Writes::Nowhere,
        ..define!("guide", "guide")
    }
}

/// Sets up the status line.
pub fn statusline_setup(options: &Options) -> AgentDef {
    let def = define!("statusline-setup", "statusline_setup");
    let prompt = def.prompt.replace("{settings}", &shown(&options.settings));
    AgentDef { tools: only(&["Read", "Edit"]), for_lead: true, prompt, ..def }
}

/// Does a coordinator's work.
pub fn worker() -> AgentDef {
    define!("worker", "worker")
}

fn looks_only(def: AgentDef) -> AgentDef {
    AgentDef {
        tools: Filter { without: CHANGES.map(str::to_owned).to_vec(), ..Filter::default() },
        writes: Writes::Nowhere,
        omit_instructions: true,
        ..def
    }
}

fn only(tools: &[&str]) -> Filter {
    Filter { only: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()), ..Filter::default() }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Mode;
    use crate::pool::{Life, Standing, removed};

    fn all() -> Vec<AgentDef> {
        let options = Options { settings: "/h/.troupe/settings.json".into() };
        let more = [guide(), statusline_setup(&options), worker()];
        [general_purpose(), explore(), plan(), verification()].into_iter().chain(more).collect()
    }

    fn has(def: &AgentDef, tool: &str) -> bool {
        let life = if def.background { Life::Background } else { Life::Foreground };
        let at = Standing { life, depth: 1, most_depth: 3, mode: Mode::Default };
        removed(tool, tool == "Agent", def, &at).is_none()
    }

    // proves: D4, D9
    #[test]
    fn each_has_the_tools_of_its_kind() {
        let tools = ["Agent", "Bash", "Docs", "Edit", "Grep", "NotebookEdit", "Read", "Write"];
        let of = |def: &AgentDef| tools.into_iter().filter(|tool| has(def, tool)).collect::<Vec<_>>();
        let looks = ["Bash", "Grep", "Read"];
        let works = ["Agent", "Bash", "Edit", "Grep", "NotebookEdit", "Read", "Write"];
        assert_eq!(of(&general_purpose()), works);
        assert_eq!(of(&worker()), works);
        assert_eq!(of(&explore()), looks);
        assert_eq!(of(&plan()), looks);
        assert_eq!(of(&verification()), looks);
        assert_eq!(of(&guide()), ["Docs", "Grep", "Read"]);
        assert_eq!(of(&statusline_setup(&Options::default())), ["Edit", "Read"]);
        assert!(explore().omit_instructions && plan().omit_instructions && !verification().omit_instructions);
        assert!(verification().background && verification().reminder.is_some());
        assert_eq!(plan().model, ModelChoice::Inherit);
    }

    // proves: D9
    #[test]
    fn each_says_when_to_use_it_what_to_hand_over_and_when_not() {
        for def in all() {
            assert!(def.when.len() < 750 && !def.when.contains('\n'), "{}", def.name);
            assert!(def.prompt.len() < 3_600, "{}: {}", def.name, def.prompt.len());
            if def.name == "worker" {
                continue;
            }
            assert!(["Hand over", "Say what"].iter().any(|words| def.when.contains(words)), "{}", def.name);
            assert!(def.when.contains("Not for"), "{}", def.name);
        }
        let levels = ["quick", "medium", "very thorough"];
        assert!(levels.iter().all(|level| explore().when.contains(level)));
        assert!(guide().when.contains("Continue one that ran"));
        assert!(
            statusline_setup(&Options { settings: "/s.json".into() }).prompt.contains("Write it to /s.json")
        );
    }
}
