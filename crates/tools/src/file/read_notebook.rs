//! A notebook as Read shows it: every cell with its outputs, images included.

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use troupe_core::block::Block;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::state::{Effect, Part, Seen};

use super::fingerprint::hash;
use super::notebook::{Cell, Notebook, joined};
use super::read_image;
use super::read_text::BYTES_PER_TOKEN;

/// Largest notebook, in bytes.
pub(super) const LARGEST: u64 = 100 * 1024 * 1024;
/// Most characters of one output.
const OUTPUT_CHARS: usize = 10_000;
/// Most images of one result.
const IMAGES: usize = 20;

/// An output as it is shown.
enum Shown {
    Text(String),
    Image { media_type: &'static str, base64: String },
}

/// Reads a notebook.
pub(super) fn read(path: &Path, bytes: &[u8], tokens: usize, mtime: i128) -> Result<ToolOutput, String> {
    let name = path.display();
    let text =
        std::str::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8, as a notebook must be"))?;
    let notebook = Notebook::parse(text).map_err(|fault| format!("{name}: {fault}"))?;
    let most = tokens.saturating_mul(BYTES_PER_TOKEN);
    let (mut content, mut shown) = render(&notebook, most, true);
    if shown < notebook.cells().len() {
        // Sources are what an edit needs: outputs go first.
        (content, shown) = render(&notebook, most, false);
    }
    let all = shown == notebook.cells().len();
    if !all {
        content.push(Block::text(format!(
            "[PARTIAL view: the first {shown} of {} cells, without outputs. For the others use `jq` in Bash.]",
            notebook.cells().len()
        )));
    }
    if content.is_empty() {
        content.push(Block::text(format!("{name}: the notebook has no cells.")));
    }
    let part = if all { Part::Whole } else { Part::Lines(vec![(1, shown as u64)]) };
    let cells: Vec<Value> = notebook.cells().take(shown).map(|cell| data(cell, &notebook.language)).collect();
    Ok(ToolOutput { content, ..ToolOutput::default() }
        .with_data(json!({"type": "notebook", "file": {"filePath": path, "cells": cells}}))
        .with_effect(Effect::Saw(path.to_owned(), Seen { mtime, hash: hash(bytes), part })))
}

/// The cells that fit into `most` bytes, and how many these are.
fn render(notebook: &Notebook<'_>, most: usize, with_outputs: bool) -> (Vec<Block>, usize) {
    let (mut blocks, mut text) = (Vec::new(), String::new());
    let (mut used, mut images) = (0, 0);
    for (n, cell) in notebook.cells().enumerate() {
        let mut part = format!("[cell {}: {}]\n{}\n", cell.id, cell.kind, cell.source.trim_end_matches('\n'));
        let outputs = outputs(cell);
        if !with_outputs && !outputs.is_empty() {
            let _ = writeln!(part, "[{} outputs left out]", outputs.len());
        }
        let mut after = Vec::new();
        for output in outputs.iter().filter(|_| with_outputs).flat_map(shown) {
            match output {
                Shown::Text(output) => {
                    let _ = writeln!(part, "[output]\n{}", output.trim_end_matches('\n'));
                }
                Shown::Image { media_type, base64 } if images < IMAGES => {
                    images += 1;
                    let _ = writeln!(part, "[output: image {images}]");
                    after.push(Block::image(media_type, &base64));
                }
                Shown::Image { .. } => part.push_str("[output: one more image]\n"),
            }
        }
        used += part.len();
        if used > most {
            push(&mut blocks, &mut text);
            return (blocks, n);
        }
        text.push_str(&part);
        if !after.is_empty() {
            push(&mut blocks, &mut text);
            blocks.extend(after);
        }
    }
    push(&mut blocks, &mut text);
    (blocks, notebook.cells().len())
}

fn push(blocks: &mut Vec<Block>, text: &mut String) {
    if !text.is_empty() {
        blocks.push(Block::text(std::mem::take(text)));
    }
}

fn outputs(cell: &Cell) -> &[Value] {
    cell.json.get("outputs").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn shown(output: &Value) -> Vec<Shown> {
    let text = |value: Option<&Value>| Shown::Text(clip(&joined(value)));
    match output.get("output_type").and_then(Value::as_str) {
        Some("stream") => vec![text(output.get("text"))],
        Some("error") => {
            let field = |key: &str| output.get(key).and_then(Value::as_str).unwrap_or("");
            let trace: Vec<&str> = output
                .get("traceback")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            vec![Shown::Text(clip(&format!("{}: {}\n{}", field("ename"), field("evalue"), trace.join("\n"))))]
        }
        _ => {
            let data = output.get("data");
            let of = |kind: &str| data.and_then(|data| data.get(kind));
            let image =
                ["image/png", "image/jpeg", "image/gif", "image/webp"].iter().find_map(|kind| of(kind));
            match (image, of("text/plain")) {
                (Some(image), _) => vec![shown_image(&joined(Some(image)))],
                (None, Some(plain)) => vec![text(Some(plain))],
                (None, None) => {
                    let kinds: Vec<&str> = data
                        .and_then(Value::as_object)
                        .into_iter()
                        .flat_map(|map| map.keys())
                        .map(String::as_str)
                        .collect();
                    vec![Shown::Text(format!("({})", kinds.join(", ")))]
                }
            }
        }
    }
}

fn shown_image(base64: &str) -> Shown {
    let base64: String = base64.split_ascii_whitespace().collect();
    let fit =
        BASE64.decode(base64).map_err(|error| error.to_string()).and_then(|bytes| read_image::fit(&bytes));
    match fit {
        Ok(fit) => Shown::Image { media_type: fit.media_type, base64: fit.base64 },
        Err(why) => Shown::Text(format!("(an image that can't be shown: {why})")),
    }
}

/// Without terminal colours, and not too long.
fn clip(text: &str) -> String {
    let mut plain = String::with_capacity(text.len().min(OUTPUT_CHARS));
    let mut chars = text.chars();
    let mut left = OUTPUT_CHARS;
    while let Some(char) = chars.next() {
        if char == '\u{1b}' {
            // ESC [ … letter
            if chars.clone().next() == Some('[') {
                chars.by_ref().skip(1).find(|char| ('@'..='~').contains(char));
            }
            continue;
        }
        if left == 0 {
            plain.push_str("\n… [output cut]");
            break;
        }
        plain.push(char);
        left -= 1;
    }
    plain
}

fn data(cell: &Cell, language: &str) -> Value {
    let mut data = json!({"cellType": cell.kind, "source": cell.source, "cell_id": cell.id});
    if cell.kind == "code" {
        data["language"] = language.into();
        data["execution_count"] = cell.json.get("execution_count").cloned().unwrap_or(Value::Null);
        let outputs: Vec<Value> = outputs(cell)
            .iter()
            .map(|output| {
                let text: String = shown_text(output);
                json!({"output_type": output.get("output_type"), "text": text})
            })
            .collect();
        data["outputs"] = outputs.into();
    }
    data
}

fn shown_text(output: &Value) -> String {
    let is_image = output
        .get("data")
        .and_then(Value::as_object)
        .is_some_and(|data| data.keys().any(|kind| kind.starts_with("image/")));
    if is_image {
        // The image itself is in the content; once is enough.
        return clip(&joined(output.pointer("/data/text~1plain")));
    }
    shown(output)
        .into_iter()
        .filter_map(|shown| match shown {
            Shown::Text(text) => Some(text),
            Shown::Image { .. } => None,
        })
        .collect()
}
