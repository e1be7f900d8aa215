//! `troupe sandbox`: shows the sandbox of this folder, or runs one command in it.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use troupe_core::ports::tool::Place;
use troupe_core::visible::visible;
use troupe_engine::load::rules::{self, RuleFlags};
use troupe_engine::load::settings::own_paths;
use troupe_engine::load::{CommandLine, Env, Places, Sources};
use troupe_sandbox::proxy::{Proxy, Rules};
use troupe_sandbox::{Network, Sandbox, Wall};

use crate::fault::{Fault, tell, warn};
use crate::wiring::{Fence, fence, folder, probe, settings};

/// The exit code of a command that a signal ended, without the signal.
const SIGNALLED: i32 = 128;

/// Shows it, or runs `command` in it; gives the exit code.
///
/// # Errors
/// When there is no sandbox to run in, or settings can't be read.
pub(crate) fn run(command: &[OsString], env: &Env) -> Result<u8, Fault> {
    let places = Places::of(env);
    let settings = settings(&places, env)?;
    let permissions = settings.permissions();
    let mut loaded = rules::load(&permissions, &RuleFlags::default(), &places.cwd);
    loaded.rules.set_own(own_paths(&places, Sources::ALL, &CommandLine::default(), env.home.as_deref()));
    loaded.faults.iter().for_each(warn);
    let mut roots = vec![places.cwd.clone()];
    roots.extend(
        permissions.additional_directories.iter().filter_map(|folder| folder.value.canonicalize().ok()),
    );
    let place = Place {
        cwd: places.cwd.clone(),
        home: env.home.clone().unwrap_or_else(|| places.home.clone()),
        roots,
        scratch: Vec::new(),
        read_only: false,
    };
    let fence = fence(&settings, &loaded.rules, &places, env);
    match command.split_first() {
        None => crate::print(&shown(&fence, &place)),
        Some((program, args)) => crate::block_on(run_in(&fence, &place, env, Path::new(program), args)),
    }
}

/// The sandbox in words.
fn shown(fence: &Fence, place: &Place) -> String {
    let mut text = String::new();
    let on = fence.settings.enabled == Some(true);
    let state = if on {
        "on"
    } else {
        "off (turn it on: --sandbox, TROUPE_SANDBOX=1, or sandbox.enabled in settings)"
    };
    let mut line = |name: &str, value: &str| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{name:<11} {value}");
    };
    line("sandbox", state);
    let sandbox = probe();
    match &sandbox {
        Ok(sandbox) => line("wall", sandbox.wall().as_str()),
        Err(error) => line("wall", &format!("none: {error}")),
    }
    if let Ok(sandbox) = &sandbox
        && sandbox.wall() == Wall::Landlock
        && let Some(error) = better(sandbox)
    {
        line("not", &error);
    }
    let policy = fence.policy(place, &[], None);
    let list =
        |paths: &[PathBuf]| -> Vec<String> { paths.iter().map(|path| path.display().to_string()).collect() };
    let there = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().filter(|path| path.symlink_metadata().is_ok()).cloned().collect()
    };
    let network = &fence.settings.network;
    let allowed = network.allowed_domains.iter().chain(&fence.rules.allowed_domains).cloned();
    let denied = network.denied_domains.iter().chain(&fence.rules.denied_domains).cloned();
    let other = if network.strict_allowlist { "refused" } else { "asked about" };
    for (name, values) in [
        ("writable", list(&policy.writable)),
        ("read-only", list(&policy.read_only)),
        ("hidden", list(&there(&policy.hidden))),
        ("allowed", allowed.collect()),
        ("denied", denied.collect()),
        ("other hosts", vec![other.to_owned()]),
        ("outside", fence.settings.excluded_commands.clone()),
        ("no effect", fence.settings.without_effect.iter().map(|key| (*key).to_owned()).collect()),
        ("patterns", fence.rules.patterns.clone()),
    ] {
        for (at, value) in values.iter().enumerate() {
            // Names of folders come from outside: none may act on a terminal or begin a line.
            line(if at == 0 { name } else { "" }, &visible(value));
        }
    }
    text
}

/// Why the better wall is not the one that stands.
fn better(_sandbox: &Sandbox) -> Option<String> {
    let own = std::env::current_exe().ok()?;
    Sandbox::probe_wall(&own, Wall::Bubblewrap).err().map(|error| error.0)
}

/// Runs a command in it, with this terminal. Nobody is asked about hosts.
async fn run_in(
    fence: &Fence,
    place: &Place,
    env: &Env,
    program: &Path,
    args: &[OsString],
) -> Result<u8, Fault> {
    let failed =
        |error: &dyn std::fmt::Display| Fault::failed(format_args!("the command was not run: {error}"));
    let sandbox = probe().map_err(|error| failed(&error))?;
    let folder = folder(env).map_err(|error| failed(&error))?;
    fence.tell();
    let shell = fence.shell(sandbox, env, folder.path(), Vec::new());
    let mut policy = shell.policies.read(place);
    let rules = Rules { domains: fence.domains(), ask: None, upstream: shell.network.upstream.clone() };
    let proxy = Proxy::start(&shell.folder.join("proxy.sock"), rules).map_err(|error| failed(&error))?;
    policy.network = Network::Proxy(proxy.socket().to_owned());
    let walled = shell.sandbox.wrap(&policy, program, args, &place.cwd).map_err(|error| failed(&error))?;
    let mut child = tokio::process::Command::new(&walled.program);
    child.args(&walled.args).current_dir(&place.cwd).kill_on_drop(true);
    for name in &shell.withheld {
        child.env_remove(name);
    }
    let mut child = child.spawn().map_err(|error| failed(&error))?;
    let status = child.wait().await.map_err(|error| failed(&error))?;
    for refusal in proxy.refusals() {
        tell(format_args!("sandbox: {} was refused: {}\n", refusal.target, refusal.why));
    }
    drop(walled);
    let code = status.code().or_else(|| status.signal().map(|signal| SIGNALLED + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
