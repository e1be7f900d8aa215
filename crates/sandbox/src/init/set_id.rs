//! Programs that run as their owner or group, whoever starts them: no command makes one. What root makes so behind
//! the walls would be root's outside of them.

use seccompiler::{BackendError, SeccompCmpOp as Op, SeccompRule};

use super::seccomp::{flag, word};

/// The two bits of a mode.
const BITS: [libc::mode_t; 2] = [libc::S_ISUID, libc::S_ISGID];
/// Not in every version of the library.
const FCHMODAT2: libc::c_long = 452;
/// Calls that set a mode, with the number of that argument. (`mkdir` passes the bits over.)
const SETTING: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
];
/// Calls that set one if they make a file, with the number of the flags; the mode comes next. Otherwise, it may be
/// whatever the register holds. (`openat2` has it in memory, and is said not to exist.)
const OPENING: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// When these calls are refused.
pub(super) fn rules() -> Result<Vec<(i64, Vec<SeccompRule>)>, BackendError> {
    let mut all = Vec::new();
    for (call, mode) in SETTING {
        let rules = BITS.map(|bit| SeccompRule::new(vec![set(*mode, bit)?]));
        all.push((*call, rules.into_iter().collect::<Result<_, _>>()?));
    }
    for (call, flags) in OPENING {
        let mut rules = Vec::new();
        for bit in BITS {
            for makes in [libc::O_CREAT, libc::O_TMPFILE] {
                let makes = word(*flags, Op::MaskedEq(flag(makes)), flag(makes))?;
                rules.push(SeccompRule::new(vec![makes, set(flags + 1, bit)?])?);
            }
        }
        all.push((*call, rules));
    }
    Ok(all)
}

fn set(argument: u8, bit: libc::mode_t) -> Result<seccompiler::SeccompCondition, BackendError> {
    word(argument, Op::MaskedEq(bit.into()), bit.into())
}
