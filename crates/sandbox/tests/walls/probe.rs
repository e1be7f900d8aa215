//! What is said of a machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use troupe_sandbox::{Sandbox, Unavailable, Wall};

use crate::world::World;

// proves: S7
#[test]
fn the_best_wall_that_works_is_found() {
    let world = World::new(Wall::Bubblewrap);
    assert_eq!(Sandbox::probe(&world.path("bin/init")).unwrap().wall(), Wall::Bubblewrap);
    let Err(Unavailable(reason)) = Sandbox::probe_wall(&world.path("bin/init"), Wall::Seatbelt) else {
        panic!("there is none here");
    };
    assert_eq!(reason, "seatbelt: sandbox: seatbelt does not work on this system");
}

// proves: S7
#[test]
fn a_wall_that_does_not_stand_is_none() {
    let world = World::new(Wall::Landlock);
    // Programs that are no init: one that is not there, one that says nothing, and one that hangs.
    let reason = |init: &Path| Sandbox::probe(init).map(|sandbox| sandbox.wall()).unwrap_err().0;
    let gone = reason(&world.path("bin/none"));
    assert!(gone.contains("bubblewrap: bwrap: execvp") && gone.contains("landlock: "), "{gone}");
    assert!(reason(Path::new("/bin/true")).contains("landlock: it ended without a word"));
    let hangs = world.path("bin/hangs");
    fs::write(&hangs, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&hangs, fs::Permissions::from_mode(0o755)).unwrap();
    let start = Instant::now();
    assert!(reason(&hangs).contains("it takes too long"));
    assert!(start.elapsed() < Duration::from_secs(10));
}
