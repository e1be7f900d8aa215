//! The sandbox around commands: from settings, rules and the machine to what the shell is told.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use troupe_core::policy::{PROTECTED, Rules};
use troupe_core::ports::tool::Place;
use troupe_engine::load::rule_paths::RulePaths;
use troupe_engine::load::settings::SandboxSettings;
use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, Places, Settings};
use troupe_sandbox::proxy::{Domains, Pattern, Upstream};
use troupe_sandbox::{Names, Policy, Sandbox, Unavailable, Workspace, build_folders};
use troupe_tools::shell::sandbox::{
    Excluded, NetworkRules, Policies, Sandboxing, ShellSandbox, Sweeps, temp_in,
};
use troupe_wire::headless::SandboxState;

use super::state;
use crate::fault::warn;

/// What is wanted of a sandbox, before it is known what the machine has.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    pub(crate) settings: SandboxSettings,
    pub(crate) rules: RulePaths,
    /// Secrets of the harness.
    secrets: Vec<PathBuf>,
    /// The harness's own folders: no command may write them.
    own: Vec<PathBuf>,
}

/// What comes of it.
pub(super) struct Built {
    pub(super) sandboxing: Sandboxing,
    pub(super) state: Option<SandboxState>,
    /// Goes when the run does.
    pub(super) folder: Option<TempDir>,
}

/// Reads what is wanted.
pub(crate) fn fence(settings: &Settings, rules: &Rules, places: &Places, env: &Env) -> Fence {
    let user = places.user.iter().map(|user| user.join(".credentials.json"));
    Fence {
        settings: settings.sandbox(env.home.as_deref()),
        rules: RulePaths::of(rules, &places.cwd, env.home.as_deref()),
        secrets: user.chain(places.user_file.clone()).collect(),
        own: rules.own().iter().cloned().chain([places.home.clone(), places.state.clone()]).collect(),
    }
}

/// Finds the walls of this machine.
///
/// # Errors
/// What each of them said.
pub(crate) fn probe() -> Result<Sandbox, Unavailable> {
    let own = std::env::current_exe()
        .map_err(|error| Unavailable(format!("this program does not find itself: {error}")))?;
    Sandbox::probe(&own)
}

/// Puts together what the shell is told; what can't be done is told on stderr.
pub(super) fn build(fence: &Fence, env: &Env, state: &Path) -> Built {
    let off = Built { sandboxing: Sandboxing::Off, state: None, folder: None };
    if fence.settings.enabled != Some(true) {
        return off;
    }
    let down = |reason: String| {
        let sandboxing = if fence.settings.fail_if_unavailable {
            warn(format_args!("{reason}; every command is refused (sandbox.failIfUnavailable)"));
            Sandboxing::Refused(reason.clone())
        } else {
            warn(format_args!("{reason}; commands run without it"));
            Sandboxing::Off
        };
        Built { sandboxing, state: Some(SandboxState::Down(reason)), folder: None }
    };
    let sandbox = match probe() {
        Ok(sandbox) => sandbox,
        Err(error) => return down(error.to_string()),
    };
    let folder = match folder(env) {
        Ok(folder) => folder,
        Err(error) => return down(format!("the sandbox has no folder for temporary files: {error}")),
    };
    fence.tell();
    let wall = sandbox.wall();
    let shell = fence.shell(sandbox, env, folder.path(), vec![state.to_owned()]);
    Built {
        sandboxing: Sandboxing::On(Arc::new(shell)),
        state: Some(SandboxState::Up(wall.as_str().to_owned())),
        folder: Some(folder),
    }
}

/// A private folder with a random name, and one in it for what commands need not keep.
pub(crate) fn folder(env: &Env) -> std::io::Result<TempDir> {
    let folder = state::temporary(env)?;
    // A link on the way to it would be another path behind the walls.
    let real = folder.path().canonicalize()?;
    std::fs::DirBuilder::new().mode(0o700).create(temp_in(&real))?;
    Ok(folder)
}

impl Fence {
    /// Tells what of it has no effect, or less than it says.
    pub(crate) fn tell(&self) {
        for key in &self.settings.without_effect {
            warn(format_args!("{key} has no effect here"));
        }
        for rule in &self.rules.patterns {
            warn(format_args!(
                "the rule `{rule}` is a pattern: the sandbox can't hold it everywhere, so a command that hides a path may get past it"
            ));
        }
    }

    /// The sandbox of a session. `folder` is private; `shown` are folders below that of the temporary files which
    /// can be read none the less.
    pub(crate) fn shell(
        &self,
        sandbox: Sandbox,
        env: &Env,
        folder: &Path,
        shown: Vec<PathBuf>,
    ) -> ShellSandbox {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let settings = &self.settings;
        let network = NetworkRules {
            domains: self.domains(),
            asks: !settings.network.strict_allowlist,
            upstream: upstream(env),
        };
        let (fence, temp) = (self.clone(), temp_in(&folder));
        ShellSandbox {
            sandbox,
            policies: Policies::new(move |place| fence.policy(place, &shown, Some(&temp))),
            network,
            withheld: var::secret_names().collect(),
            folder,
            // Files that are not held are not spared the question.
            auto_allow: settings.auto_allow && !settings.filesystem.disabled,
            allow_unsandboxed: settings.allow_unsandboxed,
            excluded: Excluded::new(settings.excluded_commands.iter().cloned()),
            sweeps: Sweeps::default(),
            ignored: settings.ignore_violations.clone(),
        }
    }

    /// What may be reached. A pattern that is none is told, and left out.
    pub(crate) fn domains(&self) -> Domains {
        let read = |lists: [&Vec<String>; 2]| {
            let texts = lists.into_iter().flatten();
            let read = texts.filter_map(|text| {
                Pattern::parse(text).map_err(|bad| warn(format_args!("sandbox: {bad}"))).ok()
            });
            read.collect()
        };
        let network = &self.settings.network;
        Domains {
            allowed: read([&network.allowed_domains, &self.rules.allowed_domains]),
            denied: read([&network.denied_domains, &self.rules.denied_domains]),
        }
    }

    /// What a command may touch, by where it runs.
    pub(crate) fn policy(&self, place: &Place, shown: &[PathBuf], temp: Option<&Path>) -> Policy {
        let files = &self.settings.filesystem;
        let network = &self.settings.network;
        let unix_sockets = network.all_unix_sockets || !network.unix_sockets.is_empty();
        if files.disabled {
            // The walls put folders of their own over those for temporary files.
            let writable = ["/", "/tmp", "/var/tmp"].map(PathBuf::from).into();
            return Policy { writable, unix_sockets, ..Policy::default() };
        }
        let names = Names { folders: PROTECTED.folders, files: PROTECTED.files, config: PROTECTED.config };
        let mut policy = Policy::standard(&Workspace {
            roots: if place.read_only { &[] } else { &place.roots },
            scratch: &place.scratch,
            temp,
            home: Some(&place.home),
            secrets: &self.secrets,
            names,
        });
        policy.writable.extend(files.allow_write.iter().chain(&self.rules.writable).cloned());
        policy
            .read_only
            .extend(files.deny_write.iter().chain(&self.rules.read_only).chain(&self.own).cloned());
        policy.hidden.extend(files.deny_read.iter().chain(&self.rules.hidden).cloned());
        policy.shown.extend(files.allow_read.iter().chain(&network.unix_sockets).chain(shown).cloned());
        policy.unix_sockets = unix_sockets;
        if place.read_only {
            let mut free: Vec<PathBuf> = place.roots.iter().flat_map(|root| build_folders(root)).collect();
            free.extend_from_slice(&place.scratch);
            policy.hold(&place.roots, &free);
        }
        policy
    }
}

fn upstream(env: &Env) -> Option<Upstream> {
    let named = env.text(&var::HTTPS_PROXY)?;
    match Upstream::parse(named, env.text(&var::NO_PROXY).unwrap_or_default()) {
        Ok(upstream) => Some(upstream),
        Err(bad) => {
            warn(format_args!("HTTPS_PROXY is not used by the sandbox: {bad}"));
            None
        }
    }
}
