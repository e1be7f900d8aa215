//! `troupe trust`: what a folder's repository may have only if the person trusts it, and their word on it.

use std::fmt::Write as _;

use serde_json::json;
use troupe_engine::load::{Env, Places, TrustStore};

use crate::args::TrustWish;
use crate::ask_trust::line;
use crate::fault::Fault;
use crate::wiring::{survey, unkept};

/// Does what is wished; gives what to print.
///
/// # Errors
/// When the folder is none, its settings can't be resolved, or the word can't be kept.
pub(crate) fn run(wish: &TrustWish, env: &Env) -> Result<String, Fault> {
    let env = match &wish.path {
        None => env.clone(),
        Some(path) => {
            let fail = |error| Fault::usage(format_args!("{}: {error}", path.display()));
            let cwd = env.cwd.join(path).canonicalize().map_err(fail)?;
            if !cwd.is_dir() {
                return Err(Fault::usage(format_args!("{}: it is no folder", path.display())));
            }
            Env { cwd, ..env.clone() }
        }
    };
    let places = Places::of(&env);
    let root = places.trusted_root();
    let store = TrustStore::at(&places.home);
    if wish.revoke {
        store.revoke(root).map_err(|fault| unkept(&fault))?;
    }
    let mut found = survey(&places, &env)?;
    if wish.yes {
        let items: Vec<_> = found.iter().map(|(item, _)| item.clone()).collect();
        store.trust(root, &items).map_err(|fault| unkept(&fault))?;
        for (_, trusted) in &mut found {
            *trusted = true;
        }
    }
    if wish.json {
        let items = found.iter().map(|(item, trusted)| {
            json!({"kind": item.kind.as_str(), "file": item.source, "name": item.name, "value": item.value,
                "digest": item.digest.as_str(), "trusted": trusted})
        });
        let object = json!({"folder": root, "items": items.collect::<Vec<_>>()});
        return Ok(format!("{object:#}\n"));
    }
    let mut text = String::new();
    for (item, trusted) in &found {
        let state = if *trusted { "trusted" } else { "waits" };
        // Writing to a string can't fail.
        let _ = writeln!(text, "{state:<8} {}", line(item, root));
    }
    match found.iter().filter(|(_, trusted)| !trusted).count() {
        0 if found.is_empty() => text.push_str("Nothing here needs trust.\n"),
        0 => {}
        waits => {
            let _ = writeln!(
                text,
                "{waits} of {} wait. To trust them as they are: troupe trust --yes",
                found.len()
            );
        }
    }
    Ok(text)
}
