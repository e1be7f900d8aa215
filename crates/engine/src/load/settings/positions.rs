//! Where each permission rule of a settings file stands, for people who look for it.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, parse_to_ast};
use troupe_core::policy::Position;

use super::document::options;

/// The lists of rules.
const LISTS: [&str; 3] = ["allow", "ask", "deny"];

/// The first place of each rule of a list. Texts that are the same are the same rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Positions(HashMap<(&'static str, String), Position>);

impl Positions {
    /// Finds them in a text. One that can't be parsed has none: somebody else reports that.
    pub(super) fn of(text: &str) -> Self {
        let mut found = HashMap::new();
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options());
        let root = parsed.ok().and_then(|parsed| parsed.value);
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let Some(Value::Object(root)) = &root else { return Self::default() };
        for permissions in objects(root, "permissions") {
            for property in &permissions.properties {
                let Some(list) = LISTS.into_iter().find(|list| *list == property.name.as_str()) else {
                    continue;
                };
                let Value::Array(items) = &property.value else { continue };
                for item in &items.elements {
                    let Value::StringLit(rule) = item else { continue };
                    found
                        .entry((list, rule.value.clone().into_owned()))
                        .or_insert_with(|| position(text, &starts, item.start()));
                }
            }
        }
        Self(found)
    }

    /// Where a rule of a list stands.
    pub(super) fn get(&self, list: &str, rule: &str) -> Option<Position> {
        let list = LISTS.into_iter().find(|known| *known == list)?;
        self.0.get(&(list, rule.to_owned())).copied()
    }
}

/// The objects under a key, which may stand more than once.
fn objects<'t, 'o>(object: &'o Object<'t>, key: &'o str) -> impl Iterator<Item = &'o Object<'t>> {
    object.properties.iter().filter(move |property| property.name.as_str() == key).filter_map(|property| {
        match &property.value {
            Value::Object(object) => Some(object),
            _ => None,
        }
    })
}

fn position(text: &str, starts: &[usize], at: usize) -> Position {
    let line = starts.partition_point(|start| *start <= at);
    let before = text.get(starts[line - 1]..at).unwrap_or_default();
    Position { line, column: before.chars().count() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: S7
    #[test]
    fn each_rule_has_its_line_and_column() {
        let text = "// é\n{\"permissions\": {\n  \"allow\": [\"Read\", // \"Edit\"\n\t\"B\\u0061sh(é)\", \"Edit\"],\n\
                    \"deny\":[3,\"Read\"]\r\n,\"other\":[\"x\"]}}";
        let found = Positions::of(text);
        let at = |list: &str, rule: &str| found.get(list, rule).map(|p| (p.line, p.column));
        assert_eq!(at("allow", "Read"), Some((3, 13)));
        assert_eq!(at("allow", "Bash(é)"), Some((4, 2)));
        assert_eq!(at("allow", "Edit"), Some((4, 18)));
        assert_eq!(at("deny", "Read"), Some((5, 11)));
        assert_eq!((at("other", "x"), at("ask", "Read")), (None, None));
        assert_eq!(Positions::of("{\"permissions\": {\"allow\": [\"Read\""), Positions::default());
    }
}
