//! The environment as a value, and how a variable is looked up in it. Which variables there are is in
//! [`super::variables`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::variables::{self, Kind, OnWhen, Variable};

/// What a process was given. The only thing that the loaders know of the outside besides files.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Env {
    /// The variables.
    pub vars: BTreeMap<String, String>,
    /// The folder it was started in, absolute.
    pub cwd: PathBuf,
    /// The person's home folder, if there is one.
    pub home: Option<PathBuf>,
}

/// A variable's value, and the name under which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The value; never empty.
    pub value: &'a str,
    /// The full name, such as `TROUPE_SIMPLE`.
    pub name: String,
}

/// Why the environment of this process can't be used.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// The working folder is gone or may not be seen.
    #[error("tell the working folder: {0}")]
    NoFolder(#[source] std::io::Error),
    /// A variable that is read here holds bytes that are no UTF-8.
    #[error("read the variable {name}: its value is not UTF-8")]
    NotText {
        /// The full name.
        name: String,
    },
}

/// A value that a variable can't have. It is never a secret: only switches and numbers are parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read {name}={value:?}: expected {expected}")]
pub struct BadValue {
    /// The full name under which it was found.
    pub name: String,
    /// What it holds.
    pub value: String,
    /// What would be right.
    pub expected: &'static str,
}

impl Env {
    /// Takes the environment of this process.
    ///
    /// # Errors
    /// [`EnvError`]: no working folder, or a variable of the table that is no text.
    pub fn from_process() -> Result<Self, EnvError> {
        let mut vars = BTreeMap::new();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(vars.insert(name, value)),
                Err(_) if variables::is_read(&name) => return Err(EnvError::NotText { name }),
                Err(_) => {}
            }
        }
        let cwd = std::env::current_dir().map_err(EnvError::NoFolder)?;
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Ok(Self { vars, cwd, home })
    }

    /// Looks a variable up under its names, ours first. An empty value counts as none.
    pub fn find(&self, variable: &Variable) -> Option<Found<'_>> {
        variable.names().into_iter().find_map(|name| {
            let value = self.vars.get(&name).filter(|value| !value.is_empty())?;
            Some(Found { value, name })
        })
    }

    /// The value of a variable, without its origin.
    pub fn text(&self, variable: &Variable) -> Option<&str> {
        self.find(variable).map(|found| found.value)
    }

    /// A variable that holds a path; a relative one starts at the working folder.
    pub fn path(&self, variable: &Variable) -> Option<PathBuf> {
        self.text(variable).map(|path| self.cwd.join(path))
    }

    /// Whether a switch is on; what its kind says when it is not set.
    ///
    /// # Errors
    /// [`BadValue`] for anything but a word for yes or no.
    pub fn switch(&self, variable: &Variable, interactive: bool) -> Result<bool, BadValue> {
        let Some(found) = self.find(variable) else {
            return Ok(match variable.kind {
                Kind::Switch(OnWhen::Always) => true,
                Kind::Switch(OnWhen::Interactive) => interactive,
                Kind::Switch(OnWhen::Set) | Kind::Number | Kind::Text | Kind::Path | Kind::Secret => false,
            });
        };
        match found.value.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(found.bad("1, true, yes, on, 0, false, no or off")),
        }
    }

    /// A number, if the variable is set.
    ///
    /// # Errors
    /// [`BadValue`] for anything but a whole number from 0 up.
    pub fn number(&self, variable: &Variable) -> Result<Option<u64>, BadValue> {
        let Some(found) = self.find(variable) else { return Ok(None) };
        let number = found.value.trim().parse();
        number.map(Some).map_err(|_| found.bad("a whole number from 0 up"))
    }

    /// Lays the `env` of settings over the variables. Which of a repository's settings may stand there has
    /// been decided before, by [`super::settings`].
    #[must_use]
    pub fn with_settings(mut self, settings: impl IntoIterator<Item = (String, String)>) -> Self {
        self.vars.extend(settings);
        self
    }
}

impl Found<'_> {
    fn bad(&self, expected: &'static str) -> BadValue {
        BadValue { name: self.name.clone(), value: self.value.chars().take(80).collect(), expected }
    }
}

/// Without the values: they hold keys.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field("vars", &self.vars.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .field("home", &self.home)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Env { vars, cwd: "/w".into(), home: None }
    }

    #[test]
    fn our_name_goes_first_and_a_bare_one_is_never_read() {
        let all = [
            ("SIMPLE", "bare"),
            ("CLAUDE_SIMPLE", "third"),
            ("CLAUDE_CODE_SIMPLE", "second"),
            ("TROUPE_SIMPLE", "first"),
        ];
        for shown in (1..=4).rev() {
            let found = env(&all[..shown]);
            let found = found.find(&variables::SIMPLE);
            let expected =
                (shown > 1).then(|| Found { value: all[shown - 1].1, name: all[shown - 1].0.into() });
            assert_eq!(found, expected);
        }
        let empty = env(&[("TROUPE_SIMPLE", ""), ("CLAUDE_SIMPLE", "1")]);
        assert_eq!(empty.find(&variables::SIMPLE).map(|found| found.name), Some("CLAUDE_SIMPLE".into()));
    }

    #[test]
    fn an_exact_name_has_no_other() {
        let set = env(&[("TROUPE_ANTHROPIC_API_KEY", "a"), ("CLAUDE_ANTHROPIC_API_KEY", "b")]);
        assert_eq!(set.find(&variables::ANTHROPIC_API_KEY), None);
        let set = env(&[("ANTHROPIC_API_KEY", "k")]);
        assert_eq!(set.text(&variables::ANTHROPIC_API_KEY), Some("k"));
    }

    #[test]
    fn an_older_name_of_a_variable_counts() {
        assert_eq!(env(&[("CLAUDE_CODE_KAIROS", "1")]).switch(&variables::PROACTIVE, false), Ok(true));
        let teams = env(&[("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")]);
        assert_eq!(teams.switch(&variables::AGENT_TEAMS, false), Ok(true));
    }

    #[test]
    fn switches_have_defaults_and_refuse_nonsense() {
        let none = env(&[]);
        assert_eq!(none.switch(&variables::MONITOR_TOOL, false), Ok(true));
        assert_eq!(none.switch(&variables::FORK_SUBAGENT, true), Ok(false));
        assert_eq!(none.switch(&variables::UDS_INBOX, true), Ok(true));
        assert_eq!(none.switch(&variables::UDS_INBOX, false), Ok(false));
        let off = env(&[("CLAUDE_MONITOR_TOOL", "Off"), ("TROUPE_SIMPLE", "perhaps")]);
        assert_eq!(off.switch(&variables::MONITOR_TOOL, false), Ok(false));
        let error = off.switch(&variables::SIMPLE, false).map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.starts_with("read TROUPE_SIMPLE=\"perhaps\"")));
    }

    #[test]
    fn numbers_and_paths() {
        let set = env(&[("MCP_TIMEOUT", " 30 "), ("BASH_MAX_TIMEOUT_MS", "-1"), ("TROUPE_HOME", "h")]);
        assert_eq!(set.number(&variables::MCP_TIMEOUT), Ok(Some(30)));
        assert_eq!(set.number(&variables::MCP_TOOL_TIMEOUT), Ok(None));
        assert!(set.number(&variables::BASH_MAX_TIMEOUT_MS).is_err());
        assert_eq!(set.path(&variables::TROUPE_HOME), Some("/w/h".into()));
    }

    #[test]
    fn a_key_is_not_printed() {
        let set = env(&[("ANTHROPIC_API_KEY", "sk-secret")]);
        assert!(!format!("{set:?}").contains("sk-secret"));
    }

    #[test]
    fn this_process_has_an_environment() {
        let env = Env::from_process();
        assert!(env.is_ok_and(|env| env.cwd.is_absolute() && env.vars.contains_key("PATH")));
    }
}
