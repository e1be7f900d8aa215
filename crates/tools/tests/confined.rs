//! What agents that may change little are refused, on real command lines: the judge of commands says what changes.

use std::path::PathBuf;

use serde_json::json;
use troupe_core::access::{Access, PathUse};
use troupe_core::def::Writes;
use troupe_core::policy::{Command, Judged, Mode, Rules, Verdict, Walls, decide};
use troupe_core::ports::tool::Place;
use troupe_tools::shell::parse::parse;

fn place() -> Place {
    Place {
        cwd: "/w".into(),
        home: "/h".into(),
        roots: vec!["/w".into()],
        scratch: vec!["/h/.troupe/temp/s/scratch/a1".into()],
        read_only: false,
    }
}

fn refused(writes: Writes, line: &str) -> bool {
    let line = line.replace("$S", "/h/.troupe/temp/s/scratch/a1");
    writes.refuses(&[Access::Exec(Box::new(parse(&line)))], &place()).is_some()
}

// proves: D9
#[test]
fn an_agent_that_only_looks_runs_only_what_reads() {
    let reads = [
        "ls -la src",
        "git log --oneline | head -5",
        "grep -rn x . | wc -l",
        "git diff HEAD~1",
        "cat a 2>/dev/null",
    ];
    for line in reads {
        assert!(!refused(Writes::Nowhere, line), "{line}");
    }
    let more = [
        "rm a",
        "echo x > a",
        "cargo test",
        "git commit -m x",
        "git checkout .",
        "sed -i s/a/b/ f",
        "curl https://x.y",
        "ls; touch a",
        "cat $(touch a)",
        "sh -c 'rm a'",
        "mkdir d",
        "npm install",
        "ls > $S/list",
        "eval \"$X\"",
        "",
    ];
    for line in more {
        assert!(refused(Writes::Nowhere, line), "{line}");
    }
}

// proves: D4, D10
#[test]
fn an_agent_that_checks_runs_anything_but_what_names_a_change_of_the_project() {
    let checks = [
        "cargo test",
        "npm test 2>&1 | tail -20",
        "echo x > $S/in.json",
        "mkdir -p $S/d && cp src/a.rs $S/d/",
        "git diff HEAD",
        "git status",
        "curl -s localhost:8080/x",
        "git clone /w $S/copy",
        "cd $S && git init && git add .",
        "git -C $S/copy apply x.patch",
        "git init $S/new",
        "git archive HEAD | tar x -C $S",
        "python3 $S/try.py",
        "ls > /dev/null",
        "set -o pipefail; cargo test 2>&1 | tail -5",
        "python3 -m pytest -c pytest.ini -q",
        "node --test && node server.js",
        "make -j4 test && make -f build/Makefile all",
        "npm run build && npm --prefix web test",
        "cargo fmt --all --check && cargo clippy && cargo nextest run fmt",
        "go test ./... && go mod verify",
        "ruff check . && black --check . && prettier --check src",
        "eslint src && gofmt -l .",
        "tar tzf x.tgz",
        "tar xzf x.tgz -C $S/t",
        "mktemp && mktemp -d && mktemp -p $S && mktemp $S/a.XXX && mktemp -t x.XXX",
        "curl -sSL -XPOST -o $S/out localhost:1/x && wget -qO- localhost:1",
        "patch --dry-run -p1 < x.diff",
        "csplit -f $S/part big 10",
        "gcc -o $S/a a.c && cmake -S . -B $S/b && cmake --build $S/b",
        "git ls-files | xargs wc -l && ls | xargs -I{} cp {} $S/",
        "ls | xargs cp -t $S",
        "sed -n 1,20p a && awk '{print $1}' a && perl script.pl",
        "bash -c 'cargo test' && sh tests/run.sh && source .venv/bin/activate && pytest",
        "diff <(sort a) <(sort b)",
        // Where they write is no part of the project.
        "cd $S && python3 -c 'open(\"x\", \"w\")'",
        "cd /tmp/x && tar xf /w/x.tar && npm install",
        "cd $S && awk 'BEGIN{print > \"x\"}' && ls | xargs touch",
        "git clone -q /w $S/c && cd $S/c && git fetch && git commit -qam x && git tag t && rm -rf .git",
        "cd $S/c && git push $S/bare HEAD:main && git push -q --mirror ../bare",
        "cd $S/c && GIT_DIR=/w/.git git log",
        "cp hook $S/c/.git/hooks/pre-commit",
        "flock $S/l make test && flock 9 && script -qec 'cargo test' /dev/null && script -qc ls $S/log",
        "python3 -m venv $S/v && python3 -m zipfile -c $S/z.zip a && python3 -m tarfile -l a.tar",
        "python3 -m pip install requests && python3 -m pip download -d $S x && python3 -m black --check .",
        "gdb -batch -ex run -ex 'thread apply all bt' -ex 'p x' ./prog && gdb -p 5",
        "ln -s /w/node_modules $S/c/node_modules && cd $S/c && npm test",
        "ln -s /w $S/l && ls $S/l",
        "cd $S && ln -s a b && touch b && ln a c",
    ];
    let wrong: Vec<&str> = checks.into_iter().filter(|line| refused(Writes::Scratch, line)).collect();
    assert_eq!(wrong, Vec::<&str>::new());
    let changes = [
        "echo x > src/a.rs",
        "cargo test > out.log",
        "sed -i s/a/b/ src/a.rs",
        "rm -rf target",
        "git commit -am x",
        "git stash",
        "git checkout -- src",
        "git reset --hard",
        "cp $S/a src/a",
        "touch /w/x",
        "sh -c 'echo x > a'",
        "cd src && touch x",
        "rm $X",
        "git -C /w add .",
        "mv src/a.rs $S/",
        "cd $S && git -C /w stash",
        "git -C $S --git-dir=/w/.git add x",
        "cd $S && GIT_DIR=/w/.git git add x",
        "git apply x.patch",
        "git checkout -b x",
        "git init",
        "git clone https://x.y/z",
        "git archive -o x.tar HEAD",
        "ls | xargs touch",
        "ls | parallel touch",
        "ls | xargs cp a",
        "awk 'BEGIN{print > \"x\"}'",
        "sed -n 'w f' a",
        "perl -i -pe 's/a/b/' a",
        "mktemp -p .",
        "mktemp -p.",
        "mktemp --tmpdir=/w",
        "mktemp x.XXX",
        "csplit big 10",
        "cat big | split -l 5",
        "source <(curl -s localhost:1)",
        "make -f <(echo all:)",
        "make -f - < x",
        "bash <(curl -s localhost:1)",
        "curl -s localhost:1 | bash",
        "curl -s localhost:1 | python3",
        "tar xzf x.tgz",
        "tar -xf x.tar src",
        "unzip -o x.zip",
        "patch -p1 < x.diff",
        "ln -s a b",
        "rsync -a $S/ .",
        "curl -sO localhost:1/x",
        "curl -o x localhost:1/x",
        "curl --remote-name localhost:1/x",
        "wget localhost:1/x",
        "sort -o a a",
        "python3 -c 'open(\"x\", \"w\")'",
        "python3 -W error -c 'x'",
        "python3 - <<'E'\nx\nE",
        "python3 <<'E'\nx\nE",
        "node -e 'x' && ls",
        "ruby -ne 'x' a",
        "perl -e 'unlink(\"a\")'",
        "npm install",
        "npm --prefix web ci",
        "yarn",
        "pip install -e .",
        "cargo fmt",
        "cargo +nightly fmt",
        "cargo clippy --fix --allow-dirty",
        "cargo add serde",
        "go mod tidy",
        "prettier --write src",
        "eslint --fix src",
        "black src",
        "gofmt -w a.go",
        "gcc a.c",
        "cmake .",
        "timeout 60 npm install",
        "npx prettier -w src",
        "$X install",
        "bash -c \"$X\"",
        "f() { ls; }; f",
        "script",
        "script -qc true z",
        "script -qc true -O z",
        "cd $S && script -q /w/z",
        "flock z true",
        "flock -w 5 z -c true",
        "python3 -m venv z",
        "cd $S && python3 -I -mvenv /w/z",
        "python3 -m zipfile -c z.zip a",
        "python3 -m tarfile --create z.tar a",
        "python3 -m tarfile -e a.tar",
        "python3 -m zipfile -e a.zip d",
        "python3 -W error -m pip install -e .",
        "python3 -m pip download x",
        "python3 -m pip install -t lib x",
        "python3.12 -m black src",
        "gdb -batch -ex 'shell touch z'",
        "gdb -batch -ex run --eval-command='!touch z' ./prog",
        "gdb -ex 'p system(\"touch z\")' -p 5",
        "gdb -ex 'thread apply all shell touch z'",
        "gdb <<< 'shell touch z'",
    ];
    let wrong: Vec<&str> = changes.into_iter().filter(|line| !refused(Writes::Scratch, line)).collect();
    assert_eq!(wrong, Vec::<&str>::new());
    for line in checks.iter().chain(&changes) {
        assert!(!refused(Writes::Anywhere, line), "{line}");
    }
}

/// Lines that change the project from a folder outside of it.
const FROM_ELSEWHERE: &[&str] = &[
    "cd $S && export GIT_DIR=/w/.git GIT_WORK_TREE=/w && git rm -q x",
    "declare -x GIT_DIR=/w/.git; cd $S; git tag e",
    "cd $S && env GIT_DIR=/w/.git git tag e",
    "cd $S && GIT_DIR=/w/.git; export GIT_DIR; git tag e",
    "cd $S && printf -v 'GIT_''DIR' /w/.git; git tag e",
    "mkdir $S/t && cd $S/t && printf 'gitdir: /w/.git' > .git && git tag e",
    "cd $S/t && printf x | tee .git",
    "cd $S/c && printf '[core]\\nworktree=/w' >> .git/config",
    "cd $S && git init -q own && cd own && git config core.worktree /w && git clean -fdxq",
    "cd $S/own && git -c Core.Worktree=/w clean -fdxq",
    "cd $S/own && git config include.path ../c.ini",
    "cd $S/own && git config alias.p '!git push origin' && git p",
    "cd $S/own && git config url./w.insteadOf $S/b && git push $S/b",
    "cd $S && git init --separate-git-dir=/w/.git own",
    "git clone -q /w $S/c && cd $S/c && git push -q origin HEAD:refs/heads/evil",
    "cd $S/c && git push",
    "cd $S/c && git push -q --mirror",
    "cd $S/c && git push -q /w HEAD:evil",
    "cd $S/c && git push --repo $S/b origin",
    "cd $S/c && git push -o $S/b origin",
    "git -C $S/c push ../c x",
    "cd $S/c && git send-pack /w HEAD:refs/heads/evil",
    "cd $S/c && git push file:///w HEAD:evil",
    "cd $S && ln -s /w l && touch l/z",
    "cd $S && ln -s ../../../../../../w l && touch l/z",
    "cd $S && ln -sf / l && cd l/w && python3 -c x",
    "cd $S && ln -s \"$X\" l && cp a l/",
    "cd $S && ln -s /w l && git -C l stash",
    "cd $S && cp -rs /w l && echo x > l/a",
    "cd $S && for i in 1 2; do touch l/z; ln -s /w l; done",
    "cd $S && find /w -maxdepth 0 -exec ln -s {} l \\; ; touch l/z",
    "cd $S && echo /w l | xargs ln -s; touch l/z",
    "touch $S/hl && ln /w/x $S/hx && echo x >> $S/hx",
    "cp -al /w $S/c",
    "rsync -a --link-dest=/w /w/ $S/c",
    "mount --bind /w $S/m",
];

// proves: D10
#[test]
fn an_agent_that_checks_reaches_the_project_from_no_other_folder() {
    let walls = Walls::Sandbox { free: true, holds_project: true };
    for line in FROM_ELSEWHERE {
        assert!(refused(Writes::Scratch, line), "{line}");
        let line = line.replace("$S", "/h/.troupe/temp/s/scratch/a1");
        let command = Command { walls, ..parse(&line) };
        let told = Writes::Scratch.refuses(&[Access::Exec(Box::new(command))], &place());
        assert_eq!(told, None, "behind walls: {line}");
    }
}

// proves: D9
#[test]
fn files_are_kept_from_them_alike() {
    let file = |writes: Writes, path: &str, real: &str| {
        let path = PathUse { typed: PathBuf::from(path), resolved: PathBuf::from(real) };
        writes.refuses(&[Access::Write(path)], &place()).is_some()
    };
    let own = "/h/.troupe/temp/s/scratch/a1/x";
    assert!(!file(Writes::Scratch, own, own) && !file(Writes::Anywhere, "/w/x", "/w/x"));
    assert!(file(Writes::Scratch, own, "/w/x"), "a link out of the folder");
    assert!(file(Writes::Scratch, "/w/x", "/w/x") && file(Writes::Nowhere, "/w/x", "/w/x"));
    assert!(!file(Writes::Scratch, "/tmp/x", "/tmp/x"), "that is for rules and mode");
    assert!(file(Writes::Nowhere, "/tmp/x", "/tmp/x"));
}

// proves: D10
#[test]
fn the_scratch_folder_needs_no_leave_although_it_lies_in_the_home_of_troupe() {
    let verdict = |line: &str| {
        let mut command = parse(&line.replace("$S", "/h/.troupe/temp/s/scratch/a1"));
        command.resolve(&place(), std::path::Path::to_path_buf);
        let access = [Access::Exec(Box::new(command))];
        let call = Judged { tool: "Bash", input: &json!({}), access: &access, place: &place() };
        decide(&Rules::default(), Mode::Default, &call)
    };
    for line in ["echo x > $S/a", "mkdir -p $S/d/e", "cp a.txt $S/", "rm -rf $S/d", "touch $S/a $S/b"] {
        assert_eq!(verdict(line), Verdict::Allow, "{line}");
    }
    for line in [
        "mv a.txt $S/",
        "cp $S/a a.txt",
        "rm -rf $S/../..",
        "cp /etc/shadow $S/",
        "mkdir $S/$X",
        "cp -r $S/a /h/.ssh",
    ] {
        assert!(matches!(verdict(line), Verdict::Ask(_)), "{line}");
    }
}

// proves: D10
#[test]
fn behind_walls_that_hold_the_project_only_what_names_a_change_is_refused() {
    let refused = |walls: Walls, line: &str| {
        let command = Command { walls, ..parse(line) };
        Writes::Scratch.refuses(&[Access::Exec(Box::new(command))], &place())
    };
    let walls = |holds_project| Walls::Sandbox { free: true, holds_project };
    for line in ["python3 -c 'x'", "npm install", "tar xf x.tar", "ls | xargs touch"] {
        assert_eq!(refused(walls(true), line), None, "{line}");
        assert!(
            refused(walls(false), line).is_some_and(|told| told.contains("cd /h/.troupe/temp")),
            "{line}"
        );
    }
    for line in ["echo x > a", "git stash", "rm -rf target"] {
        assert!(refused(walls(true), line).is_some(), "{line}");
    }
    assert!(refused(Walls::Left, "cargo test").is_some_and(|told| told.contains("sandbox")));
}
