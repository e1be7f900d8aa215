//! Paths as text: how they are joined and cleaned, and the path patterns of rules, in gitignore form.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::ports::tool::Place;

/// Longest path that is compared, in bytes: Linux takes no longer one.
const MAX_PATH: usize = 4096;

/// Takes `.` and `..` out of an absolute path, by text alone.
pub fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The path that `text` names from `folder`; `~/` is the home folder.
pub fn absolute(text: &str, folder: &Path, home: &Path) -> PathBuf {
    match text.strip_prefix('~') {
        Some("") => clean(home),
        Some(rest) if rest.starts_with('/') => clean(&home.join(rest.trim_start_matches('/'))),
        _ => clean(&folder.join(text)),
    }
}

/// Folds a path as some volumes do: case, characters that are not seen, final dots and spaces.
pub(super) fn fold(text: &str) -> String {
    let seen: String = text.chars().filter(|c| !is_ignorable(*c)).flat_map(char::to_lowercase).collect();
    let parts: Vec<&str> = seen
        .split('/')
        .map(|part| if part.chars().all(|c| c == '.') { part } else { part.trim_end_matches(['.', ' ']) })
        .collect();
    parts.join("/")
}

fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{200b}' | '\u{ad}')
}

/// What a pattern is relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Anchor {
    /// The root of the file system, or the rule's base.
    Folder(PathBuf),
    /// The home folder.
    Home,
    /// The workspace.
    Workspace,
    /// Any folder.
    Anywhere,
}

/// A path pattern: gitignore form, where a name without a slash fits at any depth, and what is below a
/// folder that fits, fits too.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    anchor: Anchor,
    text: String,
    exact: Vec<GlobMatcher>,
    folded: Vec<GlobMatcher>,
    /// Whether it belongs to a rule that denies or asks.
    wide: bool,
    /// Where a pattern without wildcards leads, links followed.
    resolved: Option<PathBuf>,
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.anchor == other.anchor && self.text == other.text && self.resolved == other.resolved
    }
}

impl PathPattern {
    /// Reads the pattern. `base` is what `/x` is relative to; `wide` is for rules that deny or ask, where
    /// `dir/**` fits at any depth.
    pub(super) fn new(text: &str, base: &Path, wide: bool) -> Result<Self, String> {
        if text.starts_with('!') {
            return Err("a pattern can't be negated: write a rule that allows".into());
        }
        if text.contains('\0') {
            return Err("a path has no NUL".into());
        }
        let (anchor, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Anchor::Folder(PathBuf::from("/")), rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if text == "~" {
            (Anchor::Home, "**")
        } else if let Some(rest) = text.strip_prefix('/') {
            (Anchor::Folder(base.to_path_buf()), rest)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Anchor::Workspace, rest)
        } else {
            let stem = text.strip_suffix("/**").filter(|_| wide).unwrap_or(text).trim_end_matches('/');
            (if stem.contains('/') { Anchor::Workspace } else { Anchor::Anywhere }, text)
        };
        let rest = rest.trim_end_matches('/');
        let anchor = if anchor == Anchor::Anywhere && rest.contains('/') && !wide {
            Anchor::Workspace
        } else {
            anchor
        };
        let rest = if rest.is_empty() { "**" } else { rest };
        // A folder's own name fits with all below it.
        let stem = rest.strip_suffix("/**").filter(|stem| !stem.is_empty());
        let mut exact = vec![compile(rest)?];
        let mut folded = vec![compile(&fold(rest))?];
        if let Some(stem) = stem.filter(|_| wide) {
            exact.push(compile(stem)?);
            folded.push(compile(&fold(stem))?);
        }
        Ok(Self { anchor, text: rest.to_owned(), exact, folded, wide, resolved: None })
    }

    /// Whether it covers an absolute path.
    pub(super) fn covers(&self, path: &Path, place: &Place, folds: bool) -> bool {
        if self.resolved.as_deref().is_some_and(|resolved| path.starts_with(resolved)) {
            return true;
        }
        let workspace = place.roots.first().unwrap_or(&place.cwd);
        let text = path.to_string_lossy();
        if text.len() > MAX_PATH {
            return self.wide;
        }
        let spell = |text: &str| if folds { fold(text) } else { text.to_owned() };
        let spelled = spell(&text);
        let anchor = match &self.anchor {
            Anchor::Folder(folder) => folder.as_path(),
            Anchor::Home => &place.home,
            Anchor::Workspace => workspace,
            // What a name allows, it allows where the agent works.
            Anchor::Anywhere if !self.wide && !place.roots.iter().any(|root| path.starts_with(root)) => {
                return false;
            }
            Anchor::Anywhere => Path::new("/"),
        };
        let anchor = spell(&clean(anchor).to_string_lossy());
        let Some(rest) = spelled.strip_prefix(anchor.trim_end_matches('/')) else { return false };
        if !rest.is_empty() && !rest.starts_with('/') {
            return false;
        }
        self.fits(rest.trim_start_matches('/'), folds)
    }

    fn fits(&self, rest: &str, folds: bool) -> bool {
        let globs = if folds { &self.folded } else { &self.exact };
        let any = |text: &str| globs.iter().any(|glob| glob.is_match(text));
        if self.anchor == Anchor::Anywhere {
            return rest.split('/').any(any);
        }
        let ends = rest.match_indices('/').map(|(at, _)| at).chain([rest.len()]);
        ends.into_iter().any(|end| any(&rest[..end]))
    }

    /// The path of a pattern without wildcards.
    pub(super) fn literal(&self, place: &Place) -> Option<PathBuf> {
        if self.text.contains(['*', '?', '[', '{']) {
            return None;
        }
        let folder = match &self.anchor {
            Anchor::Folder(folder) => folder,
            Anchor::Home => &place.home,
            Anchor::Workspace | Anchor::Anywhere => place.roots.first().unwrap_or(&place.cwd),
        };
        Some(clean(&folder.join(&self.text)))
    }

    /// Notes where [`PathPattern::literal`] leads.
    pub(super) fn resolve(&mut self, resolved: PathBuf) {
        self.resolved = Some(resolved);
    }

    /// Whether a shell wildcard could stand for a path that this covers. Says yes when it can't tell.
    pub(super) fn may_meet(&self, operand: &str) -> bool {
        let globs: Vec<&str> = operand.split('/').collect();
        let is_wild = |name: &&str| name.contains(['*', '?', '[', '{']);
        // A folder found by a wildcard may be a link to one that this pattern names.
        let folders = &globs[..globs.len().saturating_sub(1)];
        let counts = self.anchor != Anchor::Anywhere || self.text.contains('/');
        if counts && folders.iter().any(is_wild) {
            return true;
        }
        let mut names = self.text.split('/').filter(|name| !is_wild(name)).peekable();
        if names.peek().is_none() {
            return true;
        }
        names.any(|name| {
            globs.iter().any(|glob| {
                let hidden = name.starts_with('.') && glob.starts_with(['*', '?', '[']);
                !hidden && compile(glob).map_or(true, |glob| glob.is_match(name))
            })
        })
    }

    /// Whether something that this covers may lie below a folder, or be it.
    pub(super) fn may_lie_below(&self, folder: &Path, place: &Place) -> bool {
        let anchor = match &self.anchor {
            Anchor::Anywhere => return true,
            Anchor::Folder(anchor) => anchor,
            Anchor::Home => &place.home,
            Anchor::Workspace => place.roots.first().unwrap_or(&place.cwd),
        };
        let known = self.text.split('/').take_while(|name| !name.contains(['*', '?', '[', '{']));
        let start = clean(&known.fold(anchor.clone(), |path, name| path.join(name)));
        start.starts_with(folder)
            || folder.starts_with(&start)
            || self.resolved.as_ref().is_some_and(|resolved| resolved.starts_with(folder))
    }
}

/// Whether a wildcard of the shell may stand for a name. Says yes when it can't tell.
pub(super) fn pattern_fits(pattern: &str, name: &str) -> bool {
    compile(pattern).map_or(true, |glob| glob.is_match(name))
}

fn compile(glob: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|fault| fault.kind().to_string())
}
