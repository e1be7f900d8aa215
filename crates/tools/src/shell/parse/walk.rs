//! The walk over a syntax tree that finds each simple command, and the folder that it would run in.

mod redirect;

use std::collections::BTreeSet;

use tree_sitter::Node;
use troupe_core::policy::{Assignment, Folder, Origin, Redirect, RedirectKind, Simple, Word, folder_after};

use super::flow::Flow;
use super::hidden::{Hidden, substitutions, without_escapes};
use super::node::{is_followed_by, is_name, is_reserved, nodes_below, substitutions_below};
use super::word::word_of;

/// Deepest nesting that is followed.
pub(super) const MAX_DEPTH: usize = 150;

/// What was found so far.
pub(super) struct Walk<'t> {
    text: &'t str,
    pub(super) parts: Vec<Simple>,
    pub(super) doubt: Option<String>,
    /// Whether some of it was not understood, so that `parts` may lack something.
    pub(super) lost: bool,
    /// Substitutions whose text must be read again without its backslashes, with their folders.
    pub(super) escaped: Vec<(Folder, Origin, String)>,
    /// A line in a heredoc that the grammar took for its end, and the shell does not.
    pub(super) false_end: Option<(usize, usize)>,
    /// Whether it has a loop.
    pub(super) repeats: bool,
    pub(super) folder: Folder,
    origin: Origin,
    pub(super) piped: bool,
    pub(super) flow: Flow,
    in_string: bool,
    depth: usize,
}

impl<'t> Walk<'t> {
    /// A walk over the tree of `text`, found at `origin`.
    pub(super) fn new(text: &'t str, folder: Folder, origin: Origin) -> Self {
        Self {
            text,
            parts: Vec::new(),
            doubt: None,
            lost: false,
            escaped: Vec::new(),
            false_end: None,
            repeats: false,
            folder,
            origin,
            piped: false,
            flow: Flow::default(),
            in_string: false,
            depth: 0,
        }
    }

    /// Notes why the line can't be judged; the first reason stays.
    pub(super) fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_owned());
    }

    /// The same, of what may hold more than was found.
    pub(super) fn lost(&mut self, why: &str) {
        self.lost = true;
        self.doubt(why);
    }

    /// Takes in one node and all below it.
    pub(super) fn visit(&mut self, node: Node<'t>) {
        if self.depth == MAX_DEPTH {
            self.lost("it is nested too deep");
            return;
        }
        self.depth += 1;
        // What runs in the background has no place in the order either.
        self.repeats |=
            matches!(node.kind(), "for_statement" | "while_statement" | "c_style_for_statement" | "&");
        match node.kind() {
            "command"
            | "declaration_command"
            | "unset_command"
            | "test_command"
            | "variable_assignment"
            | "variable_assignments" => self.simple(node, &[]),
            "redirected_statement" => self.redirected(node),
            "list" => self.list(node),
            "pipeline" => self.pipeline(node),
            "subshell" => self.scoped(|walk| walk.children(node)),
            "command_substitution" | "process_substitution" => self.substitution(node),
            "for_statement" => {
                self.loop_variable(node);
                self.branch(node);
            }
            "case_statement" => {
                self.evaluated(node);
                self.branch(node);
            }
            "case_item" => {
                self.evaluated(node);
                self.children(node);
            }
            "if_statement" | "while_statement" | "negated_command" => self.branch(node),
            "c_style_for_statement" => {
                self.arithmetic(node);
                self.branch(node);
            }
            "compound_statement" if self.raw(node).starts_with("((") => {
                self.arithmetic(node);
                self.hidden_in(node);
                self.children(node);
            }
            "function_definition" => {
                self.doubt("it defines a function");
                self.scoped(|walk| walk.branch(node));
            }
            "comment" | "heredoc_content" | "raw_string" | "ansi_c_string" => {}
            _ => self.children(node),
        }
        self.depth -= 1;
    }

    fn raw(&self, node: Node<'t>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn substitution(&mut self, node: Node<'t>) {
        let outer = (self.origin, self.piped);
        self.piped = false;
        if self.origin == Origin::Line {
            self.origin = Origin::Substitution;
        }
        let raw = self.raw(node);
        if raw.starts_with('`') && raw.contains('\\') {
            let text = without_escapes(raw.trim_matches('`'), self.in_string);
            self.escaped.push((self.folder.clone(), self.origin, text));
            self.doubt("it has a backslash in backticks");
        } else {
            self.scoped(|walk| walk.children(node));
        }
        (self.origin, self.piped) = outer;
    }

    /// Arithmetic evaluates text again, as `let` does.
    fn arithmetic(&mut self, node: Node<'t>) {
        let words = vec![Word::plain("let"), Word { raw: self.raw(node).into(), ..Word::default() }];
        self.push(Simple { words, ..Simple::default() });
    }

    /// A loop sets its variable to each of its words.
    fn loop_variable(&mut self, node: Node<'t>) {
        let name = node.child_by_field_name("variable").map_or("", |name| self.raw(name)).to_owned();
        let words = self.values(node);
        let raw = words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ");
        // Without words it takes those of the shell.
        let known = !words.is_empty() && words.iter().all(is_known);
        let value = Word { value: known.then(|| raw.clone()), raw, ..Word::default() };
        self.push(Simple { assignments: vec![Assignment { name, value }], ..Simple::default() });
    }

    /// The words that a `case` compares are evaluated, as those of `:` are.
    fn evaluated(&mut self, node: Node<'t>) {
        let unknown: Vec<Word> = self.values(node).into_iter().filter(|word| !is_known(word)).collect();
        if !unknown.is_empty() {
            let words = [vec![Word::plain(":")], unknown].concat();
            self.push(Simple { words, ..Simple::default() });
        }
    }

    fn values(&mut self, node: Node<'t>) -> Vec<Word> {
        let mut cursor = node.walk();
        let nodes: Vec<Node<'t>> = node.children_by_field_name("value", &mut cursor).collect();
        nodes.into_iter().map(|value| self.word(value.start_byte(), value.end_byte(), &[value])).collect()
    }

    fn simple(&mut self, node: Node<'t>, redirects: &[Node<'t>]) {
        if matches!(node.kind(), "variable_assignment") {
            self.simple_of(&[node], redirects);
        } else if node.kind() == "test_command" {
            let mut leaves = Vec::new();
            self.test_words(node, &mut leaves);
            self.simple_of(&leaves, redirects);
        } else {
            self.simple_of(&nodes_below(node), redirects);
        }
    }

    /// The words of a test: the leaves of its expression.
    fn test_words(&mut self, node: Node<'t>, leaves: &mut Vec<Node<'t>>) {
        for child in nodes_below(node) {
            if self.depth < MAX_DEPTH
                && matches!(
                    child.kind(),
                    "unary_expression"
                        | "binary_expression"
                        | "parenthesized_expression"
                        | "negation_expression"
                        | "ternary_expression"
                        | "postfix_expression"
                )
            {
                self.depth += 1;
                self.test_words(child, leaves);
                self.depth -= 1;
            } else {
                leaves.push(child);
            }
        }
    }

    /// One simple command from the nodes of its words, assignments and redirects.
    fn simple_of(&mut self, nodes: &[Node<'t>], redirects: &[Node<'t>]) {
        let mut part = Simple::default();
        let mut inner: Vec<Node<'t>> = Vec::new();
        let mut after: Vec<Node<'t>> = Vec::new();
        let mut groups: Vec<(usize, usize, Vec<Node<'t>>)> = Vec::new();
        let declares = nodes.first().is_some_and(|n| {
            matches!(n.kind(), "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "unsetenv")
        });
        let mut redirects_at = Vec::new();
        let mut queue: Vec<Node<'t>> = nodes.iter().chain(redirects).copied().collect();
        queue.reverse();
        while let Some(node) = queue.pop() {
            match node.kind() {
                "variable_assignment" if !declares => {
                    part.assignments.push(self.assignment(node));
                    inner.push(node);
                }
                "file_redirect" => {
                    redirects_at.push(node.start_byte());
                    let words = self.file_redirect(node, &mut part);
                    queue.extend(words.into_iter().rev());
                    inner.push(node);
                }
                "herestring_redirect" => {
                    redirects_at.push(node.start_byte());
                    if let Some(text) = nodes_below(node).into_iter().rfind(Node::is_named) {
                        let target = self.word(text.start_byte(), text.end_byte(), &[text]);
                        part.redirects.push(Redirect { kind: RedirectKind::Text, target });
                    }
                    inner.push(node);
                }
                "heredoc_redirect" => {
                    redirects_at.push(node.start_byte());
                    queue.extend(self.heredoc(node, &mut part, &mut inner, &mut after).into_iter().rev());
                }
                "comment" => {}
                _ => {
                    inner.push(node);
                    match groups.last_mut() {
                        Some((_, end, list)) if *end == node.start_byte() => {
                            *end = node.end_byte();
                            list.push(node);
                        }
                        _ => groups.push((node.start_byte(), node.end_byte(), vec![node])),
                    }
                }
            }
        }
        groups.retain(|(start, end, _)| {
            let name = self.text.get(*start..*end).and_then(|raw| raw.strip_prefix('{')?.strip_suffix('}'));
            let Some(name) = name.filter(|name| is_name(name) && redirects_at.contains(end)) else {
                return true;
            };
            // `{NAME}<f` puts a number into the variable.
            part.assignments.push(Assignment { name: name.to_owned(), value: Word::plain("") });
            false
        });
        part.words = groups.iter().map(|(start, end, list)| self.word(*start, *end, list)).collect();
        if part.words.first().is_some_and(|word| is_reserved(&word.raw)) {
            self.lost("its syntax is not understood");
        }
        let moved = folder_after(&part, &self.folder);
        self.flow.follow(&part);
        let flow = self.flow;
        let followed = |kind| redirects.iter().any(|node| is_followed_by(*node, kind));
        let or = followed("||");
        if or || followed("pipeline") {
            self.flow = flow.lost();
        }
        let mut flow = flow;
        flow.pass(&part);
        self.push(part);
        self.flow = flow;
        for node in inner {
            self.visit_inside(node);
        }
        self.folder = moved;
        self.flow = if or { flow.lost() } else { flow };
        for node in after {
            self.visit(node);
        }
        self.flow.restore(flow);
    }

    /// Looks for substitutions below a word, an assignment or a redirect.
    fn visit_inside(&mut self, node: Node<'t>) {
        if matches!(node.kind(), "command_substitution" | "process_substitution") {
            self.visit(node);
            return;
        }
        // In arithmetic no quote keeps a substitution from being made.
        if matches!(node.kind(), "expansion" | "arithmetic_expansion") {
            self.hidden_in(node);
        }
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            let outer = std::mem::replace(&mut self.in_string, node.kind() == "string");
            for child in nodes_below(node) {
                self.visit_inside(child);
            }
            self.in_string = outer;
            self.depth -= 1;
        } else {
            self.lost("it is nested too deep");
        }
    }

    /// Substitutions in `${x#…}`, which the grammar takes for text.
    fn hidden_in(&mut self, node: Node<'t>) {
        let known: BTreeSet<usize> = substitutions_below(node, self.depth).into_iter().collect();
        let mut hidden = substitutions(self.raw(node));
        hidden.retain(|found| !known.contains(&(node.start_byte() + found.start)));
        self.keep_hidden(hidden);
    }

    /// Has each of them read as a line of its own.
    fn keep_hidden(&mut self, hidden: Vec<Hidden>) {
        let origin = if self.origin == Origin::Line { Origin::Substitution } else { self.origin };
        for found in hidden {
            let text = if found.backticks { without_escapes(&found.text, false) } else { found.text };
            self.escaped.push((self.folder.clone(), origin, text));
        }
    }

    fn word(&mut self, start: usize, end: usize, nodes: &[Node<'t>]) -> Word {
        match word_of(self.text, start, end, nodes) {
            Ok(word) => word,
            Err(word) => {
                self.lost("a word of it can't be followed");
                word
            }
        }
    }

    fn assignment(&mut self, node: Node<'t>) -> Assignment {
        let name = node.child_by_field_name("name").map_or("", |name| self.raw(name)).to_owned();
        let value = match node.child_by_field_name("value") {
            Some(value) if value.kind() == "array" => {
                Word { raw: self.raw(value).to_owned(), ..Word::default() }
            }
            Some(value) => self.word(value.start_byte(), value.end_byte(), &[value]),
            None => Word::plain(""),
        };
        Assignment { name, value }
    }

    fn push(&mut self, mut part: Simple) {
        if part.words.is_empty() && part.assignments.is_empty() && part.redirects.is_empty() {
            return;
        }
        part.folder = self.folder.clone();
        part.origin = self.origin;
        part.piped = self.piped;
        part.decides = self.origin == Origin::Line && self.flow.decides();
        self.parts.push(part);
    }
}

/// Whether nothing in a word is evaluated: braces are only unfolded.
fn is_known(word: &Word) -> bool {
    word.value.is_some() || !word.raw.contains(['$', '`', '(', '~', '\\'])
}
