//! What troupe tells of its own work (`--debug`): on stderr or in a file, never on stdout, and without secrets.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, RwLock};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use troupe_engine::load::Env;
use troupe_engine::load::variables::{self, Kind};

use crate::args::Debug;
use crate::fault::Fault;

/// Our own crates: others may log what a request holds.
const OURS: [&str; 6] =
    ["troupe", "troupe_core", "troupe_engine", "troupe_models", "troupe_tools", "troupe_wire"];

/// Shorter values are found in any text, and are no secrets.
const SHORTEST: usize = 6;

/// The values that must not be seen. Clones are the same list.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<RwLock<Vec<String>>>);

impl Secrets {
    /// Those of an environment, by the table of variables.
    pub(crate) fn of(env: &Env) -> Self {
        let secrets = Self::default();
        secrets.add_from(env);
        secrets
    }

    /// Adds those of an environment, such as one with the settings' variables in it.
    pub(crate) fn add_from(&self, env: &Env) {
        let secret = variables::ALL.iter().filter(|variable| variable.kind == Kind::Secret);
        secret.filter_map(|variable| env.text(variable)).for_each(|value| self.add(value));
    }

    /// Adds one.
    pub(crate) fn add(&self, value: &str) {
        let value = value.trim();
        let mut values = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if value.len() >= SHORTEST && !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }

    fn hide(&self, text: &[u8]) -> Vec<u8> {
        let values = self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = String::from_utf8_lossy(text);
        values.iter().fold(text.into_owned(), |text, value| text.replace(value, "…")).into_bytes()
    }
}

/// Starts the trace, when the flags ask for one.
///
/// # Errors
/// When the filter or the file can't be used.
pub(crate) fn start(debug: &Debug, secrets: &Secrets) -> Result<(), Fault> {
    if debug.debug.is_none() && debug.debug_file.is_none() {
        return Ok(());
    }
    let filter = filter(debug.debug.as_deref().unwrap_or("debug"))?;
    let sink = match &debug.debug_file {
        None => Sink::Stderr,
        Some(path) => {
            let open = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
            let fail = |error| Fault::failed(format_args!("failed to open {}: {error}", path.display()));
            Sink::File(Arc::new(open.map_err(fail)?))
        }
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Veil { secrets: secrets.clone(), sink })
        .try_init()
        .map_err(|error| Fault::failed(format_args!("failed to start the trace: {error}")))
}

/// A level alone is meant for our own crates.
fn filter(words: &str) -> Result<EnvFilter, Fault> {
    let words = words.trim();
    let is_level =
        ["error", "warn", "info", "debug", "trace"].iter().any(|level| words.eq_ignore_ascii_case(level));
    let directives =
        if is_level { OURS.map(|name| format!("{name}={words}")).join(",") } else { words.to_owned() };
    EnvFilter::try_new(directives).map_err(|error| {
        Fault::usage(format_args!("--debug={words}: {error}"))
            .hint("a level, or a list such as troupe_models=trace")
    })
}

#[derive(Clone)]
enum Sink {
    Stderr,
    File(Arc<File>),
}

/// Writes a line without the secrets in it. The trace hands over whole lines.
#[derive(Clone)]
struct Veil {
    secrets: Secrets,
    sink: Sink,
}

impl Write for Veil {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let safe = self.secrets.hide(line);
        match &self.sink {
            Sink::Stderr => io::stderr().lock().write_all(&safe)?,
            Sink::File(file) => (&**file).write_all(&safe)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Veil {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let vars = [("ANTHROPIC_API_KEY", "sk-one-two"), ("ANTHROPIC_AUTH_TOKEN", "short")];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let secrets = Secrets::of(&Env { vars, cwd: "/".into(), home: None });
        secrets.add(" helper-key\n");
        let line = secrets.hide(b"x-api-key: sk-one-two, again sk-one-two; helper-key; short");
        assert_eq!(String::from_utf8(line).unwrap(), "x-api-key: …, again …; …; short");
    }

    #[test]
    fn a_level_is_ours_and_nonsense_is_refused() {
        assert!(filter("debug").unwrap().to_string().contains("troupe_models=debug"));
        assert!(!filter("trace").unwrap().to_string().split(',').any(|directive| directive == "trace"));
        assert!(filter("troupe=loud").unwrap_err().to_string().contains("hint:"));
    }
}
