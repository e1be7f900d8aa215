//! What may be reached.

use std::io::{IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread::{self, JoinHandle};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use troupe_sandbox::{Network, Policy};

use crate::world::{World, as_root_and_as_user};

/// What the init hands over.
fn handed(socket: &UnixListener) -> TcpListener {
    let (stream, _) = socket.accept().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&stream, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    let Some(RecvAncillaryMessage::ScmRights(mut given)) = control.drain().next() else { panic!("nothing") };
    TcpListener::from(given.next().unwrap())
}

/// Answers one connection with a line, and gives what it was sent first.
fn answer_once(socket: UnixListener) -> JoinHandle<String> {
    thread::spawn(move || {
        let (mut stream, _) = handed(&socket).accept().unwrap();
        let mut request = vec![0; 4096];
        let read = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nby proxy\n")
            .unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    })
}

fn with_proxy(world: &World) -> (Policy, UnixListener) {
    let socket = world.path("proxy.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    (Policy { network: Network::Proxy(socket), ..world.policy() }, listener)
}

// proves: S7
as_root_and_as_user! {
    fn the_proxy_is_the_only_way_out(world: World on Bubblewrap) {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap().to_string();
        let (policy, listener) = with_proxy(&world);
        let proxy = answer_once(listener);
        let out = world.sh_with(
            &policy,
            &format!("curl -sS http://example.invalid/a; curl -sS --noproxy '*' http://{address}/b; echo $no_proxy"),
        );
        assert!(out.text.starts_with("by proxy\n"), "{}", out.text);
        assert!(out.text.contains("Failed to connect") || out.text.contains("Couldn't connect"), "{}", out.text);
        assert!(out.text.ends_with("localhost,127.0.0.1,::1\n"), "{}", out.text);
        assert!(proxy.join().unwrap().starts_with("GET http://example.invalid/a HTTP/1.1"));
        tcp.set_nonblocking(true).unwrap();
        assert!(tcp.accept().is_err(), "nobody came");
    }
}

// proves: S7
as_root_and_as_user! {
    fn nothing_else_is_reached(world: World on Bubblewrap) {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let unix = world.path("outside/docker.sock");
        let _unix = UnixListener::bind(&unix).unwrap();
        let name = format!("troupe-test-{}", std::process::id());
        let _hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let datagrams = world.path("outside/log.sock");
        let _datagrams = std::os::unix::net::UnixDatagram::bind(&datagrams).unwrap();
        let (tcp, to) = (tcp.local_addr().unwrap().to_string(), udp.local_addr().unwrap().to_string());
        let attempts: [&[&str]; 3] = [
            &["unix", unix.to_str().unwrap()],
            &["abstract", &name],
            &["unix-datagram", datagrams.to_str().unwrap()],
        ];
        assert_eq!(world.attempt_outside(&["udp", &to]), "done\n");
        let (policy, _listener) = with_proxy(&world);
        let open = Policy { network: Network::Open, ..world.policy() };
        for attempt in attempts {
            assert_eq!(world.attempt_outside(attempt), "done\n", "{attempt:?} is worth something");
            let policies = [&policy, &world.policy()];
            // An open network is one of addresses: the machine's sockets stay closed.
            for policy in policies.into_iter().chain([&open]) {
                let out = world.attempt(policy, attempt);
                assert!(out.starts_with("refused"), "{attempt:?}: {out}");
            }
        }
        // What is sent to this address stays in the command's own network; another is not even there.
        world.attempt(&policy, &["udp", &to]);
        assert!(world.attempt(&policy, &["udp", "192.0.2.1:9"]).contains("unreachable"));
        let mut buffer = [0; 16];
        assert_eq!(udp.recv(&mut buffer).unwrap(), 5, "that from outside");
        assert!(udp.recv(&mut buffer).is_err(), "none from inside");
        assert!(world.attempt(&world.policy(), &["tcp", &tcp]).starts_with("refused"));
    }
}

// proves: S7
as_root_and_as_user! {
    fn kinds_of_sockets(world: World on Bubblewrap) {
        let policy = world.policy();
        let try_one = |family: i32, kind: i32, protocol: i32| {
            let words = [family, kind, protocol].map(|number| number.to_string());
            world.attempt(&policy, &["socket", &words[0], &words[1], &words[2]])
        };
        let cloexec = libc::SOCK_CLOEXEC;
        for (family, kind, protocol) in [
            (libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
            (libc::AF_INET6, libc::SOCK_RAW | cloexec, libc::IPPROTO_ICMPV6),
            (libc::AF_PACKET, libc::SOCK_RAW, 0),
            (libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT),
            (libc::AF_VSOCK, libc::SOCK_STREAM, 0),
            (libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
            (libc::AF_UNIX, libc::SOCK_STREAM, 0),
        ] {
            let out = try_one(family, kind, protocol);
            assert!(out.contains("not permitted"), "{family} {kind} {protocol}: {out}");
        }
        for (family, kind, protocol) in [
            (libc::AF_INET, libc::SOCK_STREAM | cloexec, 0),
            (libc::AF_INET6, libc::SOCK_DGRAM, 0),
            (libc::AF_NETLINK, libc::SOCK_RAW | cloexec, libc::NETLINK_ROUTE),
        ] {
            assert_eq!(try_one(family, kind, protocol), "done\n", "{family} {kind} {protocol}");
        }
        assert_eq!(world.attempt(&policy, &["pair"]), "done\n");
        let unix = Policy { unix_sockets: true, ..policy.clone() };
        assert_eq!(world.attempt(&unix, &["socket", "1", "1", "0"]), "done\n");
    }
}

// proves: S7
as_root_and_as_user! {
    /// Where Unix sockets are allowed, the machine's own are still not seen, except for those that are shown.
    fn allowed_unix_sockets_are_those_that_are_seen(world: World on Bubblewrap) {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let (seen, unseen) = (dir.path().join("seen"), dir.path().join("unseen"));
        let _listeners = [&seen, &unseen].map(|path| UnixListener::bind(path).unwrap());
        let policy = Policy { unix_sockets: true, shown: vec![seen.clone()], ..world.policy() };
        assert_eq!(world.attempt(&policy, &["unix", seen.to_str().unwrap()]), "done\n");
        assert!(world.attempt(&policy, &["unix", unseen.to_str().unwrap()]).starts_with("refused"));
    }
}

// proves: S7
as_root_and_as_user! {
    /// Nothing of the init stays beside the command: no process that can do more, no open file, and nobody behind
    /// the socket by which it gave its listener away.
    fn nothing_of_the_way_to_the_proxy_is_left(world: World on Bubblewrap) {
        let (policy, socket) = with_proxy(&world);
        let policy = Policy { unix_sockets: true, ..policy };
        let holder = thread::spawn(move || {
            let listener = handed(&socket);
            drop(socket);
            listener
        });
        let init = world.path("bin/init");
        let script = format!(
            "for p in /proc/[0-9]*; do readlink $p/exe; done; readlink /proc/$$/fd/*; \
             while {} try unix /run/troupe-proxy.sock | grep -q done; do :; done; \
             {0} try unix /run/troupe-proxy.sock",
            init.display()
        );
        let out = world.sh_with(&policy, &script);
        assert!(!out.text.contains("/init"), "{}", out.text);
        assert!(out.text.contains("/dev/null\n") && !out.text.contains("socket:"), "{}", out.text);
        assert!(out.text.ends_with("refused: Connection refused (os error 111)\n"), "{}", out.text);
        drop(holder.join().unwrap());
    }
}

// proves: S7
as_root_and_as_user! {
    /// Many at a time, large, and half closed: all bytes arrive.
    fn many_connections_reach_the_proxy(world: World on Bubblewrap) {
        let (policy, listener) = with_proxy(&world);
        let served = thread::spawn(move || {
            let listener = handed(&listener);
            for _ in 0..20 {
                let (mut stream, _) = listener.accept().unwrap();
                thread::spawn(move || {
                    let mut request = [0; 4096];
                    let _ = stream.read(&mut request).unwrap();
                    let body = vec![b'x'; 300_000];
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                    stream.write_all(head.as_bytes()).unwrap();
                    stream.write_all(&body).unwrap();
                });
            }
        });
        let out = world.sh_with(
            &policy,
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do curl -sS http://a.invalid/ -o $i & done; wait; \
             wc -c [0-9]* | grep -c ' *300000 '",
        );
        assert_eq!(out.text, "20\n");
        served.join().unwrap();
    }
}

// proves: S7
as_root_and_as_user! {
    /// Either side may end its half and still hear the other.
    fn half_closed_connections(world: World on Bubblewrap) {
        let (policy, listener) = with_proxy(&world);
        // The command's network ends with it, so it waits until all is heard.
        world.outside("mkfifo heard");
        let heard = world.path("ws/heard");
        let served = thread::spawn(move || {
            let listener = handed(&listener);
            let serve = || {
                let (stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
                (stream, String::new())
            };
            let (mut stream, mut first) = serve();
            stream.read_to_string(&mut first).unwrap();
            stream.write_all(b"after").unwrap();
            drop(stream);
            let (mut stream, mut second) = serve();
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            stream.write_all(b"before").unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            stream.read_to_string(&mut second).unwrap();
            std::fs::write(heard, "heard\n").unwrap();
            (first, second)
        });
        let init = world.path("bin/init");
        let script = format!("for side in client proxy; do {} try half $side $http_proxy; done; cat heard", init.display());
        let out = world.sh_with(&policy, &script);
        assert_eq!(out.text, "done after\ndone before\nheard\n");
        assert_eq!(served.join().unwrap(), ("a".into(), "b".into()));
    }
}

// proves: S7
as_root_and_as_user! {
    fn a_proxy_that_is_gone_is_an_error_of_the_client(world: World on Bubblewrap) {
        let (policy, socket) = with_proxy(&world);
        let gone = thread::spawn(move || drop(handed(&socket)));
        let out = world.sh_with(&policy, "curl -sS -m 10 http://a.invalid/; echo $?");
        gone.join().unwrap();
        assert!(!out.text.ends_with("\n0\n") && out.text.contains("curl:"), "{}", out.text);
        // Nor does a command run that would have none from its start.
        let out = world.sh_with(&policy, "echo ran");
        assert_eq!(out.status.code(), Some(126));
        assert!(out.text.starts_with("sandbox: proxy: ") && !out.text.contains("ran\n"), "{}", out.text);
    }
}
