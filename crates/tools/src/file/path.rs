//! What a path given by the model means. By text alone: no link is followed and nothing need exist.

use std::path::{Component, Path, PathBuf};

use troupe_core::ports::tool::{BadInput, Place};

/// Makes `path` absolute: `~` is the home, a relative path starts at the folder of the call, `.` and `..`
/// are taken out. `field` names the input in errors.
///
/// # Errors
/// An empty path, or one with a NUL.
pub fn absolute(at: &Place, field: &str, path: &str) -> Result<PathBuf, BadInput> {
    if path.is_empty() {
        return Err(BadInput::new(field, "is empty; give a path"));
    }
    if path.contains('\0') {
        return Err(BadInput::new(field, "has a NUL character, which no path can have"));
    }
    let path = match path.strip_prefix('~') {
        Some("") => at.home.clone(),
        Some(rest) if rest.starts_with('/') => at.home.join(rest.trim_start_matches('/')),
        _ => at.cwd.join(path),
    };
    Ok(normal(&path))
}

/// Takes `.` and `..` out of an absolute path; `..` at the root stays there.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The path as people read it: relative when it lies in the folder of the call.
pub fn shown(at: &Place, path: &Path) -> String {
    path.strip_prefix(&at.cwd).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_path_means_the_same_however_it_is_spelled() {
        let at = Place {
            cwd: "/w/sub".into(),
            home: "/h".into(),
            roots: vec!["/w".into()],
            scratch: vec![],
            read_only: false,
        };
        for (typed, meant) in [
            ("a.rs", "/w/sub/a.rs"),
            ("./a//b/../c", "/w/sub/a/c"),
            ("../x", "/w/x"),
            ("/../../etc", "/etc"),
            ("~", "/h"),
            ("~//n", "/h/n"),
            ("~/../o", "/o"),
            ("~user/n", "/w/sub/~user/n"),
            ("/a/./b/", "/a/b"),
        ] {
            assert_eq!(absolute(&at, "file_path", typed).unwrap(), Path::new(meant), "{typed}");
        }
        assert!(absolute(&at, "file_path", "").is_err());
        assert!(absolute(&at, "file_path", "a\0b").is_err());
    }
}
