//! The settings of a run, resolved, and the small struct that each consumer gets of them.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::policy::{Bounds, Mode, Position};

use crate::load::env::Env;
use crate::load::places::{Places, expand};
use crate::load::trust::{Trust, TrustItem};

use super::document::{Document, SettingsFault};
use super::guard::guard;
use super::kept::Kept;
use super::layer::{self, CommandLine, Layer, Origin, Source, Sources};
use super::merge::Node;
use super::positions::Positions;
use super::schema::check;

/// All settings of a run. Values that wait for trust, or that their layer may not set, are not in it.
#[derive(Clone, Debug)]
pub struct Settings {
    root: Node,
    cwd: PathBuf,
    home: Option<PathBuf>,
    bounds: Bounds,
    /// Where the permission rules of each file stand.
    positions: Vec<(Source, Positions)>,
    /// Files and keys that were left out.
    pub faults: Vec<SettingsFault>,
    /// What the repository wants, and what waits until the person trusts it.
    pub needs_trust: Vec<TrustItem>,
}

/// A value, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valued<T> {
    /// The value.
    pub value: T,
    /// Its file and layer.
    pub origin: Arc<Origin>,
}

/// A permission rule as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The rule.
    pub text: String,
    /// Its file and layer; what `/x` in it is relative to.
    pub origin: Arc<Origin>,
    /// Where in the file it stands.
    pub position: Option<Position>,
}

/// What chooses the model and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    /// The model's name or alias.
    pub model: Option<Valued<String>>,
    /// The model of agents below the main one; `inherit` is their parent's.
    pub subagent: Option<Valued<String>>,
    /// How much the model thinks, as it was written.
    pub effort: Option<Valued<String>>,
    /// A command that prints the key; never a repository's.
    pub api_key_helper: Option<Valued<String>>,
}

/// What permissions are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionSettings {
    /// Rules that allow.
    pub allow: Vec<RuleText>,
    /// Rules that ask.
    pub ask: Vec<RuleText>,
    /// Rules that deny.
    pub deny: Vec<RuleText>,
    /// The mode to start in.
    pub default_mode: Option<Valued<Mode>>,
    /// More folders to work in, absolute.
    pub additional_directories: Vec<Valued<PathBuf>>,
    /// Whether bypassPermissions can't be chosen.
    pub bypass_disabled: bool,
    /// Whether auto can't be chosen.
    pub auto_disabled: bool,
    /// What is denied whatever allows it. These switches only tighten, so any layer can turn one on, and none
    /// can turn it off for another.
    pub bounds: Bounds,
}

/// What sessions and tools are tuned with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// Most characters of a shell's output.
    pub bash_output_max_chars: Option<Valued<u64>>,
    /// Days after which a transcript is removed.
    pub cleanup_period_days: Option<Valued<u64>>,
    /// Whether a long conversation is compacted by itself.
    pub auto_compact_enabled: Option<Valued<bool>>,
    /// Whether commits name a co-author, as it was written.
    pub include_co_authored_by: Option<Valued<Value>>,
    /// The folder of plans, absolute.
    pub plans_directory: Option<Valued<PathBuf>>,
}

/// One value for a listing of all settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// The value; an item of a list stands alone.
    pub value: Value,
    /// Where it comes from.
    pub origin: Arc<Origin>,
}

impl Settings {
    /// Reads and resolves all layers. A faulty file or key is in `faults`, and the rest holds.
    ///
    /// # Errors
    /// [`SettingsFault`] when what `--settings` gives can't be read: a flag is not passed over.
    pub fn load(
        places: &Places,
        env: &Env,
        command_line: &CommandLine,
        sources: Sources,
        trust: &Trust,
    ) -> Result<Self, SettingsFault> {
        Self::load_again(places, env, command_line, sources, trust, &mut Kept::default())
    }

    /// Reads and resolves all layers, with what each file last said in place of what can't be understood any
    /// more.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_again(
        places: &Places,
        env: &Env,
        command_line: &CommandLine,
        sources: Sources,
        trust: &Trust,
        kept: &mut Kept,
    ) -> Result<Self, SettingsFault> {
        let mut faults = Vec::new();
        let mut documents = Vec::new();
        let files = layer::files(places, sources);
        documents.extend(files.into_iter().filter_map(|file| kept.read(file, &mut faults)));
        documents.extend(of_command_line(places, env, command_line, kept, &mut faults)?);
        let mut lost = Vec::new();
        let managed = layer::managed(places, |folder, error| {
            faults.push(SettingsFault::Unreadable {
                from: Source::File(folder.clone()),
                what: error.to_string(),
            });
            lost.extend(kept.below(&folder));
        });
        documents.extend(managed.into_iter().filter_map(|file| kept.read(file, &mut faults)));
        documents.extend(lost);

        let mut needs_trust = Vec::new();
        let mut root = Node::empty();
        let mut bounds = Bounds::default();
        let mut positions = Vec::with_capacity(documents.len());
        for mut document in documents {
            faults.extend(check(&mut document.object, &document.origin.source));
            guard(&mut document, places, trust, &mut faults, &mut needs_trust);
            bounds = bounds.or(bounds_of(&document.object));
            root = root.under(Node::of(document.object, &document.origin));
            positions.push((document.origin.source.clone(), document.positions));
        }
        let (cwd, home) = (places.cwd.clone(), env.home.clone());
        Ok(Self { root, cwd, home, bounds, positions, faults, needs_trust })
    }

    /// What chooses the model.
    pub fn model(&self) -> ModelSettings {
        ModelSettings {
            model: self.text(&["model"]),
            subagent: self.text(&["subagentModel"]),
            effort: self.text(&["effortLevel"]),
            api_key_helper: self.text(&["apiKeyHelper"]),
        }
    }

    /// Names for models (`modelAliases`), each with the one that it stands for.
    pub fn model_names(&self) -> Vec<(String, String)> {
        let fields = self.root.at(&["modelAliases"]).into_iter().flat_map(Node::fields);
        let names =
            fields.filter_map(|(name, node)| Some((name.to_owned(), node.scalar()?.0.as_str()?.to_owned())));
        names.collect()
    }

    /// What permissions are made from. Where the organisation allows its own rules only, the others are left out.
    pub fn permissions(&self) -> PermissionSettings {
        let managed_only =
            self.scalar(&["allowManagedPermissionRulesOnly"], Value::as_bool).is_some_and(|only| only.value);
        let rules = |behaviour| {
            let all = self.texts(&["permissions", behaviour]);
            let kept = all.filter(|(_, origin)| !managed_only || origin.layer == Layer::Managed);
            let rule = |(text, origin): (&str, &Arc<Origin>)| RuleText {
                text: text.to_owned(),
                origin: Arc::clone(origin),
                position: self.position(&origin.source, behaviour, text),
            };
            kept.map(rule).collect()
        };
        let mode = |value: &Value| value.as_str().and_then(Mode::parse);
        let folders = self.texts(&["permissions", "additionalDirectories"]).map(|(path, origin)| Valued {
            value: expand(path, &self.cwd, self.home.as_deref()),
            origin: Arc::clone(origin),
        });
        PermissionSettings {
            allow: rules("allow"),
            ask: rules("ask"),
            deny: rules("deny"),
            default_mode: self.scalar(&["permissions", "defaultMode"], mode),
            additional_directories: folders.collect(),
            bypass_disabled: self.text(&["permissions", "disableBypassPermissionsMode"]).is_some(),
            auto_disabled: self.text(&["permissions", "disableAutoMode"]).is_some(),
            bounds: self.bounds,
        }
    }

    /// The variables to set for this run and what it starts.
    pub fn env(&self) -> Vec<(String, Valued<String>)> {
        let fields = self.root.at(&["env"]).into_iter().flat_map(Node::fields);
        let values = fields.filter_map(|(name, node)| {
            let (value, origin) = node.scalar()?;
            Some((name.to_owned(), Valued { value: value.as_str()?.to_owned(), origin: Arc::clone(origin) }))
        });
        values.collect()
    }

    /// What sessions and tools are tuned with.
    pub fn session(&self) -> SessionSettings {
        SessionSettings {
            bash_output_max_chars: self.scalar(&["bashOutputMaxChars"], Value::as_u64),
            cleanup_period_days: self.scalar(&["cleanupPeriodDays"], Value::as_u64),
            auto_compact_enabled: self.scalar(&["autoCompactEnabled"], Value::as_bool),
            plans_directory: self.scalar(&["plansDirectory"], |value| {
                value.as_str().map(|path| expand(path, &self.cwd, self.home.as_deref()))
            }),
            include_co_authored_by: self.scalar(&["includeCoAuthoredBy"], |value| Some(value.clone())),
        }
    }

    /// Any setting as plain JSON, for a consumer with a format of its own.
    pub fn value(&self, path: &[&str]) -> Option<Value> {
        self.root.at(path).map(Node::value)
    }

    /// The items of a list, the weakest layer's first.
    pub fn items(&self, path: &[&str]) -> Vec<Valued<Value>> {
        let items = self.root.at(path).into_iter().flat_map(Node::items);
        items.map(|(value, origin)| Valued { value: value.clone(), origin: Arc::clone(origin) }).collect()
    }

    /// Every value that holds, with where it comes from.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        list(&self.root, &mut Vec::new(), &mut entries);
        entries
    }

    /// Where a key stands in the file that a value of it comes from.
    pub fn key_position(&self, source: &Source, path: &[&str]) -> Option<Position> {
        let mut of_source = self.positions.iter().filter(|(from, _)| from == source);
        of_source.find_map(|(_, positions)| positions.key(path))
    }

    /// The switches of the key `flags`, by name.
    pub fn flags(&self) -> Vec<(String, Valued<bool>)> {
        let fields = self.root.at(&["flags"]).into_iter().flat_map(Node::fields);
        let values = fields.filter_map(|(name, node)| {
            let (value, origin) = node.scalar()?;
            Some((name.to_owned(), Valued { value: value.as_bool()?, origin: Arc::clone(origin) }))
        });
        values.collect()
    }

    fn position(&self, source: &Source, list: &str, rule: &str) -> Option<Position> {
        let mut of_source = self.positions.iter().filter(|(from, _)| from == source);
        of_source.find_map(|(_, positions)| positions.get(list, rule))
    }

    fn text(&self, path: &[&str]) -> Option<Valued<String>> {
        self.scalar(path, |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn scalar<T>(&self, path: &[&str], read: impl Fn(&Value) -> Option<T>) -> Option<Valued<T>> {
        let (value, origin) = self.root.at(path)?.scalar()?;
        Some(Valued { value: read(value)?, origin: Arc::clone(origin) })
    }

    fn texts<'a>(&'a self, path: &[&str]) -> impl Iterator<Item = (&'a str, &'a Arc<Origin>)> + use<'a> {
        let items = self.root.at(path).into_iter().flat_map(Node::items);
        items.filter_map(|(item, origin)| Some((item.as_str()?, origin)))
    }
}

fn bounds_of(object: &Map<String, Value>) -> Bounds {
    let on = |key: &str| object.get("permissions").and_then(|all| all.get(key)) == Some(&Value::Bool(true));
    Bounds {
        questions: on("denyInsteadOfPrompting"),
        reads_outside: on("blockReadsOutsideWorkingDirectories"),
        writes_outside: on("blockWritesOutsideWorkingDirectories"),
    }
}

fn of_command_line(
    places: &Places,
    env: &Env,
    given: &CommandLine,
    kept: &mut Kept,
    faults: &mut Vec<SettingsFault>,
) -> Result<Vec<Document>, SettingsFault> {
    let origin = |source| Origin { layer: Layer::CommandLine, source, base: places.cwd.clone() };
    let mut documents = Vec::new();
    if let Some(value) = &given.settings {
        documents.push(match layer::named(value, places, env.home.as_deref()) {
            None => Document::inline(value, origin(Source::Inline))?,
            Some(file) => {
                let absent = || SettingsFault::Unreadable {
                    from: Source::File(file.path.clone()),
                    what: "there is no such file".into(),
                };
                let mut own = Vec::new();
                match kept.read(file.clone(), &mut own) {
                    Some(document) => {
                        faults.append(&mut own);
                        document
                    }
                    None => return Err(own.pop().unwrap_or_else(absent)),
                }
            }
        });
    }
    if !given.flags.is_empty() {
        documents.push(Document {
            origin: Arc::new(origin(Source::Flag)),
            object: given.flags.clone(),
            is_blank: false,
            positions: Positions::default(),
        });
    }
    Ok(documents)
}

fn list(node: &Node, path: &mut Vec<String>, entries: &mut Vec<Entry>) {
    let mut push = |value: &Value, origin: &Arc<Origin>| {
        entries.push(Entry { path: path.clone(), value: value.clone(), origin: Arc::clone(origin) });
    };
    if let Some((value, origin)) = node.scalar() {
        push(value, origin);
    }
    for (item, origin) in node.items() {
        push(item, origin);
    }
    for (key, field) in node.fields() {
        path.push(key.to_owned());
        list(field, path, entries);
        path.pop();
    }
}

impl CommandLine {
    /// Adds a flag in the form of settings.
    #[must_use]
    pub fn with_flag(mut self, key: &str, value: Value) -> Self {
        self.flags.insert(key.to_owned(), value);
        self
    }

    /// The mode that `--permission-mode` names.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        let permissions = self.flags.entry("permissions").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(permissions) = permissions {
            permissions.insert("defaultMode".into(), mode.as_str().into());
        }
        self
    }
}
