//! What git would run because a repository says so: entries of its configuration, and its hooks. Found from the
//! files; git is not asked, since it would run some of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::load::git_config::{Entry, Found};
use crate::load::places::{Places, expand};

use super::item::{TrustItem, TrustKind};

/// When an entry names a program.
#[derive(Clone, Copy, Debug)]
enum When {
    /// Whatever it says, unless it says nothing.
    Set,
    /// Unless it is a word for yes or no.
    NotSwitch,
    /// When it begins with `!`.
    Bang,
    /// When it, or its subsection, is an address that a program is run for, such as `ext::…`.
    Helper,
    /// When it is a path: git takes a bare name for something else.
    Slash,
    /// When it lets git talk to a helper, which may be one that runs programs.
    Allowed,
}

use When::{Allowed, Bang, Helper, NotSwitch, Set, Slash};

/// Section, whether it has a subsection (`*`) or none, key, when. `*` as a key is any key.
const PROGRAMS: &[(&str, &str, &str, When)] = &[
    // What is included can lie where anything may write, and need not be there yet.
    ("include", "", "path", Set),
    ("includeif", "*", "path", Set),
    ("core", "", "fsmonitor", NotSwitch),
    ("core", "", "hookspath", Set),
    ("core", "", "pager", Set),
    ("core", "", "editor", Set),
    ("core", "", "sshcommand", Set),
    ("core", "", "askpass", Set),
    ("core", "", "gitproxy", Set),
    ("core", "", "alternaterefscommand", Set),
    ("pager", "", "*", NotSwitch),
    ("sequence", "", "editor", Set),
    // One without a `!` can begin with `-c`, and set any of these.
    ("alias", "", "*", Set),
    ("alias", "*", "*", Set),
    ("diff", "", "external", Set),
    ("diff", "*", "command", Set),
    ("diff", "*", "textconv", Set),
    ("interactive", "", "difffilter", Set),
    ("filter", "*", "clean", Set),
    ("filter", "*", "smudge", Set),
    ("filter", "*", "process", Set),
    ("merge", "*", "driver", Set),
    // A path leads out of the folder that git takes its tools from.
    ("diff", "", "tool", Slash),
    ("diff", "", "guitool", Slash),
    ("merge", "", "tool", Slash),
    ("merge", "", "guitool", Slash),
    ("mergetool", "*", "layout", Set),
    ("mergetool", "*", "cmd", Set),
    ("mergetool", "*", "path", Set),
    ("difftool", "*", "cmd", Set),
    ("difftool", "*", "path", Set),
    ("guitool", "*", "cmd", Set),
    ("browser", "*", "cmd", Set),
    ("browser", "*", "path", Set),
    ("man", "*", "cmd", Set),
    ("man", "*", "path", Set),
    ("credential", "", "helper", Set),
    ("credential", "*", "helper", Set),
    ("gpg", "", "program", Set),
    ("gpg", "*", "program", Set),
    ("gpg", "ssh", "defaultkeycommand", Set),
    ("trailer", "*", "command", Set),
    ("trailer", "*", "cmd", Set),
    ("hook", "*", "command", Set),
    ("submodule", "*", "update", Bang),
    ("remote", "*", "uploadpack", Set),
    ("remote", "*", "receivepack", Set),
    ("remote", "*", "uploadarchive", Set),
    ("remote", "*", "vcs", Set),
    ("remote", "*", "url", Helper),
    ("remote", "*", "pushurl", Helper),
    ("remote", "", "pushdefault", Helper),
    ("remotes", "", "*", Helper),
    ("branch", "*", "remote", Helper),
    ("branch", "*", "pushremote", Helper),
    ("extensions", "", "partialclone", Helper),
    ("submodule", "*", "url", Helper),
    ("url", "*", "insteadof", Helper),
    ("url", "*", "pushinsteadof", Helper),
    ("uploadpack", "", "packobjectshook", Set),
    ("receive", "", "procreceiverefs", Set),
    ("protocol", "", "allow", Allowed),
    ("protocol", "*", "allow", Allowed),
    ("init", "", "templatedir", Set),
    ("sendemail", "", "sendmailcmd", Set),
    ("sendemail", "", "tocmd", Set),
    ("sendemail", "", "cccmd", Set),
    ("sendemail", "", "headercmd", Set),
    ("sendemail", "*", "sendmailcmd", Set),
    ("sendemail", "*", "tocmd", Set),
    ("sendemail", "*", "cccmd", Set),
    ("sendemail", "*", "headercmd", Set),
    ("sendemail", "", "smtpserver", Slash),
    ("sendemail", "", "smtpserveroption", Set),
    ("sendemail", "*", "smtpserver", Slash),
    ("sendemail", "*", "smtpserveroption", Set),
    ("imap", "", "tunnel", Set),
    ("gc", "", "recentobjectshook", Set),
    ("instaweb", "", "httpd", Set),
    ("instaweb", "", "modulepath", Set),
    ("svn", "", "authorsprog", Set),
    ("svn", "", "configdir", Set),
    ("tar", "*", "command", Set),
    // Git LFS, for extensions and transfers that have names.
    ("lfs", "*", "clean", Set),
    ("lfs", "*", "smudge", Set),
    ("lfs", "*", "path", Set),
    ("lfs", "", "standalonetransferagent", Set),
    ("lfs", "*", "standalonetransferagent", Set),
];

/// Most hooks that are looked at in one folder.
const HOOKS: usize = 64;
/// Most bytes of a hook that its digest is made of; a longer one counts by its length too.
const HOOK_BYTES: u64 = 1 << 20;
/// Most submodules that are looked at, and how deep their folders nest.
const MODULES: usize = 64;
const MODULES_DEPTH: usize = 4;

/// What git would run in the workspace, by the word of the repository.
pub fn items(places: &Places, home: Option<&Path>) -> Vec<TrustItem> {
    let mut look = Look { places, home, found: Found::default(), items: Vec::new() };
    for git_dir in bare_around(places) {
        look.git_dir(&git_dir, &git_dir);
    }
    if let Some(checkout) = &places.checkout {
        let common = checkout.common_dir();
        look.git_dir(&common, &checkout.root);
        look.found.read(&checkout.git_dir().join("config.worktree"), home);
        look.modules(&common.join("modules"));
        look.named_modules(&checkout.root);
    }
    look.finish()
}

/// The filters that the repository's configuration defines; none when it can't be understood.
pub(crate) fn filters(places: &Places, home: Option<&Path>) -> Option<Vec<String>> {
    let mut found = Found::default();
    let checkout = places.checkout.as_ref()?;
    found.read(&checkout.common_dir().join("config"), home);
    found.read(&checkout.git_dir().join("config.worktree"), home);
    if !found.unclear.is_empty() {
        return None;
    }
    let filters = found.entries.into_iter().filter(|entry| entry.section == "filter");
    Some(filters.filter_map(|entry| entry.subsection).collect())
}

/// Folders from the working folder up that git would take for a repository without a `.git`.
fn bare_around(places: &Places) -> Vec<PathBuf> {
    let root = places.checkout.as_ref().map(|checkout| checkout.root.as_path());
    let is_bare = |folder: &&Path| {
        folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
    };
    let inside = places.cwd.ancestors().take_while(|folder| Some(*folder) != root);
    inside.filter(is_bare).map(Path::to_owned).collect()
}

struct Look<'a> {
    places: &'a Places,
    home: Option<&'a Path>,
    found: Found,
    items: Vec<TrustItem>,
}

impl Look<'_> {
    /// The configuration and the hooks of a repository whose files lie at `root`.
    fn git_dir(&mut self, git_dir: &Path, root: &Path) {
        let from = self.found.entries.len();
        self.found.read(&git_dir.join("config"), self.home);
        self.hooks(&git_dir.join("hooks"));
        let paths = self.found.entries[from..]
            .iter()
            .filter(|entry| entry.section == "core" && entry.key == "hookspath");
        let named: Vec<PathBuf> =
            paths.filter_map(|entry| Some(expand(entry.value.as_deref()?, root, self.home))).collect();
        for folder in named {
            self.hooks(&folder);
        }
    }

    fn modules(&mut self, folder: &Path) {
        let mut left = vec![(folder.to_owned(), 0)];
        let mut seen = 0;
        while let Some((folder, depth)) = left.pop() {
            if folder.join("config").is_file() {
                seen += 1;
                self.git_dir(&folder, &folder);
            }
            if seen > MODULES {
                return self.item(
                    TrustKind::Git,
                    &folder,
                    "submodules",
                    "there are too many to look at",
                    b"",
                );
            }
            if depth < MODULES_DEPTH {
                let below = fs::read_dir(&folder).into_iter().flatten().flatten();
                let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                left.extend(below.take(MODULES).map(|entry| (entry.path(), depth + 1)));
            }
        }
    }

    /// Submodules whose repository lies among their files.
    fn named_modules(&mut self, root: &Path) {
        let mut list = Found::default();
        list.read(&root.join(".gitmodules"), None);
        let paths =
            list.entries.into_iter().filter(|entry| entry.section == "submodule" && entry.key == "path");
        for path in paths.filter_map(|entry| entry.value).take(MODULES) {
            let folder = root.join(path);
            let git_dir = folder.join(".git");
            if git_dir.is_dir() {
                self.git_dir(&git_dir, &folder);
            }
        }
    }

    fn hooks(&mut self, folder: &Path) {
        let mut hooks: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_none_or(|end| end != "sample") && is_program(path))
            .take(HOOKS + 1)
            .collect();
        hooks.sort();
        if hooks.len() > HOOKS {
            self.item(TrustKind::Git, folder, "hooks", "there are too many to look at", b"");
        }
        for hook in hooks {
            let name = hook.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let content = content(&hook);
            // The one hook that a git which only reads may run, when it writes its index anew.
            let kind = if name == "post-index-change" { TrustKind::Git } else { TrustKind::Hooks };
            self.item(kind, &hook, &format!("hook {name}"), "a program", &content);
        }
    }

    fn item(&mut self, kind: TrustKind, source: &Path, name: &str, value: &str, content: &[u8]) {
        self.items.push(TrustItem::new(kind, source, self.places, name, value, content));
    }

    fn finish(mut self) -> Vec<TrustItem> {
        let found = std::mem::take(&mut self.found);
        for entry in found.entries.iter().filter(|entry| names_program(entry)) {
            let value = entry.value.as_deref().unwrap_or_default();
            // The hooks of that folder are items themselves.
            let hooks = entry.section == "core" && entry.key == "hookspath";
            let kind = if hooks { TrustKind::Hooks } else { TrustKind::Git };
            self.item(kind, &entry.file, &name(entry), value, value.as_bytes());
        }
        for unclear in &found.unclear {
            // By its content, so that trust in it does not outlast it.
            let content = content(&unclear.file);
            self.item(TrustKind::Git, &unclear.file, "(the whole file)", &unclear.what, &content);
        }
        self.items.sort_by(|a, b| (&a.source, &a.name, &a.digest).cmp(&(&b.source, &b.name, &b.digest)));
        self.items.dedup();
        self.items
    }
}

fn name(entry: &Entry) -> String {
    let sub = entry.subsection.as_ref().map_or_else(String::new, |sub| format!("{sub}."));
    format!("{}.{sub}{}", entry.section, entry.key)
}

fn names_program(entry: &Entry) -> bool {
    let Some(value) = entry.value.as_deref() else { return false };
    let sub = entry.subsection.as_deref();
    PROGRAMS.iter().any(|(section, wanted, key, when)| {
        let of_section = *section == entry.section
            && match *wanted {
                "" => sub.is_none(),
                "*" => sub.is_some(),
                wanted => sub.is_some_and(|sub| sub.eq_ignore_ascii_case(wanted)),
            };
        let value = value.trim();
        of_section
            && (*key == "*" || *key == entry.key)
            && match when {
                Set => !value.is_empty(),
                NotSwitch => !is_switch(value),
                Bang => value.starts_with('!'),
                Helper => {
                    // The remotes of a group are words of one line.
                    value.split_whitespace().any(is_helper)
                        || (*section == "url" && sub.is_some_and(is_helper))
                }
                Slash => value.contains('/'),
                Allowed => !value.eq_ignore_ascii_case("never") && !sub.is_some_and(is_plain_transport),
            }
    })
}

fn is_switch(value: &str) -> bool {
    let words = ["", "true", "false", "yes", "no", "on", "off", "0", "1"];
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// `name::rest`: git runs `git-remote-name` for it. A colon in a host's path comes after a letter that no such
/// name has.
fn is_helper(address: &str) -> bool {
    address.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c))
    })
}

/// Git's own transports: what they run is in the table under another name.
fn is_plain_transport(name: &str) -> bool {
    ["file", "git", "http", "https", "ssh"].contains(&name)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// What a file is known by.
fn content(path: &Path) -> Vec<u8> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    if !path.is_file() {
        return bytes;
    }
    // What can't be read is known by its place alone.
    let length = fs::File::open(path).and_then(|file| {
        let length = file.metadata()?.len();
        file.take(HOOK_BYTES).read_to_end(&mut bytes)?;
        Ok(length)
    });
    let mut hash = Sha256::new();
    hash.update(length.unwrap_or_default().to_le_bytes());
    hash.update(&bytes);
    hash.finalize().to_vec()
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
