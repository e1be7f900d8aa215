//! The shell grammar: a command line → [`Command`], as data for the permission policy. It judges nothing;
//! what it can't follow it notes as a doubt.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser, Tree};
use troupe_core::policy::{Command, Folder, Origin, RedirectKind, Simple, runs_shell_text};

use quote::{Sighted, Sign, signs};
use walk::Walk;

mod flow;
mod hidden;
mod node;
mod quote;
mod walk;
mod word;

/// Longest line that is parsed, in bytes. Longer ones are doubtful.
pub const MAX_LINE: usize = 64 * 1024;
/// How deep text given to `eval` or to a shell is followed.
const MAX_TEXTS: usize = 4;
/// How many parts are kept of a line with shell texts in it.
const MAX_PARTS: usize = 10_000;
/// How many lines of heredocs that look like an end are passed.
const MAX_FALSE_ENDS: usize = 8;
/// How often the parser may report progress before it is stopped; the longest plain line takes some 1,400.
const MAX_PROGRESS: usize = 5_000;

/// Parses a line. Never fails: what can't be followed is a [`Command::doubt`].
pub fn parse(line: &str) -> Command {
    let mut command = Command { text: line.to_owned(), ..Command::default() };
    if line.len() > MAX_LINE {
        command.doubt = Some("the command is longer than 64 KiB".into());
        return command;
    }
    if let Some(found) = line.chars().find(|c| is_invisible(*c)) {
        command.doubt = Some(format!("it has a control or invisible character (U+{:04X})", u32::from(found)));
    }
    let (joined, unsure) = join_continued(line);
    let understood = parse_text(&joined, &mut command, &Folder::default(), Origin::Line, 0);
    // Heredocs are the grammar's weakest side.
    let has_heredoc = joined.contains("<<");
    if command.doubt.is_some() && has_heredoc {
        // What else stands in the line is looked at without them.
        parse_text(&without_heredocs(&joined), &mut command, &Folder::default(), Origin::Text, 0);
    }
    if !understood {
        parse_hidden(&joined, &mut command);
    }
    // A quote in a heredoc is no quote: what seems to stand in one may be a continued line all the same.
    let loosely = line.replace("\\\n", "");
    if has_heredoc && loosely != joined {
        parse_text(&loosely, &mut command, &Folder::Unknown, Origin::Text, 0);
        command.doubt.get_or_insert_with(|| "it continues a line after the start of a heredoc".into());
    }
    // Nor does it hide what stands after it; nor is it known where the quotes of a broken line end.
    if !understood || (command.doubt.is_some() && has_heredoc) {
        let unquoted = [" ", "\n", ""].map(|instead| loosely.replace(['\'', '"'], instead));
        // A broken line itself has been looked at.
        let mut seen: BTreeSet<&String> = (!understood).then_some(&joined).into_iter().collect();
        for text in &unquoted {
            if seen.insert(text) {
                parse_hidden(text, &mut command);
            }
        }
    }
    if unsure {
        parse_text(line, &mut command, &Folder::default(), Origin::Line, 0);
        command.doubt.get_or_insert_with(|| "it continues a line after the start of a heredoc".into());
    }
    if changes_home(line) {
        command.doubt.get_or_insert_with(|| "it changes HOME and uses it".into());
    }
    command
}

/// Adds what may stand in a text that was not understood: it may hold a command that a rule denies.
fn parse_hidden(text: &str, command: &mut Command) {
    for piece in hidden::pieces(text) {
        parse_text(piece, command, &Folder::Unknown, Origin::Text, MAX_TEXTS - 2);
    }
    for found in hidden::substitutions(text) {
        parse_text(&found.text, command, &Folder::Unknown, Origin::Text, MAX_TEXTS - 2);
    }
}

/// Adds what `text` holds, and what the texts in it hold that a shell would run. Tells whether the grammar
/// understood all of it.
fn parse_text(text: &str, command: &mut Command, folder: &Folder, origin: Origin, depth: usize) -> bool {
    let mut text = text.to_owned();
    let mut tries = MAX_FALSE_ENDS;
    let (parts, escaped, doubt, mut understood) = loop {
        let Some(tree) = tree_of(&text) else {
            command.doubt.get_or_insert_with(|| "the parser gave up on it".into());
            return false;
        };
        let mut walk = Walk::new(&text, folder.clone(), origin);
        walk.visit(tree.root_node());
        command.repeats |= walk.repeats;
        if tree.root_node().has_error() {
            walk.lost("its syntax is not understood");
        }
        match walk.false_end {
            // Other letters in its place make it the data that it is.
            Some((from, to)) if tries > 0 && from < to => {
                tries -= 1;
                text.replace_range(from..to, &"_".repeat(to - from));
            }
            _ => break (walk.parts, walk.escaped, walk.doubt, !walk.lost),
        }
    };
    if let Some(why) = doubt {
        command.doubt.get_or_insert(why);
    }
    let run = parts.iter().enumerate().flat_map(|(at, part)| {
        texts_of(part, &parts[..at]).into_iter().map(|text| (part.folder.clone(), Origin::Text, text))
    });
    let inner: Vec<_> = escaped.into_iter().chain(run).collect();
    command.parts.extend(parts);
    for (folder, origin, text) in inner {
        if depth == MAX_TEXTS || text.len() > MAX_LINE || command.parts.len() > MAX_PARTS {
            command.doubt.get_or_insert_with(|| "it nests shell texts too deep".into());
            return false;
        }
        let (joined, _) = join_continued(&text);
        understood &= parse_text(&joined, command, &folder, origin, depth + 1);
    }
    understood
}

/// The texts that a simple command gives to a shell: as arguments, as a heredoc, as a here-string, through a
/// pipe from a command before it.
fn texts_of(part: &Simple, before: &[Simple]) -> Vec<String> {
    // Of a text that is known in part, what is known is looked at too.
    let words: Vec<&str> = part
        .words
        .iter()
        .map(|word| match &word.value {
            Some(value) => value,
            None => word.raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(&word.raw),
        })
        .collect();
    let run = runs_shell_text(&words);
    let mut texts = run.texts;
    if run.stdin {
        let given = part.redirects.iter().filter(|r| r.kind == RedirectKind::Text);
        texts.extend(given.filter_map(|r| r.target.value.clone()));
        if part.piped {
            texts.extend(before.last().into_iter().flat_map(printed));
        }
    }
    texts
}

/// What a command that prints a text of the line itself prints, as far as its words tell.
fn printed(part: &Simple) -> Vec<String> {
    let words = part.texts();
    match words.split_first() {
        Some((&"echo" | &"printf", rest)) => {
            let text: Vec<&str> = rest.iter().filter(|word| !word.starts_with('-')).copied().collect();
            vec![text.join(" ")]
        }
        Some((&"cat" | &"tee", _)) => {
            let given = part.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Text);
            given.filter_map(|redirect| redirect.target.value.clone()).collect()
        }
        _ => Vec::new(),
    }
}

fn tree_of(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut left = MAX_PROGRESS;
    let mut progress = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // The grammar's scanner reads a table out of its bounds for characters beyond ASCII, none of which is
    // syntax: letters of the same length stand in for them.
    let bytes: Vec<u8> = text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'x' }).collect();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut progress)),
    )
}

/// Whether a character is one that people don't see or that shells and parsers read in different ways.
fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{1680}' | '\u{180e}' | '\u{3000}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}' | '\u{115f}' | '\u{1160}' => true,
        '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' => true,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}' => true,
        c => c.is_control(),
    }
}

/// Joins lines that end in a backslash, as the shell does before it looks at words. After the start of a
/// heredoc it depends on the quotes of its marker: then the text is joined and the second value is true.
fn join_continued(line: &str) -> (String, bool) {
    let mut out = String::with_capacity(line.len());
    let mut heredoc = false;
    let mut unsure = false;
    let mut before = ' ';
    let mut seen = signs(line).into_iter().peekable();
    while let Some(Sighted { char, sign, .. }) = seen.next() {
        if sign == Sign::Escaped {
            if seen.next_if(|next| next.char == '\n').is_some() {
                unsure |= heredoc;
                continue;
            }
            out.push(char);
            out.extend(seen.next().map(|next| next.char));
            before = 'x';
            continue;
        }
        heredoc |= sign == Sign::Code && char == '<' && before == '<';
        out.push(char);
        before = char;
    }
    (out, unsure)
}

/// The line with the bodies of its heredocs left out. Only used for what can't be parsed as it is: quotes
/// around `<<` are not looked at.
fn without_heredocs(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut waiting: VecDeque<(String, bool)> = VecDeque::new();
    for row in line.split_inclusive('\n') {
        if let Some((marker, strips)) = waiting.front() {
            let bare = row.trim_end_matches('\n');
            let bare = if *strips { bare.trim_start_matches('\t') } else { bare };
            if bare == marker {
                waiting.pop_front();
            }
            continue;
        }
        let mut rest = row;
        while let Some(at) = rest.find("<<") {
            out.push_str(&rest[..at]);
            rest = &rest[at + 2..];
            if let Some(string) = rest.strip_prefix('<') {
                out.push_str("<<<");
                rest = string;
                continue;
            }
            let strips = rest.starts_with('-');
            rest = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
            let end = rest.find([' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')']).unwrap_or(rest.len());
            let marker: String = rest[..end].chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
            rest = &rest[end..];
            waiting.push_back((marker, strips));
        }
        out.push_str(rest);
    }
    out
}

/// Whether the line both names HOME as a variable to set and uses the home folder.
fn changes_home(line: &str) -> bool {
    let mut uses = line.contains('~');
    let mut sets = false;
    for (at, _) in line.match_indices("HOME") {
        let before = &line[..at];
        let bounded = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if !bounded(line[at + 4..].chars().next()) {
            continue;
        }
        if before.ends_with('$') || before.ends_with("${") {
            uses = true;
        } else if bounded(before.chars().next_back()) {
            sets = true;
        }
    }
    uses && sets
}

#[cfg(test)]
mod tests;
