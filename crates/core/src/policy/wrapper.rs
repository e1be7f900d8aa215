//! Table: programs that run the rest of their words, or a text among them, as another command.

use std::path::Path;

use super::command::{Folder, Simple};
use super::path::clean;

/// A wrapper: `timeout 5 make` runs `make`.
struct Wrapper {
    name: &'static str,
    /// Short options that take a value.
    short: &'static str,
    /// Long options that take a value as the next word.
    long: &'static [&'static str],
    /// Words between its options and the command.
    operands: usize,
    /// Whether assignments may stand before the command.
    assigns: bool,
}

const fn wrapper(name: &'static str, short: &'static str, long: &'static [&'static str]) -> Wrapper {
    Wrapper { name, short, long, operands: 0, assigns: false }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { assigns: true, ..wrapper("env", "uSCa", &["unset", "chdir", "split-string", "argv0"]) },
    Wrapper { operands: 1, ..wrapper("timeout", "ks", &["kill-after", "signal"]) },
    wrapper("nice", "n", &["adjustment"]),
    wrapper("nohup", "", &[]),
    wrapper("setsid", "", &[]),
    wrapper("stdbuf", "ioe", &["input", "output", "error"]),
    Wrapper { assigns: true, ..wrapper("time", "fo", &["format", "output"]) },
    wrapper("command", "", &[]),
    wrapper("builtin", "", &[]),
    wrapper("exec", "a", &[]),
    Wrapper { assigns: true, ..wrapper("coproc", "", &[]) },
    wrapper("noglob", "", &[]),
    wrapper("nocorrect", "", &[]),
    Wrapper {
        assigns: true,
        ..wrapper("sudo", "ugpCchDRrtTUa", &["user", "group", "prompt", "chdir", "chroot", "host"])
    },
    Wrapper { assigns: true, ..wrapper("doas", "uC", &[]) },
    wrapper("pkexec", "", &["user"]),
    wrapper("busybox", "", &[]),
    wrapper("toybox", "", &[]),
    wrapper(
        "xargs",
        "aEILnPsd",
        &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
    ),
    wrapper("parallel", "aIjnN", &["jobs", "arg-file", "max-args"]),
    wrapper("ionice", "cnpPu", &["class", "classdata"]),
    Wrapper { operands: 1, ..wrapper("chrt", "pT", &[]) },
    Wrapper { operands: 1, ..wrapper("taskset", "", &[]) },
    Wrapper { operands: 1, ..wrapper("flock", "wE", &["timeout", "conflict-exit-code"]) },
    Wrapper { operands: 1, ..wrapper("chroot", "", &["userspec", "groups"]) },
    wrapper("unshare", "", &[]),
    wrapper("nsenter", "t", &["target"]),
    wrapper("watch", "n", &["interval"]),
    wrapper("strace", "oepEuIsSabPX", &[]),
    wrapper("ltrace", "oepuSnsl", &[]),
    wrapper("valgrind", "", &[]),
    wrapper("caffeinate", "tw", &[]),
    wrapper("fakeroot", "", &[]),
    wrapper("unbuffer", "", &[]),
    wrapper("systemd-run", "pu", &["unit", "property"]),
    wrapper("entr", "", &[]),
    wrapper("runuser", "ugGsw", &["user", "group", "supp-group", "shell", "whitelist-environment"]),
    wrapper("rlwrap", "", &[]),
    wrapper("catchsegv", "", &[]),
    wrapper("dbus-run-session", "", &["config-file", "dbus-daemon"]),
    wrapper("xvfb-run", "efnps", &["error-file", "auth-file", "server-num", "xauth-protocol", "server-args"]),
    wrapper("setpriv", "", &["reuid", "regid", "groups", "inh-caps", "ambient-caps", "bounding-set"]),
    Wrapper { operands: 1, ..wrapper("setarch", "", &[]) },
    wrapper("linux32", "", &[]),
    wrapper("linux64", "", &[]),
    wrapper("prlimit", "p", &["pid"]),
    wrapper("numactl", "NmCliph", &["cpunodebind", "membind", "physcpubind", "interleave", "preferred"]),
    wrapper("chpst", "uUelPoncmdrtf/", &[]),
    wrapper("cpulimit", "lpe", &["limit", "pid", "exe"]),
    Wrapper { operands: 1, ..wrapper("faketime", "f", &[]) },
    wrapper("torsocks", "uap", &[]),
    wrapper("torify", "", &[]),
    wrapper("proxychains", "f", &[]),
    wrapper("proxychains4", "f", &[]),
    wrapper("firejail", "", &[]),
    wrapper("hyperfine", "wmMrnpsc", &["warmup", "min-runs", "max-runs", "runs", "command-name"]),
    Wrapper { assigns: true, ..wrapper("{", "", &[]) },
    Wrapper { assigns: true, ..wrapper("!", "", &[]) },
    wrapper("npx", "p", &["package"]),
    wrapper("bunx", "", &[]),
    wrapper("pnpx", "", &[]),
];

/// Sub-commands that run what follows them: program, words of the sub-command. Which of the words is the
/// program can't always be told, so each may be.
const RUNNING: &[(&str, &[&str])] = &[
    ("npm", &["exec"]),
    ("npm", &["x"]),
    ("pnpm", &["exec"]),
    ("pnpm", &["dlx"]),
    ("yarn", &["exec"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("uv", &["run"]),
    ("uv", &["tool", "run"]),
    ("uvx", &[]),
    ("pipx", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("rye", &["run"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("asdf", &["exec"]),
    ("mise", &["exec"]),
    ("bundle", &["exec"]),
    ("direnv", &["exec"]),
    ("dotenv", &[]),
    ("op", &["run"]),
    ("doppler", &["run"]),
    ("aws-vault", &["exec"]),
    ("rustup", &["run"]),
    ("docker", &["exec"]),
    ("docker", &["run"]),
    ("docker", &["container", "exec"]),
    ("docker", &["container", "run"]),
    ("docker", &["compose", "exec"]),
    ("docker", &["compose", "run"]),
    ("podman", &["exec"]),
    ("podman", &["run"]),
    ("kubectl", &["exec"]),
    ("perf", &["stat"]),
    ("perf", &["record"]),
    ("bwrap", &[]),
    ("proot", &[]),
    // Its first word may be left out.
    ("setarch", &[]),
    ("gdb", &[]),
    ("tmux", &["new-session"]),
    ("tmux", &["new"]),
    ("screen", &[]),
    ("ip", &["netns", "exec"]),
    ("nix", &["run"]),
    ("nix", &["shell"]),
    ("cmake", &["-E"]),
    ("git", &["submodule", "foreach"]),
];

/// Most words of such a command that are taken for its program.
const MAX_GUESSES: usize = 24;

/// Shells, which run text.
pub(super) const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "su", "yash",
];

/// One command in the words of another, down to the innermost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layer<'w, 'a> {
    /// Its words.
    pub(super) words: &'w [&'a str],
    /// Which word of the whole is its first.
    pub(super) start: usize,
}

/// Programs in different folders count as one when rules deny.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Most layers that are looked at; a command with so many is doubtful.
pub(super) const MAX_LAYERS: usize = 64;

/// The command itself, and the commands that wrappers in it run; [`MAX_LAYERS`] at most.
pub(super) fn layers<'w, 'a>(words: &'w [&'a str]) -> Vec<Layer<'w, 'a>> {
    let mut found = vec![Layer { words, start: 0 }];
    let mut next = 0;
    while let Some(&Layer { words, start }) = found.get(next) {
        for (from, to) in inner_commands(words) {
            found.push(Layer { words: &words[from..to], start: start + from });
        }
        found.truncate(MAX_LAYERS);
        next += 1;
    }
    found
}

fn inner_commands(words: &[&str]) -> Vec<(usize, usize)> {
    let Some(program) = words.first() else { return Vec::new() };
    let program = base_name(program);
    if matches!(program, "find" | "fd" | "fdfind") {
        return found_by_find(words);
    }
    if program == "git"
        && let Some(at) = words.windows(2).position(|pair| pair == ["bisect", "run"])
    {
        return Some((at + 2, words.len())).into_iter().filter(|(from, to)| from < to).collect();
    }
    let wrapped = WRAPPERS.iter().find(|w| w.name == program).and_then(|w| w.inner(words));
    // `coproc NAME { …`
    let group = words.iter().take(3).position(|word| *word == "{").filter(|_| program == "coproc");
    let mut found: Vec<_> = group.or(wrapped).map(|from| (from, words.len())).into_iter().collect();
    if let Some(from) = running(program, words) {
        let guesses = (from..words.len()).filter(|at| !words[*at].starts_with('-')).take(MAX_GUESSES);
        found.extend(guesses.map(|at| (at, words.len())));
    }
    found
}

/// Where the words begin that a sub-command runs.
fn running(program: &str, words: &[&str]) -> Option<usize> {
    RUNNING.iter().filter(|(name, _)| *name == program).find_map(|(_, subs)| {
        let mut at = 1;
        for sub in *subs {
            // Before a sub-command stand options and their values alone.
            while *words.get(at)? != *sub {
                (words[at].starts_with('-') || words[at - 1].starts_with('-')).then_some(())?;
                at += 1;
            }
            at += 1;
        }
        Some(at)
    })
}

fn found_by_find(words: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch")
        {
            let from = at + 1;
            let len = words[from..].iter().position(|w| matches!(*w, ";" | "+"));
            let to = len.map_or(words.len(), |len| from + len);
            if from < to {
                found.push((from, to));
            }
        }
    }
    found
}

impl Wrapper {
    /// Where the command that it runs begins.
    fn inner(&self, words: &[&str]) -> Option<usize> {
        let mut at = 1;
        let mut operands = self.operands;
        while let Some(word) = words.get(at) {
            if *word == "--" {
                at += 1;
                if operands > 0 {
                    at += operands;
                }
                break;
            } else if let Some(long) = word.strip_prefix("--") {
                at += if self.long.contains(&long) { 2 } else { 1 };
            } else if let Some(bundle) = word.strip_prefix('-').filter(|b| !b.is_empty()) {
                let value = bundle.char_indices().find(|(_, c)| self.short.contains(*c));
                at += if value.is_some_and(|(i, c)| i + c.len_utf8() == bundle.len()) { 2 } else { 1 };
            } else if *word == "-" && self.name == "env" || self.assigns && word.contains('=') {
                at += 1;
            } else if operands > 0 {
                operands -= 1;
                at += 1;
            } else {
                break;
            }
        }
        (at < words.len()).then_some(at)
    }
}

/// What a command gives to a shell to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShellText {
    /// Texts among its words.
    pub texts: Vec<String>,
    /// Whether its standard input is such a text.
    pub stdin: bool,
}

/// Finds the texts that a command, or one that it wraps, gives to a shell. The words are without quotes.
pub fn runs_shell_text(words: &[&str]) -> ShellText {
    let mut run = ShellText::default();
    for layer in layers(words) {
        add_texts(layer.words, &mut run);
    }
    run
}

fn add_texts(words: &[&str], run: &mut ShellText) {
    let Some((program, rest)) = words.split_first() else { return };
    let operands = || rest.iter().filter(|w| !w.starts_with('-'));
    match base_name(program) {
        "eval" | "watch" | "parallel" => {
            run.texts.push(rest.iter().filter(|w| **w != "--").copied().collect::<Vec<_>>().join(" "));
        }
        "ssh" => run.texts.extend(ssh_command(rest)),
        "trap" => run.texts.extend(operands().next().map(|w| (*w).to_owned())),
        "alias" => {
            run.texts.extend(rest.iter().filter_map(|w| w.split_once('=')).map(|(_, text)| text.to_owned()));
        }
        "env" => run.texts.extend(valued(rest, 'S', &["split-string"])),
        "script" | "flock" | "runuser" | "capsh" => run.texts.extend(valued(rest, 'c', &["command"])),
        "nix-shell" => run.texts.extend(valued(rest, 'c', &["run", "command"])),
        "npx" | "npm" => run.texts.extend(valued(rest, 'c', &["call"])),
        "hyperfine" | "tmux" => run.texts.extend(operands().map(|w| (*w).to_owned())),
        "git" => git_texts(rest, run),
        shell if SHELLS.contains(&shell) => {
            run.texts.extend(long_value(rest, &["command"]));
            let option =
                rest.iter().position(|w| w.starts_with('-') && !w.starts_with("--") && w.contains('c'));
            if let Some(at) = option {
                run.texts
                    .extend(rest[at + 1..].iter().find(|w| !w.starts_with('-')).map(|w| (*w).to_owned()));
            } else if operands().next().is_none()
                || rest.contains(&"-s")
                || operands().any(|word| is_stream(word))
            {
                run.stdin = true;
            }
        }
        _ => {}
    }
}

/// Whether a path is an open stream of the process that opens it: its standard input, or another one.
pub(super) fn is_stream(text: &str) -> bool {
    let path = clean(Path::new(text));
    let Some(names) = path.to_str().map(|path| path.split('/').skip(1).collect::<Vec<_>>()) else {
        return false;
    };
    matches!(names[..], ["dev", "stdin" | "fd", ..])
        || (names.first() == Some(&"proc") && names.contains(&"fd"))
}

/// The values of an option by its letter, also in or behind a bundle, and by its long names.
fn valued(rest: &[&str], letter: char, longs: &[&str]) -> Vec<String> {
    let mut found = long_value(rest, longs);
    for (at, word) in rest.iter().enumerate() {
        let bundle = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')).unwrap_or_default();
        if let Some((_, value)) = bundle.split_once(letter) {
            let next = || rest.get(at + 1).map_or("", |next| next);
            found.push(if value.is_empty() { next().to_owned() } else { value.to_owned() });
        }
    }
    found
}

fn long_value(rest: &[&str], longs: &[&str]) -> Vec<String> {
    let named = rest.iter().enumerate().filter(|(_, word)| super::readonly::is_long(word, longs));
    let values = named.filter_map(|(at, word)| match word.split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => rest.get(at + 1).map(|next| (*next).to_owned()),
    });
    values.collect()
}

/// What `ssh` runs on the other machine.
fn ssh_command(rest: &[&str]) -> Option<String> {
    const VALUES: &str = "BbcDEeFIiJLlmOopPQRSWw";
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some("-") => {}
            Some(bundle) => {
                let value = bundle.char_indices().find(|(_, c)| VALUES.contains(*c));
                if value.is_some_and(|(at, c)| at + c.len_utf8() == bundle.len()) {
                    words.next();
                }
            }
            None => break,
        }
    }
    let command: Vec<&str> = words.copied().filter(|word| *word != "--" && *word != "-t").collect();
    (!command.is_empty()).then(|| command.join(" "))
}

fn git_texts(rest: &[&str], run: &mut ShellText) {
    for (at, word) in rest.iter().enumerate() {
        let next = || rest.get(at + 1).copied();
        let set = word.split_once('=').filter(|(key, _)| {
            let option = key.trim_start_matches('-');
            (key.contains('.') && at > 0 && rest[at - 1] == "-c")
                || (key.starts_with("--") && (option.ends_with("-pack") || option.ends_with("-filter")))
                || matches!(*key, "--exec" | "--extcmd")
        });
        if let Some((_, value)) = set {
            run.texts.push(value.strip_prefix('!').unwrap_or(value).to_owned());
        } else if matches!(
            *word,
            "foreach" | "-x" | "--exec" | "--extcmd" | "--upload-pack" | "--receive-pack"
        ) || word.ends_with("-filter")
        {
            run.texts.extend(next().map(str::to_owned));
        }
    }
}

/// Most `cd` in a row that are followed.
const MAX_STEPS: usize = 32;

/// The folder in force after a command.
pub fn folder_after(part: &Simple, before: &Folder) -> Folder {
    let texts = part.texts();
    let mut words: &[&str] = &texts;
    while let Some(("command" | "builtin", rest)) = words.split_first().map(|(w, rest)| (*w, rest)) {
        words = rest;
    }
    let Some((program, rest)) = words.split_first() else { return before.clone() };
    match *program {
        "pushd" | "popd" => Folder::Unknown,
        "eval" | "source" | "." if rest.iter().any(|w| w.contains("cd") || w.contains("pushd")) => {
            Folder::Unknown
        }
        "cd" | "chdir" => {
            let at = texts.len() - rest.len();
            let Folder::Known(steps) = before else { return Folder::Unknown };
            let given = &part.words[at.min(part.words.len())..];
            let operands: Vec<_> = given
                .iter()
                .filter(|w| w.raw == "-" || !matches!(w.text(), "--" | "-L" | "-P" | "-e" | "-@"))
                .collect();
            let step = match operands[..] {
                [] => "~".to_owned(),
                [word] if word.raw != "-" && !word.glob => match &word.value {
                    Some(value) if value.starts_with('~') && !word.home => format!("./{value}"),
                    Some(value) => value.clone(),
                    None => return Folder::Unknown,
                },
                _ => return Folder::Unknown,
            };
            if steps.len() == MAX_STEPS {
                return Folder::Unknown;
            }
            let mut steps = steps.clone();
            steps.push(step);
            Folder::Known(steps)
        }
        _ => before.clone(),
    }
}
