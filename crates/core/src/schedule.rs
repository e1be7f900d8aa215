//! Which calls of one reply may start now, given what each would touch. Those that touch the same things run
//! in their order; what is unknown conflicts with everything.

use std::path::Path;

use crate::access::{Access, PathUse};

/// A call in its batch.
#[derive(Clone, Debug)]
pub struct Slot {
    /// What it would touch.
    pub access: Vec<Access>,
    /// How far it is.
    pub progress: Progress,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not started.
    Waiting,
    /// Started.
    Running,
    /// Has its result.
    Done,
}

/// The calls that may start now, in order: each conflicts with no unfinished call before it, and, agents
/// apart (they have limits of their own), at most `most` run at once.
pub fn ready(slots: &[Slot], most: usize) -> Vec<usize> {
    let mut running =
        slots.iter().filter(|slot| slot.progress == Progress::Running && !is_agent(&slot.access)).count();
    let mut starts = Vec::new();
    for (at, slot) in slots.iter().enumerate() {
        if slot.progress != Progress::Waiting {
            continue;
        }
        let blocked = slots[..at]
            .iter()
            .any(|before| before.progress != Progress::Done && conflict(&before.access, &slot.access));
        if blocked {
            continue;
        }
        if is_agent(&slot.access) {
            starts.push(at);
        } else if running < most {
            running += 1;
            starts.push(at);
        }
    }
    starts
}

fn is_agent(access: &[Access]) -> bool {
    access.iter().any(|access| matches!(access, Access::Spawn { .. }))
}

/// Whether two calls must not run at the same time.
pub fn conflict(a: &[Access], b: &[Access]) -> bool {
    a.iter().any(|a| b.iter().any(|b| clash(a, b)))
}

fn clash(a: &Access, b: &Access) -> bool {
    match (touch(a), touch(b)) {
        (Touch::Anything, _) | (_, Touch::Anything) | (Touch::Own, Touch::Own) => true,
        (Touch::Write(a), Touch::Write(b)) => overlap(a, b),
        (Touch::Write(a), Touch::Read(b)) | (Touch::Read(b), Touch::Write(a)) => overlap(a, b),
        (Touch::Write(_), Touch::ReadAll) | (Touch::ReadAll, Touch::Write(_)) => true,
        (Touch::Nothing | Touch::Own, _)
        | (_, Touch::Nothing | Touch::Own)
        | (Touch::Read(_) | Touch::ReadAll, Touch::Read(_) | Touch::ReadAll) => false,
    }
}

enum Touch<'a> {
    Nothing,
    Own,
    Read(&'a PathUse),
    /// Reads it can't be said what: a read-only command, or an agent (two agents go side by side).
    ReadAll,
    Write(&'a PathUse),
    Anything,
}

fn touch(access: &Access) -> Touch<'_> {
    match access {
        Access::Read(path) => Touch::Read(path),
        Access::Write(path) => Touch::Write(path),
        Access::Exec(command) if command.is_read_only() => Touch::ReadAll,
        Access::Spawn { .. } => Touch::ReadAll,
        Access::Fetch { .. } => Touch::Nothing,
        Access::Own | Access::Person | Access::Send { .. } => Touch::Own,
        Access::Exec(_) | Access::Unknown => Touch::Anything,
    }
}

fn overlap(a: &PathUse, b: &PathUse) -> bool {
    let within = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
    within(&a.typed, &b.typed) || within(&a.resolved, &b.resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Vec<Access> {
        vec![Access::Read(PathUse::new(path.into()))]
    }

    fn write(path: &str) -> Vec<Access> {
        vec![Access::Write(PathUse::new(path.into()))]
    }

    fn agent() -> Vec<Access> {
        vec![Access::Spawn { agent: "x".into() }]
    }

    fn starts(batch: &[Vec<Access>], most: usize) -> Vec<usize> {
        let slot = |access: &Vec<Access>| Slot { access: access.clone(), progress: Progress::Waiting };
        ready(&batch.iter().map(slot).collect::<Vec<_>>(), most)
    }

    // proves: E3
    #[test]
    fn what_touches_the_same_things_runs_in_order() {
        assert_eq!(starts(&[read("/a"), read("/a"), read("/b")], 10), [0, 1, 2]);
        assert_eq!(starts(&[read("/a"), write("/a"), read("/a")], 10), [0], "the third waits for the second");
        assert_eq!(starts(&[write("/a"), write("/b")], 10), [0, 1]);
        assert_eq!(starts(&[write("/d/f"), read("/d")], 10), [0], "a search below a folder reads its files");
        assert_eq!(starts(&[vec![Access::Unknown], read("/a")], 10), [0]);
        assert_eq!(starts(&[read("/a"), vec![Access::Unknown]], 10), [0]);
    }

    // proves: E3
    #[test]
    fn at_most_so_many_at_once_and_agents_do_not_count() {
        let reads: Vec<_> = (0..12).map(|n| read(&format!("/{n}"))).collect();
        assert_eq!(starts(&reads, 10).len(), 10);
        let agents: Vec<_> = (0..64).map(|_| agent()).collect();
        assert_eq!(starts(&agents, 10).len(), 64);
    }

    #[test]
    fn a_link_to_the_same_file_is_the_same_file() {
        let link = Access::Write(PathUse { typed: "/w/link".into(), resolved: "/w/file".into() });
        assert!(conflict(&[link], &read("/w/file")));
    }
}
