//! What a session may do: the mode, the rules, who is asked, and where an answer "always" goes.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use troupe_core::policy::{GitTrust, Mode, Rules};
use troupe_engine::load::rules::{self, RuleFlags};
use troupe_engine::load::settings::{PermissionSettings, own_paths, save};
use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, Places, RuleFiles, RuleSources, Sources, Trust};
use troupe_engine::session::{Leave, Reload, SaveRule};

use super::tools::number;
use super::trust;
use crate::args::{OutputFormat, Run};
use crate::fault::{Fault, warn};

/// Who is asked what needs leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nobody: what would be asked is denied.
    Nobody,
    /// The program that speaks stream-json with us.
    Host,
    /// The person at the terminal.
    Person,
}

impl Asked {
    /// Who is there to be asked. A person is when words go to a terminal both ways and the result is text.
    pub(super) fn of(run: &Run) -> Self {
        let text = run.format.output_format.unwrap_or_default() == OutputFormat::Text;
        match run.permissions.permission_prompt_tool.as_deref() {
            Some("stdio") => Self::Host,
            Some(_) => Self::Nobody,
            // The lead is asked, whatever the pane is.
            None if run.member.of.is_some() => Self::Nobody,
            None if text && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => Self::Person,
            None => Self::Nobody,
        }
    }
}

/// What a run reads its permissions from.
pub(super) struct Given<'a> {
    pub(super) run: &'a Run,
    pub(super) settings: &'a PermissionSettings,
    pub(super) env: &'a Env,
    pub(super) places: &'a Places,
    /// The layers of settings that count.
    pub(super) sources: Sources,
    /// What of the repository may take effect.
    pub(super) trust: &'a Trust,
    /// How far git may go unasked.
    pub(super) git: GitTrust,
}

/// Puts it together; tells of rules that are wrong or too wide.
///
/// # Errors
/// When the mode that is asked for, or a folder, may not be.
pub(super) fn leave(given: &Given<'_>) -> Result<Leave, Fault> {
    let &Given { run, settings, env, places, .. } = given;
    if let Some(name) = run.permissions.permission_prompt_tool.as_deref().filter(|name| *name != "stdio") {
        warn(format_args!("--permission-prompt-tool {name}: only stdio can be asked so far; nobody is"));
    }
    let flags = RuleFlags {
        allowed: run.permissions.allowed_tools.clone(),
        disallowed: run.permissions.disallowed_tools.clone(),
    };
    let mut loaded = rules::load(settings, &flags, &places.cwd);
    loaded.rules.set_git(given.git);
    loaded.faults.iter().for_each(warn);
    loaded.warnings.iter().for_each(warn);
    let (rules, reload) = reloader(given, flags)?;
    let mut rules = rules.unwrap_or(loaded.rules);
    let line = trust::command_line(run, env);
    rules.set_own(own_paths(places, given.sources, &line, env.home.as_deref()));
    Ok(Leave {
        mode: mode(run.mode(), settings, env, rustix::process::geteuid().is_root())?,
        rules,
        bypass: may_bypass(run, settings, env),
        auto_disabled: settings.auto_disabled,
        asks: Asked::of(run) != Asked::Nobody || run.member.of.is_some(),
        by_host: Asked::of(run) == Asked::Host,
        save: Some(saver(places.clone())),
        reload: Some(reload),
        question_limit: question_limit(env),
        gate: None,
    })
}

/// How long a question may stay open. Without the variable there is no limit: a person thinks as long as they
/// like, and a host's callback may put the question to one.
fn question_limit(env: &Env) -> Option<Duration> {
    number(env, &var::QUESTION_TIMEOUT_MS).filter(|ms| *ms > 0).map(Duration::from_millis)
}

/// The rules as they are read for the first time, and what reads them again where their files have changed;
/// folders that flags name stay.
fn reloader(given: &Given<'_>, flags: RuleFlags) -> Result<(Option<Rules>, Reload), Fault> {
    let files = RuleFiles::new(RuleSources {
        places: given.places.clone(),
        env: given.env.clone(),
        command_line: trust::command_line(given.run, given.env),
        sources: given.sources,
        trust: given.trust.clone(),
        git: given.git,
        flags,
    });
    let flag_folders = flag_folders(given.run, given.env)?;
    // Read once now, so that it knows what each file said while it was whole. What is wrong at the start was
    // told when the settings were read.
    let rules = files.changed().map(|first| first.rules);
    let reload: Reload = Arc::new(move || {
        let mut reread = files.changed()?;
        reread.folders.splice(0..0, flag_folders.iter().cloned());
        Some(reread)
    });
    Ok((rules, reload))
}

/// The folders that `--add-dir` names, links followed.
///
/// # Errors
/// When one is not there, or no folder.
pub(super) fn flag_folders(run: &Run, env: &Env) -> Result<Vec<PathBuf>, Fault> {
    let real = |folder: &PathBuf| {
        let fail = |error| Fault::usage(format_args!("--add-dir {}: {error}", folder.display()));
        let real = env.cwd.join(folder).canonicalize().map_err(fail)?;
        if real.is_dir() {
            return Ok(real);
        }
        Err(Fault::usage(format_args!("--add-dir {}: it is no folder", folder.display())))
    };
    run.permissions.add_dir.iter().map(real).collect()
}

/// The mode to start in; none leaves a resumed session its own.
fn mode(
    flag: Option<Mode>,
    settings: &PermissionSettings,
    env: &Env,
    is_root: bool,
) -> Result<Option<Mode>, Fault> {
    let mode = flag.or_else(|| settings.default_mode.as_ref().map(|mode| mode.value));
    let sandboxed = is_sandboxed(env);
    match mode {
        Some(Mode::BypassPermissions) if settings.bypass_disabled => {
            Err(Fault::failed("the settings do not allow the mode bypassPermissions")
                .hint("acceptEdits with rules (--allowed-tools) goes nearly as far"))
        }
        Some(Mode::BypassPermissions) if is_root && !sandboxed => {
            Err(Fault::failed("the mode bypassPermissions is refused to root: nothing would stand between the model and this machine")
                .hint("run as another user, or set IS_SANDBOX=1 in a container that may be lost"))
        }
        Some(Mode::Auto) if settings.auto_disabled => {
            Err(Fault::failed("the settings do not allow the mode auto").hint("acceptEdits is allowed"))
        }
        mode => Ok(mode),
    }
}

/// Whether a host may choose the mode bypassPermissions later: asked for at the start, and not forbidden.
pub(super) fn may_bypass(run: &Run, settings: &PermissionSettings, env: &Env) -> bool {
    let wanted =
        run.permissions.allow_dangerously_skip_permissions || run.mode() == Some(Mode::BypassPermissions);
    wanted && mode(Some(Mode::BypassPermissions), settings, env, rustix::process::geteuid().is_root()).is_ok()
}

fn is_sandboxed(env: &Env) -> bool {
    env.text(&var::IS_SANDBOX).is_some_and(|value| !matches!(value, "" | "0" | "false"))
}

fn saver(places: Places) -> SaveRule {
    Arc::new(move |update| {
        let Some(file) = places.settings_file(update.destination()) else { return Ok(()) };
        save(&file, update).map_err(|fault| fault.to_string())?;
        if file.within.is_some() {
            trust::keep_answer(&places, &file.path, update);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: PermissionSettings = PermissionSettings {
        allow: Vec::new(),
        ask: Vec::new(),
        deny: Vec::new(),
        default_mode: None,
        additional_directories: Vec::new(),
        bypass_disabled: false,
        auto_disabled: false,
        bounds: troupe_core::policy::Bounds { questions: false, reads_outside: false, writes_outside: false },
    };

    #[test]
    fn root_may_bypass_in_a_sandbox_alone() {
        let bypass = Some(Mode::BypassPermissions);
        let plain = Env::default();
        let vars = [("IS_SANDBOX".to_owned(), "1".to_owned())].into();
        let boxed = Env { vars, ..Env::default() };
        assert_eq!(mode(bypass, &NONE, &plain, true).map_err(|fault| fault.code()), Err(1));
        assert_eq!(mode(bypass, &NONE, &boxed, true), Ok(bypass));
        assert_eq!(mode(bypass, &NONE, &plain, false), Ok(bypass));
        assert_eq!(mode(None, &NONE, &plain, true), Ok(None));
    }

    #[test]
    fn settings_may_forbid_a_mode() {
        let settings = PermissionSettings { bypass_disabled: true, auto_disabled: true, ..NONE };
        let env = Env::default();
        assert!(mode(Some(Mode::BypassPermissions), &settings, &env, false).is_err());
        assert!(mode(Some(Mode::Auto), &settings, &env, false).is_err());
        assert_eq!(mode(Some(Mode::AcceptEdits), &settings, &env, false), Ok(Some(Mode::AcceptEdits)));
    }
}
