//! Table: options, sub-commands and words with which a program runs another one, changes which one runs, or
//! writes a file that its other words don't show. The rows make its length.

use super::options::abbreviates;

/// What is risky about one family of programs.
struct Power {
    names: &'static [&'static str],
    /// Letters of options.
    letters: &'static str,
    /// Long options; a short form of one counts too.
    long: &'static [&'static str],
    /// Sub-commands.
    subs: &'static [&'static str],
    /// Pieces of any word.
    pieces: &'static [&'static str],
}

const NONE: Power = Power { names: &[], letters: "", long: &[], subs: &[], pieces: &[] };

/// Programs whose long options stand behind one dash: their words are no bundles of letters.
const ONE_DASH: &[&str] = &[
    "go",
    "java",
    "javac",
    "openssl",
    "mvn",
    "mvnw",
    "terraform",
    "tofu",
    "gcc",
    "cc",
    "g++",
    "c++",
    "clang",
    "clang++",
    "ld",
    "tsc",
    "ffmpeg",
    "convert",
    "magick",
    "find",
    "dot",
    "sqlite3",
    "socat",
];

/// Programs whose sub-command may be two words.
const TWO_WORDS: &[&str] = &["docker", "podman", "gh", "rustup", "ip"];

/// Long options that mean the same wherever they are: what they name is run, or says what is run.
const ANYWHERE: &[&str] = &[
    "pager",
    "editor",
    "browser",
    "exec",
    "shell",
    "config",
    "config-file",
    "rcfile",
    "rc-file",
    "init-script",
    "plugin",
    "plugins",
    "plugin-dir",
    "load-plugins",
    "resolve-plugins-relative-to",
    "rulesdir",
    "parser",
    "require",
    "loader",
    "preload",
    "rsh",
    "compress-program",
    "python-executable",
    "globalSetup",
    "setupFiles",
    "setupFilesAfterEnv",
    "testRunner",
];

/// Programs for which one of those means something else, or that are judged on their own.
const ELSEWHERE: &[(&str, &str)] = &[
    ("git", ""),
    ("echo", ""),
    ("printf", ""),
    ("grep", ""),
    ("cmake", "config"),
    ("ctest", "config"),
    ("msbuild", ""),
    ("docker", "shell"),
];

#[rustfmt::skip]
const POWERS: &[Power] = &[
    // Readers, pagers, editors, browsers.
    Power { names: &["man", "apropos"], letters: "PHXTZC", long: &["pager", "html", "gxditview", "troff-device", "preprocessor"], ..NONE },
    Power { names: &["less", "more", "most"], letters: "oOkKt", long: &["lesskey-file", "lesskey-src", "log-file", "LOG-FILE", "lesskey-content", "tag"], ..NONE },
    Power { names: &["vim", "vi", "nvim", "view", "ex", "gvim", "vimdiff"], letters: "cSsuUwWilE", long: &["cmd", "remote", "servername"], ..NONE },
    Power { names: &["emacs", "emacsclient"], letters: "leLf", long: &["eval", "execute", "load", "funcall", "script", "batch"], ..NONE },
    Power { names: &["nano", "pico"], letters: "sT", long: &["speller"], ..NONE },
    Power { names: &["open", "start"], letters: "abe", ..NONE },
    Power { names: &["history"], letters: "awrcd", ..NONE },
    Power { names: &["fc"], letters: "es", ..NONE },
    Power { names: &["sort"], letters: "T", long: &["temporary-directory", "files0-from", "compress-program"], ..NONE },
    Power { names: &["split"], long: &["filter"], ..NONE },
    Power { names: &["rg"], letters: "z", long: &["pre", "hostname-bin", "search-zip"], ..NONE },
    Power { names: &["ack"], long: &["ackrc"], ..NONE },
    Power { names: &["fd", "fdfind"], letters: "xX", long: &["exec-batch"], ..NONE },
    Power { names: &["jq"], letters: "L", long: &["library-path"], ..NONE },
    Power { names: &["yq"], letters: "s", long: &["split-exp"], pieces: &["load(", "load_"], ..NONE },
    Power { names: &["tree"], letters: "R", ..NONE },
    Power { names: &["file"], letters: "mC", long: &["magic-file", "compile"], ..NONE },
    Power { names: &["date"], letters: "sf", long: &["set", "file"], ..NONE },
    Power { names: &["hostname"], letters: "Fb", long: &["file"], ..NONE },
    Power { names: &["time"], letters: "o", long: &["output"], ..NONE },
    Power { names: &["read"], letters: "aip", ..NONE },
    Power { names: &["printf"], letters: "v", ..NONE },
    // Archives and copies.
    Power { names: &["tar", "bsdtar", "gtar"], letters: "IFP", long: &["checkpoint-action", "to-command", "use-compress-program", "rsh-command", "rmt-command", "info-script", "new-volume-script", "absolute-names"], ..NONE },
    Power { names: &["zip"], letters: "T", long: &["test", "unzip-command"], ..NONE },
    Power { names: &["7z", "7za", "7zr"], pieces: &["-o..", "-o/"], ..NONE },
    Power { names: &["install"], long: &["strip-program"], ..NONE },
    Power { names: &["rsync"], letters: "e", long: &["rsync-path", "password-file"], ..NONE },
    // The network.
    Power { names: &["ssh"], letters: "oFIJLRDPESW", ..NONE },
    Power { names: &["scp", "sftp"], letters: "oFSDJb", ..NONE },
    Power { names: &["curl"], letters: "KTOJ", long: &["engine", "upload-file", "netrc-file", "unix-socket", "remote-name", "remote-name-all", "remote-header-name"], pieces: &["%output{"], ..NONE },
    Power { names: &["wget"], letters: "ei", long: &["execute", "use-askpass", "input-file"], ..NONE },
    Power { names: &["nc", "ncat", "netcat"], letters: "ec", long: &["sh-exec", "lua-exec"], ..NONE },
    Power { names: &["socat"], pieces: &["EXEC:", "SYSTEM:", "SHELL:", "exec:", "system:", "shell:"], ..NONE },
    Power { names: &["tcpdump"], letters: "zw", long: &["postrotate-command"], ..NONE },
    Power { names: &["ip", "tc"], letters: "b", long: &["batch", "force"], subs: &["exec"], ..NONE },
    Power { names: &["mail", "mailx", "mutt"], letters: "FeS", ..NONE },
    // Builders.
    Power { names: &["make", "gmake"], letters: "fCIE", long: &["eval", "file", "makefile", "directory", "include-dir"], ..NONE },
    Power { names: &["ninja"], letters: "tfC", ..NONE },
    Power { names: &["cmake"], letters: "PCE", pieces: &["_COMPILER", "_LAUNCHER", "_PROGRAM", "TOOLCHAIN_FILE"], ..NONE },
    Power { names: &["gradle", "gradlew"], letters: "Ibpgc", long: &["build-file", "project-dir", "gradle-user-home", "settings-file", "include-build"], pieces: &["org.gradle."], ..NONE },
    Power { names: &["mvn", "mvnw"], letters: "fst", long: &["file", "settings", "global-settings", "gs", "toolchains", "global-toolchains", "gt"], pieces: &["exec:", "exec.", "antrun:", "-maven-plugin:"], ..NONE },
    Power { names: &["tsc"], letters: "p", long: &["project", "build", "b"], ..NONE },
    Power { names: &["gcc", "cc", "g++", "c++", "clang", "clang++", "ld"], letters: "B", long: &["wrapper"], pieces: &["-fplugin", "-specs", "-fuse-ld", "-Xclang", "-load", "-dynamic-linker"], ..NONE },
    Power { names: &["rustc"], pieces: &["linker", "-Zcodegen-backend"], ..NONE },
    Power { names: &["cargo"], letters: "C", long: &["manifest-path"], ..NONE },
    Power { names: &["rustup"], subs: &["link", "run", "set", "override"], ..NONE },
    Power { names: &["go"], long: &["toolexec", "C", "vettool", "overlay", "modfile"], subs: &["generate", "env", "tool"], pieces: &["extld"], ..NONE },
    Power { names: &["npm", "pnpm", "yarn", "bun"], letters: "C", long: &["script-shell", "node-options", "scripts-prepend-node-path", "prefix", "cwd", "dir", "userconfig", "globalconfig"], subs: &["exec", "x", "dlx", "config", "c", "set", "explore", "edit"], ..NONE },
    Power { names: &["npx", "bunx", "pnpx"], letters: "c", long: &["call"], ..NONE },
    Power { names: &["pip", "pip3"], long: &["config-settings", "global-option", "python"], subs: &["config"], ..NONE },
    Power { names: &["uv"], letters: "p", long: &["python", "directory", "project"], ..NONE },
    Power { names: &["poetry", "bundle", "gem", "composer", "conda"], subs: &["config"], ..NONE },
    // Tests and checks.
    Power { names: &["pytest", "py.test"], letters: "pco", long: &["rootdir", "confcutdir", "override-ini", "pdb", "pdbcls", "trace"], ..NONE },
    Power { names: &["jest", "eslint", "vitest", "mocha", "rollup", "webpack"], letters: "c", ..NONE },
    Power { names: &["eslint"], letters: "fo", long: &["format", "output-file"], ..NONE },
    // Containers, clouds, services.
    Power { names: &["docker", "podman"], letters: "H", long: &["host", "context"], subs: &["exec", "run", "cp", "plugin", "context"], ..NONE },
    Power { names: &["kubectl"], long: &["kubeconfig"], subs: &["exec", "edit", "cp", "debug", "plugin", "attach"], ..NONE },
    Power { names: &["gh"], letters: "we", long: &["web"], subs: &["alias", "extension", "config", "codespace", "browse"], ..NONE },
    Power { names: &["journalctl", "systemctl", "loginctl"], long: &["root"], subs: &["edit", "link", "set-environment", "import-environment"], ..NONE },
    Power { names: &["systemctl"], pieces: &["/"], ..NONE },
    Power { names: &["sqlite3"], long: &["cmd", "init"], pieces: &["load_extension", "writefile", "edit(", "fts3_tokenizer"], ..NONE },
    // The rest.
    Power { names: &["sudo"], letters: "sie", ..NONE },
    Power { names: &["gpg"], long: &["photo-viewer", "options", "homedir", "agent-program"], ..NONE },
    Power { names: &["openssl"], long: &["engine", "provider", "provider-path"], ..NONE },
    Power { names: &["svn"], long: &["config-option", "config-dir", "diff-cmd", "diff3-cmd", "editor-cmd"], ..NONE },
    Power { names: &["ctags"], long: &["options", "options-maybe"], ..NONE },
    Power { names: &["pandoc"], letters: "FLd", long: &["filter", "lua-filter", "pdf-engine", "defaults"], ..NONE },
    Power { names: &["convert", "magick", "mogrify"], pieces: &["|", "msl:", "ephemeral:"], ..NONE },
];

/// Why a use of `name` asks: `words` are the whole command, of which the first `named` stand in the rule.
pub(super) fn power(name: &str, words: &[&str], named: usize) -> Option<String> {
    let rows = || POWERS.iter().filter(|power| power.names.contains(&name));
    let one_dash = ONE_DASH.contains(&name);
    let depth = if TWO_WORDS.contains(&name) { 2 } else { 1 };
    let mut operands = 0;
    let mut after_option = false;
    let mut only_operands = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        // What stands in the rule, with its value, is what the rule is about.
        let given = at + 1 < named || (at + 1 == named && (word.contains('=') || !word.starts_with('-')));
        let option = !only_operands && word.len() > 1 && word.starts_with('-');
        only_operands |= *word == "--";
        let hit = if option {
            let long = word.strip_prefix("--").or_else(|| one_dash.then(|| &word[1..]));
            after_option = !word.contains('=') && *word != "--";
            let by_name = long.filter(|long| !long.is_empty()).is_some_and(|long| {
                rows().any(|row| row.long.iter().any(|own| matches_long(long, own, one_dash)))
                    || is_anywhere(name, long)
            });
            by_name || rows().any(|row| has_letter(word, row.letters, one_dash))
        } else {
            let is_sub = operands < depth && rows().any(|row| row.subs.contains(word));
            // What follows an option may be its value.
            operands += usize::from(!after_option);
            after_option = false;
            is_sub
        };
        let hit = hit || rows().any(|row| row.pieces.iter().any(|piece| word.contains(piece)));
        if hit && !given {
            return Some(format!("`{word}` of {name} may run a program or write a file"));
        }
    }
    // Old bundles without a dash: `tar cIf`.
    let old = matches!(name, "tar" | "bsdtar" | "gtar")
        && words
            .get(1)
            .is_some_and(|w| !w.starts_with('-') && w.contains(['I', 'F', 'P']) && !w.contains(['.', '/']));
    old.then(|| format!("an option of {name} may run a program"))
}

fn matches_long(given: &str, own: &str, one_dash: bool) -> bool {
    if one_dash { given.split('=').next() == Some(own) } else { abbreviates(given, own) }
}

fn is_anywhere(name: &str, long: &str) -> bool {
    let key = long.split('=').next().unwrap_or(long);
    ANYWHERE.contains(&key)
        && !ELSEWHERE
            .iter()
            .any(|(program, option)| *program == name && (option.is_empty() || *option == key))
}

/// Whether a word is a bundle with one of the letters, or for programs that have none, begins with it.
fn has_letter(word: &str, letters: &str, one_dash: bool) -> bool {
    let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) else { return false };
    if one_dash {
        let mut rest = bundle.chars();
        return rest.next().is_some_and(|first| letters.contains(first))
            && rest.next().is_none_or(|next| !next.is_ascii_lowercase());
    }
    bundle.chars().any(|c| letters.contains(c))
}

#[cfg(test)]
mod tests {
    use super::power;

    fn asks(line: &str, named: usize) -> bool {
        let words: Vec<&str> = line.split(' ').collect();
        power(words[0], &words, named).is_some()
    }

    // proves: S7
    #[test]
    fn an_option_in_the_rule_is_what_the_rule_is_about() {
        assert!(asks("make -f x all", 1) && asks("make -f x all", 2), "the rule names no file");
        assert!(!asks("make -f x all", 3));
        assert!(asks("cargo --config=a build --config=b", 2), "only the first one stands in the rule");
    }

    // proves: S7
    #[test]
    fn a_sub_command_is_no_other_word() {
        assert!(asks("npm x", 1) && asks("npm --silent exec a", 1) && asks("docker compose exec c", 1));
        assert!(asks("npm --prefix a exec b", 1));
        assert!(!asks("npm view x", 1) && !asks("npm run test x", 1) && !asks("docker ps", 1));
    }
}
