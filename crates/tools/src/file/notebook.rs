//! A Jupyter notebook as a file: its cells, and changes that leave every byte outside the changed cell as
//! it was.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Why a notebook can't be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotebookFault {
    /// Not JSON, or not that of a notebook.
    #[error("it is not a valid notebook: {0}")]
    Malformed(String),
    /// No such cell.
    #[error("there is no cell {id:?}; there are: {known}")]
    NoCell {
        /// What was asked for.
        id: String,
        /// The first few there are.
        known: String,
    },
}

/// A parsed notebook, with the place of each cell in its text.
#[derive(Debug)]
pub struct Notebook<'a> {
    text: &'a str,
    cells: Vec<(Range<usize>, Cell)>,
    array: Range<usize>,
    /// The language of its code cells.
    pub language: String,
    has_ids: bool,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its id; `cell-N` (from 0) in a notebook of a version without ids.
    pub id: String,
    /// `code`, `markdown` or `raw`.
    pub kind: String,
    /// Its source.
    pub source: String,
    /// The whole cell as JSON.
    pub json: Map<String, Value>,
}

/// A change of a notebook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// A new source, and perhaps a new type; outputs go.
    Replace {
        /// Which cell.
        cell: usize,
        /// Its new source.
        source: &'a str,
        /// Its new type.
        kind: Option<&'a str>,
    },
    /// A new cell before the one at this place, or at the end.
    Insert {
        /// The place that it gets.
        at: usize,
        /// Its source.
        source: &'a str,
        /// Its type.
        kind: &'a str,
        /// Its id, where the version has ids.
        id: &'a str,
    },
    /// A cell goes.
    Delete {
        /// Which cell.
        cell: usize,
    },
}

impl<'a> Notebook<'a> {
    /// Parses a notebook.
    ///
    /// # Errors
    /// [`NotebookFault::Malformed`].
    pub fn parse(text: &'a str) -> Result<Self, NotebookFault> {
        #[derive(Deserialize)]
        struct Outer<'a> {
            #[serde(borrow)]
            cells: &'a RawValue,
            #[serde(default)]
            metadata: Value,
            #[serde(default)]
            nbformat: u64,
            #[serde(default)]
            nbformat_minor: u64,
        }
        let malformed = |error: serde_json::Error| NotebookFault::Malformed(error.to_string());
        let outer: Outer<'_> = serde_json::from_str(text).map_err(malformed)?;
        let raws: Vec<&RawValue> = serde_json::from_str(outer.cells.get()).map_err(malformed)?;
        // Raw values are slices of the text that was parsed.
        let place = |raw: &RawValue| {
            let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            start..start + raw.get().len()
        };
        let mut cells = Vec::with_capacity(raws.len());
        for (n, raw) in raws.into_iter().enumerate() {
            let json: Map<String, Value> = serde_json::from_str(raw.get()).map_err(malformed)?;
            let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
            let cell = Cell {
                id: text("id").unwrap_or_else(|| format!("cell-{n}")),
                kind: text("cell_type").unwrap_or_else(|| "raw".into()),
                source: joined(json.get("source")),
                json,
            };
            cells.push((place(raw), cell));
        }
        let language = ["/kernelspec/language", "/language_info/name"]
            .iter()
            .find_map(|at| outer.metadata.pointer(at)?.as_str())
            .unwrap_or("python")
            .to_owned();
        let has_ids = (outer.nbformat, outer.nbformat_minor) >= (4, 5);
        Ok(Self { text, cells, array: place(outer.cells), language, has_ids })
    }

    /// Its cells, in order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &Cell> {
        self.cells.iter().map(|(_, cell)| cell)
    }

    /// The place of a cell by its id, or by `cell-N`.
    ///
    /// # Errors
    /// [`NotebookFault::NoCell`].
    pub fn find(&self, id: &str) -> Result<usize, NotebookFault> {
        let by_number = || id.strip_prefix("cell-")?.parse().ok().filter(|n: &usize| *n < self.cells.len());
        self.cells().position(|cell| cell.id == id).or_else(by_number).ok_or_else(|| {
            let mut known: Vec<&str> = self.cells().take(20).map(|cell| cell.id.as_str()).collect();
            if self.cells.len() > known.len() {
                known.push("…");
            }
            NotebookFault::NoCell { id: id.to_owned(), known: known.join(", ") }
        })
    }

    /// The notebook's text after a change. Cells are numbered as [`Notebook::find`] does.
    pub fn changed(&self, change: &Change<'_>) -> String {
        let unit = self.indent();
        let gap = unit.map_or_else(String::new, |unit| format!("\n{}", unit.repeat(2)));
        let (range, with) = match *change {
            Change::Replace { cell, source, kind } => {
                let (range, old) = &self.cells[cell];
                let mut json = old.json.clone();
                let lines = !json.get("source").is_some_and(Value::is_string);
                json.insert("source".into(), split(source, lines));
                if let Some(kind) = kind {
                    json.insert("cell_type".into(), kind.into());
                }
                if json.get("cell_type").and_then(Value::as_str) == Some("code") {
                    json.insert("execution_count".into(), Value::Null);
                    json.insert("outputs".into(), json!([]));
                } else {
                    json.shift_remove("execution_count");
                    json.shift_remove("outputs");
                }
                (range.clone(), print(&json, unit))
            }
            Change::Insert { at, source, kind, id } => {
                let cell = print(&self.new_cell(source, kind, id), unit);
                match (at.checked_sub(1).and_then(|before| self.cells.get(before)), self.cells.get(at)) {
                    (Some((before, _)), _) => (before.end..before.end, format!(",{gap}{cell}")),
                    (None, Some((after, _))) => (after.start..after.start, format!("{cell},{gap}")),
                    (None, None) => {
                        let end = unit.map_or_else(String::new, |unit| format!("\n{unit}"));
                        (self.array.clone(), format!("[{gap}{cell}{end}]"))
                    }
                }
            }
            Change::Delete { cell } => {
                let range = &self.cells[cell].0;
                let range = if let Some((after, _)) = self.cells.get(cell + 1) {
                    range.start..after.start
                } else if let Some(before) = cell.checked_sub(1) {
                    self.cells[before].0.end..range.end
                } else {
                    self.array.start + 1..self.array.end - 1
                };
                (range, String::new())
            }
        };
        let mut text = String::with_capacity(self.text.len() + with.len());
        text.push_str(&self.text[..range.start]);
        text.push_str(&with);
        text.push_str(&self.text[range.end..]);
        text
    }

    fn new_cell(&self, source: &str, kind: &str, id: &str) -> Map<String, Value> {
        let lines = !self
            .cells
            .first()
            .is_some_and(|(_, cell)| cell.json.get("source").is_some_and(Value::is_string));
        let mut json = Map::new();
        json.insert("cell_type".into(), kind.into());
        if kind == "code" {
            json.insert("execution_count".into(), Value::Null);
        }
        if self.has_ids {
            json.insert("id".into(), id.into());
        }
        json.insert("metadata".into(), json!({}));
        if kind == "code" {
            json.insert("outputs".into(), json!([]));
        }
        json.insert("source".into(), split(source, lines));
        json
    }

    /// One level of indentation; `None` when the notebook is on one line.
    fn indent(&self) -> Option<&'a str> {
        let (_, line) = self.text.split_once('\n')?;
        let width = line.len() - line.trim_start_matches([' ', '\t']).len();
        (width > 0).then(|| &line[..width])
    }
}

/// A text that may be kept as a list of lines.
pub(super) fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn split(source: &str, lines: bool) -> Value {
    if lines { source.split_inclusive('\n').collect() } else { source.into() }
}

/// A cell as it stands in the list of cells.
fn print(json: &Map<String, Value>, unit: Option<&str>) -> String {
    match unit {
        None => Value::from(json.clone()).to_string(),
        Some(unit) => {
            let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
            let mut bytes = Vec::new();
            let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
            serde::Serialize::serialize(json, &mut serializer).expect("a JSON map can be written to memory");
            let text = String::from_utf8(bytes).expect("JSON is UTF-8");
            // Within strings newlines are escaped: these are between values.
            text.replace('\n', &format!("\n{}", unit.repeat(2)))
        }
    }
}

#[cfg(test)]
#[path = "notebook_tests.rs"]
mod tests;
