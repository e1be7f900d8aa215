//! Ceilings on the fields of the structs that attract fields.

use super::finding::Finding;
use crate::project::Project;
use crate::tree::{Source, Tree};

/// A struct, the folder that holds it, and how many fields it may have.
struct Ceiling {
    name: &'static str,
    folder: &'static str,
    fields: usize,
}

const CEILINGS: &[Ceiling] = &[Ceiling { name: "ToolCx", folder: "crates/core/src/", fields: 7 }];

pub(crate) fn check(tree: &Tree, _project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ceiling in CEILINGS {
        let mut places = tree.rust().filter(|source| source.path.starts_with(ceiling.folder)).peekable();
        let found = places.find_map(|source| Some((source, find(source, ceiling.name)?)));
        let Some((source, (line, body))) = found else {
            let what = format!("there is no struct {}", ceiling.name);
            let right = "a struct that was renamed takes its ceiling along (xtask/src/tidy/fields.rs)";
            findings.push(Finding::error(ceiling.folder, 1, what, right));
            continue;
        };
        let fields = count(body);
        if fields > ceiling.fields {
            let what = format!("{} has {fields} fields", ceiling.name);
            let right = format!("it may have {}; a tool that needs more asks the supervisor", ceiling.fields);
            findings.push(Finding::error(&source.path, line, what, right));
        }
    }
    findings
}

/// The line and the text between the braces of a struct.
fn find<'a>(source: &'a Source, name: &str) -> Option<(usize, &'a str)> {
    let word = format!("struct {name}");
    let at = source.text.match_indices(&word).find_map(|(at, _)| {
        let rest = &source.text[at + word.len()..];
        let whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let open = rest.find('{')?;
        (whole && !rest[..open].contains(';')).then_some((at, at + word.len() + open + 1))
    })?;
    let (start, body) = at;
    Some((source.text[..start].lines().count().max(1), &source.text[body..]))
}

/// Counts `name: Type` at the top level of a body that its closing brace ends.
fn count(body: &str) -> usize {
    let mut depth = 0_usize;
    let mut fields = 0;
    let mut named = false;
    for line in body.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let mut chars = code.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                // `->` closes nothing.
                '-' if chars.peek() == Some(&'>') => {
                    chars.next();
                }
                '}' if depth == 0 => return fields,
                '(' | '[' | '{' | '<' => depth += 1,
                ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
                ':' if chars.peek() == Some(&':') => {
                    chars.next();
                }
                ':' if depth == 0 && !named => {
                    named = true;
                    fields += 1;
                }
                ',' if depth == 0 => named = false,
                _ => {}
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> Vec<Finding> {
        check(&Tree::sample(&[("crates/core/src/ports/tool.rs", text)]), &Project::sample(&[]))
    }

    #[test]
    fn counts_fields_and_nothing_else() {
        let body = "
            /// Who: the agent.
            #[serde(rename = \"x\")]
            pub me: crate::ids::AgentId, pub cwd: PathBuf, // a: b
            pub(crate) call: Box<dyn Fn(&str, u8) -> Result<(), Error>>,
            pub map: BTreeMap<String, Vec<(u8, u8)>>,
        }
        impl X { fn y(a: u8) {} }";
        assert_eq!(count(body), 4);
    }

    #[test]
    fn one_field_too_many_is_found() {
        let fields = |n: usize| "    pub f: u8,\n".repeat(n);
        let text = |n| format!("//! Tool.\n/// See ToolCx.\npub struct ToolCx {{\n{}}}\n", fields(n));
        assert!(check_text(&text(7)).is_empty());
        let found = check_text(&text(8));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains('8'), "{}", found[0]);
    }

    #[test]
    fn a_struct_that_went_away_is_found() {
        assert_eq!(check_text("//! Tool.\npub struct ToolCxKind {\n}\n").len(), 1);
    }
}
