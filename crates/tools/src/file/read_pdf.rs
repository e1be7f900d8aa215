//! PDFs: whole when short, else cut to the pages asked for.

use std::ops::RangeInclusive;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lopdf::{Document, LoadOptions};
use serde_json::json;
use troupe_core::block::Block;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::state::{Effect, Part, Seen};

use super::fingerprint::hash;

/// Largest PDF file, in bytes.
pub(super) const LARGEST: u64 = 100 * 1024 * 1024;
/// Most bytes that are sent: as base64 beside the rest of a request they must stay below 32 MB.
const SENT: usize = 20 * 1024 * 1024;
/// Most pages without a range.
const PAGES_WHOLE: usize = 10;
/// Most pages of a range.
const PAGES_RANGE: u32 = 20;
/// Most bytes that one stream of the file may unpack to while its structure is read.
const UNPACKED: usize = 32 * 1024 * 1024;

/// Whether a file's first bytes are those of a PDF.
pub(super) fn is_pdf(head: &[u8]) -> bool {
    head.starts_with(b"%PDF-")
}

/// Reads a PDF.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    pages: Option<&str>,
    mtime: i128,
) -> Result<ToolOutput, String> {
    let name = path.display();
    if !is_pdf(bytes) {
        return Err(format!("{name} is named as a PDF and is none"));
    }
    let options = LoadOptions { max_decompressed_size: Some(UNPACKED), ..LoadOptions::default() };
    let mut document = Document::load_mem_with_options(bytes, options)
        .map_err(|error| format!("{name} is a damaged PDF ({error})"))?;
    if document.is_encrypted() || document.was_encrypted() {
        return Err(format!("{name} is an encrypted PDF and can't be shown"));
    }
    let count = document.get_pages().len();
    if count == 0 {
        return Err(format!("{name} is a PDF without pages"));
    }
    let (sent, part) = match pages {
        None if count > PAGES_WHOLE => {
            return Err(format!(
                "{name} has {count} pages: pass `pages`, such as \"1-5\" (at most {PAGES_RANGE} a call)"
            ));
        }
        None => (bytes.to_vec(), Part::Whole),
        Some(range) => {
            let range = page_range(range, count)?;
            let others: Vec<u32> =
                document.get_pages().into_keys().filter(|page| !range.contains(page)).collect();
            document.delete_pages(&others);
            document.prune_objects();
            let mut cut = Vec::new();
            document
                .save_to(&mut cut)
                .map_err(|error| format!("cutting pages out of {name} failed: {error}"))?;
            (cut, Part::Lines(vec![(u64::from(*range.start()), u64::from(*range.end()))]))
        }
    };
    if sent.len() > SENT {
        return Err(format!("{name}: {} bytes are too many for one request: pass fewer `pages`", sent.len()));
    }
    let base64 = BASE64.encode(&sent);
    let output = ToolOutput {
        content: vec![Block::pdf(&base64), Block::text(format!("[{name}: PDF, {count} pages in all.]"))],
        data: Some(json!({"type": "pdf", "file": {
            "filePath": path, "base64": base64, "originalSize": bytes.len(),
        }})),
        ..ToolOutput::default()
    };
    let seen = Seen { mtime, hash: hash(bytes), part };
    Ok(output.with_effect(Effect::Saw(path.to_owned(), seen)))
}

/// The pages that `"3"` or `"1-5"` names.
fn page_range(text: &str, count: usize) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let page = |text: &str| text.trim().parse::<u32>().ok().filter(|page| *page > 0);
    let (Some(first), Some(last)) = (page(first), page(last)) else {
        return Err(format!("`pages`: must be like \"3\" or \"1-5\", not {text:?}"));
    };
    if last < first {
        return Err(format!("`pages`: {text:?} ends before it begins"));
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    if first > count {
        return Err(format!("`pages`: the PDF has {count} pages, and {text:?} begins after them"));
    }
    let last = last.min(count);
    if last - first >= PAGES_RANGE {
        return Err(format!("`pages`: at most {PAGES_RANGE} pages a call, not {}", last - first + 1));
    }
    Ok(first..=last)
}

#[cfg(test)]
#[path = "read_pdf_tests.rs"]
mod tests;
