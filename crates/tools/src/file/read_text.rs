//! Text as Read shows it: numbered lines, in a window, under a cap, with plain words for what is left out.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{Cursor, Read as _};
use std::path::Path;

use serde_json::json;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::state::{Effect, Part, Seen};

use super::encoding::{Encoding, decode, marked};
use super::fingerprint::{WHOLE, hash, hex, mtime, stamp};
use super::scan::{Scan, Window, scan};
use super::versions;

/// Lines that are shown unless a limit is given.
pub(super) const LINES: u64 = 2000;
/// Bytes that are taken for one token.
pub(super) const BYTES_PER_TOKEN: usize = 4;

/// A text to be read.
pub(super) struct TextRead<'a> {
    /// Its path.
    pub path: &'a Path,
    /// Its facts.
    pub meta: &'a Metadata,
    /// Its first bytes, already taken from the file.
    pub head: Vec<u8>,
    /// The rest.
    pub file: File,
    /// The first line asked for.
    pub offset: Option<u64>,
    /// The number of lines asked for.
    pub limit: Option<u64>,
    /// Most tokens of the result.
    pub tokens: usize,
    /// What is known of the file.
    pub seen: Option<&'a Seen>,
}

impl TextRead<'_> {
    /// Reads it.
    pub(super) fn run(self, cancel: &CancellationToken) -> Result<ToolOutput, String> {
        let whole = self.offset.is_none() && self.limit.is_none();
        let window = Window {
            offset: self.offset.unwrap_or(1).max(1),
            limit: self.limit.unwrap_or(LINES).max(1),
            bytes: self.tokens.saturating_mul(BYTES_PER_TOKEN),
        };
        let (path, meta, seen) = (self.path, self.meta, self.seen);
        let (scan, hash) = self.scan(window, cancel)?;
        let name = path.display();
        let record =
            |part| Effect::Saw(path.to_owned(), Seen { mtime: mtime(meta), hash: hash.clone(), part });

        if whole && seen.is_some_and(|seen| seen.part == Part::Whole && seen.hash == hash) {
            return Ok(ToolOutput::text(format!(
                "{name}: file unchanged since you read it; what you have of it above is current. (To see it again, pass offset.)"
            )));
        }
        if scan.complete && scan.total == 0 {
            let output = ToolOutput::text(format!("{name}: the file is empty."));
            return Ok(output.with_data(data(path, "", 0, 1, 0, false)).with_effect(record(Part::Whole)));
        }
        if scan.complete && scan.total < window.offset {
            let text = format!(
                "{name}: offset {} is past the end; the file has {} lines.",
                window.offset, scan.total
            );
            return Ok(ToolOutput::text(text).with_data(data(path, "", 0, window.offset, scan.total, false)));
        }
        let over = scan.bytes > window.bytes;
        if over && (!whole || scan.lines.is_empty()) {
            return Err(format!(
                "{name}: the lines asked for come to about {} tokens, and a read may have {}: ask for fewer lines, or search with Grep",
                scan.bytes / BYTES_PER_TOKEN,
                window.bytes / BYTES_PER_TOKEN
            ));
        }
        let shown = scan.lines.len() as u64;
        let last = window.offset + shown - 1;
        let all = scan.complete && window.offset == 1 && last == scan.total;
        let part =
            if all && scan.cut.is_empty() { Part::Whole } else { Part::Lines(vec![(window.offset, last)]) };
        let mut text = String::with_capacity(scan.bytes + 256);
        for (number, line) in (window.offset..).zip(&scan.lines) {
            let _ = writeln!(text, "{number:>6}\t{line}");
        }
        text.push_str(&notices(&scan, window.offset, last, whole && !all));
        let content = scan.lines.join("\n");
        Ok(ToolOutput::text(text.trim_end_matches('\n'))
            .with_data(data(path, &content, shown, window.offset, scan.total, over))
            .with_effect(record(part)))
    }

    fn scan(self, window: Window, cancel: &CancellationToken) -> Result<(Scan, String), String> {
        let failed = |error: std::io::Error| format!("reading {} failed: {error}", self.path.display());
        let large = self.meta.len() > WHOLE;
        if matches!(marked(&self.head), Some(Encoding::Utf16Le | Encoding::Utf16Be)) {
            let mut bytes = self.head;
            (&self.file).take(WHOLE + 1).read_to_end(&mut bytes).map_err(failed)?;
            if bytes.len() as u64 > WHOLE {
                return Err(format!(
                    "{} is UTF-16 and larger than {WHOLE} bytes: convert it with iconv in Bash",
                    self.path.display()
                ));
            }
            let decoded = decode(&bytes).map_err(|fault| format!("{}: {fault}", self.path.display()))?;
            let scan = scan(Cursor::new(&decoded.text), window, false, cancel, |_| ()).map_err(failed)?;
            let hash = hash(&bytes);
            versions::keep(&hash, &bytes);
            return Ok((scan, hash));
        }
        let mut hasher = Sha256::new();
        let mut kept = (self.meta.len() <= versions::MOST as u64).then(Vec::new);
        let text = Cursor::new(&self.head).chain(&self.file);
        let scan = scan(text, window, large, cancel, |chunk| {
            if !large {
                hasher.update(chunk);
            }
            // A file that grows meanwhile is not gathered without end.
            if let Some(bytes) = kept.take_if(|bytes| bytes.len() + chunk.len() > versions::MOST) {
                drop(bytes);
            } else if let Some(bytes) = &mut kept {
                bytes.extend_from_slice(chunk);
            }
        })
        .map_err(failed)?;
        let hash = if large { stamp(self.meta) } else { hex(hasher.finalize().as_slice()) };
        if let Some(bytes) = kept {
            versions::keep(&hash, &bytes);
        }
        Ok((scan, hash))
    }
}

fn notices(scan: &Scan, first: u64, last: u64, partial: bool) -> String {
    let mut text = String::new();
    if partial {
        let of = if scan.complete { format!(" of {}", scan.total) } else { String::new() };
        let shown = (last + 1).saturating_sub(first);
        // Lines so long that the tokens ended first: as many more are likely to fit.
        let limit = if shown < LINES { format!(" and limit={shown}") } else { String::new() };
        let _ = writeln!(
            text,
            "[PARTIAL view: lines {first}-{last}{of}. Go on with offset={}{limit}.]",
            last + 1
        );
    } else if scan.complete && last < scan.total {
        let _ = writeln!(text, "[The file has {} lines.]", scan.total);
    }
    let cut: Vec<_> = scan.cut.iter().filter(|(line, _)| *line <= last).collect();
    if let Some((line, _)) = cut.first() {
        let _ = writeln!(
            text,
            "[{} cut. To read on in line {line}: `sed -n {line}p FILE | cut -c 2001-4000` in Bash.]",
            if cut.len() == 1 {
                "A long line was".to_owned()
            } else {
                format!("{} long lines were", cut.len())
            }
        );
    }
    if scan.lossy {
        text.push_str(
            "[Not UTF-8: other bytes are shown as \u{fffd}. Edit takes only ASCII text in this file.]\n",
        );
    }
    text
}

fn data(path: &Path, content: &str, lines: u64, start: u64, total: u64, over: bool) -> serde_json::Value {
    let mut data = json!({"type": "text", "file": {
        "filePath": path, "content": content, "numLines": lines, "startLine": start, "totalLines": total,
    }});
    if over {
        data["file"]["truncatedByTokenCap"] = true.into();
    }
    data
}
