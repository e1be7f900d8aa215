//! The variables of the environment that these commands read; nothing else reads any.

use std::path::PathBuf;

/// True where no person watches and system packages may be installed unasked.
pub(crate) fn is_ci() -> bool {
    matches!(read("CI").as_deref(), Some(value) if !matches!(value, "" | "0" | "false"))
}

/// The first file of that name in the folders of `PATH`, and in that which `cargo install` fills.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = read("PATH").unwrap_or_default();
    let cargo =
        read("CARGO_HOME").map(PathBuf::from).or_else(|| Some(PathBuf::from(read("HOME")?).join(".cargo")));
    let folders = std::env::split_paths(&path).chain(cargo.map(|home| home.join("bin")));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Where the user's caches lie.
pub(crate) fn cache() -> Option<PathBuf> {
    let chosen = read("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    chosen.or_else(|| Some(PathBuf::from(read("HOME")?).join(".cache")))
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn read(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_on_the_path_and_nothing_else() {
        assert!(program("cargo").is_some());
        assert!(program("no-such-program-anywhere").is_none());
    }
}
