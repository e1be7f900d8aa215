//! One file → a definition, its faults, and what of it waits for trust.

use std::path::Path;

use troupe_core::catalogue::DefFault;
use troupe_core::def::{AgentDef, Source};

use super::definition::{self, Draft};
use super::folders::{AgentSources, Whose};
use super::loosening;
use super::walk::Found;
use crate::load::front_matter;
use crate::load::text;
use crate::load::trust::TrustItem;

/// No definition is near this size. In bytes.
const CAP: usize = 1 << 20;

/// What a file came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Read {
    /// The definition; none where the file is skipped.
    pub(super) def: Option<AgentDef>,
    pub(super) faults: Vec<DefFault>,
    /// What of it loosens something, whether it is trusted or not.
    pub(super) wants: Vec<TrustItem>,
    /// Of these, what is not in force.
    pub(super) held: Vec<DefFault>,
}

/// Reads a file.
pub(super) fn read(found: &Found, from: &AgentSources) -> Read {
    let path = &found.path;
    let skipped = |line: Option<usize>, what: String| Read {
        faults: vec![DefFault { file: path.clone(), line, what, used: false }],
        ..Read::default()
    };
    let text = match text::read(path, CAP) {
        Ok(text) if text.cut => return skipped(None, format!("it is larger than {} KiB", CAP >> 10)),
        Ok(text) => text.content,
        Err(error) => return skipped(None, error.to_string()),
    };
    let front = match front_matter::read(&text) {
        Ok(front) => front,
        Err(fault) => return skipped(Some(fault.line), fault.what),
    };
    let draft = Draft {
        file: path.clone(),
        source: source(found),
        prompt: Some(front.body.trim().to_owned()),
        name: plugin_name(found),
        inline: None,
    };
    let (def, mut faults, loose) = definition::of(draft, front.fields);
    faults.extend(front.faults.into_iter().map(|fault| DefFault {
        file: path.clone(),
        line: Some(fault.line),
        what: fault.what,
        used: def.is_some(),
    }));
    faults.sort_by_key(|fault| fault.line);
    let Some(mut def) = def else { return Read { faults, ..Read::default() } };
    let (wants, held) = loosening::hold(&mut def, &loose, path, from);
    Read { def: Some(def), faults, wants, held }
}

fn source(found: &Found) -> Source {
    let path = found.path.clone();
    match &found.whose {
        Whose::Plugin(plugin) => Source::Plugin { plugin: plugin.clone(), file: path },
        Whose::User => Source::User(path),
        Whose::Project => Source::Project(path),
        Whose::Managed => Source::Managed(path),
    }
}

/// What a plugin's file is called where it gives itself no name, with what stands before any name of it:
/// `plugin:folder:`.
fn plugin_name(found: &Found) -> Option<(String, String)> {
    let Whose::Plugin(plugin) = &found.whose else { return None };
    let before: String =
        std::iter::once(plugin).chain(&found.below).flat_map(|part| [part.as_str(), ":"]).collect();
    let stem = Path::new(&found.path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Some((before, stem))
}
