//! Root without its powers. What is left is the ownership of root's files.

use std::io;

use rustix::thread::{CapabilitiesSecureBits as Bits, CapabilitySet, CapabilitySets};

/// Drops every capability, for good.
pub(super) fn drop_all() -> io::Result<()> {
    let root = rustix::process::geteuid().is_root();
    let held = rustix::thread::capabilities(None)?;
    if root && !held.effective.is_empty() {
        // Without this, a program that root starts gets them all again.
        let bits =
            Bits::NO_ROOT | Bits::NO_ROOT_LOCKED | Bits::NO_SETUID_FIXUP | Bits::NO_SETUID_FIXUP_LOCKED;
        rustix::thread::set_capabilities_secure_bits(bits)?;
        for bit in 0..u64::BITS {
            let capability = CapabilitySet::from_bits_retain(1 << bit);
            // The kernel knows fewer than 64.
            if rustix::thread::capability_is_in_bounding_set(capability).unwrap_or(false) {
                rustix::thread::remove_capability_from_bounding_set(capability)?;
            }
        }
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    // An older kernel has no ambient set to clear.
    let _ = rustix::thread::clear_ambient_capability_set();
    Ok(())
}
