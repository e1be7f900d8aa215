//! Searches files for a pattern on all cores. What is shown of them, [`super::hits`] decides.

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::DirEntry;
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use troupe_core::policy::Unreadable;

use super::halt::{Halt, lock};
use super::hits::{Haltable, Hits};
use super::query::{Mode, Query};
use super::ranking::{Lines, Ranking};
use super::root::{self, Kind};
use super::walk;

/// Most memory that one thread takes for a line, or for a file when matches span lines.
const HEAP: usize = 64 << 20;

/// Most memory of a compiled pattern.
const REGEX_SIZE: usize = 10 << 20;

/// Puts the hits of every file that `query` means into `found`.
pub(super) fn scan(
    query: &Query,
    unreadable: Unreadable,
    halt: &Halt,
    found: &Mutex<Ranking>,
) -> Result<(), String> {
    let matcher = matcher(query)?;
    let kind = root::kind(&query.root)?;
    if kind == Kind::File {
        return search(query, &matcher, &mut searcher(query), &query.root, None, halt, found);
    }
    let mut builder = walk::builder(&query.root, true, unreadable);
    if let Some(glob) = &query.glob {
        let mut overrides = OverrideBuilder::new(&query.root);
        overrides.add(glob).map_err(|fault| format!("`glob`: {fault}"))?;
        builder.overrides(overrides.build().map_err(|fault| format!("`glob`: {fault}"))?);
    }
    if let Some(name) = &query.kind {
        builder.types(types(name)?);
    }
    let unread = || lock(found).unread += 1;
    walk::each(&builder, halt, unread, || {
        let (mut searcher, matcher) = (searcher(query), matcher.clone());
        move |entry: DirEntry| {
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return;
            }
            let shown = entry.path().strip_prefix(&query.cwd).unwrap_or(entry.path()).to_string_lossy();
            if search(query, &matcher, &mut searcher, entry.path(), Some(&shown), halt, found).is_err() {
                unread();
            }
        }
    });
    Ok(())
}

/// Searches one file. `shown` is its path in the result; none when it is the only one.
fn search(
    query: &Query,
    matcher: &RegexMatcher,
    searcher: &mut Searcher,
    path: &Path,
    shown: Option<&str>,
    halt: &Halt,
    found: &Mutex<Ranking>,
) -> Result<(), String> {
    let fault = |fault: std::io::Error| format!("{} can't be searched: {fault}", path.display());
    let file = File::open(path).map_err(fault)?;
    let changed = || file.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    // Lines of a file that ranks too low to be shown need not be made.
    let keeps = query.mode == Mode::Content && lock(found).keeps(path, changed());
    let mut hits = Hits::new(query, matcher, shown, keeps);
    let searched = searcher.search_reader(matcher, Haltable(&file, halt), &mut hits);
    if halt.is_set() && searched.is_err() {
        return Ok(());
    }
    searched.map_err(fault)?;
    let Some(mut lines) = hits.into_lines() else {
        let mut found = lock(found);
        found.searched += 1;
        found.binary += 1;
        return Ok(());
    };
    if lines.matches == 0 {
        lock(found).searched += 1;
        return Ok(());
    }
    let shown = || shown.map_or_else(|| path.to_string_lossy().into_owned(), str::to_owned);
    match query.mode {
        Mode::Content => {}
        Mode::Files => lines = Lines { kept: vec![shown()], total: 1, ..lines },
        Mode::Count => {
            lines = Lines { kept: vec![format!("{}:{}", shown(), lines.matches)], total: 1, ..lines }
        }
    }
    let changed = changed();
    let mut found = lock(found);
    found.searched += 1;
    found.add(path, changed, lines);
    Ok(())
}

fn searcher(query: &Query) -> Searcher {
    SearcherBuilder::new()
        .line_number(query.numbers && query.mode == Mode::Content)
        .multi_line(query.multiline)
        .before_context(query.before)
        .after_context(query.after)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP))
        .build()
}

fn matcher(query: &Query) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(query.ignore_case).multi_line(true).size_limit(REGEX_SIZE);
    if query.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&query.pattern).map_err(|fault| {
        let fault = fault.to_string();
        let hint = if fault.contains("look-around") || fault.contains("backreferences") {
            "this engine has neither lookaround nor backreferences: search for a plainer pattern and pick from its result"
        } else if fault.contains("\\n") && fault.contains("not allowed") {
            "set `multiline` to match across lines"
        } else if fault.contains("size limit") {
            "use smaller repetitions"
        } else {
            "put a backslash before characters that are meant literally"
        };
        format!("`pattern`: {fault}\nHint: {hint}")
    })
}

fn types(name: &str) -> Result<ignore::types::Types, String> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name);
    builder.build().map_err(|_| {
        let known = builder.definitions();
        let suffix = format!("*.{name}");
        let mut near: Vec<&str> = known
            .iter()
            .filter(|kind| {
                kind.globs().contains(&suffix)
                    || kind.name().starts_with(name)
                    || name.starts_with(kind.name())
            })
            .map(ignore::types::FileTypeDef::name)
            .collect();
        let names: Vec<&str> = known.iter().map(ignore::types::FileTypeDef::name).collect();
        for close in similar::get_close_matches(name, &names, 5, 0.6) {
            if !near.contains(&close) {
                near.push(close);
            }
        }
        near.truncate(8);
        let near = if near.is_empty() { String::new() } else { format!("; near it: {}", near.join(", ")) };
        format!("`type`: there is no file type `{name}`{near}. `glob` takes any pattern, such as `*.{name}`")
    })
}
