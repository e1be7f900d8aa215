//! Table: what the sub-commands of `git` do.

use super::command::Word;
use super::options::abbreviates;

/// A reading sub-command: its safe letters beyond [`SHORT`], and whether operands are allowed.
pub(super) struct Reads {
    pub(super) name: &'static str,
    pub(super) short: &'static str,
    pub(super) operands: bool,
}

const fn reads_with(name: &'static str, short: &'static str, operands: bool) -> Reads {
    Reads { name, short, operands }
}

pub(super) const READS: &[Reads] = &[
    reads_with("status", "suvbz", true),
    reads_with("log", LOG, true),
    reads_with("diff", LOG, true),
    reads_with("show", LOG, true),
    reads_with("whatchanged", LOG, true),
    reads_with("shortlog", "nsecw", true),
    reads_with("blame", "bcLlnptswMCe", true),
    reads_with("annotate", "bcLlnptswMC", true),
    reads_with("describe", "", true),
    reads_with("rev-parse", "q", true),
    reads_with("rev-list", LOG, true),
    reads_with("ls-files", "cdmosuktvzfx", true),
    reads_with("ls-tree", "drtlz", true),
    reads_with("cat-file", "tsep", true),
    reads_with("merge-base", "a", true),
    reads_with("name-rev", "", true),
    reads_with("for-each-ref", "", true),
    reads_with("show-ref", "dhqs", true),
    reads_with("count-objects", "vH", false),
    reads_with("diff-tree", LOG, true),
    reads_with("diff-index", LOG, true),
    reads_with("diff-files", LOG, true),
    reads_with("cherry", "v", true),
    reads_with("range-diff", LOG, true),
    reads_with("check-ignore", "qvn", true),
    reads_with("grep", "ivwnlLcEFGPhHqpWeABCz", true),
    reads_with("branch", "arvl", false),
    reads_with("tag", "ln", false),
    reads_with("remote", "v", false),
    reads_with("version", "", false),
];

const LOG: &str = "0123456789pusnabBwMCDzSGLlqvritcUeghFEPIWk";

/// Long options that only choose what is shown, by whole name.
pub(super) const LONG: &[&str] = &[
    "oneline",
    "stat",
    "name-only",
    "name-status",
    "graph",
    "all",
    "decorate",
    "pretty",
    "format",
    "abbrev-commit",
    "no-abbrev-commit",
    "abbrev",
    "no-merges",
    "merges",
    "author",
    "committer",
    "grep",
    "since",
    "until",
    "after",
    "before",
    "max-count",
    "skip",
    "reverse",
    "date",
    "follow",
    "patch",
    "no-patch",
    "cached",
    "staged",
    "word-diff",
    "color",
    "no-color",
    "numstat",
    "shortstat",
    "summary",
    "compact-summary",
    "unified",
    "ignore-space-change",
    "ignore-all-space",
    "ignore-blank-lines",
    "minimal",
    "patience",
    "histogram",
    "find-renames",
    "find-copies",
    "diff-filter",
    "first-parent",
    "topo-order",
    "date-order",
    "author-date-order",
    "branches",
    "tags",
    "remotes",
    "raw",
    "no-ext-diff",
    "no-textconv",
    "no-renames",
    "relative",
    "dirstat",
    "check",
    "exit-code",
    "quiet",
    "function-context",
    "left-right",
    "cherry-pick",
    "cherry-mark",
    "source",
    "porcelain",
    "short",
    "branch",
    "untracked-files",
    "ignored",
    "show-toplevel",
    "show-prefix",
    "show-cdup",
    "git-dir",
    "git-common-dir",
    "is-inside-work-tree",
    "verify",
    "show-current",
    "list",
    "contains",
    "no-contains",
    "merged",
    "no-merged",
    "sort",
    "verbose",
    "others",
    "modified",
    "deleted",
    "exclude-standard",
    "count",
    "stage",
    "full-index",
    "no-decorate",
    "show-stash",
    "ahead-behind",
    "points-at",
    "symbolic-full-name",
    "abbrev-ref",
    "long",
    "dirty",
    "always",
    "exact-match",
    "match",
    "line-porcelain",
    "root",
    "full-tree",
    "numbered",
    "email",
    "not",
    "pickaxe-all",
    "pickaxe-regex",
    "no-prefix",
    "invert-grep",
    "perl-regexp",
    "extended-regexp",
    "fixed-strings",
    "ignore-case",
    "line-number",
    "files-with-matches",
    "word-regexp",
    "heading",
    "break",
    "boundary",
    "column",
    "is-ancestor",
    "heads",
    "objects",
    "name-only",
    "no-notes",
    "parents",
    "children",
    "simplify-by-decoration",
    "diff-algorithm",
    "inter-hunk-context",
    "ws-error-highlight",
    "text",
    "full-history",
    "merge",
    "cc",
    "no-walk",
    "walk-reflogs",
    "mailmap",
    "no-mailmap",
    "tree",
    "sparse",
    "dense",
];

/// Keys that `-c` may set without changing what runs.
const KEYS: &[&str] = &[
    "color.",
    "column.",
    "log.date",
    "log.decorate",
    "core.quotepath",
    "core.abbrev",
    "diff.renames",
    "user.name",
    "user.email",
    "advice.",
];

/// Splits off the options before the sub-command. None when one of them moves the repository, the programs
/// or the configuration.
fn after_globals<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut rest = words.get(1..)?;
    loop {
        match rest {
            [
                "--no-pager" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects" | "-P",
                after @ ..,
            ] => rest = after,
            ["-c", pair, after @ ..] => {
                let key = pair.split('=').next().unwrap_or(pair).to_lowercase();
                KEYS.iter().any(|known| key.starts_with(known)).then_some(())?;
                rest = after;
            }
            ["--version"] => return Some(vec!["version"]),
            [first, ..] if first.starts_with('-') => return None,
            _ => return Some(rest.to_vec()),
        }
    }
}

/// The folder that `-C` names before the sub-command, or `.`, and the words from the sub-command on. No folder where
/// another option says which repository is meant, or only the shell knows.
pub(super) fn folder(words: &[Word]) -> (Option<String>, &[Word]) {
    let mut at = Some(".".to_owned());
    let mut rest = words.get(1..).unwrap_or_default();
    loop {
        match rest {
            // Each begins at the one before.
            [option, step, after @ ..] if option.text() == "-C" => {
                at = at.zip(step.value.as_deref()).map(|(at, step)| {
                    if step.starts_with('/') { step.to_owned() } else { format!("{at}/{step}") }
                });
                rest = after;
            }
            [option, _, after @ ..] if option.text() == "-c" => rest = after,
            [option, after @ ..] if option.text().starts_with('-') => {
                let moves = ["--git-dir", "--work-tree", "--namespace"];
                if moves.iter().any(|name| option.text().starts_with(name)) {
                    at = None;
                }
                rest = after;
            }
            _ => return (at, rest),
        }
    }
}

/// Whether a `git` command only reads.
pub(super) fn reads(words: &[&str]) -> bool {
    let Some(rest) = after_globals(words) else { return false };
    let Some((sub, rest)) = rest.split_first() else { return false };
    let (sub, rest) = match (*sub, rest) {
        ("stash", [inner @ ("list" | "show"), rest @ ..]) => {
            (if *inner == "list" { "log" } else { "show" }, rest)
        }
        ("worktree", ["list", rest @ ..]) => ("status", rest),
        ("reflog", []) => ("log", rest),
        ("reflog", ["show", rest @ ..]) => ("log", rest),
        ("config", ["--get" | "--get-all" | "--list" | "-l", ..]) => {
            return rest.iter().skip(1).all(|word| !word.starts_with('-')) && rest.len() <= 2;
        }
        ("remote", ["get-url", name]) => return !name.starts_with('-'),
        (sub, rest) => (sub, rest),
    };
    let Some(known) = READS.iter().find(|known| known.name == sub) else { return false };
    let listing = rest.iter().any(|w| matches!(*w, "--list" | "-l"));
    let options = rest.iter().take_while(|word| **word != "--");
    let mut operands = 0;
    for word in options {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            if !LONG.contains(&name) {
                return false;
            }
        } else if let Some(letters) = word.strip_prefix('-') {
            let valued = letters.chars().next().is_some_and(|c| "SGLUC".contains(c)) && letters.len() > 1;
            if !valued && !letters.chars().all(|c| known.short.contains(c) || c.is_ascii_digit()) {
                return false;
            }
        } else {
            operands += 1;
        }
    }
    known.operands || operands == 0 || listing
}

/// The words that may name a file: those with a folder in them, and those after `:`.
pub(super) fn files(rest: &[Word]) -> Vec<&Word> {
    let outside = |text: &str| text.starts_with(['/', '~']) || text.split('/').any(|part| part == "..");
    rest.iter().filter(|word| !word.text().starts_with('-') && outside(word.text())).collect()
}

/// Sub-commands that run programs, or set what runs.
const RUNS: &[&str] = &[
    "difftool",
    "mergetool",
    "filter-branch",
    "config",
    "daemon",
    "instaweb",
    "gui",
    "citool",
    "hook",
    "web--browse",
    "send-email",
    "imap-send",
    "svn",
    "p4",
    "cvsserver",
    "upload-pack",
    "receive-pack",
    "shell",
    "remote-ext",
    "credential",
    "help",
    "maintenance",
    "fast-import",
    "bugreport",
    "request-pull",
    "verify-commit",
    "verify-tag",
    "cvsimport",
    "cvsexportcommit",
    "archimport",
    "quiltimport",
];

/// The other sub-commands. What is in neither list is an alias, which may run anything, or a program.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file",
    "check-attr", "check-ignore", "check-mailmap", "check-ref-format", "checkout", "checkout-index", "cherry",
    "cherry-pick", "clean", "clone", "column", "commit", "commit-graph", "commit-tree", "count-objects",
    "describe", "diff", "diff-files", "diff-index", "diff-tree", "fast-export", "fetch", "fetch-pack",
    "fmt-merge-msg", "for-each-ref", "format-patch", "fsck", "gc", "get-tar-commit-id", "grep", "hash-object",
    "index-pack", "init", "interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo",
    "mailsplit", "merge", "merge-base", "merge-file", "merge-index", "merge-tree", "mktag", "mktree",
    "multi-pack-index", "mv", "name-rev", "notes", "pack-objects", "pack-redundant", "pack-refs", "patch-id",
    "prune", "prune-packed", "pull", "push", "range-diff", "read-tree", "rebase", "reflog", "remote", "repack",
    "replace", "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "send-pack", "shortlog",
    "show", "show-branch", "show-index", "show-ref", "sparse-checkout", "stage", "stash", "status",
    "stripspace", "submodule", "switch", "symbolic-ref", "tag", "unpack-file", "unpack-objects",
    "update-index", "update-ref", "update-server-info", "var", "verify-pack", "version", "whatchanged",
    "worktree", "write-tree",
];

/// Long options of any sub-command that run a program, write a file, or open an editor.
const POWERS: &[&str] = &[
    "upload-pack",
    "receive-pack",
    "exec",
    "ext-diff",
    "open-files-in-pager",
    "extcmd",
    "tool",
    "edit",
    "edit-description",
    "interactive",
    "template",
    "config",
    "separate-git-dir",
    "show-signature",
    "gpg-sign",
    "strategy",
    "no-index",
    "reference",
    "patch-with-editor",
    "textconv",
    "paginate",
    "filters",
    "help",
    "edit-todo",
    "export-marks",
    "unsafe-paths",
];

/// Why a `git` command asks even when a rule allows it.
pub(super) fn hazard(words: &[&str], named: usize) -> Option<String> {
    let Some(rest) = after_globals(words) else {
        return Some("an option of git moves the repository, its programs or its settings".into());
    };
    let (sub, rest) = rest.split_first()?;
    if RUNS.contains(sub) {
        return Some(format!("`git {sub}` runs programs or sets what runs"));
    }
    if !KNOWN.contains(sub) && named < 2 {
        return Some(format!("`git {sub}` may be an alias"));
    }
    for word in rest.iter().take_while(|word| **word != "--") {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            if !LONG.contains(&name) && POWERS.iter().any(|power| abbreviates(name, power)) && name != "patch"
            {
                return Some(format!("`--{name}` of git may run a program or write a file"));
            }
        }
        if word.contains("::") || (word.contains("://") && word.contains("-o")) {
            return Some("the address may run a program".into());
        }
    }
    // What follows a message's letter in a bundle is the message.
    let letters_of = |word: &'_ str| -> Option<String> {
        let bundle = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'))?;
        let end = bundle.find(['m', 'F']).map_or(bundle.len(), |at| at + 1);
        Some(bundle[..end].to_owned())
    };
    let has = |letters: &str| {
        rest.iter().filter_map(|w| letters_of(w)).any(|own| own.contains(|c| letters.contains(c)))
    };
    let first = rest.iter().find(|w| !w.starts_with('-')).copied().unwrap_or("");
    let risky = match *sub {
        "bisect" => matches!(first, "run" | "visualize" | "view"),
        "submodule" => !matches!(first, "status" | "summary" | ""),
        "rebase" => has("xiSs") || rest.contains(&"--continue"),
        "merge" => has("sSe") || rest.contains(&"--continue"),
        "cherry-pick" => has("eS") || rest.contains(&"--continue"),
        "revert" => {
            has("eS")
                || !(rest.contains(&"--no-edit")
                    || has("n")
                    || ["--abort", "--quit", "--skip", "--no-commit"].iter().any(|o| rest.contains(o)))
        }
        "grep" => has("O"),
        "clone" | "fetch" | "pull" | "push" | "ls-remote" | "init" => has("uc") && matches!(*sub, "clone"),
        "add" | "stage" => has("eip") || rest.iter().any(|w| w.starts_with("--pa")),
        "commit" => {
            let said = has("mFC")
                || rest.iter().any(|w| {
                    ["--message", "--file", "--no-edit", "--reuse-message", "--fixup", "--dry-run"]
                        .iter()
                        .any(|o| w.starts_with(o))
                });
            has("e") && !has("m") || rest.contains(&"-e") || has("tSp") || rest.contains(&"--patch") || !said
        }
        "tag" => has("suv") || has("a") && !has("mF"),
        "notes" => matches!(first, "edit" | "add" if !has("mF")),
        "archive" | "format-patch" | "bundle" => has("o") || rest.iter().any(|w| w.starts_with("--rem")),
        "remote" => matches!(first, "add" | "set-url"),
        "worktree" | "replace" => matches!(first, "--edit"),
        "am" => has("i"),
        "apply" => rest.iter().any(|w| w.starts_with("--directory")),
        "difftool" => true,
        _ => false,
    };
    risky.then(|| format!("this use of `git {sub}` may run a program"))
}
