//! Tests of the event parser.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::*;

type Events = Vec<(String, String)>;

fn drain(parser: &mut Parser, events: &mut Events) -> Result<(), EventTooLarge> {
    while let Some(event) = parser.event()? {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        events.push((text(event.name), text(event.data)));
    }
    Ok(())
}

fn parse(chunks: &[&[u8]]) -> Events {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk);
        drain(&mut parser, &mut events).unwrap();
    }
    events
}

fn event(name: &str, data: &str) -> (String, String) {
    (name.to_owned(), data.to_owned())
}

// proves: E2
#[test]
fn every_end_of_line_ends_a_line() {
    for end in ["\n", "\r", "\r\n"] {
        let text =
            ["event: a", "data: 1", "data: 2", "", ": ping", "data:3", "id: 7", "retry: 9", "", ""].join(end);
        assert_eq!(parse(&[text.as_bytes()]), [event("a", "1\n2"), event("", "3")], "{end:?}");
    }
}

#[test]
fn comments_and_events_without_data_are_none() {
    assert!(parse(&[b": ping\n\n:\n\nevent: a\n\n\n\n"]).is_empty());
    assert_eq!(parse(&[b"event: a\n\ndata: 1\n\n"]), [event("", "1")], "a name ends with its event");
}

#[test]
fn a_field_without_colon_has_an_empty_value() {
    assert_eq!(parse(&[b"data\ndata\n\n"]), [event("", "\n")]);
    assert_eq!(parse(&[b"data:  two blanks\n\n"]), [event("", " two blanks")]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_alone() {
    assert_eq!(parse(&[b"\xef", b"\xbb", b"\xbf", b"data: 1\n\n"]), [event("", "1")]);
    assert!(parse(&[b"\n", b"\xef\xbb\xbfdata: 1\n\n"]).is_empty());
    assert_eq!(parse(&[b"\xef\xbb\n", b"data: 1\n\n"]), [event("", "1")]);
}

#[test]
fn what_no_blank_line_ends_is_no_event() {
    assert!(parse(&[b"data: 1\n"]).is_empty());
}

// proves: E6
#[test]
fn an_endless_event_is_refused() {
    let refused = |text: &[u8]| {
        let mut parser = Parser::with_limit(16);
        parser.push(text);
        drain(&mut parser, &mut Vec::new())
    };
    assert_eq!(refused(b"data: 0123456789abcdefgh"), Err(EventTooLarge { limit: 16 }));
    assert_eq!(refused(b"data: 01234567\ndata: 01234567\n"), Err(EventTooLarge { limit: 16 }));
    assert_eq!(refused(b"data: 01234567\n\ndata: 01234567\n\n"), Ok(()));
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\n".to_vec()), 2 => Just(b"\r".to_vec()), 2 => Just(b"\r\n".to_vec()),
        3 => Just(b"data: ".to_vec()), 2 => Just(b"event:".to_vec()), 1 => Just(b":".to_vec()),
        1 => Just(b"\xef\xbb\xbf".to_vec()), 3 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    // proves: E2
    #[test]
    fn chunk_boundaries_do_not_matter(bytes in any_stream(), cuts in proptest::collection::vec(0usize..200, 0..12)) {
        let whole = parse(&[&bytes]);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&parse(&single), &whole);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(&parse(&chunks), &whole);
    }

    #[test]
    fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        parse(&[&bytes]);
    }
}
