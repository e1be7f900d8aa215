//! Whether a repository's content may take effect: who vouches for it, what waits, and who is asked or told (X13).
//!
//! The ecosystem presumes trust in a run without a person. Here X13 goes before: a script that runs troupe in a
//! folder that it has just fetched has looked at nothing. What vouches is the starter's own word: a flag, a
//! variable, or, for settings, a host that names the project's among the sources that it wants (`--setting-sources`,
//! as the SDKs pass it). Without one, what the person has trusted before holds, and the rest is left out and told.

use std::path::{Path, PathBuf};

use serde_json::json;
use troupe_core::policy::{GitTrust, Mode};
use troupe_engine::load::trust::{Seen, StoreFault, TrustKind, answered, git_items};
use troupe_engine::load::variables as var;
use troupe_engine::load::{CommandLine, Env, Places, Settings, Sources, Trust, TrustItem, TrustStore};

use super::agents;
use super::permissions::Asked;
use crate::args::Run;
use crate::ask_trust::{Reply, SHOWN, ask};
use crate::fault::{Fault, warn};

/// Most files that are named in one line.
const FILES: usize = 4;
/// Most names of one file.
const NAMES: usize = 6;

/// What was found of a folder.
pub(super) struct Found {
    /// The settings that hold.
    pub(super) settings: Settings,
    /// What of the repository may take effect.
    pub(super) trust: Trust,
    /// How far git may go unasked: what it would run here may wait for trust.
    pub(super) git: GitTrust,
}

/// What comes of looking.
pub(super) enum Word {
    /// The run goes on with this.
    Go(Box<Found>),
    /// The person wants no run here.
    Quit,
}

/// Loads the settings, and asks or tells what waits. Nothing of the repository has an effect before.
///
/// # Errors
/// When a setting that a flag names can't be used, or the person's word can't be kept.
pub(super) fn settle(run: &Run, places: &Places, env: &Env, sources: Sources) -> Result<Word, Fault> {
    let store = TrustStore::at(&places.home);
    let root = places.trusted_root();
    let Given { trust, for_settings } = given(run, places, env, sources)?;

    let settings = load(run, places, env, sources, &for_settings)?;
    let git = git_items(places, env.home.as_deref());
    let mode = agents::usual_mode(run, &settings);
    let agents = agents::trust_items(run, env, places, (sources, mode))?;
    let agents = agents.iter().filter(|item| !for_settings.covers(item));
    let git = git.iter().filter(|item| !trust.covers(item));
    let waiting: Vec<TrustItem> = settings.needs_trust.iter().chain(agents).chain(git).cloned().collect();
    let go = |settings: Settings, trust: Trust, git: GitTrust| {
        for fault in &settings.faults {
            warn(format_args!("failed to {fault}"));
        }
        Ok(Word::Go(Box::new(Found { settings, trust, git })))
    };
    if waiting.is_empty() {
        return go(settings, for_settings, GitTrust::All);
    }
    let git = git_trust(&waiting);
    if Asked::of(run) != Asked::Person {
        warn(told(&waiting, root));
        return go(settings, for_settings, git);
    }
    // Trust holds for what was seen: what has no room on the screen waits for the next start.
    let shown = &waiting[..waiting.len().min(SHOWN)];
    match ask(shown, waiting.len() - shown.len(), root) {
        Reply::Quit => Ok(Word::Quit),
        Reply::NotNow => go(settings, for_settings, git),
        Reply::Trust => {
            store.trust(root, shown).map_err(|fault| unkept(&fault))?;
            // Both are looked at again: the files may have changed while the question stood there.
            let (for_settings, trust) = (for_settings.with(shown), trust.with(shown));
            let git = git_left(places, env, &trust);
            let settings = load(run, places, env, sources, &for_settings)?;
            go(settings, for_settings, git)
        }
    }
}

/// The same for commands that start no session: nobody is asked, and what waits is left out.
///
/// # Errors
/// When a setting that a flag names can't be used.
pub(super) fn unasked(run: &Run, places: &Places, env: &Env, sources: Sources) -> Result<Found, Fault> {
    let Given { trust, for_settings } = given(run, places, env, sources)?;
    let settings = load(run, places, env, sources, &for_settings)?;
    for fault in &settings.faults {
        warn(format_args!("failed to {fault}"));
    }
    let git = git_left(places, env, &trust);
    Ok(Found { settings, trust: for_settings, git })
}

/// How far git may go where these wait.
fn git_trust(waiting: &[TrustItem]) -> GitTrust {
    if waiting.iter().any(|item| item.kind == TrustKind::Git) {
        GitTrust::None
    } else if waiting.iter().any(|item| item.kind == TrustKind::Hooks) {
        GitTrust::Readers
    } else {
        GitTrust::All
    }
}

fn git_left(places: &Places, env: &Env, trust: &Trust) -> GitTrust {
    let mut items = git_items(places, env.home.as_deref());
    items.retain(|item| !trust.covers(item));
    git_trust(&items)
}

/// What is trusted before anybody is asked.
struct Given {
    trust: Trust,
    /// A host that names the project's settings vouches for those.
    for_settings: Trust,
}

fn given(run: &Run, places: &Places, env: &Env, sources: Sources) -> Result<Given, Fault> {
    let all =
        run.permissions.trust_workspace || env.switch(&var::TROUPE_TRUST_WORKSPACE, false).map_err(failed)?;
    let named = run.sources.setting_sources.is_some() && (sources.project || sources.local);
    let seen = || seen(&TrustStore::at(&places.home), places.trusted_root());
    let trust = if all { Trust::Trusted } else { Trust::Only(seen()) };
    let for_settings = if named { Trust::Trusted } else { trust.clone() };
    Ok(Given { trust, for_settings })
}

/// Keeps a rule that the person gave to a file of the repository from waiting for trust.
pub(super) fn keep_answer(places: &Places, file: &Path, update: &troupe_core::policy::Update) {
    let items = answered(file, places, update);
    if !items.is_empty()
        && let Err(fault) = TrustStore::at(&places.home).trust(places.trusted_root(), &items)
    {
        tracing::warn!(%fault, "an answer was saved, and will be asked for at the next start");
    }
}

/// Everything in the folder that needs trust, each with whether it has it.
///
/// # Errors
/// When the settings can't be resolved.
pub(crate) fn survey(places: &Places, env: &Env) -> Result<Vec<(TrustItem, bool)>, Fault> {
    let settings = Settings::load(places, env, &CommandLine::default(), Sources::ALL, &Trust::UNTRUSTED)
        .map_err(failed)?;
    let seen = seen(&TrustStore::at(&places.home), places.trusted_root());
    // Whatever mode a session may have there.
    let agents = agents::trust_items(&Run::default(), env, places, (Sources::ALL, Mode::Micro))?;
    let git = git_items(places, env.home.as_deref());
    let items = settings.needs_trust.into_iter().chain(agents).chain(git);
    Ok(items.map(|item| (seen.covers(&item), item)).map(|(trusted, item)| (item, trusted)).collect())
}

/// The person's word could not be kept.
pub(crate) fn unkept(fault: &StoreFault) -> Fault {
    let hint = match fault {
        StoreFault::NotText(_) => "rename the folder, or vouch for one run with --trust-workspace",
        _ => "TROUPE_HOME chooses the folder that it is kept in",
    };
    Fault::failed(format_args!("failed to {fault}")).hint(hint)
}

fn failed(fault: impl std::fmt::Display) -> Fault {
    Fault::usage(format_args!("failed to {fault}"))
}

fn seen(store: &TrustStore, root: &Path) -> Seen {
    store.seen(root).unwrap_or_else(|fault| {
        warn(format_args!("failed to {fault}"));
        Seen::NOTHING
    })
}

/// The settings that hold in a folder, for commands that start no session.
///
/// # Errors
/// When the settings can't be resolved.
pub(crate) fn settings(places: &Places, env: &Env) -> Result<Settings, Fault> {
    Ok(unasked(&Run::default(), places, env, Sources::ALL)?.settings)
}

/// The settings that hold for a run in the working folder, for commands that start no session.
///
/// # Errors
/// When a flag's word can't be understood, or the settings that it names can't be used.
pub(crate) fn settings_of(run: &Run, env: &Env) -> Result<Settings, Fault> {
    Ok(unasked(run, &Places::of(env), env, super::session::sources(run)?)?.settings)
}

fn load(run: &Run, places: &Places, env: &Env, sources: Sources, trust: &Trust) -> Result<Settings, Fault> {
    Settings::load(places, env, &command_line(run, env), sources, trust).map_err(failed)
}

/// The flags of a run that are settings too, and the variables that stand for such flags.
pub(super) fn command_line(run: &Run, env: &Env) -> CommandLine {
    let line = CommandLine { settings: run.sources.settings.clone(), ..CommandLine::default() };
    let wanted = env.switch(&var::TROUPE_SANDBOX, false).unwrap_or_else(|bad| {
        warn(bad);
        false
    });
    if run.permissions.sandbox || wanted { line.with_flag("sandbox", json!({"enabled": true})) } else { line }
}

/// One line: which files, what of them, and how to trust it.
fn told(waiting: &[TrustItem], root: &Path) -> String {
    let mut files: Vec<(PathBuf, Vec<&str>)> = Vec::new();
    for item in waiting {
        let path = item.source.strip_prefix(root).unwrap_or(&item.source).to_owned();
        match files.iter_mut().find(|(known, _)| *known == path) {
            Some((_, names)) if names.contains(&item.name.as_str()) => {}
            Some((_, names)) => names.push(&item.name),
            None => files.push((path, vec![&item.name])),
        }
    }
    let more = |count: usize, most: usize| {
        if count > most { format!(" and {} more", count - most) } else { String::new() }
    };
    let listed: Vec<String> = files
        .iter()
        .take(FILES)
        .map(|(path, names)| {
            let shown: Vec<&str> = names.iter().take(NAMES).copied().collect();
            format!("{} ({}{})", path.display(), shown.join(", "), more(names.len(), NAMES))
        })
        .collect();
    let text = format!("{}{}", listed.join(", "), more(files.len(), FILES));
    format!(
        "this folder is not trusted, so this waits: {}; see `troupe trust`, or vouch for one run with --trust-workspace",
        troupe_core::visible::visible(&text)
    )
}
