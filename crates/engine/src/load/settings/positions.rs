//! Where each permission rule and each key of a settings file stands, for people who look for it.

use std::collections::HashMap;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, parse_to_ast};
use troupe_core::policy::Position;

use super::document::options;

/// The lists of rules.
const LISTS: [&str; 3] = ["allow", "ask", "deny"];

/// Objects in objects that are looked into: no setting that is looked up nests deeper.
const DEEP: usize = 4;

/// The first place of each rule of a list (texts that are the same are the same rule), and the last of each key,
/// which is the one that holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Positions {
    rules: HashMap<(&'static str, String), Position>,
    keys: HashMap<Vec<String>, Position>,
}

impl Positions {
    /// Finds them in a text. One that can't be parsed has none: somebody else reports that.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        let parsed = parse_to_ast(text, &CollectOptions::default(), &options());
        let root = parsed.ok().and_then(|parsed| parsed.value);
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let Some(Value::Object(root)) = &root else { return Self::default() };
        found.keys_of(root, &mut Vec::new(), &|at| position(text, &starts, at));
        for permissions in objects(root, "permissions") {
            for property in &permissions.properties {
                let Some(list) = LISTS.into_iter().find(|list| *list == property.name.as_str()) else {
                    continue;
                };
                let Value::Array(items) = &property.value else { continue };
                for item in &items.elements {
                    let Value::StringLit(rule) = item else { continue };
                    found
                        .rules
                        .entry((list, rule.value.clone().into_owned()))
                        .or_insert_with(|| position(text, &starts, item.start()));
                }
            }
        }
        found
    }

    fn keys_of(&mut self, object: &Object<'_>, path: &mut Vec<String>, position: &dyn Fn(usize) -> Position) {
        for property in &object.properties {
            path.push(property.name.as_str().to_owned());
            self.keys.insert(path.clone(), position(property.start()));
            if let Value::Object(below) = &property.value
                && path.len() < DEEP
            {
                self.keys_of(below, path, position);
            }
            path.pop();
        }
    }

    /// Where a key stands.
    pub(super) fn key(&self, path: &[&str]) -> Option<Position> {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        self.keys.get(&path).copied()
    }

    /// Where a rule of a list stands.
    pub(super) fn get(&self, list: &str, rule: &str) -> Option<Position> {
        let list = LISTS.into_iter().find(|known| *known == list)?;
        self.rules.get(&(list, rule.to_owned())).copied()
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

    #[test]
    fn each_key_has_the_place_where_it_holds() {
        let found = Positions::of("{\"a\": 1,\n \"env\": {\"X\": \"1\",\n  \"Y\": \"2\"},\n \"a\": 2}");
        let at = |path: &[&str]| found.key(path).map(|p| (p.line, p.column));
        assert_eq!(at(&["a"]), Some((4, 2)));
        assert_eq!(at(&["env", "Y"]), Some((3, 3)));
        assert_eq!(at(&["env", "Z"]), None);
    }
}
