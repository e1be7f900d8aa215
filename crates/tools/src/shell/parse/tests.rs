//! What the grammar finds in a line.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use troupe_core::policy::{Command, Folder, Origin, RedirectKind};

use super::{MAX_LINE, parse};

/// The programs in a line, with a mark for where they were found.
fn programs(line: &str) -> Vec<String> {
    let command = parse(line);
    let marked = command.parts.iter().map(|part| {
        let mark = match part.origin {
            Origin::Line => "",
            Origin::Substitution => "$",
            Origin::Text => "!",
        };
        format!("{mark}{}", part.words.first().map_or("", |word| word.text()))
    });
    marked.collect()
}

fn clear(line: &str) -> Command {
    let command = parse(line);
    assert_eq!(command.doubt, None, "{line}");
    command
}

// proves: S7
#[test]
fn every_command_is_found() {
    for (line, found) in [
        ("a && b || c; d | e |& f & g\nh", &["a", "b", "c", "d", "e", "f", "g", "h"][..]),
        ("(a); { b; }; ! c", &["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        // The variable of a loop is a part without words.
        ("for i in x; do a; done; while b; do c; done", &["", "a", "b", "c"]),
        ("case x in y) a;; z) b;; esac", &["a", "b"]),
        ("f() { a; }", &["a"]),
        ("echo $(a) `b` <(c) \"$(d)\"", &["echo", "$a", "$b", "$c", "$d"]),
        ("cat <<E\n$(a)\nE\nb", &["cat", "$a", "b"]),
        ("cat <<'E'\n$(a)\nE\nb", &["cat", "b"]),
        ("cat <<< \"$(a)\" > $(b)", &["cat", "$a", "$b"]),
        ("x[$(a)]=1 y=$(b)", &["", "$a", "$b"]),
        ("echo ${x:-$(a)} ${y[$(b)]} $((z[$(c)]))", &["echo", "$a", "$b", "$c"]),
        ("echo ${x:-`a`}", &["echo", "$a"]),
        ("eval 'a; b'", &["eval", "!a", "!b"]),
        ("sudo bash -c \"sh -c 'a'\"", &["sudo", "!sh", "!a"]),
        ("bash <<'E'\na\nE", &["bash", "!a"]),
        ("cat <<'E' | a && b\nE\n", &["cat", "a", "b"]),
        ("cat <<E\n\t$(a) `b`\nE\n", &["cat", "$a", "$b"]),
        ("cat <<E\n\t$(a $((1+2)))\nE\n", &["cat", "$1+2", "$a"]),
        ("echo $(( '$(a)' + 1 ))", &["echo", "$a"]),
        ("echo ${x#$(a)} ${y/`b`/c}", &["echo", "$a", "$b"]),
        ("echo $((a x); b)", &["echo", "!echo", "!a", "!b"]),
    ] {
        assert_eq!(programs(line), found, "{line}");
    }
}

#[test]
fn words_lose_their_quotes() {
    let values = |line: &str| -> Vec<Option<String>> {
        parse(line).parts[0].words.iter().map(|word| word.value.clone()).collect()
    };
    let known = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
    assert_eq!(values(r#"r\m 'a b'"c"e\ d $'\x72\n' "#), known(&["rm", "a bce d", "r\n"]));
    for quoted in ["$'a\\'b'", "\"$(echo 'a\"b')\"", "\\'", "\"'\""] {
        let line = format!("ls {quoted}; r\\\nm x");
        assert_eq!(parse(&line).doubt, None, "{line}");
        assert!(programs(&line).contains(&"rm".to_owned()), "{line}");
    }
    assert_eq!(values("r\\\nm x\\\n y"), known(&["rm", "x", "y"]));
    assert_eq!(values("echo 'it'\\''s' \"a\\\"b\\c\""), known(&["echo", "it's", "a\"b\\c"]));
    assert_eq!(
        values("ls $HOME/x \"${HOME}\"/y ~/z ~bob"),
        [known(&["ls", "~/x", "~/y", "~/z"]), vec![None]].concat()
    );
    assert_eq!(
        values("echo $x \"$x\" {a,b} {} $?"),
        [known(&["echo"]), vec![None, None, None], known(&["{}", "$?"])].concat()
    );
    let quoted = clear("ls '~/x' \\*");
    assert!(!quoted.parts[0].words[1].home && !quoted.parts[0].words[2].glob);
    assert!(clear("ls *.rs").parts[0].words[1].glob);
}

#[test]
fn redirects_stand_apart_from_words() {
    let command = clear(">/dev/null rm x 2>&1 < in &> out");
    let part = &command.parts[0];
    assert_eq!(part.texts(), ["rm", "x"]);
    let kinds: Vec<_> = part.redirects.iter().map(|r| (r.kind, r.target.text())).collect();
    assert_eq!(
        kinds,
        [
            (RedirectKind::Write, "/dev/null"),
            (RedirectKind::Copy, "1"),
            (RedirectKind::Read, "in"),
            (RedirectKind::Write, "out")
        ]
    );
    assert_eq!(clear("{ ls; } > out").parts[1].redirects.len(), 1);
}

#[test]
fn the_folder_follows_cd() {
    let folder = |line: &str| {
        let parts = parse(line).parts;
        parts.iter().rfind(|part| part.origin == Origin::Line).unwrap().folder.clone()
    };
    let at = |steps: &[&str]| Folder::Known(steps.iter().map(|step| (*step).to_owned()).collect());
    assert_eq!(folder("cd a && cd ../b && ls"), at(&["a", "../b"]));
    assert_eq!(folder("(cd a); ls"), at(&[]));
    assert_eq!(folder("cd a | x; ls"), at(&[]));
    assert_eq!(folder("cd a & ls"), at(&[]));
    assert_eq!(folder("cd; ls"), at(&["~"]));
    for unknown in
        ["cd $x; ls", "cd -; ls", "if x; then cd a; fi; ls", "pushd a; ls", "cd a || ls", "eval 'cd a'; ls"]
    {
        assert_eq!(folder(unknown), Folder::Unknown, "{unknown}");
    }
}

#[test]
fn what_can_not_be_followed_is_a_doubt() {
    for line in [
        "ls\rrm x",
        "ls\0",
        "ls\u{200b}",
        "git\u{a0}push",
        "ls 'open",
        "ls ((",
        "echo hi <> f",
        "f() { ls; }",
        "HOME=/etc; ls ~",
        "cat <<EOF\nnever ends",
        "cat <<E; ls \\\n-l\nx\nE",
        "cat <<'E'\nit's\nE\nl\\\ns",
        "ls ;; ls",
        "then ls",
        "echo $((rm x); ls)",
    ] {
        assert!(parse(line).doubt.is_some(), "{line:?}");
    }
    assert!(parse(&"a".repeat(MAX_LINE + 1)).doubt.is_some());
    for opener in ["(", "$(", "if ", "{ ", "\"$(", "<<a ", "[[ ", "${", "a && ", "`\\`"] {
        assert!(parse(&opener.repeat(MAX_LINE / opener.len())).doubt.is_some(), "{opener}");
    }
    for line in ["ls -la | head", "git commit -m 'a (b) && c'", "echo é ü", "cat <<-E\n\tx\n\tE\nls"] {
        clear(line);
    }
}

// proves: E3
#[test]
fn a_line_only_reads_when_all_of_it_does() {
    for line in
        ["ls 2>/dev/null | wc -l 2>&1", "echo $(ls)", "sleep 1 && test -f a", "cat <<< x", "LANG=C sort a"]
    {
        assert!(parse(line).is_read_only(), "{line}");
    }
    for line in [
        "ls > out",
        "echo $(rm x)",
        "ls; make",
        "sh -c ls",
        "PATH=. ls",
        "cat $x",
        "f() { ls; }",
        "{ ls; } > out",
    ] {
        assert!(!parse(line).is_read_only(), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn letters_of_other_scripts_are_words(word in "[\\p{L}&&[^\\x00-\\x7f]]{1,8}") {
        prop_assert_eq!(programs(&format!("{word} | ls")), [word.as_str(), "ls"]);
    }

    #[test]
    fn no_text_makes_it_panic(line in "\\PC{0,200}") {
        let _ = parse(&line).is_read_only();
    }

    #[test]
    fn no_syntax_makes_it_panic(line in "[a-z'\"`$(){}<>|&;#\\\\*?=\\[\\] \n\t!~E-]{0,120}") {
        let _ = parse(&line).is_read_only();
    }
}

// proves: D10
#[test]
fn of_which_commands_the_exit_code_of_a_line_tells() {
    for (line, found) in [
        ("a", &["a"][..]),
        ("cd x && a", &["cd", "a"]),
        ("a && b && c", &["a", "b", "c"]),
        ("a; b", &["b"]),
        ("a\nb", &["b"]),
        ("a || b", &[]),
        ("a && b || c", &[]),
        ("a || b; c", &["c"]),
        ("a | b", &["b"]),
        ("a 2>&1 | b && c", &["b", "c"]),
        ("set -o pipefail; a | b", &["a", "b"]),
        ("set -euo pipefail; a | b; c", &["a", "b", "c"]),
        ("set -o pipefail; set +o pipefail; a | b", &["b"]),
        ("set -e; a; b", &["a", "b"]),
        ("set -e; a && b; c", &["b", "c"]),
        ("set -e\na || true\nb", &["b"]),
        ("set -e; set +e; a; b", &["set", "b"]),
        ("(set -e); a; b", &["b"]),
        ("x && set -e; a; b", &["b"]),
        ("if x; then set -e; fi; a; b", &["b"]),
        ("a & b", &["b"]),
        ("a &", &[]),
        ("! a", &[]),
        ("(a; b)", &["b"]),
        ("{ a; b; } > f", &["b"]),
        ("if a; then b; fi", &[]),
        ("for x in 1 2; do a; done", &[]),
        ("echo $(a)", &["echo"]),
        ("bash -c 'a'", &["bash"]),
        ("f() { a; }; b", &["b"]),
        ("f() { a; }", &[]),
        ("cat <<E && b\nx\nE", &["cat", "b"]),
        ("cat <<E || b\nx\nE", &[]),
        ("cat <<E | b\nx\nE", &["b"]),
        ("a; echo \"exit $?\"", &["echo"]),
        ("exit 0; a", &[]),
        ("[ -d x ] || exit 0\na", &[]),
        ("cd x || exit\na && b", &[]),
        ("cd x || exit $?\na", &[]),
        ("cd x || exit 1\na", &["a"]),
        ("a && exit 0", &["a", "exit"]),
        ("command exit 0; a", &[]),
        ("if x; then exit 0; fi; a", &[]),
        ("{ exit 0; } && a", &["exit"]),
        ("return; a", &[]),
        ("exec true; a", &[]),
        ("exec 2>&1; a", &["a"]),
        ("eval 'exit 0'; a", &[]),
        ("set -n; a", &[]),
        ("trap 'exit 0' EXIT; a", &[]),
        ("set -e; trap f ERR; a; b", &["trap"]),
        ("trap - EXIT; trap '' PIPE; a", &["a"]),
        ("(exit 0); exit 0 | b; echo $(exit 0); a", &["a"]),
        ("cat <<E && exit 0\nx\nE\na", &[]),
    ] {
        let command = parse(line);
        let decides = command.parts.iter().filter(|part| part.decides && !part.words.is_empty());
        let names: Vec<_> = decides.map(|part| part.words.first().map_or("", |word| word.text())).collect();
        assert_eq!(names, found, "{line}");
    }
}
