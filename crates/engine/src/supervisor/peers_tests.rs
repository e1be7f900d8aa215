//! Who a letter is from, and under which id it waits.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use troupe_core::ids::SessionId;

use super::*;
use crate::team::process;

// proves: M6
#[test]
fn ids_of_letters_count_for_one_sender_and_one_text() {
    let id = input_id("bridge:a", "1", "hello");
    assert_eq!(id, input_id("bridge:a", "1", "hello"), "sent again it is the same");
    for other in [
        ("bridge:b", "1", "hello"),
        ("bridge:a", "2", "hello"),
        ("bridge:a", "1", "other"),
        ("bridge:a", "1h", "ello"),
    ] {
        assert_ne!(id, input_id(other.0, other.1, other.2), "{other:?}");
    }
}

// proves: M6
#[test]
fn a_sender_is_a_session_by_the_number_and_start_of_its_process() {
    let home = tempfile::tempdir().unwrap();
    let register = Register::new(home.path());
    let own = process::own().unwrap();
    let enter = |session: &str, start: u64| {
        let process = Some(troupe_core::team::Owner { start, ..own.clone() });
        let socket = home.path().join(format!("peers/{session}.sock"));
        let peer = Peer { session: SessionId::new(session), socket, process, cwd: home.path().to_owned() };
        register.enter(&peer).unwrap();
    };
    enter("now", own.start);
    enter("before", own.start + 1);
    assert_eq!(sender(&register, "bridge:now", Some(own.pid)), "bridge:now");
    assert_eq!(sender(&register, "bridge:now", Some(1)), "uds:bridge:now");
    assert_eq!(
        sender(&register, "bridge:before", Some(own.pid)),
        "uds:bridge:before",
        "its number is another's"
    );
}

// proves: M5, S1
#[test]
fn the_beginning_of_an_id_means_each_session_that_it_fits() {
    let home = tempfile::tempdir().unwrap();
    let register = Register::new(home.path());
    let enter = |session: &str| {
        let socket = home.path().join(format!("peers/{session}.sock"));
        let peer =
            Peer { session: SessionId::new(session), socket, process: None, cwd: home.path().to_owned() };
        register.enter(&peer).unwrap();
    };
    enter("7c1d");
    enter("7c99");
    let meant = |id: &str| {
        let mut found = sessions(&register, id);
        found.sort();
        found
    };
    assert_eq!(meant("7c1"), ["bridge:7c1d"]);
    assert_eq!(meant(" 7c1d "), ["bridge:7c1d"], "it is sent without the blanks");
    assert_eq!(meant("7c"), ["bridge:7c1d", "bridge:7c99"], "one of them may be dead");
    assert!(meant("").is_empty() && meant("8").is_empty());
}
