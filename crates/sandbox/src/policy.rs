//! What a command may touch, as data.

use std::path::PathBuf;

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
