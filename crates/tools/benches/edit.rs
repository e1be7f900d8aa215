//! How long an edit of a large text takes.
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use divan::Bencher;
use divan::counter::BytesCount;
use troupe_tools::file::edit_text::edit;

fn main() {
    divan::main();
}

const SIZE: usize = 50 * 1024 * 1024;

/// Lines that are not alike, with the place to edit in the middle.
fn text(ending: &str) -> Vec<u8> {
    let mut text = String::with_capacity(SIZE + 100);
    let mut marked = false;
    for n in 0.. {
        if text.len() >= SIZE {
            break;
        }
        if !marked && text.len() >= SIZE / 2 {
            marked = true;
            text.push_str("the place to edit");
        } else {
            text.push_str("let value = compute(");
            text.push_str(&n.to_string());
            text.push_str(");");
        }
        text.push_str(ending);
    }
    text.into_bytes()
}

#[divan::bench(args = ["\n", "\r\n"], sample_count = 10)]
fn one_place_of_50_mb(bencher: Bencher<'_, '_>, ending: &str) {
    let text = text(ending);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench(|| edit(&text, "the place to edit\n", "the edited\nplace\n", false).unwrap());
}

#[divan::bench(sample_count = 5)]
fn every_line_of_50_mb(bencher: Bencher<'_, '_>) {
    let text = text("\n");
    bencher.counter(BytesCount::new(text.len())).bench(|| edit(&text, "value", "amount", true).unwrap());
}

#[divan::bench(sample_count = 5)]
fn a_miss_in_50_mb(bencher: Bencher<'_, '_>) {
    let text = text("\n");
    bencher
        .counter(BytesCount::new(text.len()))
        .bench(|| edit(&text, "not there\nat all", "x", false).unwrap_err());
}
