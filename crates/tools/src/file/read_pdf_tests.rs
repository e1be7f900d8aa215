//! Whole PDFs, cut ones, and what is none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lopdf::{Object, dictionary};

use super::*;

fn pdf(pages: usize) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let root = document.new_object_id();
    let kids: Vec<Object> = (0..pages)
        .map(|_| document.add_object(dictionary! {"Type" => "Page", "Parent" => root}).into())
        .collect();
    let count = i64::try_from(pages).unwrap();
    document.objects.insert(
        root,
        Object::Dictionary(dictionary! {
            "Type" => "Pages", "Kids" => kids, "Count" => count,
            "MediaBox" => vec![0.into(), 0.into(), 100.into(), 100.into()],
        }),
    );
    let catalog = document.add_object(dictionary! {"Type" => "Catalog", "Pages" => root});
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn sent(output: &ToolOutput) -> usize {
    let block = output.content[0].to_value();
    assert_eq!(block["type"], "document");
    let bytes = BASE64.decode(block["source"]["data"].as_str().unwrap()).unwrap();
    Document::load_mem(&bytes).unwrap().get_pages().len()
}

fn run(pages: usize, range: Option<&str>) -> Result<ToolOutput, String> {
    read(Path::new("/f.pdf"), &pdf(pages), range, 0)
}

#[test]
fn a_short_pdf_goes_whole_and_a_long_one_in_parts() {
    assert_eq!(sent(&run(10, None).unwrap()), 10);
    assert!(run(11, None).unwrap_err().contains("11 pages"));
    assert_eq!(sent(&run(30, Some("3")).unwrap()), 1);
    assert_eq!(sent(&run(30, Some("2-21")).unwrap()), 20);
    assert_eq!(sent(&run(12, Some("11-15")).unwrap()), 2);
}

#[test]
fn a_range_that_makes_no_sense_is_told() {
    for range in ["", "0", "x", "3-", "5-2", "31", "1-21", "-3", "1-2-3"] {
        assert!(run(30, Some(range)).unwrap_err().contains("`pages`"), "{range:?}");
    }
}

#[test]
fn what_is_no_pdf_is_an_error_and_no_block() {
    let whole = pdf(3);
    for bytes in [&b"text"[..], b"%PDF-1.7", b"%PDF-1.7\n%%EOF", &whole[..40]] {
        assert!(read(Path::new("/f.pdf"), bytes, None, 0).is_err());
    }
}
