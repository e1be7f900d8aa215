//! System calls that a command is refused: sockets that lead out, and what widens the walls. Refused calls fail
//! with an error; the program lives on.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule, sock_filter,
};

use super::set_id;

/// Which kinds of sockets may be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sockets {
    /// TCP and UDP.
    pub(super) inet: bool,
    /// Unix sockets that can be connected. Connected pairs are always free.
    pub(super) unix: bool,
}

/// Refused whatever the arguments.
const REFUSED: &[libc::c_long] = &[
    // Mounts and name spaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    // Keys of the person's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Its requests make sockets that no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Of use to attackers of the kernel more than to programs.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
];

/// An old kind of raw socket.
const PACKET: libc::c_int = 10;
/// Bit that marks a call of the x32 interface, whose numbers no list here has.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Installs the filters in this process, for those that it starts too.
pub(super) fn restrict(sockets: Sockets) -> Result<(), seccompiler::Error> {
    seccompiler::apply_filter(&absent())?;
    seccompiler::apply_filter(&refused(sockets)?)
}

/// Calls that are said not to exist, so that programs fall back: `clone3` and `openat2`, whose flags no filter can
/// read, and the x32 interface. The kind of processor is checked by the other filter.
fn absent() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const NO_SUCH_CALL: u32 = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
    #[expect(clippy::cast_possible_truncation, reason = "a small number that is never negative")]
    const UNREADABLE: [u32; 2] = [libc::SYS_clone3 as u32, libc::SYS_openat2 as u32];
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut program = vec![step(LOAD, 0, 0, 0)];
    for call in UNREADABLE {
        program.extend([step(IF_EQUAL, 0, 1, call), step(RETURN, 0, 0, NO_SUCH_CALL)]);
    }
    #[cfg(target_arch = "x86_64")]
    {
        const IF_AT_LEAST: u16 = 0x35;
        program.extend([step(IF_AT_LEAST, 0, 1, X32), step(RETURN, 0, 0, NO_SUCH_CALL)]);
    }
    program.push(step(RETURN, 0, 0, ALLOW));
    program
}

fn refused(sockets: Sockets) -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, socket_rules(sockets)?);
    rules.insert(libc::SYS_socketpair, pair_rules(sockets)?);
    rules.extend(set_id::rules()?);
    // No new user name space: powers inside of it are powers over the kernel's rarer parts.
    let user = word(0, Op::MaskedEq(flag(libc::CLONE_NEWUSER)), flag(libc::CLONE_NEWUSER))?;
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        rules.insert(call, vec![SeccompRule::new(vec![user.clone()])?]);
    }
    // Typing into the terminal. The kernel reads 32 bits of the request, and so must this.
    let requests = [libc::TIOCSTI, libc::TIOCLINUX];
    let requests = requests.map(|request| SeccompRule::new(vec![word(1, Op::Eq, request)?]));
    rules.insert(libc::SYS_ioctl, requests.into_iter().collect::<Result<_, _>>()?);
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}

/// When `socket` is refused: any of these.
fn socket_rules(sockets: Sockets) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut families = vec![libc::AF_NETLINK];
    if sockets.inet {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if sockets.unix {
        families.push(libc::AF_UNIX);
    }
    let others = families.iter().map(|family| word(0, Op::Ne, flag(*family))).collect::<Result<_, _>>()?;
    let netlink = flag(libc::AF_NETLINK);
    Ok(vec![
        SeccompRule::new(others)?,
        // Of netlink, the part that lists addresses: programs ask it before they connect.
        SeccompRule::new(vec![word(0, Op::Eq, netlink)?, word(2, Op::Ne, flag(libc::NETLINK_ROUTE))?])?,
        SeccompRule::new(vec![word(0, Op::Ne, netlink)?, kind(libc::SOCK_RAW)?])?,
        SeccompRule::new(vec![kind(PACKET)?])?,
    ])
}

/// When `socketpair` is refused: one end of a pair of datagram sockets can be connected elsewhere.
fn pair_rules(sockets: Sockets) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = vec![SeccompRule::new(vec![word(0, Op::Ne, flag(libc::AF_UNIX))?])?];
    if !sockets.unix {
        rules.push(SeccompRule::new(vec![kind(libc::SOCK_DGRAM)?])?);
    }
    Ok(rules)
}

/// The kind of a socket, without its flags.
fn kind(kind: libc::c_int) -> Result<Condition, seccompiler::BackendError> {
    word(1, Op::MaskedEq(0xf), flag(kind))
}

pub(super) fn word(argument: u8, op: Op, value: u64) -> Result<Condition, seccompiler::BackendError> {
    Condition::new(argument, Len::Dword, op, value)
}

pub(super) fn flag(value: libc::c_int) -> u64 {
    u64::from(value.unsigned_abs())
}
