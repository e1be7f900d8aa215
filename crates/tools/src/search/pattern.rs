//! A file name pattern, split into the folder where the search starts and what is matched below it.

use std::path::PathBuf;

use globset::{GlobBuilder, GlobMatcher};
use troupe_core::ports::tool::{BadInput, Place};

use crate::file::path::absolute;

/// What makes a part of a pattern more than a name.
const META: &[char] = &['*', '?', '[', '{', '\\'];

/// A pattern, ready to be matched against paths relative to `root`.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Where the search starts: the searched folder and the pattern's leading names.
    pub(super) root: PathBuf,
    /// How deep it goes; none is no limit.
    pub(super) depth: Option<usize>,
    /// Matches what is left of the path.
    pub(super) matcher: GlobMatcher,
}

impl Pattern {
    /// Reads `pattern`, meant below `path` or, if it is absolute or starts at the home, by itself. Without a
    /// slash it matches a name at any depth, as a line of a .gitignore does.
    pub(super) fn parse(at: &Place, pattern: &str, path: Option<&str>) -> Result<Self, BadInput> {
        let bad = |what: String| BadInput::new("pattern", what);
        if pattern.contains('\0') {
            return Err(bad("has a NUL character, which no path can have".into()));
        }
        if pattern.trim().is_empty() {
            return Err(bad("is empty; `**/*` matches every file".into()));
        }
        let below = absolute(at, "path", path.unwrap_or("."))?;
        if !pattern.contains('/') {
            return Ok(Self { root: below, depth: None, matcher: matcher(&format!("**/{pattern}"))? });
        }
        let whole = if pattern.ends_with('/') { format!("{pattern}**") } else { pattern.to_owned() };
        let mut parts: Vec<&str> = whole.split('/').collect();
        let names = parts.iter().take(parts.len() - 1).take_while(|part| !part.contains(META)).count();
        let rest = parts.split_off(names);
        if rest.contains(&"..") {
            return Err(bad("may not go up (`..`) after a wildcard; give the folder as `path`".into()));
        }
        // `/x` splits into an empty name and `x`: the leading slash must come back.
        let lead = if whole.starts_with('/') { format!("/{}", parts.join("/")) } else { parts.join("/") };
        let root = if lead.is_empty() {
            below
        } else {
            absolute(&Place { cwd: below, ..at.clone() }, "pattern", &lead)?
        };
        let rest: Vec<&str> = rest.into_iter().filter(|part| !part.is_empty() && *part != ".").collect();
        let plain = !rest.iter().any(|part| part.contains("**") || part.contains(['{', '[', '\\']));
        Ok(Self { root, depth: plain.then_some(rest.len()), matcher: matcher(&rest.join("/"))? })
    }
}

fn matcher(glob: &str) -> Result<GlobMatcher, BadInput> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|fault| BadInput::new("pattern", format!("is no glob: {}", fault.kind())))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn place() -> Place {
        Place {
            cwd: "/w".into(),
            home: "/home/me".into(),
            roots: vec!["/w".into()],
            scratch: vec![],
            read_only: false,
        }
    }

    #[track_caller]
    fn parsed(pattern: &str, path: Option<&str>) -> (String, Option<usize>, String) {
        let parsed = Pattern::parse(&place(), pattern, path).unwrap();
        (parsed.root.display().to_string(), parsed.depth, parsed.matcher.glob().glob().to_owned())
    }

    #[test]
    fn the_walk_starts_below_the_leading_names_and_goes_no_deeper_than_it_must() {
        for (pattern, path, root, depth, rest) in [
            ("*.rs", None, "/w", None, "**/*.rs"),
            ("**/*.rs", None, "/w", None, "**/*.rs"),
            ("src/**/*.rs", Some("a"), "/w/a/src", None, "**/*.rs"),
            ("src/*/mod.rs", None, "/w/src", Some(2), "*/mod.rs"),
            ("src/main.rs", None, "/w/src", Some(1), "main.rs"),
            ("./*.rs", None, "/w", Some(1), "*.rs"),
            ("../x/*.rs", None, "/x", Some(1), "*.rs"),
            ("/etc/*.conf", Some("a"), "/etc", Some(1), "*.conf"),
            ("/*", None, "/", Some(1), "*"),
            ("~/notes/*.md", None, "/home/me/notes", Some(1), "*.md"),
            ("{a,b/c}/*.rs", None, "/w", None, "{a,b/c}/*.rs"),
            ("src/", None, "/w/src", None, "**"),
        ] {
            assert_eq!(parsed(pattern, path), (root.into(), depth, rest.into()), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_can_not_be_meant_are_refused_with_a_reason() {
        for (pattern, word) in
            [("a\0b", "NUL"), (" ", "empty"), ("*/../x", "go up"), ("a{b", "no glob"), ("[z-a]", "no glob")]
        {
            let fault = Pattern::parse(&place(), pattern, None).unwrap_err().to_string();
            assert!(fault.contains(word), "{pattern}: {fault}");
        }
    }
}
