//! What a command may touch, as data.

use std::path::{Path, PathBuf};

/// What a command may touch. All paths are absolute; links are followed by whoever builds the walls. Everything
/// that no list names may be read and not written. Of two paths that cover a file, the more specific holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Files and folders that may be written: the workspace, more folders to work in, the scratch folder.
    pub writable: Vec<PathBuf>,
    /// Files and folders below those that may not be written after all, whether they are there or not yet:
    /// what decides what runs later.
    pub read_only: Vec<PathBuf>,
    /// Files and folders that can't even be read: secrets.
    pub hidden: Vec<PathBuf>,
    /// Files and folders below hidden ones that can be read after all.
    pub shown: Vec<PathBuf>,
    /// A private folder that stands in for the system's folder for temporary files; writable.
    pub temp: Option<PathBuf>,
    /// What it may reach.
    pub network: Network,
    /// Whether it may use Unix sockets (those that it can see; pairs of its own are always free).
    pub unix_sockets: bool,
    /// Whether some of what [`Policy::read_only`] should list may be missing there, since there is too much to look
    /// at. A command is not free of questions then.
    pub incomplete: bool,
}

/// What a command may reach over the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    #[default]
    Closed,
    /// Only this proxy, which listens on a Unix socket; the command finds it by the usual variables
    /// (`HTTP_PROXY`, `ALL_PROXY`, …).
    Proxy(PathBuf),
    /// Everything: the network is not part of the walls.
    Open,
}

impl Policy {
    /// Keeps these folders from being written, whatever let them be, but for what lies in the `free` ones. They stay
    /// in sight.
    pub fn hold(&mut self, folders: &[PathBuf], free: &[PathBuf]) {
        let below = |path: &Path, all: &[PathBuf]| all.iter().any(|folder| path.starts_with(folder));
        self.writable.retain(|path| !below(path, folders) || below(path, free));
        self.writable.extend(free.iter().cloned());
        self.read_only.extend(folders.iter().cloned());
        // One of them may lie where a folder of the command's own stands in.
        self.shown.extend(folders.iter().cloned());
    }

    /// Whether a path may be written.
    pub fn lets_write(&self, path: &Path) -> bool {
        let nearest = |paths: &[PathBuf]| {
            let around = paths.iter().filter(|around| path.starts_with(around));
            around.map(|around| around.components().count()).max()
        };
        nearest(&self.writable) > nearest(&self.read_only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: D10
    #[test]
    fn what_is_held_may_not_be_written_whatever_let_it() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let writable = paths(&["/", "/ws", "/ws/logs", "/tmp"]);
        let mut policy = Policy { writable, ..Policy::default() };
        assert!(policy.lets_write(Path::new("/ws/a")));
        policy.hold(&paths(&["/ws"]), &paths(&["/ws/target"]));
        for (path, may) in
            [("/ws", false), ("/ws/a", false), ("/ws/logs/a", false), ("/ws/target/a", true), ("/a", true)]
        {
            assert_eq!(policy.lets_write(Path::new(path)), may, "{path}");
        }
        assert!(policy.shown.contains(&"/ws".into()));
    }
}
