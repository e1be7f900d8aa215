//! Table: uses of programs that ask even when a rule allows the program: they run another program, change
//! which one runs, or run a text.

use super::command::{RedirectKind, Simple};
use super::options::abbreviates;
use super::script;
use super::wrapper::{SHELLS, base_name, layers};
use super::{git, readonly};

/// A program with options that run programs: letters, long names, whole words.
struct Power {
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    /// Sub-commands or words.
    words: &'static [&'static str],
}

const fn power(
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    words: &'static [&'static str],
) -> Power {
    Power { names, letters, long, words }
}

const POWERS: &[Power] = &[
    power(
        &["man", "apropos"],
        "PHXTZ",
        &["pager", "html", "gxditview", "troff-device", "preprocessor", "config-file"],
        &[],
    ),
    power(&["sort"], "T", &["compress-program", "temporary-directory", "files0-from"], &[]),
    power(&["history"], "awrcd", &[], &[]),
    power(&["fc"], "es", &[], &[]),
    power(&["rg"], "z", &["pre", "hostname-bin", "search-zip"], &[]),
    power(&["ag", "ack"], "", &["pager", "ackrc"], &[]),
    power(&["fd", "fdfind"], "xX", &["exec", "exec-batch"], &[]),
    power(
        &["tar", "bsdtar", "gtar"],
        "IFP",
        &[
            "checkpoint-action",
            "to-command",
            "use-compress-program",
            "rsh-command",
            "rmt-command",
            "info-script",
            "new-volume-script",
            "absolute-names",
        ],
        &[],
    ),
    power(
        &["less", "more", "most"],
        "oOkKt",
        &["lesskey-file", "lesskey-src", "log-file", "LOG-FILE", "lesskey-content", "tag"],
        &[],
    ),
    power(
        &["vim", "vi", "nvim", "view", "ex", "gvim", "vimdiff"],
        "cSsuUwWilE",
        &["cmd", "remote", "servername"],
        &[],
    ),
    power(
        &["emacs", "emacsclient"],
        "leLf",
        &["eval", "execute", "load", "funcall", "script", "batch", "batch"],
        &[],
    ),
    power(&["nano", "pico"], "sT", &["speller", "rcfile"], &[]),
    power(&["zip"], "T", &["test", "unzip-command"], &["-TT", "-T"]),
    power(&["ssh"], "oFIJLRDPES", &[], &[]),
    power(&["scp", "sftp"], "oFSDJ", &[], &[]),
    power(&["rsync"], "e", &["rsh", "rsync-path", "config", "password-file"], &[]),
    power(&["curl"], "KT", &["config", "engine", "upload-file", "netrc-file", "unix-socket"], &[]),
    power(&["wget"], "ei", &["execute", "use-askpass", "config", "input-file"], &[]),
    power(&["make", "gmake"], "fCI", &["eval", "file", "makefile", "directory", "include-dir"], &[]),
    power(&["ninja"], "t", &[], &[]),
    power(&["cargo"], "C", &["config", "manifest-path"], &[]),
    power(
        &["npm", "pnpm", "yarn", "bun"],
        "",
        &["script-shell", "node-options", "scripts-prepend-node-path", "prefix", "cwd", "dir"],
        &["exec", "x", "dlx", "config", "set", "explore", "edit"],
    ),
    power(
        &["go"],
        "",
        &[],
        &["generate", "env", "tool", "-toolexec", "-exec", "-C", "-vettool", "-overlay", "-modfile"],
    ),
    power(&["gh"], "", &["web", "editor"], &["alias", "extension", "config", "codespace"]),
    power(&["pytest"], "pc", &["rootdir", "confcutdir", "config-file"], &[]),
    power(&["docker", "podman"], "H", &["host", "config", "context"], &["exec", "run", "cp"]),
    power(&["kubectl"], "", &["kubeconfig"], &["exec", "edit", "cp", "debug", "plugin"]),
    power(&["gdb", "lldb"], "xoksp", &["eval-command", "command", "ex", "args"], &[]),
    power(&["tcpdump"], "z", &["postrotate-command"], &[]),
    power(&["journalctl", "systemctl", "loginctl"], "", &["root", "edit"], &["edit"]),
    power(&["psql"], "cf", &["command", "file"], &[]),
    power(&["sqlite3"], "", &["cmd", "init"], &["-cmd", "-init"]),
    power(&["mysql"], "e", &["execute", "pager", "tee"], &[]),
    power(&["pip", "pip3"], "", &["config-settings", "global-option"], &["config"]),
    power(&["gpg"], "", &["exec", "photo-viewer", "options", "homedir", "agent-program"], &[]),
    power(&["mail", "mailx", "mutt"], "FeS", &[], &[]),
    power(&["date"], "sf", &["set", "file"], &[]),
    power(&["hostname"], "Fb", &["file"], &[]),
    power(&["split"], "", &["filter"], &[]),
    power(&["env", "printenv"], "", &[], &[]),
    power(&["ip", "tc"], "b", &["batch", "force"], &["exec"]),
    power(&["crontab"], "er", &[], &[]),
    power(&["read"], "aip", &[], &[]),
    power(&["printf"], "v", &[], &[]),
    power(&["hg"], "", &["config"], &["--config"]),
    power(&["jq"], "L", &["library-path"], &[]),
    power(&["tree"], "R", &[], &[]),
    power(&["ping"], "", &[], &[]),
    power(&["file"], "mC", &["magic-file", "compile"], &[]),
    power(&["ld", "gcc", "cc", "g++", "clang"], "B", &["plugin", "wrapper"], &["-wrapper"]),
    power(&["openssl"], "", &["engine"], &["-engine", "-provider"]),
    power(&["ffmpeg"], "", &[], &[]),
    power(&["unzip"], "", &[], &[]),
    power(&["xdg-open", "open", "start", "sensible-browser"], "abe", &[], &[]),
    power(&["time"], "o", &["output"], &[]),
];

/// Builtins that run text, change which program runs, or evaluate their words again.
const SETTINGS: &[&str] = &[
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "unalias",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "let",
    "set",
    "shopt",
    "enable",
    "hash",
    "bind",
    "complete",
    "compgen",
    "unset",
    "mapfile",
    "readarray",
    "env",
    "umask",
    "ulimit",
    "fg",
    "bg",
    "disown",
    "kill",
    "exec",
];

/// Programs that run a text or a file as a program, and the letters that may stand before the file.
const INTERPRETERS: &[(&str, &str)] = &[
    ("python", "uBOEsSIqd"),
    ("perl", "wWtT"),
    ("ruby", "wWv"),
    ("node", ""),
    ("nodejs", ""),
    ("deno", ""),
    ("bun", ""),
    ("php", "q"),
    ("lua", ""),
    ("luajit", ""),
    ("tclsh", ""),
    ("wish", ""),
    ("expect", ""),
    ("osascript", ""),
    ("pwsh", ""),
    ("powershell", ""),
    ("Rscript", ""),
    ("R", ""),
    ("julia", ""),
    ("guile", ""),
    ("racket", ""),
    ("sbcl", ""),
    ("elixir", ""),
    ("erl", ""),
    ("ghci", ""),
    ("runghc", ""),
    ("scala", ""),
    ("groovy", ""),
    ("clojure", ""),
    ("ocaml", ""),
    ("swift", ""),
    ("irb", ""),
    ("ipython", ""),
    ("ts-node", ""),
    ("tsx", ""),
    ("m4", ""),
    ("bc", "lqs"),
    ("dc", ""),
    ("ed", ""),
    ("ex", ""),
    ("gnuplot", ""),
    ("octave", ""),
];

/// Why a command asks although a rule allows it. `skip` words in front are plain wrappers that the rule
/// passes over; the `named` words after them stand in the rule itself.
pub(super) fn hazard(part: &Simple, skip: usize, named: usize) -> Option<String> {
    let texts = part.texts();
    let all = layers(texts.get(skip..)?);
    for outer in &all {
        let wraps = all
            .iter()
            .filter(|inner| inner.start > outer.start && inner.start < outer.start + outer.words.len());
        let mut inner_starts = wraps.map(|inner| inner.start).peekable();
        if inner_starts.peek().is_some() && !inner_starts.any(|start| start < named) {
            return Some(format!("`{}` runs another program", outer.words.first().unwrap_or(&"")));
        }
    }
    all.iter().find_map(|layer| of_words(layer.words, part, named.saturating_sub(layer.start)))
}

/// `timeout 5 …`, with a duration and nothing else.
pub(super) fn is_plain_timeout(words: &[&str]) -> bool {
    matches!(words, ["timeout", span, _, ..] if is_duration(span))
}

fn is_duration(text: &str) -> bool {
    let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
    text.len() - digits.len() <= 1
        && !digits.is_empty()
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn of_words(words: &[&str], part: &Simple, named: usize) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let name = base_name(program);
    if SETTINGS.contains(&name) {
        return Some(format!("`{name}` changes or runs what the shell does next"));
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if SHELLS.contains(&name) {
        return interpreter(name, "euxvn", rest, part);
    }
    if let Some((_, letters)) = INTERPRETERS.iter().find(|(known, _)| *known == stem || *known == name) {
        return interpreter(name, letters, rest, part);
    }
    match name {
        "git" => return git::hazard(words),
        "find" | "fd" => {
            let risky = ["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fls", "-files0-from"];
            let word = rest.iter().find(|w| risky.contains(w) || w.starts_with("-fprint"))?;
            return Some(format!("`{word}` of find writes or runs a program"));
        }
        "sed" | "gsed" => return script::sed_hazard(rest),
        "awk" | "gawk" | "mawk" | "nawk" => return script::awk_hazard(rest),
        "test" | "[" | "[[" if rest.iter().any(|w| matches!(*w, "-v" | "-R")) || is_arithmetic(rest) => {
            return Some("the test evaluates its words again".into());
        }
        "echo" => return None,
        "read" | "wait" | "getopts" if rest.iter().any(|w| w.contains('[')) => {
            return Some(format!("`{name}` evaluates its words again"));
        }
        "sqlite3" if rest.iter().any(|w| w.starts_with('.')) => {
            return Some("a command of sqlite3 may run a program".into());
        }
        "less" | "more" | "vim" | "vi" | "nvim" | "view" | "emacs" | "nano" | "most"
            if rest.iter().any(|w| w.starts_with('+')) =>
        {
            return Some(format!("`{name}` runs a start command"));
        }
        "make" | "gmake" if rest.iter().any(|w| sets_shell(w)) => {
            return Some("it sets which shell make runs".into());
        }
        "ssh" if rest.iter().filter(|w| !w.starts_with('-')).count() > 1 => {
            return Some("`ssh` runs a command on another machine".into());
        }
        _ => {}
    }
    POWERS.iter().filter(|power| power.names.contains(&name)).find_map(|power| power.found(name, rest, named))
}

/// Whether a word sets a variable of make that names a program.
fn sets_shell(word: &str) -> bool {
    word.split_once('=').is_some_and(|(key, _)| key.ends_with("SHELL") || key.contains("FLAGS"))
}

/// Whether a test compares numbers that are none: those are evaluated.
fn is_arithmetic(rest: &[&str]) -> bool {
    let compares = rest.iter().any(|w| matches!(*w, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"));
    compares && rest.iter().any(|w| w.contains('['))
}

impl Power {
    fn found(&self, name: &str, rest: &[&str], named: usize) -> Option<String> {
        for (at, word) in rest.iter().enumerate() {
            if *word == "--" {
                break;
            }
            let hit = if let Some(long) = word.strip_prefix("--") {
                self.long.iter().any(|own| abbreviates(long, own)) || self.words.contains(word)
            } else if let Some(bundle) = word.strip_prefix('-') {
                self.words.iter().any(|own| word.split('=').next() == Some(*own))
                    || bundle.chars().any(|c| self.letters.contains(c))
            } else {
                // A sub-command that stands in the rule is what the rule is about.
                self.words.contains(word) && at + 1 >= named
            };
            if hit {
                return Some(format!("`{word}` of {name} may run a program or write a file"));
            }
        }
        // Old bundles without a dash: `tar cIf`.
        let old = self.names.contains(&"tar")
            && rest.first().is_some_and(|w| {
                !w.starts_with('-') && w.contains(['I', 'F', 'P']) && !w.contains(['.', '/'])
            });
        old.then(|| format!("an option of {name} may run a program"))
    }
}

/// Why an interpreter asks: unless it runs a file, and says no more than how.
fn interpreter(name: &str, letters: &str, rest: &[&str], part: &Simple) -> Option<String> {
    let mut words = rest.iter();
    for word in words.by_ref() {
        if !word.starts_with('-') && !word.starts_with('+') {
            return None;
        }
        if *word == "--version" || *word == "-V" {
            return None;
        }
        if name.starts_with("python") && *word == "-m" {
            return words.next().is_none().then(|| "it runs a text".to_owned());
        }
        if word.len() < 2 || word.starts_with("--") || !word[1..].chars().all(|c| letters.contains(c)) {
            return Some(format!("`{name}` runs a text, or is told how to run"));
        }
    }
    let given = part.piped || part.redirects.iter().any(|r| r.kind != RedirectKind::Copy);
    Some(if given {
        format!("`{name}` runs what it reads")
    } else {
        format!("`{name}` runs what is typed into it")
    })
}

/// Whether the assignments in front leave what runs as it is.
pub(super) fn assigns_harmlessly(part: &Simple) -> bool {
    part.assignments.iter().all(|a| readonly::is_harmless_variable(&a.name) && a.value.value.is_some())
}
