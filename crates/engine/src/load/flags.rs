//! Table: the switches of the product (§12). Each is a variable; the settings' key `flags` sets it too, and a
//! variable goes before that.

use std::collections::BTreeMap;

use super::env::Env;
use super::settings::Settings;
use super::variables::{self, Kind, OnWhen, Variable};
use super::whence::{Value, Whence};

/// Makes the switches and the list of them from rows.
macro_rules! flags {
    ($($flag:ident: $variable:ident;)+) => {
        /// A switch; what it means says its variable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Flag {
            $(
                #[doc = concat!("`", stringify!($variable), "`")]
                $flag,
            )+
        }

        impl Flag {
            /// Every switch.
            pub const ALL: &[Self] = &[$(Self::$flag),+];

            /// The variable that sets it.
            pub fn variable(self) -> &'static Variable {
                match self {
                    $(Self::$flag => &variables::$variable,)+
                }
            }
        }
    };
}

flags! {
    ForkSubagent: FORK_SUBAGENT;
    BuiltinExplorePlanAgents: BUILTIN_EXPLORE_PLAN_AGENTS;
    VerificationAgent: VERIFICATION_AGENT;
    CoordinatorMode: COORDINATOR_MODE;
    AutoBackgroundTasks: AUTO_BACKGROUND_TASKS;
    SlimSubagentInstructions: SLIM_SUBAGENT_INSTRUCTIONS;
    AgentListAttachment: AGENT_LIST_ATTACHMENT;
    Proactive: PROACTIVE;
    Simple: SIMPLE;
    VerifyPlan: VERIFY_PLAN;
    AgentTeams: AGENT_TEAMS;
    UdsInbox: UDS_INBOX;
    WorkflowScripts: WORKFLOW_SCRIPTS;
    AgentSummaries: AGENT_SUMMARIES;
    HandoffCheck: HANDOFF_CHECK;
    AutoDream: AUTO_DREAM;
    AgentTriggers: AGENT_TRIGGERS;
    MonitorTool: MONITOR_TOOL;
    AgentMemorySnapshot: AGENT_MEMORY_SNAPSHOT;
    CacheBreakDetection: CACHE_BREAK_DETECTION;
}

impl Flag {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.variable().name
    }

    /// When it is on without being set.
    pub fn default(self) -> OnWhen {
        match self.variable().kind {
            Kind::Switch(when) => when,
            Kind::Number | Kind::Text | Kind::Path | Kind::Secret => OnWhen::Set,
        }
    }

    /// The switch of this name, an older one included.
    pub fn named(name: &str) -> Option<Self> {
        let is = |flag: &&Self| flag.name() == name || flag.variable().also.contains(&name);
        Self::ALL.iter().find(is).copied()
    }
}

/// How a switch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Whether it is on.
    pub on: bool,
    /// What decided.
    pub from: Whence,
}

/// How all switches stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags(BTreeMap<Flag, State>);

impl Flags {
    /// Finds out how they stand in an environment that has the variables of these settings in it; with it, what
    /// makes no sense.
    pub fn resolve(env: &Env, settings: &Settings, interactive: bool) -> (Self, Vec<String>) {
        let mut told = Vec::new();
        let mut set: BTreeMap<Flag, State> = BTreeMap::new();
        for (name, value) in settings.flags() {
            let from = Whence::of_key(settings, &value.origin.source, &["flags", &name]);
            if let Some(flag) = Flag::named(&name) {
                set.insert(flag, State { on: value.value, from });
            } else {
                let known: Vec<&str> = Flag::ALL.iter().map(|flag| flag.name()).collect();
                told.push(format!("{from}: there is no such flag; there are {}", known.join(", ")));
            }
        }
        let states = Flag::ALL.iter().map(|flag| {
            let usual = match flag.default() {
                OnWhen::Set => false,
                OnWhen::Always => true,
                OnWhen::Interactive => interactive,
            };
            let found = Value::of(flag.variable(), env, settings);
            let state = match env.switch(flag.variable(), interactive) {
                Ok(on) if found.from != Whence::Default => State { on, from: found.from },
                Ok(_) => set.remove(flag).unwrap_or(State { on: usual, from: Whence::Default }),
                Err(bad) => {
                    told.push(bad.to_string());
                    State { on: usual, from: Whence::Default }
                }
            };
            (*flag, state)
        });
        let mut flags = Self(states.collect());
        flags.exclude();
        (flags, told)
    }

    /// Turns off what does not go with another: a coordinator starts workers, and never forks (C9).
    fn exclude(&mut self) {
        if self.is_on(Flag::CoordinatorMode) && self.is_on(Flag::ForkSubagent) {
            let from = Whence::Excluded(Flag::CoordinatorMode.name());
            self.0.insert(Flag::ForkSubagent, State { on: false, from });
        }
    }

    /// Whether a switch is on.
    pub fn is_on(&self, flag: Flag) -> bool {
        self.state(flag).on
    }

    /// How a switch stands.
    ///
    /// # Panics
    /// Never: all of them are there from the start.
    pub fn state(&self, flag: Flag) -> &State {
        self.0.get(&flag).expect("every switch has a state")
    }

    /// Sets a switch, whatever it was.
    pub fn set(&mut self, flag: Flag, on: bool, from: Whence) {
        self.0.insert(flag, State { on, from });
        self.exclude();
    }

    /// Lays them over an environment, so that whoever looks one up there finds the same.
    #[must_use]
    pub fn over(&self, mut env: Env) -> Env {
        for (flag, state) in &self.0 {
            if let Some(name) = flag.variable().names().into_iter().next() {
                env.vars.insert(name, if state.on { "1" } else { "0" }.to_owned());
            }
        }
        env
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::load::{CommandLine, Places, Sources, Trust};

    fn resolve(vars: &[(&str, &str)], settings: &str, interactive: bool) -> (Flags, Vec<String>) {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let env = Env { vars, cwd: "/w".into(), home: None };
        let mut places = Places::of(&env);
        places.managed.clear();
        let line = CommandLine { settings: Some(settings.into()), ..CommandLine::default() };
        let settings = Settings::load(&places, &env, &line, Sources::NONE, &Trust::Trusted).unwrap();
        let env = env.with_settings(settings.env().into_iter().map(|(name, value)| (name, value.value)));
        Flags::resolve(&env, &settings, interactive)
    }

    #[test]
    fn the_defaults_are_the_products() {
        let on = |interactive| {
            let (flags, told) = resolve(&[], "{}", interactive);
            assert_eq!(told, [""; 0]);
            let on = Flag::ALL.iter().filter(|flag| flags.is_on(**flag)).map(|flag| flag.name());
            on.collect::<Vec<_>>()
        };
        let always = [
            "BUILTIN_EXPLORE_PLAN_AGENTS",
            "VERIFICATION_AGENT",
            "SLIM_SUBAGENT_INSTRUCTIONS",
            "AGENT_LIST_ATTACHMENT",
            "MONITOR_TOOL",
            "CACHE_BREAK_DETECTION",
        ];
        assert_eq!(on(false), always);
        let mut interactive = always.to_vec();
        interactive.insert(4, "UDS_INBOX");
        assert_eq!(on(true), interactive);
    }

    #[test]
    fn a_variable_goes_before_the_key_and_the_key_before_the_default() {
        let key = "{\"flags\": {\"MONITOR_TOOL\": false,\n \"KAIROS\": true}}";
        let of = |vars: &[(&str, &str)], settings: &str, flag| {
            let (flags, told) = resolve(vars, settings, false);
            assert_eq!(told, [""; 0]);
            (flags.is_on(flag), flags.state(flag).from.to_string())
        };
        assert_eq!(of(&[], "{}", Flag::MonitorTool), (true, "default".into()));
        assert_eq!(of(&[], key, Flag::MonitorTool), (false, "--settings:1 flags.MONITOR_TOOL".into()));
        assert_eq!(of(&[], key, Flag::Proactive), (true, "--settings:2 flags.KAIROS".into()));
        let set = [("CLAUDE_CODE_MONITOR_TOOL", "1")];
        let environment = "environment CLAUDE_CODE_MONITOR_TOOL";
        assert_eq!(of(&set, key, Flag::MonitorTool), (true, environment.into()));
        let teams = [("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")];
        assert!(of(&teams, "{}", Flag::AgentTeams).0);
        let env = "{\"env\": {\"TROUPE_KAIROS\": \"1\"}}";
        assert_eq!(of(&[], env, Flag::Proactive), (true, "--settings:1 env.TROUPE_KAIROS".into()));
    }

    // proves: C9
    #[test]
    fn a_coordinator_never_forks() {
        let set = [("TROUPE_FORK_SUBAGENT", "1"), ("TROUPE_COORDINATOR_MODE", "1")];
        let (flags, _) = resolve(&set, "{}", true);
        assert!(!flags.is_on(Flag::ForkSubagent));
        assert_eq!(flags.state(Flag::ForkSubagent).from.to_string(), "does not go with COORDINATOR_MODE");
        let (mut flags, _) = resolve(&set[..1], "{}", true);
        assert!(flags.is_on(Flag::ForkSubagent));
        flags.set(Flag::CoordinatorMode, true, Whence::CommandLine("--coordinator"));
        assert!(!flags.is_on(Flag::ForkSubagent));
    }

    #[test]
    fn nonsense_is_told_and_the_default_holds() {
        let (flags, told) = resolve(&[("TROUPE_AUTO_DREAM", "maybe")], "{\"flags\":{\"X\":true}}", false);
        assert!(!flags.is_on(Flag::AutoDream));
        assert!(told[0].starts_with("--settings:1 flags.X: there is no such flag; there are FORK_SUBAGENT,"));
        assert!(told[1].contains("TROUPE_AUTO_DREAM=\"maybe\""), "{told:?}");
    }

    #[test]
    fn who_looks_in_the_environment_finds_the_same() {
        let (mut flags, _) = resolve(&[("CLAUDE_FORK_SUBAGENT", "1")], "{}", false);
        flags.set(Flag::ForkSubagent, false, Whence::Excluded("COORDINATOR_MODE"));
        let vars = [("CLAUDE_FORK_SUBAGENT".to_owned(), "1".to_owned())].into();
        let env = flags.over(Env { vars, ..Env::default() });
        assert_eq!(env.switch(&variables::FORK_SUBAGENT, false), Ok(false));
        assert_eq!(env.switch(&variables::MONITOR_TOOL, false), Ok(true));
    }
}
