//! What stands in which order: which commands run whatever the others do, in which folder, and of which the exit code
//! of the whole line tells.

use tree_sitter::Node;
use troupe_core::policy::{Folder, Simple};

use super::node::{is_statement, nodes_below};
use super::walk::Walk;

/// What the line's exit code tells of the command at hand.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    passed_on: Code,
    /// `set -e` holds.
    stops: bool,
    /// `set -o pipefail` holds.
    pipefail: bool,
    /// The line may have ended before, or be to end otherwise than its commands do.
    ended: bool,
}

/// Where a command's exit code goes.
#[derive(Clone, Copy, PartialEq)]
enum Code {
    /// It becomes the line's.
    On,
    /// It ends the line, unless it is 0.
    Stops,
    /// Nowhere.
    Lost,
}

impl Default for Flow {
    fn default() -> Self {
        Self { passed_on: Code::On, stops: false, pipefail: false, ended: false }
    }
}

impl Flow {
    /// Whether the line's 0 is also this command's.
    pub(super) fn decides(self) -> bool {
        self.passed_on != Code::Lost && !self.ended
    }

    /// The same for a command whose exit code nobody looks at.
    pub(super) fn lost(self) -> Self {
        Self { passed_on: Code::Lost, ..self }
    }

    /// Goes back to where the exit code went before.
    pub(super) fn restore(&mut self, before: Self) {
        self.passed_on = before.passed_on;
    }

    /// The same for a statement that others follow.
    fn followed(self) -> Self {
        let stops = self.stops && self.decides();
        Self { passed_on: if stops { Code::Stops } else { Code::Lost }, ..self }
    }

    /// The same for what stands left of `&&`: there `set -e` stops nothing.
    fn before_and(self) -> Self {
        if self.passed_on == Code::Stops { self.lost() } else { self }
    }

    /// Takes in what `set` changes.
    pub(super) fn follow(&mut self, part: &Simple) {
        let Some(("set", rest)) = part.texts().split_first().map(|(first, rest)| (*first, rest.to_vec()))
        else {
            return;
        };
        let mut on = true;
        for word in rest {
            on = if word.starts_with(['-', '+']) { word.starts_with('-') } else { on };
            if word.strip_prefix(['-', '+']).is_some_and(|letters| letters.contains('e')) || word == "errexit"
            {
                self.stops = on;
            }
            if word == "pipefail" {
                self.pipefail = on;
            }
        }
    }

    /// Takes in that what follows a command may not run.
    pub(super) fn pass(&mut self, part: &Simple) {
        self.ended |= may_end(part);
    }

    /// What holds where it is not known whether what changed it ran.
    fn either(self, before: Self) -> Self {
        Self {
            stops: self.stops && before.stops,
            pipefail: self.pipefail && before.pipefail,
            ended: self.ended || before.ended,
            passed_on: before.passed_on,
        }
    }
}

/// Whether the line may end with 0 at this command, whatever follows it, or by what it sets.
fn may_end(part: &Simple) -> bool {
    let texts = part.texts();
    let around = texts.iter().take_while(|word| matches!(**word, "command" | "builtin" | "time")).count();
    match &texts[around..] {
        // A line that ends with 0 did not end here.
        ["exit" | "return", code] => !code.parse::<u8>().is_ok_and(|code| code > 0),
        ["exit" | "return", ..] => true,
        // Without a program it only moves the streams.
        ["exec", rest @ ..] => !rest.is_empty(),
        ["trap", action, ..] => !matches!(*action, "" | "-" | "-p" | "-l"),
        ["eval", rest @ ..] => {
            rest.iter().any(|text| ["exit", "return", "exec", "trap"].iter().any(|word| text.contains(word)))
        }
        ["set", rest @ ..] => rest.iter().any(|word| {
            let letters = word.strip_prefix('-').unwrap_or_default();
            letters.contains(['n', 't']) || matches!(*word, "noexec" | "onecmd")
        }),
        _ => false,
    }
}

impl<'t> Walk<'t> {
    pub(super) fn children(&mut self, node: Node<'t>) {
        // Asking a node for its sibling costs as much as all its siblings.
        let children = nodes_below(node);
        let is_sequence = matches!(node.kind(), "program" | "compound_statement" | "subshell");
        let last = children.iter().rposition(|child| is_statement(*child));
        let flow = self.flow.passed_on;
        for (at, child) in children.iter().enumerate() {
            if matches!(child.kind(), ";;" | ";&" | ";;&") && node.kind() != "case_item" {
                self.lost("its syntax is not understood");
            }
            self.flow.passed_on = flow;
            if is_sequence && last.is_some_and(|last| at < last) {
                self.flow = self.flow.followed();
            }
            if children.get(at + 1).is_some_and(|next| next.kind() == "&") {
                self.flow = self.flow.lost();
                self.scoped(|walk| walk.visit(*child));
            } else {
                self.visit(*child);
            }
        }
        self.flow.passed_on = flow;
    }

    /// Runs `inner` as a process of its own: its `cd` does not outlive it.
    pub(super) fn scoped(&mut self, inner: impl FnOnce(&mut Self)) {
        let before = (self.folder.clone(), self.flow);
        inner(self);
        (self.folder, self.flow) = before;
    }

    /// Something that may run, or run in part: a `cd` in it leaves the folder unknown.
    pub(super) fn branch(&mut self, node: Node<'t>) {
        let (before, flow) = (self.folder.clone(), self.flow);
        self.flow = flow.lost();
        self.children(node);
        self.flow = self.flow.either(flow);
        if self.folder != before {
            self.folder = Folder::Unknown;
        }
    }

    pub(super) fn list(&mut self, node: Node<'t>) {
        let either = nodes_below(node).iter().any(|child| child.kind() == "||");
        let (before, flow) = (self.folder.clone(), self.flow);
        // What stands first runs in any case.
        let mut first = None;
        for (index, child) in nodes_below(node).into_iter().filter(Node::is_named).enumerate() {
            self.flow.passed_on = match (either, index) {
                (true, _) => Code::Lost,
                (false, 0) => flow.before_and().passed_on,
                (false, _) => flow.passed_on,
            };
            if either && index > 0 && self.folder != before {
                let after = std::mem::replace(&mut self.folder, Folder::Unknown);
                self.visit(child);
                self.folder = after;
            } else if either && index > 0 {
                self.visit(child);
                if self.folder != before {
                    self.folder = Folder::Unknown;
                }
            } else {
                self.visit(child);
            }
            first.get_or_insert(self.flow);
        }
        self.flow = self.flow.either(first.unwrap_or(flow));
        self.flow.passed_on = flow.passed_on;
    }

    pub(super) fn pipeline(&mut self, node: Node<'t>) {
        let (outer, flow) = (self.piped, self.flow);
        let children = nodes_below(node);
        let last = children.iter().rposition(Node::is_named);
        for (at, child) in children.into_iter().enumerate() {
            if child.is_named() {
                self.flow = if flow.pipefail || last == Some(at) { flow } else { flow.lost() };
                self.scoped(|walk| walk.visit(child));
            } else {
                self.piped = true;
            }
        }
        (self.piped, self.flow) = (outer, flow);
    }
}
