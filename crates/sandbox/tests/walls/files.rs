//! What may be written and read.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use troupe_sandbox::Policy;

use crate::world::as_root_and_as_user;

// proves: S7, X8
as_root_and_as_user! {
    fn only_the_workspace_is_written(world: World on Bubblewrap) {
        let outside = world.path("outside");
        let script = format!(
            "echo in > in; echo t > /tmp/t; echo t > $TMPDIR/u; cat {out}/file; echo x > {out}/file; echo x > {out}/new; \
             chmod 777 {out}/file; touch -d 2001-01-01 {out}/file; mv {out}/file {out}/moved; ln {out}/file here; \
             rm {out}/file; echo x > /etc/made; echo x > /made; mkdir {home}/made; true",
            out = outside.display(),
            home = world.path("home").display(),
        );
        let out = world.sh(&script);
        assert!(out.text.starts_with("outside"), "it may be read: {}", out.text);
        assert_eq!(fs::read_to_string(world.path("ws/in")).unwrap(), "in\n");
        assert!(world.path("temp/t").exists() && world.path("temp/u").exists(), "{}", out.text);
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "outside");
        let found = fs::metadata(outside.join("file")).unwrap();
        assert_ne!(found.permissions().mode() & 0o777, 0o777);
        assert!(found.modified().unwrap() > std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 << 30));
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
        for made in ["/etc/made", "/made"] {
            assert!(!std::path::Path::new(made).exists(), "{made}");
        }
        assert!(!world.path("home/made").exists() && !world.path("ws/here").exists());
    }
}

// proves: F165
as_root_and_as_user! {
    /// Whether it is there or not: what decides what runs later can't be written, replaced or made.
    fn what_is_carved_out_stays(world: World on Bubblewrap) {
        let ws = world.path("ws");
        fs::create_dir_all(ws.join(".claude/agents")).unwrap();
        fs::create_dir_all(ws.join("sub/deep/.husky")).unwrap();
        for file in [".envrc", ".claude/settings.json", "sub/deep/.husky/pre-commit", "other"] {
            fs::write(ws.join(file), "old").unwrap();
        }
        let out = world.sh(
            "for f in .envrc .claude/settings.json .claude/new .mcp.json .troupe/settings.json .vscode/tasks.json \
                      .cargo/config.toml sub/deep/.husky/pre-commit sub/deep/.husky/new; do \
                 mkdir -p $(dirname $f); echo new > $f; cp other $f; mv other $f; ln -sf other $f; ln other $f; ln $f alias; echo x >> alias; rm -f alias; \
             done; \
             rm -rf .claude .envrc .mcp.json .vscode; \
             mv .claude gone; mv .mcp.json gone; mv sub gone; mv sub/deep sub/gone; mkdir -p sub/deep/.husky; \
             echo '{}' > made && mv -T made .mcp.json; mkdir d && mv -T d .vscode; true",
        );
        for file in [".envrc", ".claude/settings.json", "sub/deep/.husky/pre-commit"] {
            assert_eq!(fs::read_to_string(ws.join(file)).unwrap(), "old", "{file}: {}", out.text);
        }
        let absent = [
            ".mcp.json", ".troupe", ".vscode", ".cargo", ".claude/new", "sub/deep/.husky/new", "gone", ".idea", ".git",
        ];
        for path in absent {
            assert!(ws.join(path).symlink_metadata().is_err(), "{path}: {}", out.text);
        }
    }
}

// proves: F165
as_root_and_as_user! {
    /// Of the files of a root's top that tools go by, those are held that are not a project's to write.
    fn absent_files_of_tools(world: World on Bubblewrap) {
        let out = world.sh(
            "for f in .envrc .npmrc; do echo x > $f; rm -rf $f; echo x > made; mv -T made $f; done; \
             for f in .gitattributes .gitmodules; do echo x > $f; done",
        );
        assert_eq!(world.outside("rm -f made; ls -A"), ".gitattributes\n.gitmodules\n", "{}", out.text);
    }
}

// proves: F165
as_root_and_as_user! {
    /// git sees nothing of what stands in for the absent, inside or outside, and it is gone afterwards.
    fn placeholders_are_not_seen_by_git_and_swept(world: World on Bubblewrap) {
        world.repository();
        let walled = world.walled(&world.policy(), "/bin/sh", &["-c", "git status --porcelain; git add -A; ls -A"]);
        assert_eq!(world.outside("git status --porcelain"), "");
        assert!(troupe_sandbox::is_placeholder(&world.path("ws/.mcp.json")));
        let mut command = walled.command();
        command.current_dir(world.path("ws"));
        let out = crate::world::finish(command);
        assert!(out.text.starts_with(".cargo\n"), "nothing to commit, then the list: {}", out.text);
        drop(walled);
        assert_eq!(world.outside("ls -A; ls .git/info; ls .git | grep commondir || true"), ".git\nfile\nexclude\n");
    }
}

// proves: F165
as_root_and_as_user! {
    /// The policy of a second command is made while the first one's placeholders stand.
    fn two_commands_at_a_time(world: World on Bubblewrap) {
        let one = world.walled(&world.policy(), "/bin/true", &[]);
        let policy = world.policy();
        let two = world.walled(&policy, "/bin/true", &[]);
        drop(one);
        let out = world.sh_with(&policy, "mkdir .git/hooks; echo x > .mcp.json; echo x > .claude/settings.json; true");
        assert_eq!(out.text.matches("Read-only").count(), 2, "{}", out.text);
        assert!(troupe_sandbox::is_placeholder(&world.path("ws/.git")));
        drop(two);
        assert_eq!(world.outside("ls -A"), "");
    }
}

// proves: S7
as_root_and_as_user! {
    fn secrets_are_not_read_and_what_is_shown_is(world: World on Bubblewrap) {
        let home = world.path("home");
        fs::write(home.join(".netrc"), "secret").unwrap();
        fs::write(home.join(".ssh/known_hosts"), "known").unwrap();
        fs::create_dir(home.join("aws")).unwrap();
        fs::write(home.join("aws/credentials"), "secret").unwrap();
        symlink("aws", home.join(".aws")).unwrap();
        symlink(home.join(".ssh/id"), world.path("ws/link")).unwrap();
        let policy = Policy { shown: vec![home.join(".ssh/known_hosts")], ..world.policy() };
        let out = world.sh_with(
            &policy,
            "cat ~/.ssh/id ~/.netrc ~/.aws/credentials ~/aws/credentials link /etc/shadow; ls -A ~/.ssh; cat ~/.ssh/known_hosts; \
             echo x > ~/.ssh/new; rm ~/.netrc; mv ~/.ssh ~/gone; true",
        );
        assert!(!out.text.contains("secret") && !out.text.contains("root:"), "{}", out.text);
        assert!(out.text.contains("known_hosts\nknown"), "{}", out.text);
        assert!(!home.join(".ssh/new").exists() && home.join(".ssh/id").exists());
    }
}

// proves: S7
as_root_and_as_user! {
    fn a_link_is_no_way_around(world: World on Bubblewrap) {
        let ws = world.path("ws");
        // The workspace itself through a link, and a carve-out that lies elsewhere in it.
        symlink("ws", world.path("link")).unwrap();
        fs::create_dir(ws.join("shared")).unwrap();
        symlink("shared", ws.join(".vscode")).unwrap();
        symlink("nowhere", ws.join(".husky")).unwrap();
        let policy = world.policy_of(&["link"]);
        let out = world.sh_with(
            &policy,
            "echo x > .vscode/tasks.json; echo x > shared/tasks.json; echo x > .mcp.json; echo in > in; \
             ln -s /etc away; echo x > away/made",
        );
        assert!(ws.join("in").exists(), "{}", out.text);
        assert!(!ws.join("shared/tasks.json").exists() && !ws.join(".mcp.json").exists(), "{}", out.text);
        // The link itself can be replaced, and that is said.
        assert_eq!(world.sandbox.unheld(&policy), [world.path("link/.husky"), world.path("link/.vscode")]);
    }
}

// proves: S7
#[test]
fn a_policy_that_is_not_whole_holds_not_all() {
    let world = crate::world::World::new(troupe_sandbox::Wall::Bubblewrap);
    assert!(world.sandbox.holds(&world.policy()));
    assert!(!world.sandbox.holds(&Policy { incomplete: true, ..world.policy() }));
}

// proves: F230
as_root_and_as_user! {
    /// A folder that nobody may write keeps no command from running behind walls.
    fn an_unwritable_folder(world: World on Bubblewrap) {
        let ws = world.path("ws");
        fs::set_permissions(&ws, fs::Permissions::from_mode(0o555)).unwrap();
        let out = world.sh(&format!("echo ran; echo x > {}/file; echo x > .mcp.json", world.path("outside").display()));
        fs::set_permissions(&ws, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(out.text.starts_with("ran\n"), "{}", out.text);
        assert_eq!(fs::read_to_string(world.path("outside/file")).unwrap(), "outside");
        assert!(!ws.join(".mcp.json").exists(), "{}", out.text);
    }
}

// proves: S7
as_root_and_as_user! {
    /// The whole disk as a workspace: the system's own folders are still the sandbox's.
    fn everything_writable(world: World on Bubblewrap) {
        let policy = Policy { writable: vec!["/".into()], ..Policy::default() };
        let out = world.sh_with(
            &policy,
            &format!("echo x > {}/file; p=/proc/sys/kernel/core_pattern; cat $p > /tmp/p; cat /tmp/p > $p && echo wrote; [ -e /dev/kmsg ] || echo private; ls -A /run", world.path("outside").display()),
        );
        assert_eq!(fs::read_to_string(world.path("outside/file")).unwrap(), "x\n", "{}", out.text);
        assert!(!out.text.contains("wrote"), "{}", out.text);
        assert_eq!(out.text.lines().last(), Some("private"), "{}", out.text);
    }
}

// proves: F165
#[test]
fn what_can_not_be_enforced_is_an_error() {
    let world = crate::world::World::new(troupe_sandbox::Wall::Bubblewrap);
    let wrap = |policy: &Policy| {
        world
            .sandbox
            .wrap(policy, "/bin/true".as_ref(), &[], "/".as_ref())
            .err()
            .map(|error| error.to_string())
    };
    for path in ["relative", "/a/../etc"] {
        for policy in [
            Policy { writable: vec![path.into()], ..Policy::default() },
            Policy { read_only: vec![path.into()], ..Policy::default() },
            Policy { hidden: vec![path.into()], ..Policy::default() },
        ] {
            assert_eq!(wrap(&policy), Some(format!("the sandbox takes no path like {path}")));
        }
    }
    // Another program holds the folder for itself: the placeholder would not last.
    let ws = fs::File::open(world.path("ws")).unwrap();
    ws.lock().unwrap();
    let error = wrap(&world.policy()).unwrap();
    assert!(error.contains("another program has locked the folder"), "{error}");
}

// proves: D10
as_root_and_as_user! {
    /// A project that is held can be built and read, and nothing of it can be changed, also where a folder around it
    /// may be written.
    fn a_project_that_is_held_is_built_and_not_changed(world: World on Bubblewrap) {
        world.repository();
        let ws = world.path("ws");
        fs::create_dir_all(ws.join("target")).unwrap();
        fs::write(ws.join(".gitignore"), "target\n").unwrap();
        let scratch = world.path("ws/.scratch");
        fs::create_dir_all(&scratch).unwrap();
        let script = "cat file; echo x > target/made; echo x > .scratch/made; echo x > file; echo x > new; rm file; \
                      mv target gone; git stash; git commit -qam two; echo x > .git/config; mkdir dist; true";
        for around in [Vec::new(), vec![world.path("")]] {
            let mut policy = world.policy_of(&[]);
            policy.writable.extend(around);
            policy.writable.push(ws.join("sub"));
            let free = [troupe_sandbox::build_folders(&ws), vec![scratch.clone()]].concat();
            policy.hold(std::slice::from_ref(&ws), &free);
            assert!(world.sandbox.keeps(&policy, std::slice::from_ref(&ws)));
            let out = world.sh_with(&policy, script);
            assert!(out.text.starts_with("one"), "it is read: {}", out.text);
            for made in ["target/made", ".scratch/made"] {
                assert!(fs::remove_file(ws.join(made)).is_ok(), "{made}: {}", out.text);
            }
            let now = world.outside("git status --porcelain; git log --oneline | wc -l; ls; cat file");
            assert_eq!(now, "?? .gitignore\n1\nfile\ntarget\none\n", "{}", out.text);
        }
    }
}
