//! A file for a new agent.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use troupe_core::visible::visible;
use troupe_engine::load::agents::name_fault;
use troupe_engine::load::places::OURS;
use troupe_engine::load::{Env, Places};

use crate::args::AgentsNew;
use crate::fault::Fault;

/// What its description says until somebody writes one.
const DESCRIPTION: &str = "Use when …";

/// Writes it; says what to do next.
///
/// # Errors
/// When the name can't be one, the file is there, or it can't be written.
pub(super) fn write(wish: &AgentsNew, env: &Env) -> Result<String, Fault> {
    let name = wish.name.trim();
    if let Some(fault) = name_fault(name) {
        return Err(Fault::usage(format_args!("{name:?}: {fault}")));
    }
    let places = Places::of(env);
    let folder = if wish.user { places.home.clone() } else { places.project_root().join(OURS) };
    let agents = folder.join("agents");
    if !wish.user {
        stays(&agents, places.project_root())?;
    }
    let path = agents.join(format!("{name}.md"));
    let shown = path.display().to_string();
    let failed = |error: io::Error| Fault::failed(format_args!("failed to write {shown}: {error}"));
    let mode = if wish.user { 0o700 } else { 0o777 };
    DirBuilder::new().recursive(true).mode(mode).create(&agents).map_err(failed)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path);
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Fault::failed(format_args!("{shown} is there already")).hint("edit it, or choose another name")
        }
        _ => failed(error),
    })?;
    file.write_all(content(name, wish.description.as_deref()).as_bytes()).map_err(failed)?;
    let next = if wish.description.is_some() { "its prompt" } else { "its description and its prompt" };
    // The person's own folder may be a link to where they keep such files.
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let linked = if real == path { String::new() } else { format!(" (in truth {})", real.display()) };
    Ok(format!(
        "{}\nWrite {next}, then look at what comes of it: troupe agents show {}\n",
        visible(&format!("{shown}{linked}")),
        quoted(name)
    ))
}

/// Refuses a folder of the project that leads out of it: a link in a repository may lead anywhere.
fn stays(folder: &Path, root: &Path) -> Result<(), Fault> {
    let there = folder.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(root);
    let real = there.canonicalize();
    if let (Ok(real), Ok(root)) = (&real, root.canonicalize())
        && real.starts_with(root)
    {
        return Ok(());
    }
    let target = real.map_or_else(|_| "nowhere".to_owned(), |real| real.display().to_string());
    Err(Fault::failed(format_args!(
        "failed to write below {}: it is a link out of the project, to {target}",
        visible(&there.display().to_string())
    ))
    .hint("replace the link by a folder, or write one for yourself with --user"))
}

fn content(name: &str, description: Option<&str>) -> String {
    // As JSON, which every reader of front matter takes, whatever stands in it.
    let quote = |text: &str| serde_json::Value::from(text).to_string();
    let description = quote(description.unwrap_or(DESCRIPTION));
    fill(
        include_str!("template.md"),
        &[("{name}", &quote(name)), ("{description}", &description), ("{called}", name)],
    )
}

/// The template with values in place of marks. What stands in a value is no mark.
fn fill(mut template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let next = |rest: &str| {
        let found = values.iter().filter_map(|(mark, value)| Some((rest.find(mark)?, *mark, *value)));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, mark, value)) = next(template) {
        text.push_str(&template[..at]);
        text.push_str(value);
        template = &template[at + mark.len()..];
    }
    text + template
}

/// A name as a shell takes it.
fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    if plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}
