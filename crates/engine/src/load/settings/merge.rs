//! Layers put over one another: objects by key, lists one after the other, anything else by the stronger. Each
//! value keeps where it came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::layer::{Layer, Origin};

/// A value of settings, merged from any number of layers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    body: Body,
    /// Whether it hides what is below, instead of joining it.
    seals: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    Object(BTreeMap<String, Node>),
    Array(Vec<(Value, Arc<Origin>)>),
    Scalar(Value, Arc<Origin>),
}

/// Lists of which the strongest layer's counts alone.
const WHOLE: &[&str] = &["fallbackModel"];
/// Lists of which the organisation's, if there is one, counts alone.
const WHOLE_IF_MANAGED: &[&str] = &["availableModels"];

impl Node {
    /// Nothing: changes nothing when merged.
    pub(super) fn empty() -> Self {
        Self { body: Body::Object(BTreeMap::new()), seals: false }
    }

    /// The settings of one document.
    pub(super) fn of(object: Map<String, Value>, origin: &Arc<Origin>) -> Self {
        let fields = object.into_iter().map(|(key, value)| {
            let whole = WHOLE.contains(&key.as_str())
                || (origin.layer == Layer::Managed && WHOLE_IF_MANAGED.contains(&key.as_str()));
            let mut node = Self::of_value(value, origin);
            node.seals |= whole;
            (key, node)
        });
        Self { body: Body::Object(fields.collect()), seals: false }
    }

    fn of_value(value: Value, origin: &Arc<Origin>) -> Self {
        let body = match value {
            Value::Object(object) => Body::Object(
                object.into_iter().map(|(key, value)| (key, Self::of_value(value, origin))).collect(),
            ),
            Value::Array(items) => {
                Body::Array(items.into_iter().map(|item| (item, Arc::clone(origin))).collect())
            }
            scalar => Body::Scalar(scalar, Arc::clone(origin)),
        };
        Self { body, seals: false }
    }

    /// Puts `higher` over this. Associative: what a value hid once stays hidden, also under layers that would
    /// have joined it.
    #[must_use]
    pub(super) fn under(self, higher: Self) -> Self {
        if higher.seals {
            return higher;
        }
        match (self.body, higher.body) {
            (Body::Object(mut lower), Body::Object(fields)) => {
                for (key, field) in fields {
                    let merged = match lower.remove(&key) {
                        Some(below) => below.under(field),
                        None => field,
                    };
                    lower.insert(key, merged);
                }
                Self { body: Body::Object(lower), seals: self.seals }
            }
            (Body::Array(mut lower), Body::Array(items)) => {
                lower.extend(items);
                Self { body: Body::Array(lower), seals: self.seals }
            }
            (_, body) => Self { body, seals: true },
        }
    }

    /// The value below a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| match &node.body {
            Body::Object(fields) => fields.get(*key),
            Body::Array(_) | Body::Scalar(..) => None,
        })
    }

    /// A value that is neither an object nor a list.
    pub(super) fn scalar(&self) -> Option<(&Value, &Arc<Origin>)> {
        match &self.body {
            Body::Scalar(value, origin) => Some((value, origin)),
            Body::Object(_) | Body::Array(_) => None,
        }
    }

    /// The items of a list, the weakest layer's first; nothing if it is none.
    pub(super) fn items(&self) -> &[(Value, Arc<Origin>)] {
        match &self.body {
            Body::Array(items) => items,
            Body::Object(_) | Body::Scalar(..) => &[],
        }
    }

    /// The fields of an object; nothing if it is none.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &Self)> {
        let fields = match &self.body {
            Body::Object(fields) => Some(fields),
            Body::Array(_) | Body::Scalar(..) => None,
        };
        fields.into_iter().flatten().map(|(key, node)| (key.as_str(), node))
    }

    /// The plain value, origins left out.
    pub(super) fn value(&self) -> Value {
        match &self.body {
            Body::Object(fields) => {
                Value::Object(fields.iter().map(|(key, node)| (key.clone(), node.value())).collect())
            }
            Body::Array(items) => Value::Array(items.iter().map(|(item, _)| item.clone()).collect()),
            Body::Scalar(value, _) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::layer::Source;
    use super::*;

    const LAYERS: [Layer; 4] = [Layer::User, Layer::Project, Layer::CommandLine, Layer::Managed];

    fn node(layer: Layer, value: Value) -> Node {
        let origin = Arc::new(Origin { layer, source: Source::Flag, base: "/".into() });
        match value {
            Value::Object(object) => Node::of(object, &origin),
            _ => Node::empty(),
        }
    }

    fn merged(values: &[(Layer, Value)]) -> Node {
        values.iter().fold(Node::empty(), |below, (layer, value)| below.under(node(*layer, value.clone())))
    }

    #[test]
    fn each_kind_merges_in_its_way() {
        let all = merged(&[
            (
                Layer::User,
                json!({"s": 1, "l": [1], "o": {"a": 1, "b": 1}, "fallbackModel": ["x"], "availableModels": ["x"]}),
            ),
            (
                Layer::Project,
                json!({"s": 2, "l": [2], "o": {"b": 2}, "fallbackModel": ["y"], "availableModels": ["y"]}),
            ),
        ]);
        let expected = json!({
            "s": 2, "l": [1, 2], "o": {"a": 1, "b": 2}, "fallbackModel": ["y"], "availableModels": ["x", "y"],
        });
        assert_eq!(all.value(), expected);
        assert_eq!(
            all.at(&["o", "a"]).and_then(Node::scalar).map(|(_, origin)| origin.layer),
            Some(Layer::User)
        );
        assert_eq!(
            all.at(&["o", "b"]).and_then(Node::scalar).map(|(_, origin)| origin.layer),
            Some(Layer::Project)
        );
        let layers: Vec<Layer> =
            all.at(&["l"]).map(Node::items).into_iter().flatten().map(|(_, origin)| origin.layer).collect();
        assert_eq!(layers, [Layer::User, Layer::Project]);
        let managed = all.under(node(Layer::Managed, json!({"availableModels": ["m"]})));
        assert_eq!(managed.at(&["availableModels"]).map(Node::value), Some(json!(["m"])));
    }

    /// Few keys, mostly there, and little depth, so that all kinds of values meet at each key.
    fn any_object() -> impl Strategy<Value = Value> {
        let leaf = || {
            prop_oneof![
                Just(json!(null)),
                (0..3).prop_map(|n| json!(n)),
                (0..3).prop_map(|n| json!([n])),
                Just(json!({})),
                Just(json!({"x": 1})),
                Just(json!({"y": 2})),
            ]
        };
        let field = || prop::option::weighted(0.8, leaf());
        let fields = (field(), field(), prop::option::of((field(), field())), field());
        fields.prop_map(|(a, b, inner, list)| {
            let inner = inner.map(|(c, d)| json!({"c": c, "d": d}));
            let all = [("a", a), ("fallbackModel", b), ("b", inner), ("availableModels", list)];
            all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
        })
    }

    fn any_node() -> impl Strategy<Value = Node> {
        ((0..LAYERS.len()), any_object()).prop_map(|(layer, value)| node(LAYERS[layer], value))
    }

    #[test]
    fn what_a_value_of_another_kind_hid_stays_hidden() {
        let [low, middle, high] = [json!({"a": {"x": 1}}), json!({"a": 1}), json!({"a": {"y": 2}})]
            .map(|value| node(Layer::User, value));
        let left = low.clone().under(middle.clone()).under(high.clone());
        let right = low.under(middle.under(high));
        assert_eq!(left, right);
        assert_eq!(left.value(), json!({"a": {"y": 2}}));
    }

    proptest! {
        #[test]
        fn merging_is_associative(a in any_node(), b in any_node(), c in any_node()) {
            let left = a.clone().under(b.clone()).under(c.clone());
            let right = a.under(b.under(c));
            prop_assert_eq!(left, right);
        }

        #[test]
        fn nothing_is_neutral(a in any_node()) {
            prop_assert_eq!(Node::empty().under(a.clone()), a.clone());
            prop_assert_eq!(a.clone().under(Node::empty()), a);
        }
    }
}
