//! A scene: what lies in the workspace, what the person says, and what the model replies.
//!
//! Gates of the script open one after the other, in the order of their names: one each time that the main agent has
//! nothing more to do, and each agent in the background is at a gate.
//!
//! ```text
//! # comments and blank lines are free
//! file src/a.txt "one\ntwo\n"
//! mode bypassPermissions
//! each {"turns": 2}              (limits of each sub-agent)
//! same-calls 2                    (after which a warning comes, and after twice as many the end)
//! only-main                      (needs what a child does not have, such as a kept folder)
//! forks                          (an agent for which no type is named is a fork)
//! teams                          (there may be teams; it can't be played as a child)
//! coordinator                    (the main agent coordinates; it can't be played as a child)
//! prompt "How many lines?"
//! script
//! agent main
//! reply …                        (the scripted model's own format, to the end of the file)
//! ```

use troupe_core::policy::Mode;
use troupe_engine::guards::Guards;
use troupe_models::script::ScriptModel;

/// A scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Its name, for messages.
    pub name: String,
    /// Files of the workspace.
    pub files: Vec<(String, String)>,
    /// What the person says, one turn each.
    pub prompts: Vec<String>,
    /// The permission mode.
    pub mode: Mode,
    /// What keeps its agents from hanging and from running away.
    pub guards: Guards,
    /// Whether it can't be played as a child.
    pub only_main: bool,
    /// Whether an agent for which no type is named is a fork.
    pub forks: bool,
    /// Whether the main agent is a coordinator.
    pub coordinator: bool,
    /// Whether there may be teams.
    pub teams: bool,
    /// The model's script.
    pub script: String,
}

impl Scene {
    /// Reads a scene.
    ///
    /// # Panics
    /// When a line makes no sense: a scene is part of a test.
    pub fn parse(name: &str, text: &str) -> Self {
        let mut scene = Self {
            name: name.to_owned(),
            files: Vec::new(),
            prompts: Vec::new(),
            mode: Mode::BypassPermissions,
            guards: Guards::default(),
            only_main: false,
            forks: false,
            coordinator: false,
            teams: false,
            script: String::new(),
        };
        let mut rest = text;
        while let Some((line, after)) = rest.split_once('\n') {
            rest = after;
            let line = line.trim();
            let (word, value) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "" | "#" => {}
                "file" => {
                    let (path, content) = value.split_once(' ').unwrap_or((value, "\"\""));
                    scene.files.push((path.to_owned(), quoted(name, content)));
                }
                "prompt" => scene.prompts.push(quoted(name, value)),
                "mode" => {
                    scene.mode = Mode::parse(value).unwrap_or_else(|| panic!("{name}: no mode `{value}`"));
                }
                "each" => {
                    scene.guards.each = serde_json::from_str(value)
                        .unwrap_or_else(|error| panic!("{name}: `{value}`: {error}"));
                }
                "same-calls" => {
                    scene.guards.same_calls =
                        value.parse().unwrap_or_else(|_| panic!("{name}: no number `{value}`"));
                }
                "only-main" => scene.only_main = true,
                "forks" => scene.forks = true,
                "teams" => {
                    scene.teams = true;
                    scene.only_main = true;
                }
                "coordinator" => {
                    scene.coordinator = true;
                    scene.only_main = true;
                }
                "script" => {
                    rest.clone_into(&mut scene.script);
                    return scene;
                }
                other => panic!("{name}: no word `{other}`"),
            }
        }
        panic!("{name}: a scene ends with its script")
    }

    /// A model that plays it from the beginning, with all gates shut.
    ///
    /// # Panics
    /// When the script makes no sense.
    pub fn model(&self) -> ScriptModel {
        ScriptModel::parse(&self.name, &self.script).expect("the scene's script")
    }

    /// The same scene with its main script played by a child of a stub.
    #[must_use]
    pub fn as_child(&self) -> Self {
        let prompt = self.prompts.join("\n");
        let stub = format!(
            "agent main\nreply\n  call Agent subagent_type=scene description=\"play the scene\" prompt={}\nreply \"played\"\n",
            serde_json::Value::from(prompt)
        );
        let script = format!("{stub}{}", self.script.replace("agent main\n", "agent scene\n"));
        Self { script, prompts: vec!["Play the scene.".to_owned()], ..self.clone() }
    }
}

fn quoted(name: &str, text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{name}: `{text}` must be a quoted JSON string"))
}
