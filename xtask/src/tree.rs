//! The text files of the checkout, read once; what is a test and what is test data is decided here.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::Project;

/// Every text file that git tracks or would track.
pub(crate) struct Tree {
    pub(crate) sources: Vec<Source>,
}

/// One text file.
pub(crate) struct Source {
    /// From the root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Tree {
    /// Reads the files; those that are no UTF-8 are left out.
    pub(crate) fn read(project: &Project) -> Result<Self> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&project.root)
            .output()
            .context("failed to start git ls-files")?;
        if !output.status.success() {
            bail!("failed to list the files: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let names = String::from_utf8(output.stdout).context("failed to read a file's name as text")?;
        let sources = names
            .split_terminator('\0')
            .filter_map(|path| {
                let text = std::fs::read_to_string(project.root.join(path)).ok()?;
                Some(Source { path: path.to_owned(), text })
            })
            .collect();
        Ok(Self { sources })
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.is_rust())
    }

    /// The file at that path.
    pub(crate) fn file(&self, path: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.path == path)
    }
}

impl Source {
    pub(crate) fn is_rust(&self) -> bool {
        self.extension() == Some("rs")
    }

    fn extension(&self) -> Option<&str> {
        self.path.rsplit_once('.').map(|(_, extension)| extension)
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Input and expected output of tests, in which anything may stand.
    pub(crate) fn is_test_data(&self) -> bool {
        let in_folder = self.path.split('/').any(|part| {
            matches!(part, "cases" | "fixtures" | "testdata" | "scenes" | "snapshots" | "goldens")
        });
        self.extension() == Some("snap") || (in_folder && !self.is_rust())
    }

    /// The line from which on a Rust file is a test: its first, that of its test module, or none.
    pub(crate) fn tests_from(&self) -> Option<usize> {
        if !self.is_rust() {
            return None;
        }
        let stem = self.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if stem == "tests" || stem.ends_with("_tests") || self.path.split('/').any(|part| part == "tests") {
            return Some(1);
        }
        let mut waiting = None;
        for (number, line) in self.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("#[cfg(test)]") {
                if opens_module(rest) {
                    return Some(number);
                }
                waiting = Some(number);
            } else if let Some(start) = waiting {
                if opens_module(line) {
                    return Some(start);
                }
                // Attributes and comments may stand between.
                if !line.starts_with('#') && !line.starts_with("//") {
                    waiting = None;
                }
            }
        }
        None
    }
}

fn opens_module(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("mod ") && line.contains('{')
}

#[cfg(test)]
impl Tree {
    /// A tree of `(path, text)`.
    pub(crate) fn sample(files: &[(&str, &str)]) -> Self {
        let source = |&(path, text): &(&str, &str)| Source { path: path.to_owned(), text: text.to_owned() };
        Self { sources: files.iter().map(source).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests_from(path: &str, text: &str) -> Option<usize> {
        Tree::sample(&[(path, text)]).sources[0].tests_from()
    }

    #[test]
    fn a_test_module_makes_the_rest_a_test() {
        let text = "//! X.\nfn a() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n}\n";
        assert_eq!(tests_from("crates/a/src/x.rs", text), Some(3));
    }

    #[test]
    fn a_test_module_in_its_own_file_does_not() {
        let text = "//! X.\n#[cfg(test)]\nmod x_tests;\n#[cfg(test)]\nimpl X {}\nmod y {\n}\n";
        assert_eq!(tests_from("crates/a/src/x.rs", text), None);
    }

    #[test]
    fn names_and_folders_make_a_file_a_test() {
        assert_eq!(tests_from("crates/a/src/x_tests.rs", ""), Some(1));
        assert_eq!(tests_from("crates/a/tests/x.rs", ""), Some(1));
        assert_eq!(tests_from("crates/a/src/attests.rs", ""), None);
    }

    #[test]
    fn test_data_is_known_by_folder() {
        let tree = Tree::sample(&[("cases/a.jsonl", ""), ("docs/a.md", ""), ("crates/a/src/x.snap", "")]);
        let data: Vec<bool> = tree.sources.iter().map(Source::is_test_data).collect();
        assert_eq!(data, [true, false, true]);
    }
}
