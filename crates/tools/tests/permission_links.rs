//! Shell commands on real folders with links that lead outside: what would leave the workspace, or meet what a
//! rule denies, asks.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;
use troupe_core::access::Access;
use troupe_core::policy::{Behaviour, Judged, Mode, Rules, Scope, Verdict, decide};
use troupe_core::ports::tool::Place;
use troupe_tools::shell::parse::parse;

struct World {
    root: tempfile::TempDir,
}

impl World {
    /// A workspace with `link` to a folder outside, `sink` and `dst/victim` to files there.
    fn new() -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        let (workspace, out) = (world.path("ws"), world.path("out"));
        for folder in [&workspace.join("dst"), &workspace.join("sub"), &workspace.join(".git/hooks"), &out] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for file in [workspace.join("victim"), workspace.join("a.txt"), workspace.join(".env")] {
            std::fs::write(file, "a\n").unwrap();
        }
        std::fs::write(out.join("secret"), "a\n").unwrap();
        symlink(&out, workspace.join("link")).unwrap();
        symlink(out.join("secret"), workspace.join("sink")).unwrap();
        symlink(out.join("secret"), workspace.join("dst/victim")).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn judge(&self, mode: Mode, rules: &[(Behaviour, &str)], line: &str) -> &'static str {
        let workspace = self.path("ws");
        let place = Place {
            cwd: workspace.clone(),
            home: self.path("home"),
            roots: vec![workspace.clone()],
            scratch: vec![],
            read_only: false,
        };
        let mut all = Rules::default();
        for (behaviour, text) in rules {
            let text = text.replace("<OUT>", &format!("/{}", self.path("out").display()));
            all.add(&text, *behaviour, Scope::Project, workspace.clone()).unwrap();
        }
        let mut command = parse(line);
        command.resolve(&place, |path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
        for folder in command.folders_of_wildcards(&place) {
            let entries =
                std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let links = entries.filter(|path| path.is_symlink());
            let links: Vec<_> = links.map(|path| (path.clone(), path.canonicalize().unwrap())).collect();
            command.look_into(folder, links);
        }
        let access = [Access::Exec(Box::new(command))];
        let input = json!({ "command": line });
        match decide(&all, mode, &Judged { tool: "Bash", input: &input, access: &access, place: &place }) {
            Verdict::Allow => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        }
    }
}

// proves: S7
#[test]
fn the_copy_that_sed_keeps_stays_beside_the_file() {
    let world = World::new();
    let sed = [(Behaviour::Allow, "Bash(sed *)")];
    for (line, expected) in [
        ("sed -i s/a/b/ a.txt", "allow"),
        ("sed -i.bak s/a/b/ a.txt", "allow"),
        ("sed -ni.bak s/a/b/p a.txt", "allow"),
        ("sed -i'.git/hooks/*' s/a/a/ pre-commit", "ask"),
        ("sed -ni'x*' s/a/a/ pre-commit", "ask"),
        ("sed -i/x s/a/a/ -i.bak a.txt", "ask"),
        ("sed --in-place='.git/hooks/*' s/a/a/ pre-commit", "ask"),
        ("sed --in-p=/x s/a/a/ pre-commit", "ask"),
        ("sed -irc s/a/a/ .bash", "ask"),
        ("sed -si s/a/a/ .git/config", "ask"),
    ] {
        assert_eq!(world.judge(Mode::AcceptEdits, &[], line), expected, "{line}");
        assert_eq!(world.judge(Mode::Default, &sed, line), expected, "{line}, with a rule");
    }
}

// proves: S7
#[test]
fn a_copy_is_judged_where_it_may_land() {
    let world = World::new();
    for (line, expected) in [
        ("cp a.txt b.txt", "allow"),
        ("cp a.txt sub", "allow"),
        ("cp -t sub a.txt", "allow"),
        ("mv a.txt sub/", "allow"),
        ("cp victim dst", "ask"),
        ("cp ./victim dst/", "ask"),
        ("cp -t dst victim", "ask"),
        ("cp -vt dst victim", "ask"),
        ("cp --target-directory=dst victim", "ask"),
        ("cp a.txt victim dst", "ask"),
        ("mv victim dst", "ask"),
        ("mv -t dst victim", "ask"),
        ("cp sub/.bashrc .", "ask"),
        ("cp -S -t a.txt .git/hooks/pre-commit", "ask"),
        ("cp -r sub dst", "ask"),
        ("cp -a sub/. dst", "ask"),
        ("cp --parents sub/x dst", "ask"),
    ] {
        assert_eq!(world.judge(Mode::AcceptEdits, &[], line), expected, "{line}");
    }
    let rules = [(Behaviour::Allow, "Bash(install *)"), (Behaviour::Allow, "Bash(ln *)")];
    for (line, expected) in [
        ("install a.txt sub", "allow"),
        ("install -m 644 victim dst", "ask"),
        ("ln -f a.txt sub", "allow"),
        ("ln -f victim dst", "ask"),
        ("ln -s sub/.bashrc", "ask"),
    ] {
        assert_eq!(world.judge(Mode::Default, &rules, line), expected, "{line}");
    }
    let exact = [(Behaviour::Allow, "Bash(cp -r sub new)")];
    assert_eq!(world.judge(Mode::Default, &exact, "cp -r sub new"), "allow");
}

// proves: S7
#[test]
fn a_reader_follows_no_link_that_nobody_has_seen() {
    let world = World::new();
    for (line, expected) in [
        ("cat a.txt", "allow"),
        ("grep -rn x sub", "allow"),
        ("grep 'a*' a.txt", "allow"),
        ("echo *", "allow"),
        ("cat link/secret", "ask"),
        ("cat */secret", "ask"),
        ("cat l*k/secret", "ask"),
        ("head *", "ask"),
        ("head *.txt", "ask"),
        ("head sub/*", "allow"),
        ("head dst/*", "ask"),
        ("ls -l sub/*.rs no/such/*", "allow"),
        ("touch sub/x; head sub/*", "ask"),
        ("cat ./s?ink", "ask"),
        ("cat ./s[i]nk", "ask"),
        ("ls l*/", "ask"),
        ("grep -R x .", "ask"),
        ("grep --dereference-recursive x .", "ask"),
        ("grep -rh '' l*", "ask"),
        ("ls -LR .", "ask"),
        ("du -aL .", "ask"),
        ("diff -r sub dst", "ask"),
    ] {
        for mode in [Mode::Default, Mode::AcceptEdits] {
            assert_eq!(world.judge(mode, &[], line), expected, "{line} in {mode:?}");
        }
    }
    let rules = [(Behaviour::Allow, "Bash(cat *)"), (Behaviour::Deny, "Read(<OUT>/**)")];
    for (line, expected) in [("cat a.txt", "allow"), ("cat l*/secret", "ask"), ("cat link/secret", "deny")] {
        for mode in [Mode::Default, Mode::BypassPermissions] {
            assert_eq!(world.judge(mode, &rules, line), expected, "{line} in {mode:?}");
        }
    }
}

// proves: S7
#[test]
fn what_may_meet_a_denied_file_asks_in_every_mode() {
    let world = World::new();
    let rules = [(Behaviour::Deny, "Read(.env)"), (Behaviour::Deny, "Read(<OUT>/**)")];
    for (line, expected) in [
        ("cat a.txt", "allow"),
        ("cat *.txt", "allow"),
        ("tail sub/{a,x}", "allow"),
        ("tar xf a.tar", "allow"),
        ("cat .e*", "ask"),
        ("tail sub/{.env,x}", "ask"),
        ("tail sub/.{d..f}nv", "ask"),
        ("tail {sub/.env,x}", "ask"),
        ("tar cf - .", "ask"),
        ("tar -czf a.tgz sub", "ask"),
        ("zip -r a.zip sub", "ask"),
        ("cp -r sub /tmp/x", "ask"),
        ("tar cf - .env", "ask"),
    ] {
        assert_eq!(world.judge(Mode::BypassPermissions, &rules, line), expected, "{line}");
    }
    let elsewhere = [(Behaviour::Deny, "Read(<OUT>/**)")];
    assert_eq!(world.judge(Mode::BypassPermissions, &elsewhere, "tar cf - sub"), "allow");
    assert_eq!(world.judge(Mode::BypassPermissions, &elsewhere, "tar cf - .."), "ask");
}

// proves: S7
#[test]
fn a_climb_out_of_a_link_is_judged_where_it_ends() {
    let world = World::new();
    std::fs::create_dir_all(world.path("out/below")).unwrap();
    symlink(world.path("out/below"), world.path("ws/deep")).unwrap();
    for (line, expected) in [
        ("cat sub/../a.txt", "allow"),
        ("cat deep/../secret", "ask"),
        ("cat sub/../deep/../secret", "ask"),
        ("cd deep && cat ../secret", "ask"),
        ("cat < deep/../secret", "ask"),
        ("echo x > deep/../secret", "ask"),
        ("rm deep/../secret", "ask"),
        ("cp --target-directory=deep/.. a.txt", "ask"),
        ("cat /proc/self/root/etc/passwd", "ask"),
        ("cat /proc/self/cwd/a.txt", "allow"),
    ] {
        assert_eq!(world.judge(Mode::AcceptEdits, &[], line), expected, "{line}");
    }
    let rules = [(Behaviour::Allow, "Bash(*)"), (Behaviour::Deny, "Read(<OUT>/**)")];
    for line in ["cat deep/../secret", "cat /proc/self/cwd/link/secret", "tail < deep/../secret"] {
        assert_ne!(world.judge(Mode::BypassPermissions, &rules, line), "allow", "{line}");
    }
    let rules = [(Behaviour::Allow, "Bash(*)"), (Behaviour::Deny, "Read(./sub/**)")];
    for line in
        ["cat /proc/self/cwd/sub/x", "cat /proc/thread-self/cwd/sub/x", "cat /proc/1/task/1/cwd/sub/x"]
    {
        assert_ne!(world.judge(Mode::BypassPermissions, &rules, line), "allow", "{line}");
    }
}

// proves: S7
#[test]
fn what_the_line_itself_moves_or_links_is_unknown_after() {
    let world = World::new();
    std::fs::create_dir_all(world.path("ws/d")).unwrap();
    symlink("../../out", world.path("ws/d/link")).unwrap();
    for (line, expected) in [
        ("mkdir -p a && touch a/b && cat a/b", "allow"),
        ("rm -rf build && mkdir build && touch build/x", "allow"),
        ("mv a.txt c.txt && cat victim", "allow"),
        ("cp a.txt c.txt && cat c.txt", "allow"),
        ("mv d b && echo b/link", "allow"),
        ("mv d b && touch b/link/pwned", "ask"),
        ("mv d b && cat b/link/secret", "ask"),
        ("mv d b && echo x > b/link/p", "ask"),
        ("mv d b && rm -rf b/link/f", "ask"),
        ("mv d b && cd b/link && rm -rf f", "ask"),
        ("mv d b && cd b/link && ls", "ask"),
        ("for i in 1 2; do touch b/link/p; mv d b; done", "ask"),
        ("mv d/link l && touch l/x", "ask"),
    ] {
        assert_eq!(world.judge(Mode::AcceptEdits, &[], line), expected, "{line}");
    }
    let names = ["ln", "cp", "tar", "git", "unzip"];
    let texts: Vec<String> = names.iter().map(|name| format!("Bash({name} *)")).collect();
    let rules: Vec<_> = texts.iter().map(|text| (Behaviour::Allow, text.as_str())).collect();
    for (line, expected) in [
        ("git add a.txt && git commit -m x && cat a.txt", "allow"),
        ("git status && rm a.txt", "allow"),
        ("tar czf a.tgz sub && ls sub", "allow"),
        ("tar xf a.tar -C sub && cat a.txt", "allow"),
        ("ln -s / z; cat z/etc/passwd", "ask"),
        ("ln -sf .git/hooks h && cp a.txt h/pre-commit", "ask"),
        ("cp -a d e && cat e/link/f", "ask"),
        ("tar xf a.tar && cat x/link/f", "ask"),
        ("tar xf a.tar -C sub && cat sub/f", "ask"),
        ("unzip a.zip && touch x/y", "ask"),
        ("git checkout b && touch x/y", "ask"),
        ("git clone h:r x && cat x/y", "ask"),
    ] {
        assert_eq!(world.judge(Mode::AcceptEdits, &rules, line), expected, "{line}");
    }
    // A removal is asked of a person in every mode.
    let all = [(Behaviour::Allow, "Bash(*)")];
    assert_eq!(world.judge(Mode::BypassPermissions, &all, "mv d b && rm -rf b/link/f"), "ask");
    assert_eq!(world.judge(Mode::BypassPermissions, &all, "mv d b && touch b/link/f"), "allow");
}
