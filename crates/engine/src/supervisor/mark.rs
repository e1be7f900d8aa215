//! What tells one session from another in names and ids that several sessions read.

use sha2::{Digest as _, Sha256};
use troupe_core::ids::SessionId;

/// Characters of the session's id that people know it by.
const SHORT: usize = 8;

/// The beginning of a session's id, and a little of a hash of all of it: hosts choose ids that begin alike.
pub(crate) fn mark(session: &SessionId) -> String {
    let short: String = session.as_str().chars().take(SHORT).collect();
    let hash = Sha256::digest(session.as_str());
    format!("{short}-{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: K1
    #[test]
    fn sessions_whose_ids_begin_alike_have_different_marks() {
        let of = |end: u32| mark(&SessionId::new(format!("00000000-0000-4000-8000-{end:012}")));
        assert!(of(1).starts_with("00000000-"), "{}", of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1));
    }
}
