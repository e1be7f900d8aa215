//! The layers of settings, and which files make them up.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use troupe_core::policy::Scope;

use crate::load::places::{OURS, Places, THEIRS, expand};

/// Whose settings they are, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The user's in the ecosystem's folder, only read.
    UserLower,
    /// The user's in the Home.
    User,
    /// The project's.
    Project,
    /// The project's, not shared.
    Local,
    /// Of this run.
    CommandLine,
    /// The organisation's.
    Managed,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whose it is.
    pub layer: Layer,
    /// The file or flag.
    pub source: Source,
    /// What `/x` in a permission rule is relative to.
    pub base: PathBuf,
}

/// The file or flag that a value stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The value of `--settings` itself.
    Inline,
    /// Another flag.
    Flag,
}

/// What the command line says of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLine {
    /// `--settings`: a file, or a JSON object.
    pub settings: Option<String>,
    /// Other flags in the form of settings, such as `{"model": "…"}`; they go over `settings`.
    pub flags: Map<String, Value>,
}

/// Which layers `--setting-sources` leaves. Managed settings and the command line always count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The user's, both.
    pub user: bool,
    /// The project's.
    pub project: bool,
    /// The project's, not shared.
    pub local: bool,
}

/// A word in `--setting-sources` that names no layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("understand the setting source {0:?}: expected user, project or local")]
pub struct UnknownSource(pub String);

/// A file to read. The list of them has the weakest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) layer: Layer,
    pub(super) path: PathBuf,
    pub(super) base: PathBuf,
}

impl Layer {
    /// Whether who wrote the repository may have written it.
    pub fn is_of_repository(self) -> bool {
        match self {
            Self::Project | Self::Local => true,
            Self::UserLower | Self::User | Self::CommandLine | Self::Managed => false,
        }
    }

    /// The scope of its permission rules.
    pub fn scope(self) -> Scope {
        match self {
            Self::UserLower | Self::User => Scope::User,
            Self::Project => Scope::Project,
            Self::Local => Scope::Local,
            Self::CommandLine => Scope::CommandLine,
            Self::Managed => Scope::Managed,
        }
    }

    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserLower => "user (.claude)",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::CommandLine => "command line",
            Self::Managed => "managed",
        }
    }
}

impl Sources {
    /// Every layer.
    pub const ALL: Self = Self { user: true, project: true, local: true };
    /// None but the managed and the command line's.
    pub const NONE: Self = Self { user: false, project: false, local: false };

    /// Reads `user,project,local`; an empty text is none of them.
    ///
    /// # Errors
    /// [`UnknownSource`].
    pub fn parse(text: &str) -> Result<Self, UnknownSource> {
        let mut sources = Self::NONE;
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                _ => return Err(UnknownSource(word.to_owned())),
            }
        }
        Ok(sources)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Inline => f.write_str("--settings"),
            Self::Flag => f.write_str("a flag"),
        }
    }
}

/// The files below the command line, the weakest first. Those that aren't there are listed too.
pub(super) fn files(places: &Places, sources: Sources) -> Vec<Candidate> {
    let mut files = Vec::new();
    // Started in the home folder, the project's files are the user's: they count once, as the user's.
    let mut users = Vec::new();
    for folder in places.user_layers() {
        let layer = if folder == places.home { Layer::User } else { Layer::UserLower };
        let path = folder.join("settings.json");
        users.push(resolved(&path));
        if sources.user {
            files.push(Candidate { layer, path, base: folder.to_owned() });
        }
    }
    let start = &places.cwd;
    for (wanted, layer, root, name) in [
        (sources.project, Layer::Project, start.as_path(), "settings.json"),
        (sources.local, Layer::Local, places.local_root(), "settings.local.json"),
    ] {
        for folder in [THEIRS, OURS] {
            let path = root.join(folder).join(name);
            if wanted && !users.contains(&resolved(&path)) {
                files.push(Candidate { layer, path, base: start.clone() });
            }
        }
    }
    files
}

/// The file that `--settings` names, or none if its value is JSON itself.
pub(super) fn named(value: &str, places: &Places, home: Option<&Path>) -> Option<Candidate> {
    if value.trim_start().starts_with('{') {
        return None;
    }
    let path = expand(value.trim(), &places.cwd, home);
    Some(Candidate { layer: Layer::CommandLine, path, base: places.cwd.clone() })
}

/// All that the layers may be read from, whether it is there or not, with the folders of drop-ins: when none of
/// it has changed, neither have the settings.
pub(crate) fn watched(
    places: &Places,
    sources: Sources,
    given: &CommandLine,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let mut files = self::files(places, sources);
    files.extend(given.settings.as_deref().and_then(|value| named(value, places, home)));
    files.extend(managed(places, |_, _| {}));
    let mut paths: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
    paths.extend(places.managed.iter().map(|folder| folder.join("managed-settings.d")));
    paths
}

/// What the harness is steered by, under each of its names: its home, the settings of the run. What holds a
/// folder to work in is left out, since nothing could be done there.
pub fn own_paths(
    places: &Places,
    sources: Sources,
    given: &CommandLine,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let mut paths = watched(places, sources, given, home);
    paths.extend([places.home.clone(), places.state.clone(), places.projects.clone()]);
    paths.extend(places.user.iter().chain(&places.user_file).cloned());
    let real: Vec<PathBuf> = paths.iter().map(|path| resolved(path)).collect();
    paths.extend(real);
    paths.retain(|path| !places.cwd.starts_with(path));
    paths.sort();
    paths.dedup();
    paths
}

/// The organisation's files, the weakest first. Drop-ins come by name; `unread` gets a folder of them that can't
/// be listed, since what it forbids must not be lost unseen.
pub(super) fn managed(places: &Places, mut unread: impl FnMut(PathBuf, std::io::Error)) -> Vec<Candidate> {
    let mut files = Vec::new();
    for folder in &places.managed {
        files.push(folder.join("managed-settings.json"));
        let drop_ins = folder.join("managed-settings.d");
        let listed = std::fs::read_dir(&drop_ins).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
        });
        match listed {
            Ok(mut found) => {
                found.retain(|path| path.extension().is_some_and(|end| end == "json"));
                found.retain(|path| {
                    !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
                });
                found.sort();
                files.append(&mut found);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => unread(drop_ins, error),
        }
    }
    let base = |path: &Path| path.parent().unwrap_or(Path::new("/")).to_owned();
    files.into_iter().map(|path| Candidate { layer: Layer::Managed, base: base(&path), path }).collect()
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
