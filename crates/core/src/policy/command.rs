//! A shell command as data: what the grammar found in it. No parser, and no judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::ports::tool::Place;

use super::path::clean;
use super::{locate, readonly, target};

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The line as it was given.
    pub text: String,
    /// Every simple command in it, in the order of the text; those inside others follow their host.
    pub parts: Vec<Simple>,
    /// Whether some of its parts may run again after what follows them: it has a loop.
    pub repeats: bool,
    /// Why it can't be judged, if so. `parts` then holds what was found none the less.
    pub doubt: Option<String>,
    /// Where the paths in it really lead, as far as somebody has looked; see [`Command::resolve`].
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// Folders of wildcards of which every link is in `links`; see [`Command::look_into`].
    pub looked_into: BTreeSet<PathBuf>,
    /// What stands around it when it runs.
    pub walls: Walls,
}

/// What stands around a command when it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walls {
    /// Nothing.
    #[default]
    None,
    /// The operating system's sandbox. `free`: it is trusted to hold what nothing else allows, so that a
    /// command which would merely be asked about runs (`autoAllowBashIfSandboxed`). Rules, and what is asked
    /// of a person in any case, hold as without it.
    Sandbox {
        /// See above.
        free: bool,
        /// Whether the project can't be written, for an agent that is to change nothing of it.
        holds_project: bool,
    },
    /// Nothing, since the call asks to leave the sandbox that there is.
    Left,
}

/// One simple command. Without words it is an assignment, or a redirect of a whole group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simple {
    /// Program and arguments.
    pub words: Vec<Word>,
    /// The assignments in front.
    pub assignments: Vec<Assignment>,
    /// Its redirects.
    pub redirects: Vec<Redirect>,
    /// The folder in force, as far as `cd` before it tells.
    pub folder: Folder,
    /// Where it was found.
    pub origin: Origin,
    /// Whether its standard input is another command's output.
    pub piped: bool,
    /// Whether a line that ends with exit code 0 shows that this one did: it is the last, or what follows it
    /// runs only if it did; and nothing before it may have ended the line.
    pub decides: bool,
}

/// Where a simple command was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// In the line itself, or in a group, loop or branch of it.
    #[default]
    Line,
    /// In a substitution, also one in the body of a heredoc.
    Substitution,
    /// In text that another command runs: `eval`, `sh -c`, a heredoc given to a shell.
    Text,
}

/// The folder in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// The start folder and the steps from it, each a path that `cd` was given. `~` stands for the home.
    Known(Vec<String>),
    /// It can't be told without running the line.
    Unknown,
}

impl Default for Folder {
    fn default() -> Self {
        Self::Known(Vec::new())
    }
}

/// One word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// As it was written, continued lines joined.
    pub raw: String,
    /// What it stands for, quotes removed; none when only the shell can tell. The home folder stands in
    /// it as `~`, and wildcards stand as they are.
    pub value: Option<String>,
    /// Whether a `~` in the value is the home folder.
    pub home: bool,
    /// Whether it has unquoted wildcards.
    pub glob: bool,
}

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable, with its subscript.
    pub name: String,
    /// The value.
    pub value: Word,
}

/// One redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The file, the descriptor, or the text of a heredoc or here-string.
    pub target: Word,
}

/// What a redirect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`.
    Read,
    /// `>`, `>>`, `>|`, `&>`, `<>`: opens a file to write.
    Write,
    /// `2>&1`, `<&-`: copies or closes a descriptor.
    Copy,
    /// `<<`, `<<<`: text.
    Text,
}

impl Command {
    /// Whether nothing in it writes, runs a program that might, or uses the network: for scheduling, and
    /// for agents that may only read.
    pub fn is_read_only(&self) -> bool {
        self.doubt.is_none() && !self.parts.is_empty() && self.parts.iter().all(readonly::only_reads)
    }

    /// The folders in which its wildcards stand for names, for whoever looks for the links in them.
    pub fn folders_of_wildcards(&self, place: &Place) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for part in &self.parts {
            let targets = part.redirects.iter().map(|redirect| &redirect.target);
            let globs = part.words.iter().skip(1).chain(targets).filter(|word| word.glob);
            let paths = globs.filter_map(|word| locate::path_of(word, part, place));
            folders.extend(paths.filter_map(|path| path.parent().map(Path::to_path_buf)));
        }
        folders.sort();
        folders.dedup();
        folders
    }

    /// Takes the links in a folder of wildcards, all of them, with where they lead.
    pub fn look_into(&mut self, folder: PathBuf, links: impl IntoIterator<Item = (PathBuf, PathBuf)>) {
        self.links.extend(links);
        self.looked_into.insert(folder);
    }

    /// Looks up where the paths in it lead. `look` gets an absolute path and gives it back with links
    /// followed.
    pub fn resolve(&mut self, place: &Place, mut look: impl FnMut(&Path) -> PathBuf) {
        let mut links = BTreeMap::new();
        for path in self.parts.iter().flat_map(|part| target::paths(part, place)) {
            links.entry(path).or_insert_with_key(|typed| look(typed));
        }
        for spelled in self.parts.iter().flat_map(|part| locate::climbing(part, place)) {
            let typed = clean(&spelled);
            let real = look(&spelled);
            if real != spelled && real != typed {
                links.insert(typed, real);
            }
        }
        self.links = links;
    }
}

impl Word {
    /// A word that stands for itself.
    pub fn plain(text: impl Into<String>) -> Self {
        let raw: String = text.into();
        Self { value: Some(raw.clone()), raw, home: false, glob: false }
    }

    /// What it stands for, or as it was written if that is unknown.
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or(&self.raw)
    }
}

impl Simple {
    /// The words as text.
    pub fn texts(&self) -> Vec<&str> {
        self.words.iter().map(Word::text).collect()
    }

    /// Whether it leaves everything as it is; see [`Command::is_read_only`].
    pub fn only_reads(&self) -> bool {
        readonly::only_reads(self)
    }

    /// Whether each word is known.
    pub fn is_static(&self) -> bool {
        self.words.iter().all(|word| word.value.is_some())
    }
}
