//! Tests of calls of git, with real repositories.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::super::test_world::World;
use super::*;

const LIMIT: Duration = Duration::from_secs(20);

impl World {
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A repository that has planted the same program wherever git can be told of one.
    fn hostile(&self) -> PathBuf {
        self.setup(&["init", "-q", "-b", "main"]);
        self.file("repo/a.txt", "one\n");
        self.file("repo/.gitattributes", "*.txt filter=evil diff=evil merge=evil\n*.md filter=also\n");
        self.file("repo/b.md", "one\n");
        self.setup(&["add", "-A"]);
        self.setup(&["commit", "-qm", "First"]);
        self.setup(&["init", "-q", "sub"]);
        self.setup(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "Sub"]);
        self.setup(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
        self.setup(&["commit", "-qm", "Second $(touch mark)"]);
        let mark = self.base.join("mark");
        let evil = self.program("evil", &format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", mark.display()));
        let evil = evil.display();
        let config = format!(
            "[core]\nfsmonitor = {evil}\nhooksPath = hooks\npager = {evil}\neditor = {evil}\nsshCommand = {evil}\n\
             askPass = {evil}\ngitProxy = {evil}\n[include]\npath = ../more\n[pager]\nstatus = {evil}\nlog = {evil}\n\
             [diff]\nexternal = {evil}\n[diff \"evil\"]\ntextconv = {evil}\ncommand = {evil}\n\
             [filter \"evil\"]\nclean = {evil}\nsmudge = {evil}\nrequired = true\n\
             [alias]\nstatus = !{evil}\nlog = !{evil}\n[gpg]\nprogram = {evil}\n[log]\nshowSignature = true\n\
             [status]\nsubmoduleSummary = true\n[credential]\nhelper = {evil}\n[merge \"evil\"]\ndriver = {evil}\n\
             [protocol]\nallow = always\n[protocol \"ext\"]\nallow = always\n[remote \"origin\"]\nurl = ext::{evil}\n\
             promisor = true\npartialclonefilter = blob:none\n[extensions]\npartialClone = origin\n\
             [user]\nname = A\nemail = \"$(touch {mark})\"\n",
            mark = mark.display(),
        );
        let path = self.base.join("repo/.git/config");
        let kept = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{kept}{config}")).unwrap();
        self.file("repo/more", format!("[filter \"also\"]\nprocess = {evil}\n[core]\nfsmonitor = {evil}\n"));
        let nested = self.base.join("repo/sub/.git/config");
        let kept = fs::read_to_string(&nested).unwrap();
        fs::write(&nested, format!("{kept}[core]\nfsmonitor = {evil}\n")).unwrap();
        for hook in ["post-index-change", "pre-commit", "reference-transaction"] {
            for folder in ["hooks", ".git/hooks"] {
                self.program(&format!("repo/{folder}/{hook}"), &format!("#!/bin/sh\n{evil}\n"));
            }
        }
        // Changed without a change of length, so that git has to look inside.
        self.file("repo/a.txt", "two\n");
        self.file("repo/b.md", "two\n");
        mark
    }
}

fn said(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

// proves: F137, F153
#[test]
fn nothing_that_a_repository_plants_runs() {
    let world = World::new();
    let mark = world.hostile();
    let git = world.git();
    for arguments in [
        &["status", "--porcelain"][..],
        &["log", "-5", "--format=%s"],
        &["log", "-p", "-2"],
        &["diff"],
        &["show", "HEAD"],
        &["ls-files"],
        &["rev-parse", "HEAD"],
    ] {
        git.run(arguments, LIMIT).unwrap();
        assert_eq!(said(&mark), "", "{arguments:?}");
    }
    // An object that is not there is not fetched.
    let absent = "1234567890123456789012345678901234567890";
    assert!(matches!(git.run(&["cat-file", "-p", absent], LIMIT), Err(GitError::Failed { .. })));
    assert!(git.run(&["fetch", "origin"], LIMIT).is_err());
    assert_eq!(said(&mark), "");
    // Plain git runs it: the plant is no dud.
    world.setup(&["status", "--porcelain"]);
    assert!(said(&mark).contains("evil"));
}

// proves: F137
#[test]
fn a_filter_whose_name_would_be_read_otherwise_is_refused() {
    let world = World::new();
    world.setup(&["init", "-q"]);
    for name in ["a=b", "a\\nb"] {
        world.file("repo/.git/config", format!("[filter \"{name}\"]\nclean = x\n"));
        let made = Git::of(&Places::of(&world.env), &world.env);
        let runs = made.is_ok_and(|git| git.filters.iter().any(|filter| filter.contains('=')));
        assert!(!runs, "{name}");
    }
    world.file("repo/.git/config", "[core\n");
    assert!(matches!(Git::of(&Places::of(&world.env), &world.env), Err(GitError::Unclear)));
}

#[test]
fn errors_say_what_it_was() {
    let world = World::new();
    assert!(matches!(Git::of(&Places::of(&world.env), &world.env), Err(GitError::NoCheckout)));
    world.setup(&["init", "-q"]);
    let error = world.git().run(&["log"], LIMIT).unwrap_err().to_string();
    assert!(error.starts_with("git log: exit status: 128: fatal: "), "{error}");
    let missing = Git { program: world.base.join("none"), ..world.git() };
    assert!(matches!(missing.run(&["log"], LIMIT), Err(GitError::Missing)));
    // A folder of the repository in PATH would give it the choice of the program.
    world.program("repo/git", "#!/bin/sh\necho planted\n");
    let vars = [("PATH".to_owned(), format!(".::{}", world.env.vars["PATH"]))].into();
    let git = Git::of(&Places::of(&world.env), &Env { vars, ..world.env.clone() }).unwrap();
    assert!(!git.run(&["--version"], LIMIT).unwrap().starts_with(b"planted"));
}

// proves: F137
#[test]
fn past_its_limit_it_is_killed_with_what_it_started() {
    let world = World::new();
    world.setup(&["init", "-q"]);
    let pid = world.base.join("pid");
    let slow =
        format!("#!/bin/sh\nsh -c 'echo $$ > {0}.part; mv {0}.part {0}; exec sleep 600'\n", pid.display());
    let git = Git { program: world.program("slow", &slow), ..world.git() };
    let start = Instant::now();
    let error = git.run(&["status"], Duration::from_secs(1)).unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
    assert!(start.elapsed() < LIMIT);
    let pid = Pid::from_raw(said(&pid).trim().parse().unwrap()).unwrap();
    let gone = || {
        let stat = said(Path::new(&format!("/proc/{}/stat", pid.as_raw_nonzero())));
        stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ")
    };
    while !gone() && start.elapsed() < LIMIT {
        std::thread::yield_now();
    }
    assert!(gone());

    let loud = Git { program: world.program("loud", "#!/bin/sh\nexec cat /dev/zero\n"), ..world.git() };
    assert!(matches!(loud.run(&["status"], LIMIT), Err(GitError::TooMuch { .. })));
}
