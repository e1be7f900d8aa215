//! A folder with a home and a place for a repository, for tests with real git.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Git;
use crate::load::{Env, Places};

pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) base: PathBuf,
    pub(crate) env: Env,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("home")).unwrap();
        fs::create_dir_all(base.join("repo")).unwrap();
        let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        let home = base.join("home");
        let vars = [("PATH".to_owned(), path), ("HOME".to_owned(), home.display().to_string())].into();
        let env = Env { vars, cwd: base.join("repo"), home: Some(home) };
        Self { _folder: folder, base, env }
    }

    /// Plain git, as a person calls it: whether it went well, and what it said.
    pub(crate) fn try_setup(&self, arguments: &[&str]) -> (bool, Vec<u8>) {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(self.base.join("repo"))
            .env_clear()
            .envs(&self.env.vars)
            .output()
            .unwrap();
        (output.status.success(), output.stdout)
    }

    /// The same where it must go well.
    pub(crate) fn setup(&self, arguments: &[&str]) -> Vec<u8> {
        let (is_fine, said) = self.try_setup(arguments);
        assert!(is_fine, "{arguments:?}");
        said
    }

    pub(crate) fn file(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The harness's git.
    pub(crate) fn git(&self) -> Git {
        Git::of(&Places::of(&self.env), &self.env).unwrap()
    }
}
