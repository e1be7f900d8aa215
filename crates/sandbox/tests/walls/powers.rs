//! What root, a process or a system call could do to the walls.

use std::fs;
use std::path::Path;

use troupe_sandbox::{Policy, Wall};

use crate::world::{World, as_root_and_as_user};

// proves: S7
as_root_and_as_user! {
    /// Holes 1 and 2: mounts, and the kernel's settings.
    fn mounts_and_settings_of_the_kernel(world: World on Bubblewrap) {
        let out = world.sh(
            "mount -o remount,rw / ; mount -o remount,rw,bind /etc; mount -t tmpfs t /mnt; umount /run; umount .git; \
             echo x > /etc/made; p=/proc/sys/kernel/core_pattern; cat $p > /tmp/p; cat /tmp/p > $p && echo wrote the setting; \
             for f in /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/sys/vm/drop_caches; do \
                 if [ -e $f ]; then (: >> $f) 2> /dev/null && echo opened $f; fi; \
             done; \
             mknod disk b 1 0; mknod mem c 1 1; chroot / true && echo chrooted; grep CapEff /proc/self/status",
        );
        assert!(!Path::new("/etc/made").exists());
        // What is there is written again: a wall that falls here must not change the machine.
        for said in ["wrote", "opened", "chrooted"] {
            assert!(!out.text.contains(said), "{}", out.text);
        }
        assert!(!world.path("ws/disk").exists() && !world.path("ws/mem").exists());
        assert!(out.text.contains("CapEff:\t0000000000000000"), "{}", out.text);
    }
}

// proves: S7
as_root_and_as_user! {
    /// Hole 6: no user name space inside, by any call.
    fn no_nested_user_namespaces(world: World on Bubblewrap) {
        for how in ["unshare-user", "clone-user"] {
            assert_eq!(world.attempt_outside(&[how]), "done\n");
            assert!(world.attempt(&world.policy(), &[how]).starts_with("refused"), "{how}");
        }
        let clone3 = libc::SYS_clone3.to_string();
        assert!(world.attempt(&world.policy(), &["call", &clone3]).contains("not implemented"));
    }
}

/// System calls that must not get as far as looking at their arguments.
fn calls() -> Vec<(String, &'static str)> {
    let refused = [
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_setns,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_userfaultfd,
        libc::SYS_fsopen,
        libc::SYS_open_tree,
        libc::SYS_init_module,
        libc::SYS_reboot,
    ];
    let mut calls: Vec<_> = refused.iter().map(|call| (call.to_string(), "not permitted")).collect();
    // The second face of a call on this kind of processor.
    #[cfg(target_arch = "x86_64")]
    calls.push(((libc::SYS_getpid | 0x4000_0000).to_string(), "not implemented"));
    calls
}

fn refused_calls(world: &World) {
    for (call, said) in calls() {
        let out = world.attempt(&world.policy(), &["call", &call]);
        assert!(out.starts_with("refused") && out.contains(said), "{call}: {out}");
    }
}

// proves: S7
as_root_and_as_user! {
    fn calls_behind_bubblewrap(world: World on Bubblewrap) {
        refused_calls(&world);
        // Some of them are refused to an ordinary user anyway; this one is not.
        let key = libc::SYS_keyctl.to_string();
        assert!(!world.attempt_outside(&["call", &key]).contains("not permitted"));
    }
}

// proves: S7
as_root_and_as_user! {
    fn calls_behind_landlock(world: World on Landlock) {
        refused_calls(&world);
    }
}

/// Nobody makes a program that runs as its owner; what else has to do with modes goes on.
fn set_id(world: &World) {
    let file = world.path("ws/file");
    fs::write(&file, "").unwrap();
    let calls: &[&str] = &[
        #[cfg(target_arch = "x86_64")]
        "chmod",
        "fchmod",
        "fchmodat",
        "fchmodat2",
        #[cfg(target_arch = "x86_64")]
        "mknod",
        "mknodat",
        #[cfg(target_arch = "x86_64")]
        "creat",
        #[cfg(target_arch = "x86_64")]
        "open",
        "openat",
        "openat-unnamed",
    ];
    let attempt = |call: &str, mode: u32| {
        let (path, mode) = (file.to_str().unwrap(), mode.to_string());
        world.attempt(&world.policy(), &["set-id", call, path, &mode])
    };
    for call in calls {
        for mode in [0o4755, 0o2755, 0o6711] {
            assert!(attempt(call, mode).contains("not permitted"), "{call} {mode:o}");
        }
        assert_eq!(attempt(call, 0o1755), "done\n", "{call}");
    }
    assert!(attempt("openat2", 0o4755).contains("not implemented"));
    // Without a file to make, the mode is whatever the register holds.
    assert_eq!(attempt("openat-only", 0o6755), "done\n");
    let out = world.sh(
        "cp /usr/bin/id x && chmod 6755 x; install -m 4755 /usr/bin/id y; chmod u+s x; \
         set -e; cp -p /usr/bin/id z; install -m 755 /usr/bin/id d; mkdir -m 700 dir; tar cf t.tar z d dir; rm -r z d dir; tar xpf t.tar; \
         git init -q repo && cd repo && cp ../z . && git add z && git commit -qm z && git clone -q . ../clone; \
         cd ..; test -x clone/z && test -x z && echo went on; find . -perm /6000",
    );
    assert!(out.text.ends_with("went on\n"), "{}", out.text);
}

// proves: S7
as_root_and_as_user! {
    fn set_id_behind_bubblewrap(world: World on Bubblewrap) {
        set_id(&world);
    }
}

// proves: S7
as_root_and_as_user! {
    fn set_id_behind_landlock(world: World on Landlock) {
        set_id(&world);
    }
}

/// Neither a signal nor a tracer reaches a process outside.
fn processes(world: &World, policy: &Policy) {
    let mut outside = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = outside.id().to_string();
    let out = ["kill", "ptrace"].map(|how| world.attempt(policy, &[how, &pid]));
    let seen = ["kill", "ptrace"].map(|how| world.attempt_outside(&[how, &pid]));
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert_eq!(seen, ["done\n", "done\n"], "the attempts are worth something");
    assert!(out.iter().all(|out| out.starts_with("refused")), "{out:?}");
}

// proves: S7
as_root_and_as_user! {
    fn processes_behind_bubblewrap(world: World on Bubblewrap) {
        processes(&world, &world.policy());
    }
}

// proves: S7
as_root_and_as_user! {
    fn processes_behind_landlock(world: World on Landlock) {
        processes(&world, &world.policy());
    }
}

/// The terminal is gone, and typing into it is refused by the kind of call too.
fn a_terminal(world: &World) {
    let init = world.path("bin/init");
    let script = format!("(true < /dev/tty) 2> /dev/null && echo has it; {} try type 0", init.display());
    let run = |program: &str, args: Vec<&str>| {
        let out = world.attempt_outside(&[&["terminal", program][..], &args].concat());
        // The line that says that the terminal was made.
        out.strip_suffix("done\n").unwrap().to_owned()
    };
    assert_eq!(run("/bin/sh", vec!["-c", &script]), "has it\ndone\n", "it is worth something");
    let walled = world.walled(&world.policy(), "/bin/sh", &["-c", &script]);
    let args = walled.args.iter().map(|word| word.to_str().unwrap()).collect();
    let out = run(walled.program.to_str().unwrap(), args);
    assert_eq!(out, "refused: Operation not permitted (os error 1)\n");
}

// proves: S7
as_root_and_as_user! {
    fn a_terminal_behind_bubblewrap(world: World on Bubblewrap) {
        a_terminal(&world);
    }
}

// proves: S7
as_root_and_as_user! {
    fn a_terminal_behind_landlock(world: World on Landlock) {
        a_terminal(&world);
    }
}

// proves: S7
#[test]
fn what_was_left_open_is_closed() {
    for wall in [Wall::Bubblewrap, Wall::Landlock] {
        let world = World::new(wall);
        let folder = fs::File::open(world.path("outside")).unwrap();
        rustix::io::fcntl_setfd(&folder, rustix::io::FdFlags::empty()).unwrap();
        assert_eq!(world.attempt(&world.policy(), &["open-files"]), "done 0 1 2\n");
        assert!(world.attempt_outside(&["open-files"]).len() > "done 0 1 2\n".len());
    }
}
