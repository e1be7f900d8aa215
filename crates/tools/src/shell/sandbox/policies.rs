//! What commands may touch, by where they run. It is read from the disk anew for each command, once: the command of
//! a call gets what the call was judged by, if nothing can have come in between.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use troupe_core::ports::tool::Place;
use troupe_sandbox::Policy;

/// How old a policy may be, from the moment when its first folder was looked at, that a command is started with. A
/// look takes a good part of that where there is much to look at, and somebody else may write meanwhile just as
/// well; a person who is asked takes longer.
const FRESH: Duration = Duration::from_millis(100);

/// What is true at a place now.
type Read = Box<dyn Fn(&Place) -> Policy + Send + Sync>;

/// Policies. Their network is [`super::ShellSandbox::network`]'s.
pub struct Policies {
    read: Read,
    /// The last that a call was judged by, until a command takes it: never more than one gets it, since a command
    /// may change what the next one has to hold.
    judged: Mutex<Option<Judged>>,
}

struct Judged {
    at: Place,
    since: Instant,
    policy: Policy,
}

impl Policies {
    /// Those that `read` finds.
    pub fn new(read: impl Fn(&Place) -> Policy + Send + Sync + 'static) -> Self {
        Self { read: Box::new(read), judged: Mutex::new(None) }
    }

    /// What a command may touch, now.
    pub fn read(&self, at: &Place) -> Policy {
        (self.read)(at)
    }

    /// The same to judge a call by; `judge` says what comes of it.
    pub(super) fn judge<T>(&self, at: &Place, judge: impl FnOnce(&Policy) -> T) -> T {
        let since = Instant::now();
        let policy = self.read(at);
        let judged = judge(&policy);
        *self.judged.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Judged { at: at.clone(), since, policy });
        judged
    }

    /// The same for a command that starts now.
    pub(super) fn take(&self, at: &Place) -> Policy {
        self.take_at(at, Instant::now())
    }

    fn take_at(&self, at: &Place, now: Instant) -> Policy {
        let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner).take();
        match judged {
            Some(judged) if judged.at == *at && now.duration_since(judged.since) < FRESH => judged.policy,
            Some(_) | None => self.read(at),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;
    use std::path::Path;

    use troupe_sandbox::Workspace;

    use super::*;

    fn place(root: &Path) -> Place {
        Place {
            cwd: root.into(),
            home: root.join("home"),
            roots: vec![root.into()],
            scratch: Vec::new(),
            read_only: false,
        }
    }

    fn policies() -> Policies {
        Policies::new(|at| Policy::standard(&Workspace { roots: &at.roots, ..Workspace::default() }))
    }

    // proves: S7, F165
    #[test]
    fn what_comes_between_two_commands_is_held_for_the_second() {
        let dir = tempfile::tempdir().unwrap();
        let (root, policies) = (dir.path().join("ws"), policies());
        fs::create_dir(&root).unwrap();
        let at = place(&root);
        let command = || {
            let hooks = |policy: &Policy| policy.read_only.contains(&root.join("cloned/.git/hooks"));
            let judged = policies.judge(&at, hooks);
            let taken = policies.take(&at);
            assert_eq!(judged, hooks(&taken), "judged by what it runs with");
            taken
        };
        let holds = |path: &str| command().read_only.contains(&root.join(path));
        assert!(!holds("cloned/.git/hooks"));
        fs::create_dir_all(root.join("cloned/.git/hooks")).unwrap();
        assert!(holds("cloned/.git/hooks"));
        // A folder that is replaced by a link is looked into no more.
        fs::rename(root.join("cloned"), dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", root.join("cloned")).unwrap();
        assert!(!holds("cloned/.git/hooks"));
        // Another root in the place of this one.
        fs::rename(&root, dir.path().join("old")).unwrap();
        fs::create_dir_all(root.join("sub/.husky")).unwrap();
        assert!(holds("sub/.husky"));
    }

    // proves: S7
    #[test]
    fn a_policy_is_taken_once_where_it_was_read_and_soon() {
        let dir = tempfile::tempdir().unwrap();
        let policies = policies();
        let (at, other) = (place(&dir.path().join("ws")), place(&dir.path().join("other")));
        let late = dir.path().join("ws/sub/.husky");
        let start = Instant::now();
        let judge_then_make = || {
            let _ = fs::remove_dir_all(dir.path().join("ws"));
            policies.judge(&at, |_| ());
            fs::create_dir_all(&late).unwrap();
        };
        let held = |policy: Policy| policy.read_only.contains(&late);
        judge_then_make();
        assert!(!held(policies.take_at(&at, start)), "it is what the call was judged by");
        assert!(held(policies.take_at(&at, start)), "the next one is read");
        judge_then_make();
        assert!(held(policies.take_at(&at, Instant::now() + FRESH)), "it is too old");
        judge_then_make();
        let elsewhere = policies.take_at(&other, start);
        assert_eq!(elsewhere.writable, other.roots, "it is another place's");
    }
}
