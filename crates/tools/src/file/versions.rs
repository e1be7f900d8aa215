//! The last versions of files that tools of this process have shown or written, by their hash: so that an agent whose
//! version is no longer there can be told what changed. Memory alone; after a restart nothing is known of them, and
//! what is said of a conflict is less.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Most bytes of a version that is kept.
pub(super) const MOST: usize = 256 * 1024;
/// Most bytes of all that are kept; the one kept longest ago goes first.
const ALL: usize = 8 * 1024 * 1024;
/// Most versions, however small.
const COUNT: usize = 1_000;

static KEPT: Mutex<Versions> = Mutex::new(Versions { newest_last: VecDeque::new(), bytes: 0 });

struct Versions {
    newest_last: VecDeque<(String, Arc<[u8]>)>,
    bytes: usize,
}

/// Keeps a version.
pub(super) fn keep(hash: &str, content: &[u8]) {
    if content.len() <= MOST {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).keep(hash, content);
    }
}

/// The version of this hash, if it is still kept.
pub(super) fn version(hash: &str) -> Option<Arc<[u8]>> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.newest_last.iter().rev().find(|(of, _)| of == hash).map(|(_, content)| Arc::clone(content))
}

impl Versions {
    fn keep(&mut self, hash: &str, content: &[u8]) {
        // What is used again is the last to go.
        let known = self.newest_last.iter().position(|(of, _)| of == hash);
        if let Some(known) = known.and_then(|at| self.newest_last.remove(at)) {
            self.newest_last.push_back(known);
            return;
        }
        self.bytes += content.len();
        self.newest_last.push_back((hash.to_owned(), content.into()));
        while self.bytes > ALL || self.newest_last.len() > COUNT {
            let Some((_, oldest)) = self.newest_last.pop_front() else { return };
            self.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut kept = Versions { newest_last: VecDeque::new(), bytes: 0 };
        let large = vec![b'x'; MOST];
        let room = ALL / MOST;
        for n in 0..room {
            kept.keep(&n.to_string(), &large);
        }
        kept.keep("0", &large);
        kept.keep("new", &large);
        let has = |kept: &Versions, hash: &str| kept.newest_last.iter().any(|(of, _)| of == hash);
        assert!(has(&kept, "0") && has(&kept, "new") && !has(&kept, "1") && has(&kept, "2"));
        assert_eq!(kept.bytes, ALL);
        for n in 0..2 * COUNT {
            kept.keep(&format!("small {n}"), b"");
        }
        assert_eq!((kept.newest_last.len(), kept.bytes), (COUNT, 0));
    }
}
