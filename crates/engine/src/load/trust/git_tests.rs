//! Tests of what is found in git's own files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::load::env::Env;

struct World {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let world = Self { _folder: folder, base };
        world.file(".git/HEAD", "ref: refs/heads/main\n");
        world
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.file(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn items_in(&self, cwd: &str) -> Vec<TrustItem> {
        let env = Env { vars: [].into(), cwd: self.base.join(cwd), home: None };
        items(&Places::of(&env), None)
    }

    fn names(&self) -> Vec<String> {
        self.items_in("").into_iter().map(|item| item.name).collect()
    }
}

// proves: X13, F137
#[test]
fn what_names_a_program_is_found() {
    let world = World::new();
    for (text, name) in [
        ("[core]\nfsmonitor = ./x", "core.fsmonitor"),
        ("[core]\nhooksPath = .husky", "core.hookspath"),
        ("[core]\nsshCommand = x", "core.sshcommand"),
        ("[pager]\nlog = x", "pager.log"),
        ("[alias]\nst = !x", "alias.st"),
        ("[alias]\nst = status -s", "alias.st"),
        ("[alias \"st\"]\ncommand = !x", "alias.st.command"),
        ("[alias \"s\"]\nt = -c core.pager=x log", "alias.s.t"),
        ("[diff]\nexternal = x", "diff.external"),
        ("[diff \"a\"]\ntextconv = x", "diff.a.textconv"),
        ("[filter \"a\"]\nprocess = x", "filter.a.process"),
        ("[merge \"a\"]\ndriver = x", "merge.a.driver"),
        ("[credential \"https://h\"]\nhelper = x", "credential.https://h.helper"),
        ("[gpg \"ssh\"]\nprogram = x", "gpg.ssh.program"),
        ("[submodule \"a\"]\nupdate = !x", "submodule.a.update"),
        ("[remote \"a\"]\nurl = ext::sh -c x", "remote.a.url"),
        ("[url \"ext::sh -c x #\"]\ninsteadOf = https://", "url.ext::sh -c x #.insteadof"),
        ("[protocol \"ext\"]\nallow = always", "protocol.ext.allow"),
        ("[protocol]\nallow = user", "protocol.allow"),
        ("[branch \"main\"]\nremote = ext::x", "branch.main.remote"),
        ("[branch \"main\"]\npushRemote = ext::x", "branch.main.pushremote"),
        ("[remote]\npushDefault = ext::x", "remote.pushdefault"),
        ("[remotes]\ndefault = origin ext::x", "remotes.default"),
        ("[extensions]\npartialClone = ext::x", "extensions.partialclone"),
        ("[submodule \"a\"]\nurl = ext::x", "submodule.a.url"),
        ("[remote \"a\"]\nuploadarchive = x", "remote.a.uploadarchive"),
        ("[diff]\ntool = ../../x", "diff.tool"),
        ("[merge]\nguitool = ../../x", "merge.guitool"),
        ("[filter.a \"b\"]\nclean = x", "filter.a.b.clean"),
        ("[sendemail]\nsmtpServer = ./x", "sendemail.smtpserver"),
        ("[sendemail \"a\"]\nsmtpServer = /x", "sendemail.a.smtpserver"),
        ("[lfs \"extension.a\"]\nclean = x", "lfs.extension.a.clean"),
        ("[lfs.extension \"a\"]\nsmudge = x", "lfs.extension.a.smudge"),
        ("[lfs \"customtransfer.a\"]\npath = x", "lfs.customtransfer.a.path"),
        ("[lfs]\nstandaloneTransferAgent = a", "lfs.standalonetransferagent"),
        ("[lfs \"https://h\"]\nstandaloneTransferAgent = a", "lfs.https://h.standalonetransferagent"),
        ("[include]\npath = ../not-there-yet", "include.path"),
        ("[includeIf \"onbranch:x\"]\npath = ../a", "includeif.onbranch:x.path"),
        ("[core", "(the whole file)"),
    ] {
        world.file(".git/config", text);
        assert_eq!(world.names(), [name], "{text:?}");
    }
}

#[test]
fn what_names_none_is_not() {
    let world = World::new();
    world.file(
        ".git/config",
        "[core]\nbare = false\nfsmonitor = true\neditor =\n[pager]\nlog = false\n[alias]\nst =\n\
         [remote \"origin\"]\nurl = https://host/a.git\npushurl = git@host:a::b.git\n[user]\nemail = \"$(touch x)\"\n\
         [filter \"a\"]\nrequired = true\n[diff \"a\"]\nxfuncname = x\n[submodule \"a\"]\nupdate = rebase\n\
         [url \"ssh://git@host/\"]\ninsteadOf = https://host/\n[branch \"main\"]\nremote = origin\n\
         [remote]\npushDefault = me\n[diff]\ntool = meld\n[sendemail]\nsmtpServer = mail.host\n\
         [protocol]\nallow = never\n[protocol \"file\"]\nallow = always\n[lfs]\nurl = https://host/\n",
    );
    world.file(".git/hooks/pre-commit", "no program");
    world.program(".git/hooks/pre-push.sample", "a sample");
    assert_eq!(world.names(), Vec::<String>::new());
}

// proves: X13
#[test]
fn hooks_and_other_repositories_are_looked_at() {
    let world = World::new();
    let hostile = "[core]\nfsmonitor = ./x\n";
    world.program(".git/hooks/post-index-change", "#!/bin/sh\n");
    world.file(".git/config.worktree", "[core]\npager = w\n");
    world.file(".git/modules/a/b/config", "[core]\neditor = m\n");
    world.file(".gitmodules", "[submodule \"s\"]\npath = sub\n");
    world.file("sub/.git/config", "[core]\naskPass = s\n");
    assert_eq!(world.names(), ["core.pager", "hook post-index-change", "core.editor", "core.askpass"]);
    // A repository that lies bare among the files is git's when the session starts in it.
    for name in ["bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/below/x"] {
        world.file(name, "x");
    }
    world.file("bare/config", hostile);
    assert!(world.items_in("bare/below").iter().any(|item| item.name == "core.fsmonitor"));
    assert!(world.items_in("").iter().all(|item| item.name != "core.fsmonitor"));
}

// proves: X13
#[test]
fn a_hook_that_changed_is_another_item() {
    let world = World::new();
    world.file(".git/config", "[core]\nhooksPath = hooks\n");
    world.program("hooks/pre-commit", "#!/bin/sh\n");
    let before = world.items_in("");
    world.program("hooks/pre-commit", "#!/bin/sh\ntouch mark\n");
    let after = world.items_in("");
    let digest =
        |items: &[TrustItem], name: &str| items.iter().find(|item| item.name == name).unwrap().digest.clone();
    assert_ne!(digest(&before, "hook pre-commit"), digest(&after, "hook pre-commit"));
    assert_eq!(digest(&before, "core.hookspath"), digest(&after, "core.hookspath"));
}

/// Git itself, with nothing of the person's.
fn git(world: &World, arguments: &[&str]) {
    std::process::Command::new("git")
        .args(arguments)
        .current_dir(&world.base)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", &world.base)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
}

// proves: X13, F137
#[test]
fn what_git_itself_runs_is_found() {
    // Each entry makes git run `touch mark`.
    for (entry, command) in [
        ("[alias]\nst = -c core.fsmonitor=\\\"touch mark\\\" status", &["st"][..]),
        ("[alias \"s\"]\nt = !touch mark", &["s.t"]),
        ("[protocol]\nallow = always\n[branch \"main\"]\nremote = ext::touch mark", &["fetch"]),
        ("[protocol]\nallow = user\n[remotes]\ndefault = ext::./evil", &["remote", "update"]),
        (
            "[protocol]\nallow = always\n[push]\ndefault = current\n[remote]\npushDefault = ext::touch mark",
            &["push"],
        ),
        (
            "[protocol]\nallow = always\n[push]\ndefault = current\n[branch \"main\"]\npushRemote = ext::touch mark",
            &["push"],
        ),
        ("[diff]\ntool = ../../../../../../../../../../../..@/evil", &["difftool", "-y"]),
        ("[filter.l \"s\"]\nclean = touch mark", &["add", "file"]),
    ] {
        let world = World::new();
        world.file("file", "a\n");
        git(&world, &["init", "-q", "-b", "main"]);
        git(&world, &["add", "file"]);
        git(&world, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]);
        world.file("file", "b\n");
        world.file(".gitattributes", "file filter=l.s\n");
        world.program("evil", "#!/bin/sh\ntouch mark\n");
        assert_eq!(world.names(), [""; 0]);
        let entry = entry.replace('@', world.base.to_str().unwrap());
        let config = fs::read_to_string(world.base.join(".git/config")).unwrap();
        world.file(".git/config", &format!("{config}{entry}\n"));
        git(&world, command);
        assert!(world.base.join("mark").exists(), "git runs nothing for {entry:?}");
        assert_ne!(world.names(), [""; 0], "{entry:?}");
    }
}
