//! Table: uses of programs that ask even when a rule allows the program: they run another program, change
//! which one runs, or run a text.

use super::command::{RedirectKind, Simple};
use super::git;
use super::power::power;
use super::script;
use super::variable::may_fill;
use super::wrapper::{SHELLS, base_name, is_stream, layers};

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
    "exec",
];

/// Programs that run what they read or what is typed into them, or hand their words to another program.
const RUNNERS: &[&str] = &[
    "script",
    "tmux",
    "screen",
    "at",
    "batch",
    "ed",
    "gdb",
    "lldb",
    "ftp",
    "psql",
    "mysql",
    "mariadb",
    "mongosh",
    "redis-cli",
    "xdg-open",
    "sensible-browser",
    "sensible-editor",
    "sensible-pager",
    "gitk",
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
    ("ex", ""),
    ("pypy", "uBOEsSIqd"),
    ("jshell", ""),
    ("fish", ""),
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
    if RUNNERS.contains(&name) && named <= 1 {
        return Some(format!("`{name}` runs what it reads or is given"));
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if SHELLS.contains(&name) {
        return interpreter(name, "euxvn", rest, part);
    }
    if let Some((_, letters)) = INTERPRETERS.iter().find(|(known, _)| *known == stem || *known == name) {
        return interpreter(name, letters, rest, part);
    }
    match name {
        "git" => return git::hazard(words, named),
        "find" => {
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
        "crontab" if rest != ["-l"] => return Some("`crontab` sets what runs later".into()),
        "gh" if rest.contains(&"--") => return Some("what follows `--` goes to git".into()),
        "read" | "wait" | "getopts" if rest.iter().any(|w| w.contains('[')) => {
            return Some(format!("`{name}` evaluates its words again"));
        }
        "read" if rest.iter().any(|w| !may_fill(w)) => {
            return Some("it sets a variable that may change what runs".into());
        }
        "getopts" if rest.get(1).is_some_and(|w| !may_fill(w)) => {
            return Some("it sets a variable that may change what runs".into());
        }
        "wait" if rest.iter().any(|w| w.starts_with('-') && w.contains('p')) => {
            return Some("it sets a variable that may change what runs".into());
        }
        "sqlite3"
            if rest.iter().any(|w| w.trim_start().starts_with('.'))
                || rest.iter().filter(|w| !w.starts_with('-')).count() < 2 =>
        {
            return Some("a command of sqlite3 may run a program".into());
        }
        "cmake" | "tsc" if leads_out(rest) => return Some(format!("`{name}` is led out of the workspace")),
        "tar" | "bsdtar" | "gtar" if names_host(rest) => {
            return Some("the archive is on another machine, which a program reaches".into());
        }
        "cargo" | "rustc" if rest.first().is_some_and(|w| w.starts_with('+')) => {
            return Some("it chooses which compiler runs".into());
        }
        "gcc" | "cc" | "g++" | "clang" | "clang++" | "rustc" if rest.iter().any(|w| w.starts_with('@')) => {
            return Some(format!("`{name}` reads options from a file"));
        }
        "docker" | "podman" if is_built_from_elsewhere(rest) => {
            return Some(format!("`{name}` is told which file to build or start from"));
        }
        "less" | "more" | "vim" | "vi" | "nvim" | "view" | "emacs" | "nano" | "most"
            if rest.iter().any(|w| w.starts_with('+')) =>
        {
            return Some(format!("`{name}` runs a start command"));
        }
        "make" | "gmake" if rest.iter().any(|w| sets_program(w)) => {
            return Some("it sets a variable of make that may name what runs".into());
        }
        "ssh" if rest.iter().filter(|w| !w.starts_with('-')).count() > 1 => {
            return Some("`ssh` runs a command on another machine".into());
        }
        _ => {}
    }
    power(name, words, named)
}

/// Whether a word, or the value in one, is a path that may lead out of the workspace.
fn leads_out(rest: &[&str]) -> bool {
    rest.iter().any(|word| {
        let value =
            word.trim_start_matches(|c: char| c == '-' || c.is_ascii_alphabetic()).trim_start_matches('=');
        [*word, value]
            .iter()
            .any(|text| text.starts_with(['/', '~']) || text.split('/').any(|name| name == ".."))
    })
}

/// Whether an archive of `tar` is `host:file`.
fn names_host(rest: &[&str]) -> bool {
    !rest.contains(&"--force-local")
        && rest.iter().any(|word| {
            let host = word.split('/').next().unwrap_or_default();
            !word.starts_with("--") && host.contains(':')
        })
}

/// `docker build -f x`, `docker compose -f x`: `-f` is another thing elsewhere.
fn is_built_from_elsewhere(rest: &[&str]) -> bool {
    rest.iter()
        .find(|w| !w.starts_with('-'))
        .is_some_and(|sub| matches!(*sub, "build" | "buildx" | "compose"))
        && rest.iter().any(|w| (w.starts_with("-f") || w.starts_with("--file")) && *w != "-")
}

/// Whether a word sets a variable of make that names a program, or to what may be one or run one.
fn sets_program(word: &str) -> bool {
    const TOOLS: &[&str] = &[
        "AR", "AS", "AWK", "CARGO", "CC", "CP", "CPP", "CURL", "CXX", "DOCKER", "FC", "GIT", "GO", "INSTALL",
        "JAVA", "LD", "LEX", "LN", "MAKE", "MKDIR", "MV", "NM", "NODE", "NPM", "OBJCOPY", "PERL", "PIP",
        "PYTHON", "PYTHON3", "RANLIB", "RM", "RUBY", "RUSTC", "SED", "STRIP", "TAR", "YACC",
    ];
    let Some((key, value)) = word.split_once('=').filter(|_| !word.starts_with('-')) else { return false };
    let last = key.trim_end_matches([':', '?', '+']).rsplit('_').next().unwrap_or(key);
    // `HOSTCC`
    let ends = ["CC", "CXX", "SHELL", "PYTHON", "MAKE"].iter().any(|tool| last.ends_with(tool));
    ends || TOOLS.contains(&last)
        || key.contains("FLAGS")
        || key.ends_with('!')
        || value.contains(|c: char| c.is_whitespace() || "/$`;|&<>()".contains(c))
}

/// Whether a test compares numbers that are none: those are evaluated.
fn is_arithmetic(rest: &[&str]) -> bool {
    let compares = rest.iter().any(|w| matches!(*w, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"));
    compares && rest.iter().any(|w| w.contains('['))
}

/// Why an interpreter asks: unless it runs a file, and says no more than how.
fn interpreter(name: &str, letters: &str, rest: &[&str], part: &Simple) -> Option<String> {
    if matches!(name, "deno") && rest.first().is_some_and(|sub| matches!(*sub, "eval" | "repl")) {
        return Some(format!("`{name}` runs a text"));
    }
    let mut words = rest.iter();
    for word in words.by_ref() {
        if is_stream(word) {
            break;
        }
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
