//! git behind walls: it works, and nothing that it runs is changed.

use std::fs;

use crate::world::as_root_and_as_user;

const COMMIT: &str = "echo two > file && git add file && git commit -qm two && git log --oneline | wc -l";

// proves: S7
as_root_and_as_user! {
    /// Holes 3, 4 and 9.
    fn a_repository(world: World on Bubblewrap) {
        world.repository();
        world.outside("mkdir -p .git/modules/m/hooks; echo '[core]' > .git/modules/m/config; git branch other");
        let config = fs::read_to_string(world.path("ws/.git/config")).unwrap();
        let out = world.sh(COMMIT);
        assert_eq!(out.text, "2\n");
        assert_eq!(world.sh("git status --porcelain; git checkout -q other && git stash list && git gc -q").text, "");
        let out = world.sh(
            "mv .git .git2; rm -rf .git/hooks .git/config; mv .git/hooks .git/h; \
             for f in hooks/pre-commit config config.worktree commondir info/attributes modules/m/hooks/post-checkout \
                      modules/m/config; do \
                 echo x > .git/$f; rm -f .git/$f; ln -s /tmp/x .git/$f; mkdir -p .git/$f; \
             done; mv .git/info .git/i; git config core.fsmonitor x; git config -f .git/config core.pager x; true",
        );
        assert!(out.text.contains("Device or resource busy"), "{}", out.text);
        assert_eq!(fs::read_to_string(world.path("ws/.git/config")).unwrap(), config);
        assert!(!world.path("ws/.git2").exists() && !world.path("ws/.git/i").exists());
        let left = world.outside(
            "ls -d .git/hooks/pre-commit .git/config.worktree .git/commondir .git/info/attributes \
             .git/modules/m/hooks/post-checkout 2> /dev/null; cat .git/modules/m/config; git status --porcelain",
        );
        assert_eq!(left, "[core]\n", "{}", out.text);
    }
}

// proves: S7, X8
as_root_and_as_user! {
    fn a_linked_worktree(world: World on Bubblewrap) {
        world.repository();
        world.outside("git worktree add -q ../tree -b tree && git worktree add -q ../other -b other");
        let policy = world.policy_of(&["tree"]);
        let index = fs::read(world.path("ws/.git/index")).unwrap();
        let out = world.sh_with(&policy, &format!("cd ../tree && {COMMIT}"));
        assert_eq!(out.text, "2\n");
        let admin = world.path("ws/.git/worktrees");
        let script = format!(
            "cd ../tree; rm .git; mv .git g; echo gitdir: /tmp > .git; \
             for f in {main}/hooks/pre-commit {main}/config {main}/commondir {main}/HEAD {main}/index \
                      {admin}/tree/commondir {admin}/tree/gitdir {admin}/tree/config.worktree {admin}/other/HEAD \
                      {admin}/other/commondir {admin}/new/commondir ../ws/file ../other/file; do \
                 mkdir -p $(dirname $f); echo x > $f; mv file $f; \
             done; true",
            main = world.path("ws/.git").display(),
            admin = admin.display(),
        );
        let before = world.outside("cat .git/HEAD .git/worktrees/*/* ../tree/.git .git/config; git -C ../other status --porcelain");
        let out = world.sh_with(&policy, &script);
        let after = world.outside("cat .git/HEAD .git/worktrees/*/* ../tree/.git .git/config; git -C ../other status --porcelain");
        assert_eq!(before, after, "{}", out.text);
        assert_eq!(fs::read(world.path("ws/.git/index")).unwrap(), index);
        assert!(!world.path("ws/.git/hooks/pre-commit").exists() && !world.path("ws/.git/commondir").exists());
    }
}

// proves: S7
as_root_and_as_user! {
    /// A file `.git` that leads to a folder that knows nothing of it opens nothing.
    fn a_false_pointer(world: World on Bubblewrap) {
        let (ws, outside) = (world.path("ws"), world.path("outside"));
        for folder in ["objects", "worktrees/x"] {
            fs::create_dir_all(outside.join(folder)).unwrap();
        }
        for (file, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("config", "[core]\n\tworktree = /elsewhere\n"),
            ("worktrees/x/commondir", "../..\n"),
            ("worktrees/x/gitdir", "/elsewhere/.git\n"),
        ] {
            fs::write(outside.join(file), text).unwrap();
        }
        for target in [outside.clone(), outside.join("worktrees/x")] {
            fs::write(ws.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
            assert_eq!(world.policy().writable, std::slice::from_ref(&ws));
        }
        world.sh(&format!("echo x > {}/file", outside.display()));
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "outside");
    }
}

// proves: S7
as_root_and_as_user! {
    fn repositories_deeper_and_hooks_elsewhere(world: World on Bubblewrap) {
        world.repository();
        world.outside(
            "git config core.hooksPath tools/hooks && mkdir -p tools/hooks a && git init -q a/b && \
             mkdir -p .claude/worktrees && git worktree add -q .claude/worktrees/w",
        );
        let out = world.sh(
            "echo x > tools/hooks/pre-commit; mv tools t; echo x > a/b/.git/hooks/pre-commit; mv a/b a/c; mv a c; \
             rm .claude/worktrees/w/.git; echo x > .claude/worktrees/w/.mcp.json; echo in > .claude/worktrees/w/in; true",
        );
        for path in ["tools/hooks/pre-commit", "a/b/.git/hooks/pre-commit", "t", "c", "a/c"] {
            assert!(!world.path("ws").join(path).exists(), "{path}: {}", out.text);
        }
        assert!(world.path("ws/.claude/worktrees/w/.git").is_file());
        assert!(world.path("ws/.claude/worktrees/w/in").is_file(), "{}", out.text);
    }
}

// proves: S7
as_root_and_as_user! {
    /// Wherever the setting stands, and however it is written.
    fn folders_of_hooks_are_held_however_they_are_named(world: World on Bubblewrap) {
        let (ws, home) = (world.path("ws"), world.path("home"));
        world.repository();
        world.outside("mkdir -p h && echo old > h/pre-commit");
        let (hooks, config) = (ws.join("h"), fs::read_to_string(ws.join(".git/config")).unwrap());
        let write = "echo new > h/pre-commit; echo new > h/post-commit; rm h/pre-commit; mv h moved; true";
        let absolute = hooks.display().to_string();
        for value in ["./h", &absolute, "../ws/h", "h # c", "\"h\" ; c", "\"./h\"", "~/../ws/h", "h\n\thooksPath = other"] {
            fs::write(ws.join(".git/config"), format!("{config}[Core] hooksPath = {value}\n")).unwrap();
            assert!(!world.policy().incomplete, "{value}");
            let out = world.sh(write);
            assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), "old\n", "{value}: {}", out.text);
            assert!(!hooks.join("post-commit").exists(), "{value}: {}", out.text);
        }
        // In the person's own configuration, for each repository.
        fs::write(ws.join(".git/config"), config).unwrap();
        fs::write(home.join(".gitconfig"), "[core]\nhooksPath = ./h\n").unwrap();
        let out = world.sh(write);
        assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), "old\n", "{}", out.text);
        // All of the workspace can't be held.
        fs::write(home.join(".gitconfig"), "[core]\nhooksPath = ..\n").unwrap();
        assert!(!world.sandbox.holds(&world.policy()));
    }
}

// proves: S7
as_root_and_as_user! {
    fn included_configuration_is_held(world: World on Bubblewrap) {
        let (ws, home) = (world.path("ws"), world.path("home"));
        world.repository();
        world.outside(
            "git config include.path ../shared.gitconfig; git config includeIf.gitdir:/x.path ../other.gitconfig; \
             echo '[include] path = sub/deep.gitconfig' > shared.gitconfig; : > other.gitconfig; mkdir -p sub h; \
             printf '[core]\nhooksPath = h\n' > sub/deep.gitconfig; : > own.gitconfig",
        );
        fs::write(home.join(".gitconfig"), "[include]\npath = ~/../ws/own.gitconfig\n").unwrap();
        assert!(world.sandbox.holds(&world.policy()));
        let all = "cat shared.gitconfig other.gitconfig own.gitconfig sub/deep.gitconfig";
        let before = world.outside(all);
        let out = world.sh(
            "for f in shared.gitconfig other.gitconfig own.gitconfig sub/deep.gitconfig h/pre-commit; do \
                 echo '[core] fsmonitor = x' > $f; rm -f $f; mv file $f; \
             done; mv sub s; echo two > file; git add file && git commit -qm two && git log --oneline | wc -l",
        );
        assert_eq!(world.outside(all), before, "{}", out.text);
        assert!(out.text.ends_with("2\n"), "{}", out.text);
        assert!(!ws.join("h/pre-commit").exists(), "{}", out.text);
        // One that is not there has nothing to stand on: commands ask.
        world.outside("rm own.gitconfig");
        assert!(!world.sandbox.holds(&world.policy()));
        let out = world.sh("git status --porcelain");
        assert!(out.status.success(), "{}", out.text);
    }
}

// proves: F165
as_root_and_as_user! {
    /// What git would take for a worktree or a submodule is not made where there is none, and git goes on.
    fn absent_worktrees_and_modules_stay_absent(world: World on Bubblewrap) {
        world.repository();
        let out = world.sh(
            "for d in worktrees/x modules/x/hooks; do mkdir -p .git/$d; echo ../.. > .git/$d/commondir; done; \
             mkdir m && mv m .git/modules; git checkout -q -b b && echo b > b && git add b && git commit -qm b && \
             git rebase -q --force-rebase HEAD~1 && git stash list && git gc -q && git worktree prune && git log --oneline | wc -l",
        );
        assert!(out.text.ends_with("2\n"), "{}", out.text);
        assert_eq!(world.outside("ls -d .git/worktrees .git/modules 2> /dev/null || true"), "");
    }
}
