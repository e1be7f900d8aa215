//! The demo's project: a few files with a small bug and a test that finds it, in Python where that is there, else
//! in plain sh.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

/// How long a command of the project may take.
const LIMIT: Duration = Duration::from_mins(1);

/// What the project is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Shell,
}

type Files = &'static [(&'static str, &'static str)];

const PYTHON: Files = &[
    (".gitignore", "__pycache__/\n"),
    ("README.md", include_str!("python/README.md")),
    ("shop/__init__.py", ""),
    ("shop/price.py", include_str!("python/shop/price.py")),
    ("shop/receipt.py", include_str!("python/shop/receipt.py")),
    ("tests/__init__.py", ""),
    ("tests/test_price.py", include_str!("python/tests/test_price.py")),
];

const SHELL: Files = &[
    ("README.md", include_str!("shell/README.md")),
    ("lib/price.sh", include_str!("shell/lib/price.sh")),
    ("lib/receipt.sh", include_str!("shell/lib/receipt.sh")),
    ("tests/run.sh", include_str!("shell/tests/run.sh")),
];

/// A project on disk, in a folder that goes with it.
pub(super) struct Project {
    folder: TempDir,
    root: PathBuf,
    language: Language,
    git: bool,
}

impl Language {
    /// What can be run here.
    pub(super) async fn choose() -> Self {
        let probe = run(Path::new("/"), "python3", &["-c", "import unittest"]).await;
        if probe.is_ok_and(|output| output.status.success()) { Self::Python } else { Self::Shell }
    }

    fn files(self) -> Files {
        match self {
            Self::Python => PYTHON,
            Self::Shell => SHELL,
        }
    }

    /// How its tests are run.
    pub(super) fn test(self) -> &'static str {
        match self {
            Self::Python => "python3 -m unittest",
            Self::Shell => "sh tests/run.sh",
        }
    }

    /// What the model says.
    pub(super) fn script(self) -> &'static str {
        match self {
            Self::Python => include_str!("python.script"),
            Self::Shell => include_str!("shell.script"),
        }
    }
}

impl Project {
    /// Writes the files, and makes a git repository of them where git is there.
    ///
    /// # Errors
    /// When the folder can't be written.
    pub(super) async fn make(language: Language) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("troupe-demo-").tempdir()?;
        // Links in the way to it would make two names of each path.
        let root = folder.path().canonicalize()?.join("shop");
        for (name, text) in language.files() {
            let path = root.join(name);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(path, text)?;
        }
        let git = commit(&root).await;
        Ok(Self { folder, root, language, git })
    }

    /// The folder of its files.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A folder beside it, for transcripts.
    pub(super) fn state(&self) -> PathBuf {
        self.root.with_file_name("state")
    }

    /// Whether it is a git repository.
    pub(super) fn has_git(&self) -> bool {
        self.git
    }

    /// Runs the tests: whether they passed, and what they said.
    pub(super) async fn test(&self) -> (bool, String) {
        match run(&self.root, "sh", &["-c", self.language.test()]).await {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                (output.status.success(), String::from_utf8_lossy(&text).into_owned())
            }
            Err(error) => (false, error.to_string()),
        }
    }

    /// What was changed, as a diff.
    pub(super) fn diff(&self) -> String {
        let changed = |(name, before): &(&str, &str)| {
            let after = std::fs::read_to_string(self.root.join(name)).unwrap_or_default();
            let diff = similar::TextDiff::from_lines(*before, after.as_str());
            (after != *before)
                .then(|| diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string())
        };
        self.language.files().iter().filter_map(changed).collect()
    }

    /// Leaves it on disk; tells where.
    pub(super) fn keep(self) -> PathBuf {
        let _ = self.folder.keep();
        self.root
    }
}

/// Makes a repository with one commit, apart from all configuration but its own.
async fn commit(root: &Path) -> bool {
    let identity =
        ["-c", "user.name=demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false"];
    let commit = ["commit", "--quiet", "--message", "A small shop"];
    let steps: [&[&str]; 3] = [&["init", "--quiet"], &["add", "."], &commit];
    for step in steps {
        let arguments: Vec<&str> = identity.iter().chain(step).copied().collect();
        if !run(root, "git", &arguments).await.is_ok_and(|output| output.status.success()) {
            return false;
        }
    }
    true
}

async fn run(folder: &Path, program: &str, arguments: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true);
    // A hook that starts us has these set, and they would lead git to its repository.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_TEMPLATE_DIR",
    ] {
        command.env_remove(name);
    }
    let limit =
        || io::Error::new(io::ErrorKind::TimedOut, format!("{program} did not end in {} s", LIMIT.as_secs()));
    timeout(LIMIT, command.output()).await.map_err(|_| limit())?
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[tokio::test]
    async fn both_projects_have_one_bug_that_their_tests_find() {
        for (language, file, wrong, right) in [
            (Language::Python, "shop/price.py", "pieces > BULK", "pieces >= BULK"),
            (Language::Shell, "lib/price.sh", "-gt \"$BULK", "-ge \"$BULK"),
        ] {
            let project = Project::make(language).await.unwrap();
            let (passed, said) = project.test().await;
            assert!(!passed && said.contains("ten_pieces_are_bulk"), "{said}");
            assert_eq!(project.diff(), "");
            let path = project.root().join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replace(wrong, right)).unwrap();
            let (passed, said) = project.test().await;
            assert!(passed, "{said}");
            assert!(project.diff().contains(&format!("+++ b/{file}")));
            let folder = project.folder.path().to_owned();
            drop(project);
            assert!(!folder.exists());
        }
    }
}
