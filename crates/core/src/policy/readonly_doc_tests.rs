//! The document on commands that need no rule says what the tables say.

use std::fmt::Write as _;

use super::{FIND, Operands, READERS, TESTS};
use crate::policy::git::{LONG, READS};

/// The document, made from the tables.
fn document() -> String {
    let mut out = String::from(
        "# Commands that need no rule\n\n\
         What only reads is allowed in every mode that asks at all but `micro`, as long as nothing but these options\n\
         is used, each file lies in the workspace, nothing is redirected to a file and no variable is set in front.\n\
         Deny and ask rules come first. Made from `core/src/policy/readers.rs` and `git.rs`; a test compares them.\n\n\
         Letters in brackets take a value, and so do long options that end in `=`.\n\n\
         | program | letters | long options | operands |\n|---|---|---|---|\n",
    );
    for reader in READERS {
        let operands = match reader.operands {
            Operands::Text => "text".to_owned(),
            Operands::Files => "files".to_owned(),
            Operands::Pattern => "a pattern, then files".to_owned(),
            Operands::Most(0) => "none".to_owned(),
            Operands::Most(most) => format!("at most {most}"),
        };
        let letters = match (reader.short, reader.values) {
            ("", "") => String::new(),
            (short, "") => format!("`{short}`"),
            ("", values) => format!("[`{values}`]"),
            (short, values) => format!("`{short}` [`{values}`]"),
        };
        let long = list(reader.long);
        let _ = writeln!(out, "| `{}` | {letters} | {long} | {operands} |", reader.name);
    }
    let _ = write!(
        out,
        "\n`find` may have {}.\n\n`test`, `[` and `[[` may have {}; numbers are compared with numbers alone.\n\n\
         `set` may have `-e`, `-u` and `-o pipefail`.\n\n\
         `date` may have `-u`, `-R`, `-I` and a form that begins with `+`.\n\n\
         ## git\n\nIn a trusted workspace, from its own folder, with `--no-pager` and the like before it. Beside these:\n\
         `stash list`, `stash show`, `worktree list`, `reflog show`, `config --get`, `config --list`, `remote get-url`.\n\n\
         | sub-command | letters | operands |\n|---|---|---|\n",
        list(&FIND.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
        list(TESTS),
    );
    for known in READS {
        let operands = if known.operands { "any" } else { "none, but with `--list`" };
        let letters = if known.short.is_empty() { String::new() } else { format!("`{}`", known.short) };
        let _ = writeln!(out, "| `{}` | {letters} | {operands} |", known.name);
    }
    let _ = writeln!(out, "\nLong options, of each of them: {}.", list(LONG));
    out
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{}`", name.replace('|', "\\|"))).collect::<Vec<_>>().join(" ")
}

// proves: S7
#[test]
fn the_document_says_what_the_tables_say() {
    let document = document();
    let kept = include_str!("../../../../docs/read-only-commands.md");
    assert!(document == kept, "docs/read-only-commands.md should be:\n{document}");
}
