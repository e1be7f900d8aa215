//! A scene: what lies in the workspace, what the person says, and what the model replies.
//!
//! Gates of the script open one after the other, in the order of their names: one each time that the main agent has
//! nothing more to do, and each agent in the background and each member at work is at a gate, with no mail on its way.
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
//! loses                          (what a crash makes of a call that was under way changes all that comes after it)
//! verify-plan                    (work on an approved plan is to be checked)
//! answer ann Write allow         (what is answered to an agent that asks for leave for a tool: by its name, or `main`)
//! answer bob Write "Not there."  (a denial, with its words)
//! at 1 say ann "Stop there."     (once the gate 1 is reached, before it opens: the person's words to an agent)
//! at 1 stop ann                  (the person stops it)
//! at 1 subscribe ann task:1      (as other programs do: what a member of the team wants to hear of)
//! at 1 allow Edit walls          (as other programs do: a folder that all of the team may write to)
//! prompt "How many lines?"
//! script
//! agent main
//! reply …                        (the scripted model's own format, to the end of the file)
//! ```

use troupe_core::policy::Mode;
use troupe_engine::guards::Guards;
use troupe_models::script::ScriptModel;

/// Something that is done to a session from outside, besides its prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The person says something to an agent.
    Say {
        /// Its name.
        to: String,
        /// What.
        text: String,
    },
    /// The person stops an agent.
    Stop(String),
    /// A member of the team hears of more from now on.
    Subscribe {
        /// Its name.
        name: String,
        /// `task:ID` or `member:NAME`.
        word: String,
    },
    /// All of the team may write to a folder.
    Allow {
        /// The tool that may.
        tool: String,
        /// The folder, below the workspace.
        folder: String,
    },
}

/// An answer to whoever asks for leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leave {
    /// Whose question it answers, by name.
    pub asker: String,
    /// For which tool.
    pub tool: String,
    /// Why not; none allows it.
    pub denial: Option<String>,
}

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
    /// Whether a call that a crash caught changes what comes after it, so that only what always holds can be checked then.
    pub loses: bool,
    /// Whether work on an approved plan is to be checked.
    pub verify_plan: bool,
    /// What is answered to agents that ask; without any nobody answers.
    pub answers: Vec<Leave>,
    /// What is done at gates, each with the gate's name.
    pub acts: Vec<(String, Act)>,
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
            loses: false,
            verify_plan: false,
            answers: Vec::new(),
            acts: Vec::new(),
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
                "loses" => scene.loses = true,
                "verify-plan" => scene.verify_plan = true,
                "answer" => scene.answers.push(answer(name, value)),
                "at" => {
                    let (gate, what) = value.split_once(' ').unwrap_or((value, ""));
                    scene.acts.push((gate.to_owned(), act(name, what)));
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

/// Three words, of which the last may be a text.
fn three<'l>(name: &str, line: &'l str) -> [&'l str; 3] {
    let words: Vec<&str> = line.splitn(3, ' ').collect();
    words.try_into().unwrap_or_else(|_| panic!("{name}: `{line}` must be three words"))
}

fn answer(name: &str, line: &str) -> Leave {
    let [asker, tool, word] = three(name, line);
    let denial = (word != "allow").then(|| quoted(name, word));
    Leave { asker: asker.to_owned(), tool: tool.to_owned(), denial }
}

fn act(name: &str, line: &str) -> Act {
    if let Some(whom) = line.strip_prefix("stop ") {
        return Act::Stop(whom.to_owned());
    }
    let [word, first, second] = three(name, line);
    let (first, second) = (first.to_owned(), second.to_owned());
    match word {
        "say" => Act::Say { to: first, text: quoted(name, &second) },
        "subscribe" => Act::Subscribe { name: first, word: second },
        "allow" => Act::Allow { tool: first, folder: second },
        other => panic!("{name}: nothing is `{other}`"),
    }
}

fn quoted(name: &str, text: &str) -> String {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{name}: `{text}` must be a quoted JSON string"))
}
