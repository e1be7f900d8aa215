//! Table: uses of programs that change files which their words don't name: they write where they run, or as a text
//! says that nobody reads here. For agents that are to change nothing of the project. A program that is not listed
//! may write just as well; tests and builds do.

use super::archive::tar_takes_out;
use super::command::{RedirectKind, Simple, Word};
use super::copy::has;
use super::made::module;
use super::readonly::is_long;
use super::script;
use super::target::{is_writer, operands};
use super::wrapper::{SHELLS, base_name, is_stream, layers};

/// Which uses of a program write where it runs.
enum When {
    /// Without each of these options; the value of a letter may be glued to it.
    Without(&'static [&'static str]),
    /// With one of these words.
    With(&'static [&'static str]),
    /// With one of these letters, before those that take a value.
    Letters(&'static str, &'static str),
    /// With one of these as its sub-command, one word or two, unless one of the words after it is given.
    Subs(&'static [&'static str], &'static [&'static str]),
}

use When::{Letters, Subs, With, Without};

#[rustfmt::skip]
const WRITES_HERE: &[(&[&str], When)] = &[
    // Archives and files that are made of others.
    (&["unzip"], Without(&["-d", "-l", "-p", "-t", "-v", "-Z"])),
    (&["cpio"], Letters("ip", "DEFHIMO")),
    (&["cpio"], With(&["--extract", "--pass-through"])),
    (&["ar"], With(&["x", "xv", "-x"])),
    (&["7z", "7za", "7zr", "unrar", "unar"], With(&["x", "e"])),
    (&["patch"], Without(&["-o", "--dry-run", "--output"])),
    (&["csplit"], Without(&["-f", "--prefix"])),
    (&["uudecode"], Without(&["-o"])),
    (&["ctags", "etags"], Without(&["-f", "-o", "-x"])),
    // What is fetched.
    (&["curl"], With(&["--remote-name", "--remote-name-all", "--remote-header-name"])),
    (&["curl"], Letters("OJ", "AbcCdDeEFHKmoPQrtTuUwxXyYz")),
    (&["wget"], Without(&["-O", "-qO", "-P", "--output-document", "--directory-prefix", "--spider"])),
    // Packages.
    (&["npm", "pnpm", "yarn", "bun"], Subs(&["install", "i", "ci", "add", "remove", "rm", "uninstall", "un", "update", "up", "upgrade", "link", "unlink", "dedupe", "prune", "init", "create", "version", "rebuild", "audit fix", "pkg set"], &["--dry-run"])),
    (&["pip", "pip3"], With(&["-e", "--editable"])),
    (&["pip", "pip3"], Subs(&["download", "wheel"], &["-d", "--dest", "-w", "--wheel-dir"])),
    (&["cargo"], Subs(&["add", "remove", "rm", "new", "init", "update", "vendor", "generate-lockfile", "fix", "insta accept", "insta review", "insta reject"], &["--dry-run"])),
    (&["cargo"], Subs(&["fmt"], &["--check"])),
    (&["cargo"], With(&["--fix"])),
    (&["go"], Subs(&["mod tidy", "mod vendor", "mod edit", "mod init", "get", "generate", "fmt", "fix", "work init", "work use", "work sync"], &[])),
    (&["poetry", "uv", "pdm", "pipenv"], Subs(&["add", "remove", "install", "uninstall", "update", "lock", "sync", "init", "version"], &["--check", "--dry-run"])),
    (&["bundle", "composer", "pod"], Subs(&["install", "update", "add", "require", "remove", "init"], &["--dry-run"])),
    (&["dotnet"], Subs(&["new", "add", "remove", "format"], &["--verify-no-changes"])),
    (&["terraform", "tofu"], Subs(&["init", "fmt", "apply", "import"], &["-check"])),
    // Formatters, and checkers that mend.
    (&["rustfmt", "black", "isort"], Without(&["-c", "--check", "--check-only", "--diff", "--version"])),
    (&["gofmt", "goimports", "shfmt"], With(&["-w"])),
    (&["autopep8", "yapf", "clang-format"], With(&["-i", "--in-place"])),
    (&["2to3", "lib2to3"], With(&["-w", "--write"])),
    (&["prettier"], With(&["-w", "--write"])),
    (&["ruff"], Subs(&["format"], &["--check", "--diff"])),
    (&["eslint", "stylelint", "ruff", "biome", "rubocop", "standard", "ktlint"], With(&["--fix", "--fix-only", "--write", "--autocorrect", "-a", "-A"])),
    // Compilers.
    (&["gcc", "cc", "g++", "c++", "clang", "clang++", "rustc"], Without(&["-o", "-E", "-M", "-fsyntax-only", "--out-dir", "--version", "-v", "-V", "--print"])),
    (&["cmake"], Without(&["-B", "-E", "-P", "--build", "--install", "--version", "--help"])),
];

/// Options before a sub-command that take the next word.
const VALUES: &[&str] =
    &["-C", "--cwd", "--dir", "--directory", "--filter", "--manifest-path", "--prefix", "--project"];

/// Interpreters: letters and words whose value is a text to run, letters that take another value.
const TEXTS: &[(&str, &str, &[&str], &str)] = &[
    ("python", "c", &[], "WX"),
    ("pypy", "c", &[], "WX"),
    ("perl", "eE", &[], "IMm"),
    ("ruby", "e", &[], "Ir"),
    ("node", "ep", &["--eval", "--print"], "r"),
    ("nodejs", "ep", &["--eval", "--print"], "r"),
    ("bun", "ep", &["--eval", "--print"], "r"),
    ("deno", "", &["eval", "repl"], ""),
    ("php", "rBRE", &["--run"], "cd"),
    ("lua", "e", &[], "l"),
    ("luajit", "e", &[], "l"),
    ("Rscript", "e", &[], ""),
    ("julia", "eE", &["--eval", "--print"], "L"),
    ("elixir", "e", &["--eval"], ""),
    ("groovy", "e", &[], ""),
    ("osascript", "e", &[], ""),
    ("tclsh", "", &[], ""),
];

/// How a part may change files that its words don't name, if so.
pub(super) fn stray(part: &Simple) -> Option<String> {
    let texts = part.texts();
    let layers = layers(&texts);
    let dynamic = |word: &Word| word.value.is_none();
    if part.words.first().is_some_and(dynamic) {
        return Some("only the shell knows what it runs".to_owned());
    }
    layers.iter().enumerate().find_map(|(at, layer)| {
        let words = &part.words[layer.start..layer.start + layer.words.len()];
        let name = base_name(layer.words.first()?);
        let rest = &words[1..];
        let feeder = layers[..at].iter().find_map(|outer| feeds(outer.words));
        if let Some(feeder) = feeder
            && is_writer(name)
            && !has(rest, "t", &["target-directory"])
        {
            return Some(format!("`{feeder}` hands files to `{name}`"));
        }
        of_program(name, layer.words.get(1..)?, rest, part).or_else(|| {
            let (name, rest) = module(words)?;
            let texts: Vec<&str> = rest.iter().map(Word::text).collect();
            of_program(name, &texts, rest, part)
        })
    })
}

/// The program, if it adds words to the command that it runs.
fn feeds<'a>(words: &[&'a str]) -> Option<&'a str> {
    let (program, rest) = words.split_first()?;
    let name = base_name(program);
    let replaces = match name {
        "xargs" => rest.iter().any(|w| w.starts_with("-I") || *w == "-i" || w.starts_with("--replace")),
        "parallel" | "fd" | "fdfind" => rest.iter().any(|w| w.contains("{}")),
        _ => return None,
    };
    (!replaces).then_some(name)
}

fn of_program(name: &str, rest: &[&str], words: &[Word], part: &Simple) -> Option<String> {
    let here = || Some(format!("`{name}` may write where it runs"));
    if WRITES_HERE.iter().any(|(names, when)| names.contains(&name) && when.holds(rest)) {
        return here();
    }
    match name {
        "tar" | "bsdtar" | "gtar" if tar_takes_out(words) => return here(),
        "split" if operands(words, "abCln").is_empty() => return here(),
        "yarn" | "pnpm" if rest.iter().all(|word| word.starts_with("--") && *word != "--version") => {
            return here();
        }
        "sed" | "gsed" => return script::sed_hazard(rest),
        "awk" | "gawk" | "mawk" | "nawk" => return script::awk_hazard(rest),
        "eval" | "source" | "." if words.iter().any(|word| word.value.is_none()) => {
            return Some(format!("`{name}` runs what only the shell knows"));
        }
        "make" | "gmake" if reads_makefile(words) => {
            return Some(format!("`{name}` runs a text that nobody has read"));
        }
        "gdb" | "cgdb" | "lldb" if debugs_by_text(rest, part) => {
            return Some(format!("`{name}` runs a text that nobody has read"));
        }
        _ => {}
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let known = TEXTS.iter().find(|(known, ..)| *known == stem || *known == name);
    let runs = match known {
        Some((_, letters, longs, values)) => runs_text(letters, longs, values, words, part),
        // A text that is known is judged on its own.
        None if SHELLS.contains(&name) => {
            let unknown = words.iter().any(|word| word.value.is_none());
            unknown || runs_text("", &[], "cO", words, part)
        }
        None => false,
    };
    runs.then(|| format!("`{name}` runs a text that nobody has read"))
}

impl When {
    fn holds(&self, rest: &[&str]) -> bool {
        let named = |names: &[&str]| {
            rest.iter().any(|word| names.iter().any(|name| word.split('=').next() == Some(name)))
        };
        match self {
            Without(names) => {
                let glued = |word: &&str| {
                    names
                        .iter()
                        .any(|name| !name.starts_with("--") && name.len() < 4 && word.starts_with(name))
                };
                !named(names) && !rest.iter().any(glued)
            }
            With(names) => named(names),
            Letters(letters, values) => rest.iter().any(|word| {
                let bundle =
                    word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')).unwrap_or_default();
                let end = bundle.find(|c| values.contains(c)).unwrap_or(bundle.len());
                bundle[..end].contains(|c| letters.contains(c))
            }),
            Subs(subs, names) => {
                let given = sub_command(rest);
                let is_sub = |sub: &&str| given.first() == Some(sub) || given.join(" ") == **sub;
                subs.iter().any(is_sub) && !named(names)
            }
        }
    }
}

/// The first two operands.
fn sub_command<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let mut words = rest.iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if VALUES.contains(word) {
            words.next();
        } else if !word.starts_with(['-', '+']) && found.len() < 2 {
            found.push(*word);
        }
    }
    found
}

/// Whether an interpreter is given a text: by an option before its file, by its standard input, or by a file that
/// another command makes up.
fn runs_text(letters: &str, longs: &[&str], values: &str, words: &[Word], part: &Simple) -> bool {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text();
        if longs.contains(&text.split('=').next().unwrap_or_default()) {
            return true;
        }
        if text == "-" || is_stream(text) || word.raw.starts_with("<(") {
            return true;
        }
        let Some(bundle) = text.strip_prefix('-') else { return false };
        if bundle.starts_with('-') || bundle.starts_with('m') {
            // `python -m x`: a module, with options of its own.
            if bundle.starts_with('m') && letters == "c" {
                return false;
            }
            continue;
        }
        let value = bundle.find(|c| values.contains(c)).unwrap_or(bundle.len());
        if bundle[..value].contains(|c| letters.contains(c)) {
            return true;
        }
        if value + 1 == bundle.len() {
            // A shell's text is one more operand to it.
            rest.next();
            if values.starts_with('c') && bundle[value..].starts_with('c') && letters.is_empty() {
                return false;
            }
        }
    }
    // Without a file it runs its standard input.
    part.piped
        || part
            .redirects
            .iter()
            .any(|redirect| !matches!(redirect.kind, RedirectKind::Copy | RedirectKind::Write))
}

/// Commands of a debugger that only look, or go on.
const LOOKS: &[&str] = &[
    "backtrace",
    "bt",
    "c",
    "continue",
    "disassemble",
    "down",
    "f",
    "frame",
    "i",
    "info",
    "k",
    "kill",
    "l",
    "list",
    "n",
    "next",
    "p",
    "print",
    "q",
    "quit",
    "r",
    "run",
    "s",
    "start",
    "step",
    "up",
    "where",
    "x",
];

/// Whether a debugger is given commands that may do more than look: they run programs, and write files.
fn debugs_by_text(rest: &[&str], part: &Simple) -> bool {
    const TAKE: &[&str] =
        &["ex", "iex", "eval-command", "init-eval-command", "o", "O", "one-line", "one-line-before-file"];
    let mut given = rest.iter().enumerate().filter_map(|(at, word)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*word, rest.get(at + 1).copied()),
        };
        let is_option = name.starts_with('-') && TAKE.contains(&name.trim_start_matches('-'));
        value.filter(|_| is_option)
    });
    let fed = part.piped || part.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Text);
    fed || given.any(|text| !only_looks(&text.split_whitespace().collect::<Vec<_>>()))
}

fn only_looks(words: &[&str]) -> bool {
    match words {
        ["thread" | "t", "apply", _, inner @ ..] => only_looks(inner),
        ["set", "pagination" | "confirm" | "width" | "height", ..] => true,
        // What is printed may be called, and what is run goes through a shell.
        ["r" | "run" | "start", rest @ ..] => rest.is_empty(),
        [first, rest @ ..] => {
            LOOKS.contains(&first.split('/').next().unwrap_or_default())
                && !rest.iter().any(|word| word.contains(['(', '=', '|']))
        }
        [] => true,
    }
}

/// Whether `make` is given a makefile that is none of the project's.
fn reads_makefile(words: &[Word]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let text = word.text();
        let glued = text.strip_prefix("-f").filter(|file| !file.is_empty());
        let is_option = text == "-f" || is_long(text, &["file", "makefile"]);
        let next = || words.get(at + 1).filter(|_| is_option && !text.contains('='));
        word.value.is_none() && (is_option || glued.is_some())
            || glued.is_some_and(|file| file == "-" || is_stream(file))
            || next().is_some_and(|file| file.value.is_none() || file.text() == "-" || is_stream(file.text()))
    })
}
