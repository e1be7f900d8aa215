//! Root without its powers. What is left is the ownership of root's files.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

/// Drops every capability. Once `no_new_privs` is set, no program that is started gets one back, root's neither.
pub(super) fn drop_all() -> io::Result<()> {
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    // An older kernel has no ambient set to clear.
    let _ = rustix::thread::clear_ambient_capability_set();
    Ok(())
}
