//! Lines found, file by file, of which those in the files changed last are kept. Bounded in lines and bytes,
//! and the same whatever order the files are found in.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes after which a page ends: what an agent reads of a result is limited, and its end says how to go on.
const PAGE_BYTES: usize = 150_000;
/// Most bytes kept, of lines and paths together.
pub(super) const MAX_BYTES: usize = 8 << 20;

/// What one file adds.
#[derive(Default)]
pub(super) struct Lines {
    /// Its lines, as they are shown; at most as many as the ranking wants.
    pub(super) kept: Vec<String>,
    /// How many it has.
    pub(super) total: u64,
    /// How many matches it has.
    pub(super) matches: u64,
}

/// The files found so far.
#[derive(Default)]
pub(super) struct Ranking {
    files: BTreeMap<(Reverse<SystemTime>, PathBuf), Vec<String>>,
    lines: usize,
    bytes: usize,
    want: usize,
    /// Files with lines.
    pub(super) total_files: u64,
    /// Their lines.
    pub(super) total_lines: u64,
    /// Their matches.
    pub(super) total_matches: u64,
    /// Files searched, those without lines included.
    pub(super) searched: u64,
    /// Files and folders that could not be read.
    pub(super) unread: u64,
    /// Binary files, left out.
    pub(super) binary: u64,
}

/// The part of a ranking that is shown.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    /// Lines, and `separator` between files.
    pub(super) lines: Vec<String>,
    /// How many of them count.
    pub(super) count: usize,
    /// The files that they are from.
    pub(super) files: Vec<PathBuf>,
    /// Whether lines follow.
    pub(super) cut: bool,
}

impl Ranking {
    /// A ranking of which the first `want` lines will be shown.
    pub(super) fn new(want: usize) -> Self {
        Self { want, ..Self::default() }
    }

    /// Whether lines of this file have a chance to be shown.
    pub(super) fn keeps(&self, path: &Path, changed: SystemTime) -> bool {
        let last =
            self.files.last_key_value().map(|((last_changed, last), _)| (*last_changed, last.as_path()));
        self.lines < self.want || last.is_none_or(|last| (Reverse(changed), path) < last)
    }

    /// Adds a file.
    pub(super) fn add(&mut self, path: &Path, changed: SystemTime, lines: Lines) {
        self.total_files += 1;
        self.total_lines += lines.total;
        self.total_matches += lines.matches;
        self.lines += lines.kept.len();
        self.bytes += size(path, &lines.kept);
        self.files.insert((Reverse(changed), path.to_owned()), lines.kept);
        while self.files.len() > 1
            && let Some((key, last)) = self.files.last_key_value()
            && (self.lines - last.len() >= self.want || self.bytes > MAX_BYTES)
        {
            self.lines -= last.len();
            self.bytes -= size(&key.1, last);
            self.files.pop_last();
        }
    }

    /// Takes the lines after `offset`, at most `limit`, and no more once [`PAGE_BYTES`] are passed.
    pub(super) fn page(self, offset: usize, limit: usize, separator: Option<&str>) -> Page {
        let mut page = Page { lines: Vec::new(), count: 0, files: Vec::new(), cut: false };
        let mut skip = offset;
        let mut bytes = 0;
        for ((_, path), lines) in self.files {
            let skipped = skip.min(lines.len());
            skip -= skipped;
            let mut shown = Vec::new();
            for line in lines.into_iter().skip(skipped).take(limit - page.count) {
                if bytes > PAGE_BYTES {
                    break;
                }
                bytes += line.len() + 1;
                shown.push(line);
            }
            if shown.is_empty() {
                continue;
            }
            if let Some(separator) = separator
                && page.count > 0
            {
                page.lines.push(separator.to_owned());
            }
            page.count += shown.len();
            page.lines.extend(shown);
            page.files.push(path);
        }
        let seen = u64::try_from(offset.saturating_add(page.count)).unwrap_or(u64::MAX);
        page.cut = page.count > 0 && seen < self.total_lines;
        page
    }
}

fn size(path: &Path, lines: &[String]) -> usize {
    path.as_os_str().len() + lines.iter().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn lines(kept: &[&str]) -> Lines {
        let kept: Vec<String> = kept.iter().map(|line| (*line).to_owned()).collect();
        Lines { total: kept.len() as u64, matches: 1, kept }
    }

    #[test]
    fn the_order_is_that_of_change_then_path_however_files_come() {
        let files = [("/b", 1), ("/a", 1), ("/new", 9), ("/old", 0)];
        for turn in 0..files.len() {
            let mut ranking = Ranking::new(3);
            for n in 0..files.len() {
                let (path, time) = files[(n + turn) % files.len()];
                ranking.add(Path::new(path), at(time), lines(&[path]));
            }
            let page = ranking.page(0, 3, None);
            assert_eq!(page.lines, ["/new", "/a", "/b"]);
            assert!(page.cut);
        }
    }

    #[test]
    fn pages_follow_each_other_and_say_whether_more_follows() {
        let ranking = || {
            let mut ranking = Ranking::new(4);
            ranking.add(Path::new("/a"), at(2), lines(&["1", "2"]));
            ranking.add(Path::new("/b"), at(1), lines(&["3", "4"]));
            ranking
        };
        let first = ranking().page(0, 3, Some("--"));
        assert_eq!((first.lines.join(" "), first.count, first.cut), ("1 2 -- 3".into(), 3, true));
        let second = ranking().page(3, 3, Some("--"));
        assert_eq!((second.lines.join(" "), second.cut), ("4".into(), false));
        assert_eq!(second.files, [Path::new("/b")]);
        assert_eq!(ranking().page(9, 3, None).count, 0);
    }

    #[test]
    fn memory_stays_bounded_and_the_totals_stay_true() {
        let mut ranking = Ranking::new(usize::MAX);
        let line = "x".repeat(MAX_BYTES / 4);
        for n in 0..20 {
            ranking.add(Path::new(&format!("/{n}")), at(n), lines(&[&line]));
            assert!(ranking.bytes <= MAX_BYTES);
        }
        assert_eq!((ranking.total_files, ranking.files.len()), (20, 3));
        assert!(ranking.page(0, usize::MAX, None).cut);

        let mut ranking = Ranking::new(2);
        for n in 0..1000 {
            assert!(ranking.keeps(Path::new("/new"), at(n)));
            ranking.add(Path::new(&format!("/{n}")), at(n), lines(&["line"]));
            assert!(ranking.files.len() <= 2);
        }
        assert!(!ranking.keeps(Path::new("/999"), at(998)), "there is no room for what ranks last");
        assert_eq!(ranking.page(0, 2, None).files, [Path::new("/999"), Path::new("/998")]);
    }
}
