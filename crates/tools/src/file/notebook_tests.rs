//! Changes of a notebook, and the bytes that they leave alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

const TEXT: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aa",
   "metadata": {},
   "source": ["# Title\n", "text"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "bb",
   "metadata": {"keep":   1.50},
   "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
   "source": "print(1)"
  }
 ],
 "metadata": {"kernelspec": {"language": "julia"}, "odd":   [1,2]},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn cells(text: &str) -> Vec<(String, String, String)> {
    let notebook = Notebook::parse(text).unwrap();
    notebook.cells().map(|cell| (cell.id.clone(), cell.kind.clone(), cell.source.clone())).collect()
}

fn cell(id: &str, kind: &str, source: &str) -> (String, String, String) {
    (id.into(), kind.into(), source.into())
}

#[test]
fn a_cell_is_replaced_and_every_other_byte_stays() {
    let notebook = Notebook::parse(TEXT).unwrap();
    assert_eq!(notebook.language, "julia");
    let after = notebook.changed(&Change::Replace { cell: 0, source: "a\nb\n", kind: None });
    assert_eq!(
        after,
        TEXT.replace(
            "\"metadata\": {},\n   \"source\": [\"# Title\\n\", \"text\"]",
            "\"metadata\": {},\n   \"source\": [\n    \"a\\n\",\n    \"b\\n\"\n   ]"
        )
    );
    let after = notebook.changed(&Change::Replace { cell: 1, source: "x", kind: None });
    assert!(after.starts_with(TEXT.split("  {\n   \"cell_type\": \"code\"").next().unwrap()));
    assert!(
        after.contains("\"outputs\": [],\n   \"source\": \"x\"\n  }\n ],\n \"metadata\": {\"kernelspec\"")
    );
    assert!(after.contains("\"execution_count\": null"));
}

#[test]
fn cells_are_inserted_and_deleted_at_every_place() {
    let notebook = Notebook::parse(TEXT).unwrap();
    let (aa, bb) = (cell("aa", "markdown", "# Title\ntext"), cell("bb", "code", "print(1)"));
    let new = cell("new", "code", "n");
    for (at, expected) in [
        (0, vec![new.clone(), aa.clone(), bb.clone()]),
        (1, vec![aa.clone(), new.clone(), bb.clone()]),
        (2, vec![aa.clone(), bb.clone(), new.clone()]),
    ] {
        let after = notebook.changed(&Change::Insert { at, source: "n", kind: "code", id: "new" });
        assert_eq!(cells(&after), expected);
    }
    let first = notebook.changed(&Change::Delete { cell: 0 });
    assert_eq!(cells(&first), [bb]);
    assert_eq!(cells(&notebook.changed(&Change::Delete { cell: 1 })), [aa]);
    let first = Notebook::parse(&first).unwrap();
    let none = first.changed(&Change::Delete { cell: 0 });
    assert_eq!(cells(&none), []);
    let one = Notebook::parse(&none).unwrap().changed(&Change::Insert {
        at: 0,
        source: "n",
        kind: "code",
        id: "new",
    });
    assert_eq!(cells(&one), [new]);
}

#[test]
fn a_cell_changes_its_type() {
    let notebook = Notebook::parse(TEXT).unwrap();
    let after = notebook.changed(&Change::Replace { cell: 1, source: "x", kind: Some("markdown") });
    let cells = Notebook::parse(&after).unwrap().cells().cloned().collect::<Vec<_>>();
    assert_eq!(cells[1].kind, "markdown");
    assert!(!cells[1].json.contains_key("outputs") && !cells[1].json.contains_key("execution_count"));
}

#[test]
fn a_version_without_ids_counts_its_cells() {
    let text = r#"{"cells":[{"cell_type":"raw","source":"a"},{"cell_type":"raw","source":"b"}],"nbformat":4,"nbformat_minor":4}"#;
    let notebook = Notebook::parse(text).unwrap();
    assert_eq!(notebook.find("cell-1"), Ok(1));
    assert!(notebook.find("cell-2").unwrap_err().to_string().contains("cell-0, cell-1"));
    let after = notebook.changed(&Change::Insert { at: 2, source: "c", kind: "markdown", id: "id" });
    assert_eq!(
        after,
        text.replace("\"b\"}", "\"b\"},{\"cell_type\":\"markdown\",\"metadata\":{},\"source\":\"c\"}")
    );
}

#[test]
fn what_is_no_notebook_is_refused() {
    for text in ["", "[]", "{}", "{\"cells\":3}", "{\"cells\":[3]}", "{\"cells\":[{}]", &"[".repeat(100_000)]
    {
        assert!(matches!(Notebook::parse(text), Err(NotebookFault::Malformed(_))), "{text:.20}");
    }
}
