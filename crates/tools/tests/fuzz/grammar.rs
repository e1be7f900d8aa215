//! Lines of shell, made from a grammar: real syntax, harmless where the only programs are stubs.

use super::random::Random;

/// Programs that a line may run. The first two are of the read-only set.
pub(crate) const PROGRAMS: &[&str] = &["ls", "cat", "pa", "pb", "pc", "pd"];
/// Programs that run the rest of their words.
pub(crate) const WRAPPERS: &[&str] = &["nohup", "setsid", "env", "nice", "sudo", "xargs", "busybox"];

/// A line, and whether the programs in it can't all be read off it.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) dynamic: bool,
}

struct Maker<'r> {
    random: &'r mut Random,
    dynamic: bool,
    /// How many functions there are: each has a name of its own, so that none calls itself.
    functions: usize,
    /// Bodies of heredocs that wait for the end of the line.
    heredocs: Vec<String>,
}

pub(crate) fn line(random: &mut Random) -> Line {
    let mut maker = Maker { random, dynamic: false, functions: 0, heredocs: Vec::new() };
    let mut text = maker.list(3);
    for body in std::mem::take(&mut maker.heredocs) {
        text.push_str(&body);
    }
    Line { text, dynamic: maker.dynamic }
}

impl Maker<'_> {
    fn list(&mut self, depth: usize) -> String {
        let mut text = self.statement(depth);
        for _ in 0..self.random.below(3) {
            let joint = self
                .random
                .pick(&[" && ", " || ", "; ", "\n", " | ", " & ", ";", "&&", " |& ", " &&\n", " # x\n"]);
            let next = self.statement(depth);
            if joint.contains('\n') {
                text.push_str(joint.trim_end_matches('\n'));
                text.push('\n');
                for body in std::mem::take(&mut self.heredocs) {
                    // `a &&` goes on after the bodies too.
                    text.push_str(&body);
                }
            } else {
                text.push_str(joint);
            }
            text.push_str(&next);
        }
        text
    }

    /// A list without heredocs, for places that end before the line does.
    fn inner(&mut self, depth: usize) -> String {
        let outer = std::mem::take(&mut self.heredocs);
        let mut text = self.list(depth.saturating_sub(1));
        for body in std::mem::replace(&mut self.heredocs, outer) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&body);
        }
        text
    }

    fn statement(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.once_in(2) {
            return self.simple(depth);
        }
        let inner = self.inner(depth);
        let end = if inner.ends_with('\n') { "" } else { ";" };
        match self.random.below(15) {
            0 => format!("( {inner} )"),
            1 => format!("{{ {inner}{end} }}"),
            2 => format!("if {inner}{end} then {}\nfi", self.inner(depth)),
            3 => format!("if false; then :; elif true; then {inner}\nelse :; fi"),
            4 => format!("for i in 1 2; do {inner}{end} done"),
            5 => format!("while {inner}{end} do {}\nbreak; done", self.inner(depth)),
            6 => format!("case a in b) :;; a|c) {inner}\n;; esac"),
            7 => {
                let name = self.function();
                format!("{name}() {{ {inner}{end} }}; {name}")
            }
            8 => {
                let name = self.function();
                format!("function {name} {{ {inner}{end} }}\n{name}")
            }
            9 => format!("! {inner}"),
            10 => format!("time {{ {inner}{end} }}"),
            11 => format!("until {inner}{end} do break; done"),
            12 => format!("for ((i=0;i<1;i++)); do {inner}{end} done"),
            13 => format!("{{ {inner}{end} }} 2>/dev/null"),
            _ => format!("( {inner} ) < /dev/null"),
        }
    }

    fn function(&mut self) -> String {
        self.functions += 1;
        format!("f{}", self.functions)
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = String::new();
        if self.random.once_in(8) {
            text.push_str(self.random.pick(&["x=1 ", "x= ", "y=a\\ b ", "x+=1 ", "LANG=C "]));
        } else if depth > 0 && self.random.once_in(12) {
            let substitution = self.substitution(depth);
            text.extend(["z=", &substitution, " "]);
        }
        if self.random.once_in(14) {
            text.push_str(self.random.pick(&["2>/dev/null ", "</dev/null ", ">/dev/null "]));
        }
        text.push_str(&self.program(depth));
        for _ in 0..self.random.below(3) {
            text.push(' ');
            text.push_str(&self.word(depth));
        }
        match self.random.below(16) {
            0 => text.push_str(" 2>&1"),
            1 => text.push_str(" >/dev/null"),
            2 => text.push_str(" &>/dev/null"),
            3 if depth > 0 => text.extend([" < <(", &self.inner(depth), ")"]),
            4 => text.extend([" <<< ", &self.word(depth)]),
            5 if depth > 0 => self.heredoc(&mut text, depth),
            6 => text.push_str(" > out"),
            _ => {}
        }
        text
    }

    fn heredoc(&mut self, text: &mut String, depth: usize) {
        let marker = format!("E{}", self.random.below(1000));
        let substitution = self.substitution(depth);
        let quoted = self.random.once_in(3);
        let strips = self.random.once_in(3);
        let tab = if strips { "\t" } else { "" };
        let filler = self.random.pick(&["", "it's\n", "a \"b\n", " \\$(pa)\n", "${x:-y}\n", "# x\n"]);
        text.push_str(if strips { " <<-" } else { " <<" });
        let quote = if quoted { "'" } else { "" };
        text.extend([quote, &marker, quote]);
        self.heredocs.push(format!("\n{tab}{filler}{tab}{substitution} end\n{tab}{marker}\n"));
    }

    fn program(&mut self, depth: usize) -> String {
        let name = self.random.pick(PROGRAMS);
        match self.random.below(30) {
            0 => format!("'{name}'"),
            1 => format!("\"{name}\""),
            2 => format!("\\{name}"),
            3 => format!("{}''{}", &name[..1], &name[1..]),
            4 => format!("$'{name}'"),
            5 => format!("{}\\\n{}", &name[..1], &name[1..]),
            6 => format!("command {name}"),
            7 => format!("builtin command {name}"),
            8 => format!("{} {name}", self.random.pick(WRAPPERS)),
            9 => format!("env A=1 {name}"),
            10 => format!("time {name}"),
            11 => format!("eval {name}"),
            12 => format!("eval '{name} a; pa'"),
            13 if depth > 0 => format!("eval \"{name} \\\"x\\\"\""),
            14 => format!("coproc {name}"),
            15 => format!("$'\\x{:02x}{}'", name.as_bytes()[0], &name[1..]),
            16 => {
                self.dynamic = true;
                format!("x={name}; $x")
            }
            17 => {
                self.dynamic = true;
                format!("{{{},{name}}}", self.random.pick(PROGRAMS))
            }
            18 => {
                self.dynamic = true;
                format!("$(echo {name})")
            }
            19 => format!("trap '{name} t' EXIT;"),
            20 => format!("exec {name}"),
            21 => "echo".into(),
            22 => ":".into(),
            _ => name.to_owned(),
        }
    }

    fn word(&mut self, depth: usize) -> String {
        if depth > 0 && self.random.once_in(3) {
            return self.substitution(depth);
        }
        self.random
            .pick(&[
                "a",
                "'a b'",
                "\"a b\"",
                "a\\ b",
                "-x",
                "--long=v",
                "$'a\\'b'",
                "'a;b'",
                "\"a|b\"",
                "\\;",
                "\\$x",
                "$x",
                "\"$x\"",
                "${x}",
                "${x:-d}",
                "{a,b}",
                "*",
                "?",
                "[ab]",
                "~",
                "--",
                "'#'",
                "a#b",
                "\"'\"",
                "'\"'",
                "$?",
                "\"\\\"\"",
                "''",
                "pa",
                "rm",
                "=",
                "x=y",
                "\\\na",
                "$((1+2))",
                "'$(pb)'",
                "\"\\$(pb)\"",
                "\\`pb\\`",
                "é",
            ])
            .to_owned()
    }

    fn substitution(&mut self, depth: usize) -> String {
        let inner = self.inner(depth.min(2));
        // Backticks and arithmetic take only what they can hold.
        let plain = !inner.contains(['`', '\\', '\'', '"', '#', '\n']);
        match self.random.below(14) {
            0 if plain => format!("`{inner}`"),
            1 if plain => format!("\"`{inner}`\""),
            2 => format!("\"$({inner})\""),
            3 if !inner.contains('}') => format!("${{u:-$({inner})}}"),
            4 if plain && !inner.contains('}') => format!("${{u:-`{inner}`}}"),
            5 if plain && !inner.contains('}') => format!("${{x#$({inner})}}"),
            6 if plain && !inner.contains('}') => format!("${{x/$({inner})/b}}"),
            7 => format!("<({inner})"),
            8 => format!("$((1+$({inner} >/dev/null)0))"),
            9 => format!("a$({inner})b"),
            10 => format!("\"${{u:-$({inner})}}\""),
            11 => format!("\"a $({inner}) 'b'\""),
            _ => format!("$({inner})"),
        }
    }
}

/// A line with something changed: a piece taken out, doubled or put in. It need not be shell any more.
pub(crate) fn mutated(random: &mut Random) -> String {
    let mut text = line(random).text;
    for _ in 0..=random.below(4) {
        let mut spots: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        spots.push(text.len());
        let (one, other) = (spots[random.below(spots.len())], spots[random.below(spots.len())]);
        let (from, to) = (one.min(other), one.max(other));
        match random.below(6) {
            0 => text.replace_range(from..to, ""),
            1 => {
                let piece = text[from..to].to_owned();
                text.insert_str(from, &piece);
            }
            2 => text.insert_str(from, &line(random).text),
            3 => {
                let piece = random.pick(&[
                    "(",
                    "$(",
                    "`",
                    "{ ",
                    "if ",
                    "<<E\n",
                    "\"",
                    "'",
                    "[[ ",
                    "${",
                    "a=(",
                    "\\",
                    "case a in ",
                ]);
                text.insert_str(from, &piece.repeat(1 + random.below(200)));
            }
            _ => {
                let piece = random.pick(&[
                    "(",
                    ")",
                    "$(",
                    "`",
                    "{",
                    "}",
                    "\"",
                    "'",
                    "\\",
                    "\n",
                    ";",
                    ";;",
                    "&",
                    "|",
                    "<",
                    ">",
                    "<<",
                    "<<-",
                    "<<<",
                    "<(",
                    "$((",
                    "))",
                    "((",
                    "[[",
                    "]]",
                    "${",
                    "$'",
                    "$\"",
                    "#",
                    "!",
                    "*",
                    "~",
                    "=",
                    "\r",
                    "\0",
                    "\t",
                    "\u{200b}",
                    "é",
                    " if ",
                    " then ",
                    " fi ",
                    " do ",
                    " done ",
                    " case ",
                    " esac ",
                    " in ",
                    " function ",
                    " coproc ",
                    " time ",
                    " select ",
                    "E\n",
                    "\nE\n",
                    "-exec",
                    "\\;",
                    "+",
                    "--",
                    "-",
                    "&>",
                    ">&",
                    "<>",
                    ">|",
                    "\u{1b}",
                    "x=",
                    "x[",
                    "]=",
                ]);
                text.insert_str(from, piece);
            }
        }
    }
    text
}
