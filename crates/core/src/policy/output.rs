//! Table: options with which a program is told where to write.

use super::command::Word;
use super::readonly::{is_long, is_sink};
use super::target::tail;

/// Options that name a file or folder to write to: programs, letters, long names.
#[rustfmt::skip]
const OUTPUTS: &[(&[&str], &str, &[&str])] = &[
    (&["sort", "pandoc", "iconv", "gpg", "rustc", "yt-dlp", "youtube-dl", "bison", "flex", "xmllint", "nasm"], "o", &["output"]),
    (&["tree"], "o", &[]),
    (&["curl"], "oDc", &["output", "output-dir", "dump-header", "cookie-jar", "trace", "trace-ascii", "stderr", "libcurl", "etag-save", "hsts", "alt-svc"]),
    (&["wget"], "OoPa", &["output-document", "output-file", "append-output", "directory-prefix", "save-cookies", "warc-file", "rejected-log", "hsts-file"]),
    (&["gcc", "cc", "g++", "c++", "clang", "clang++", "ld", "as"], "o", &[]),
    (&["go"], "o", &["cpuprofile", "memprofile", "blockprofile", "mutexprofile", "coverprofile", "outputdir", "trace"]),
    (&["tar", "bsdtar", "gtar"], "Cg", &["directory", "listed-incremental", "index-file", "one-top-level"]),
    (&["unzip"], "d", &[]),
    (&["zip"], "O", &["output-file"]),
    (&["cp", "mv", "ln", "install"], "t", &["target-directory"]),
    (&["rsync"], "T", &["log-file", "write-batch", "only-write-batch", "backup-dir", "temp-dir", "partial-dir"]),
    (&["patch"], "od", &["output", "directory"]),
    (&["dot", "ctags", "etags"], "of", &[]),
    (&["openssl"], "", &["out"]),
    (&["cmake"], "B", &[]),
    (&["tsc"], "", &["outDir", "outFile", "declarationDir", "tsBuildInfoFile", "generateTrace"]),
    (&["pip", "pip3"], "td", &["target", "prefix", "root", "dest"]),
    (&["pytest", "py.test"], "", &["basetemp", "log-file", "result-log"]),
    (&["ruff"], "o", &[]),
    (&["docker", "podman"], "o", &["output"]),
    (&["strace", "ltrace"], "o", &["output"]),
    (&["git"], "", &["output", "output-directory"]),
    (&["csplit"], "f", &["prefix"]),
    (&["mktemp"], "p", &[]),
    (&["script"], "BIOT", &["log-in", "log-io", "log-out", "log-timing"]),
    (&["ssh-keygen"], "f", &[]),
    (&["kubectl"], "", &["output-directory"]),
];

/// Long options that name what is written wherever they are.
const ANYWHERE: &[&str] = &[
    "output",
    "output-file",
    "output-dir",
    "output-directory",
    "outfile",
    "out-file",
    "target-dir",
    "artifact-dir",
    "ssl-sessions",
    "out-dir",
    "outdir",
    "logfile",
    "log-file",
    "junitxml",
    "junit-xml",
];

/// Values that such an option has where it chooses a form, not a file.
const FORMS: &[&str] = &[
    "json", "yaml", "yml", "text", "table", "wide", "name", "csv", "tsv", "xml", "html", "plain", "none",
    "short",
];

/// Programs that only print, or that are judged on their own.
const PRINTERS: &[&str] = &["echo", "printf", "git", "grep", "kubectl", "aws", "gcloud", "az"];

/// The values of options that name what is written.
pub(super) fn outputs(name: &str, rest: &[Word]) -> Vec<Word> {
    let rows = || OUTPUTS.iter().filter(|(names, ..)| names.contains(&name));
    let anywhere = |text: &str| {
        let key = text.trim_start_matches("--").split('=').next().unwrap_or_default();
        !PRINTERS.contains(&name) && ANYWHERE.contains(&key)
    };
    let mut found = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        let text = word.text();
        let next = || rest.get(at + 1).cloned();
        if text == "--" {
            break;
        }
        if text.starts_with("--") {
            let known = rows().any(|(.., longs)| is_long(text, longs));
            if known || anywhere(text) {
                let value = match text.find('=') {
                    Some(eq) => Some(tail(word, eq + 1)),
                    None => next(),
                };
                found.extend(value.filter(|value| known || !FORMS.contains(&value.text())));
            }
        } else if let Some(name) = text.strip_prefix('-').map(|name| name.split('=').next().unwrap_or(name))
            && rows().any(|(.., longs)| longs.contains(&name))
        {
            found.extend(match text.find('=') {
                Some(eq) => Some(tail(word, eq + 1)),
                None => next(),
            });
        } else if let Some(bundle) = text.strip_prefix('-')
            && let Some((i, c)) =
                bundle.char_indices().find(|(_, c)| rows().any(|(_, letters, _)| letters.contains(*c)))
            && (i == 0
                || !matches!(
                    name,
                    "go" | "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" | "ld" | "cmake"
                ))
        {
            let value = 1 + i + c.len_utf8();
            found.extend(if value < text.len() { Some(tail(word, value)) } else { next() });
        }
    }
    found.retain(|word| word.text() != "-" && !is_sink(word.text()));
    found
}
