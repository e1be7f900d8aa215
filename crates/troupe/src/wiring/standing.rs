//! What a session that is started in this folder may do, without starting one.

use std::sync::Arc;

use tempfile::TempDir;
use troupe_core::policy::{Mode, Rules};
use troupe_core::ports::tool::{Place, Tool};
use troupe_engine::judge::with_links;
use troupe_engine::load::{Env, Places};

use super::{permissions, sandbox, session, tools, trust};
use crate::args::Run;
use crate::fault::Fault;

/// What holds in a folder.
pub(crate) struct Standing {
    /// The rules, links followed.
    pub(crate) rules: Rules,
    /// The mode that a session starts in.
    pub(crate) mode: Mode,
    /// Where the mode comes from, in words.
    pub(crate) mode_from: String,
    /// Where calls are made.
    pub(crate) place: Place,
    /// The tools.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The sandbox's, if there is one.
    _folder: Option<TempDir>,
}

/// Finds out, exactly as a session does; tells of what is wrong or too wide.
///
/// # Errors
/// When a session would not start either.
pub(crate) fn standing(run: &Run, env: Env) -> Result<Standing, Fault> {
    let places = Places::of(&env);
    let sources = session::sources(run)?;
    let found = trust::unasked(run, &places, &env, sources)?;
    let settings = found.settings;
    let env = env.with_settings(settings.env().into_iter().map(|(name, value)| (name, value.value)));
    let allowed = settings.permissions();
    let leave = permissions::leave(&permissions::Given {
        run,
        settings: &allowed,
        env: &env,
        places: &places,
        sources,
        trust: &found.trust,
        git: found.git,
    })?;
    let fence = sandbox::fence(&settings, &leave.rules, &places, &env);
    let built = sandbox::build(&fence, &env, &places.state);
    let mut roots = vec![places.cwd.clone()];
    roots.extend(session::roots(run, &env, &allowed)?);
    let place = Place {
        cwd: places.cwd.clone(),
        home: session::home(&env, &places),
        roots,
        scratch: Vec::new(),
        read_only: false,
    };
    let from = allowed.default_mode.as_ref().map(|mode| mode.origin.source.to_string());
    Ok(Standing {
        rules: with_links(leave.rules, &place),
        mode: leave.mode.unwrap_or_default(),
        mode_from: from.unwrap_or_else(|| "nothing names another".to_owned()),
        tools: tools::builtin(run, &env, &settings, (built.sandboxing, places.checkout.is_some())),
        _folder: built.folder,
        place,
    })
}
