//! Redirects and heredocs on the walk.

use tree_sitter::Node;
use troupe_core::policy::{Redirect, RedirectKind, Simple, Word};

use super::Walk;
use crate::shell::parse::node::{is_simple, is_statement, nodes_below};

impl<'t> Walk<'t> {
    pub(super) fn redirected(&mut self, node: Node<'t>) {
        let redirects: Vec<Node<'t>> =
            nodes_below(node).into_iter().filter(|child| child.kind().ends_with("_redirect")).collect();
        match node.child_by_field_name("body") {
            Some(body) if is_simple(body) => self.simple(body, &redirects),
            Some(body) => {
                self.visit(body);
                self.simple_of(&[], &redirects);
            }
            None => self.simple_of(&[], &redirects),
        }
    }

    /// Adds the redirect; gives back words that the grammar took for further targets.
    pub(super) fn file_redirect(&mut self, node: Node<'t>, part: &mut Simple) -> Vec<Node<'t>> {
        let mut kind = RedirectKind::Write;
        let mut targets = Vec::new();
        for child in nodes_below(node) {
            match child.kind() {
                "file_descriptor" | "ERROR" => {}
                "<" => kind = RedirectKind::Read,
                ">" | ">>" | ">|" | "&>" | "&>>" => kind = RedirectKind::Write,
                ">&" | "<&" | ">&-" | "<&-" => kind = RedirectKind::Copy,
                _ => targets.push(child),
            }
        }
        if node.has_error() {
            kind = RedirectKind::Write;
        }
        let rest = if targets.len() > 1 { targets.split_off(1) } else { Vec::new() };
        let target = match targets.first() {
            Some(first) => self.word(first.start_byte(), first.end_byte(), &[*first]),
            None => Word::plain("-"),
        };
        // `>& file` writes a file; `>& 2` copies a descriptor.
        let descriptor = target.text().trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
        if kind == RedirectKind::Copy && !(descriptor && target.value.is_some()) {
            kind = RedirectKind::Write;
        }
        part.redirects.push(Redirect { kind, target });
        rest
    }

    /// Takes in a heredoc: its body as text, its substitutions in `inner`, the commands that the grammar
    /// hangs below it in `after`; gives back what belongs to the host.
    pub(super) fn heredoc(
        &mut self,
        node: Node<'t>,
        part: &mut Simple,
        inner: &mut Vec<Node<'t>>,
        after: &mut Vec<Node<'t>>,
    ) -> Vec<Node<'t>> {
        let mut host = Vec::new();
        let (mut start, mut body, mut end) = (None, None, None);
        for child in nodes_below(node) {
            match child.kind() {
                "heredoc_start" => start = Some(child),
                "heredoc_body" => body = Some(child),
                "heredoc_end" => end = Some(child),
                "<<" | "<<-" | "&&" | "||" | "file_descriptor" | "ERROR" => {}
                kind if kind.ends_with("_redirect") => host.push(child),
                _ if is_statement(child) => after.push(child),
                _ => host.push(child),
            }
        }
        let marker = start.map_or("", |start| self.raw(start));
        let quoted = marker.contains(['\'', '"', '\\']);
        let delimiter: String = marker.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        let strips = self.raw(node).contains("<<-");
        let found = end.map(|end| end.start_byte());
        let after = start.map_or(node.end_byte(), |start| start.end_byte());
        let from = self
            .text
            .get(after..)
            .and_then(|rest| rest.find('\n'))
            .map_or(self.text.len(), |at| after + at + 1);
        let right = marker_at(self.text, from, &delimiter, strips);
        if found.is_none() || right != found {
            self.lost("the end of a heredoc can't be told");
        }
        if let (Some(end), Some(right)) = (end, right)
            && end.start_byte() < right
        {
            self.false_end.get_or_insert((end.start_byte(), end.end_byte()));
        }
        let raw = body.map_or("", |body| self.raw(body)).to_owned();
        let expands = !quoted && raw.contains(['$', '`', '\\']);
        let target = Word { value: (!expands).then(|| raw.clone()), raw, ..Word::default() };
        part.redirects.push(Redirect { kind: RedirectKind::Text, target });
        if let Some(body) = body.filter(|_| !quoted) {
            // The grammar misses some of what it holds.
            self.hidden_in(body);
            inner.push(body);
        }
        host
    }
}

/// Where the line that ends a heredoc has its marker, read line by line as the shell does.
fn marker_at(text: &str, from: usize, delimiter: &str, strips: bool) -> Option<usize> {
    let mut at = from;
    for line in text.get(from..)?.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let inner = if strips { bare.trim_start_matches('\t') } else { bare };
        if inner == delimiter {
            return Some(at + bare.len() - inner.len());
        }
        at += line.len();
    }
    None
}
