//! Landlock alone: what it holds, and what it is known not to.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use troupe_sandbox::{Network, Policy, Wall};

use crate::world::as_root_and_as_user;

// proves: S7, X8
as_root_and_as_user! {
    fn only_the_workspace_is_written(world: World on Landlock) {
        let outside = world.path("outside");
        let out = world.sh(&format!(
            "echo in > in; mkdir d && mv in d/in; echo t > $TMPDIR/t; echo x > {out}/file; true > {out}/file; echo x > {out}/new; \
             rm {out}/file; mv {out}/file here; ln {out}/file here; echo x > /etc/made; echo x > /tmp/troupe-made; \
             p=/proc/sys/kernel/core_pattern; cat $p > p; cat p > $p && echo wrote; mount -t tmpfs t /mnt; grep CapEff /proc/self/status",
            out = outside.display()
        ));
        assert!(world.path("ws/d/in").exists() && world.path("temp/t").exists(), "{}", out.text);
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "outside");
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
        for made in ["/etc/made", "/tmp/troupe-made"] {
            assert!(!std::path::Path::new(made).exists());
        }
        assert!(!world.path("ws/here").exists());
        assert!(!out.text.contains("wrote"), "{}", out.text);
        assert!(out.text.contains("CapEff:\t0000000000000000"), "{}", out.text);
    }
}

// proves: S7
as_root_and_as_user! {
    /// No network, a proxy or not; the machine's sockets neither.
    fn nothing_is_reached(world: World on Landlock) {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = udp.local_addr().unwrap().to_string();
        let unix = world.path("outside/docker.sock");
        let _unix = UnixListener::bind(&unix).unwrap();
        let name = format!("troupe-test-{}", std::process::id());
        let _hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let unix_allowed = Policy { unix_sockets: true, ..world.policy() };
        assert!(world.attempt(&unix_allowed, &["abstract", &name]).starts_with("refused"), "by its scope");
        let unix = unix.to_str().unwrap();
        for network in [Network::Closed, Network::Proxy(unix.into())] {
            let policy = Policy { network, ..world.policy() };
            for attempt in [&["tcp", &tcp][..], &["udp", &to], &["unix", unix], &["abstract", &name]] {
                let out = world.attempt(&policy, attempt);
                assert!(out.contains("not permitted"), "{attempt:?}: {out}");
            }
            assert_eq!(world.attempt(&policy, &["pair"]), "done\n");
        }
        let open = Policy { network: Network::Open, ..world.policy() };
        assert_eq!(world.attempt(&open, &["udp", &to]), "done\n");
    }
}

// proves: S7
#[test]
fn what_it_can_not_carve_out_is_told() {
    assert!(!Wall::Landlock.carves_out() && Wall::Bubblewrap.carves_out());
    let world = crate::world::World::new(Wall::Landlock);
    let policy = world.policy();
    let unheld = world.sandbox.unheld(&policy);
    // These are known: the attempts succeed, and the list has each.
    let out = world.sh("echo x > .mcp.json; mkdir -p .git/hooks; cat ~/.ssh/id");
    assert!(world.path("ws/.mcp.json").exists() && out.text.contains("secret"), "{}", out.text);
    for path in [world.path("ws/.mcp.json"), world.path("ws/.git"), world.path("home/.ssh")] {
        assert!(unheld.contains(&path), "{}", path.display());
    }
}
