//! Kinds of nodes and words of the grammar.

use tree_sitter::Node;

use super::walk::MAX_DEPTH;

/// Where the substitutions begin that the grammar found below a node, those in others left out.
pub(super) fn substitutions_below(node: Node<'_>, depth: usize) -> Vec<usize> {
    if depth >= MAX_DEPTH {
        return Vec::new();
    }
    let mut starts = Vec::new();
    for child in nodes_below(node) {
        match child.kind() {
            "command_substitution" | "process_substitution" => starts.push(child.start_byte()),
            _ => starts.extend(substitutions_below(child, depth + 1)),
        }
    }
    starts
}

/// Words that no program is run by, unless they are quoted.
pub(super) fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "else"
            | "elif"
            | "fi"
            | "do"
            | "done"
            | "case"
            | "esac"
            | "while"
            | "until"
            | "for"
            | "{"
            | "}"
            | "function"
    )
}

/// Whether a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a heredoc has this kind of node in it: what follows its host on the line hangs below it.
pub(super) fn is_followed_by(node: Node<'_>, kind: &str) -> bool {
    node.kind() == "heredoc_redirect" && nodes_below(node).iter().any(|child| child.kind() == kind)
}

pub(super) fn is_simple(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "command"
            | "declaration_command"
            | "unset_command"
            | "test_command"
            | "variable_assignment"
            | "variable_assignments"
    )
}

pub(super) fn is_statement(node: Node<'_>) -> bool {
    is_simple(node)
        || matches!(node.kind(), "pipeline" | "list" | "subshell" | "compound_statement")
        || node.kind().ends_with("_statement")
        || matches!(node.kind(), "negated_command" | "function_definition")
}

pub(super) fn nodes_below(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}
