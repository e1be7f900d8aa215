//! `troupe agents`: which agents there are, what one comes to, and a file for a new one.

mod list;
mod new;
mod show;

use std::path::Path;

use troupe_core::def::{AgentDef, ModelChoice};
use troupe_engine::load::Env;

use crate::args::{AgentsCommand, AgentsWish};
use crate::fault::Fault;
use crate::wiring::AgentsHere;

/// Does what is asked; gives what to print.
///
/// # Errors
/// When there is no such agent, the file is there, or a session could not start here either.
pub(crate) async fn run(wish: &AgentsWish, env: Env) -> Result<String, Fault> {
    match &wish.command {
        None => list::text(&wish.list, env),
        Some(AgentsCommand::List(list)) => list::text(list, env),
        Some(AgentsCommand::Show(show)) => show::text(show, env).await,
        Some(AgentsCommand::New(new)) => new::write(new, &env),
    }
}

/// A path as people know it: from the project's root, or from home.
fn place(path: &Path, here: &AgentsHere) -> String {
    if let Ok(rest) = path.strip_prefix(here.places.project_root()) {
        return rest.display().to_string();
    }
    match here.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// Where a definition comes from.
fn source(def: &AgentDef, here: &AgentsHere) -> String {
    match def.source.file() {
        Some(file) => format!("{} {}", def.source.word(), place(file, here)),
        None => def.source.word().to_owned(),
    }
}

/// The model that a definition names.
fn model(def: &AgentDef) -> &str {
    match &def.model {
        ModelChoice::Inherit => "inherit",
        ModelChoice::Named(name) => name,
    }
}

/// Its tools in a few words.
fn tools(def: &AgentDef) -> String {
    let without = def.tools.without.join(", ");
    match (&def.tools.only, without.is_empty()) {
        (None, true) => "all".to_owned(),
        (None, false) => format!("all but {without}"),
        (Some(only), _) if only.is_empty() => "none".to_owned(),
        (Some(only), true) => only.join(", "),
        (Some(only), false) => format!("{} but {without}", only.join(", ")),
    }
}
