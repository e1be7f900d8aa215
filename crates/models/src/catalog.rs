//! Table: the models that are known by name, as of 2026-11-30. Not a list of those that may be used: any
//! other id is sent as it is, with careful guesses in place of facts.
//!
//! Context windows are those without a beta header. Prices are first-party list prices in US dollars per
//! million tokens, where they are known for certain; the cache's are fixed multiples of the input's: 1.25 to
//! write (5 minutes), 0.1 to read.

use serde_json::json;
use troupe_core::alias::FOLLOWS_MODE;
use troupe_core::def::Effort;
use troupe_core::ports::model::ModelInfo;
use troupe_core::usage::Price;

/// The model where none is chosen.
pub const DEFAULT_MODEL: &str = "claude-opus-4-8";

/// Tokens of a context window that is not known.
const CONTEXT: u64 = 200_000;
/// Tokens of a reply where the limit is not known: what every model of the last years can give.
const OUTPUT: u32 = 32_000;

/// What a name that people use stands for.
const ALIASES: &[(&str, &str)] = &[
    ("opus", "claude-opus-4-8"),
    ("sonnet", "claude-sonnet-5"),
    ("haiku", "claude-haiku-4-5"),
    ("fable", "claude-fable-5"),
    ("best", "claude-opus-4-8"),
    ("balanced", "claude-sonnet-5"),
    ("fast", "claude-haiku-4-5"),
];

/// Whether a family thinks unless it is asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinking {
    /// Not in this form, or not to be chosen for it: nothing is sent.
    Unasked,
    /// When `thinking: {type: adaptive}` asks for it.
    Adaptive,
}

struct Known {
    /// The id, or the prefix of dated ones.
    id: &'static str,
    output: u32,
    /// Input and output.
    price: Option<(f64, f64)>,
    thinking: Thinking,
    efforts: &'static [Effort],
}

/// Fewest tokens of a prefix that the caches of all these models keep.
const CACHE_LEAST: u64 = 4_096;

const fn known(
    id: &'static str,
    output: u32,
    price: Option<(f64, f64)>,
    thinking: Thinking,
    efforts: &'static [Effort],
) -> Known {
    Known { id, output, price, thinking, efforts }
}

/// No level of effort can be asked for.
const NONE: &[Effort] = &[];
/// Those of the first models that knew any.
const THREE: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High];
/// The same, and all that it can.
const FOUR: &[Effort] = &[Effort::Low, Effort::Medium, Effort::High, Effort::Max];
const FIVE: &[Effort] = &Effort::ALL;

const MODELS: &[Known] = &[
    known("claude-opus-5", 64_000, None, Thinking::Unasked, FIVE),
    known("claude-fable-5", 64_000, None, Thinking::Unasked, FIVE),
    known("claude-mythos-5", 64_000, None, Thinking::Unasked, FIVE),
    known("claude-sonnet-5", 64_000, None, Thinking::Unasked, FIVE),
    known("claude-opus-4-8", 64_000, None, Thinking::Adaptive, FIVE),
    known("claude-opus-4-7", 64_000, None, Thinking::Adaptive, FIVE),
    known("claude-opus-4-6", 64_000, Some((5.0, 25.0)), Thinking::Adaptive, FOUR),
    known("claude-sonnet-4-6", 64_000, Some((3.0, 15.0)), Thinking::Adaptive, FOUR),
    known("claude-opus-4-5", 64_000, Some((5.0, 25.0)), Thinking::Unasked, THREE),
    known("claude-sonnet-4-5", 64_000, Some((3.0, 15.0)), Thinking::Unasked, NONE),
    known("claude-haiku-4-5", 64_000, Some((1.0, 5.0)), Thinking::Unasked, NONE),
    known("claude-opus-4-1", 32_000, Some((15.0, 75.0)), Thinking::Unasked, NONE),
];

/// The id that a name stands for; a name that is no alias is an id.
pub fn resolve(name: &str) -> &str {
    let name = name.trim();
    ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)).map_or(name, |(_, id)| id)
}

/// The names that stand for another.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALIASES.iter().copied()
}

/// What is known of a model, by alias, id or dated id.
pub fn info(name: &str) -> ModelInfo {
    let id = resolve(name);
    let model = MODELS.iter().find(|model| is_of(id, model.id));
    let price = model.and_then(|model| model.price).map(|(input, output)| Price {
        input,
        output,
        cache_write: input * 1.25,
        cache_read: input * 0.1,
    });
    let adaptive = model.is_some_and(|model| model.thinking == Thinking::Adaptive);
    ModelInfo {
        id: id.to_owned(),
        context_window: CONTEXT,
        max_output: model.map_or(OUTPUT, |model| model.output),
        cache_least: model.map(|_| CACHE_LEAST),
        price,
        scripted: false,
        extra: if adaptive { vec![("thinking".to_owned(), json!({"type":"adaptive"}))] } else { Vec::new() },
        efforts: model
            .map_or(NONE, |model| model.efforts)
            .iter()
            .map(|effort| (*effort, field(*effort)))
            .collect(),
    }
}

/// The field of a request that asks for a level of effort.
pub(crate) fn field(effort: Effort) -> (String, serde_json::Value) {
    ("output_config".to_owned(), json!({"effort": effort.as_str()}))
}

/// Whether people use the name for another.
pub(crate) fn is_alias(name: &str) -> bool {
    let name = name.trim();
    name.eq_ignore_ascii_case(FOLLOWS_MODE)
        || ALIASES.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(name))
}

/// Whether something is known of the model of this name.
pub(crate) fn is_known(name: &str) -> bool {
    let id = resolve(name);
    is_alias(name) || MODELS.iter().any(|model| is_of(id, model.id))
}

/// Whether `id` is the model or one of its dated forms (`-20251001`, `-latest`); a further number
/// (`claude-opus-4-10`) is another model.
fn is_of(id: &str, model: &str) -> bool {
    let Some(rest) = id.strip_prefix(model) else { return false };
    let dated = |rest: &str| rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_digit());
    match rest.strip_prefix('-').or_else(|| rest.strip_prefix('@')) {
        Some(rest) => rest == "latest" || dated(rest),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: C2
    #[test]
    fn each_alias_names_a_known_model() {
        for (alias, id) in aliases() {
            assert_eq!(resolve(alias), id);
            assert!(MODELS.iter().any(|model| model.id == id), "{id}");
        }
        assert_eq!(info(" Opus ").id, info(DEFAULT_MODEL).id);
        assert_eq!(resolve("qwen3:8b"), "qwen3:8b");
    }

    #[test]
    fn a_dated_id_keeps_its_date_and_has_the_facts_of_its_family() {
        let dated = info("claude-haiku-4-5-20251001");
        assert_eq!(dated.id, "claude-haiku-4-5-20251001");
        assert_eq!(dated.price, info("haiku").price);
        assert!(dated.price.is_some());
        assert_eq!(info("claude-opus-4-10").price, None);
    }

    #[test]
    fn only_families_that_need_to_be_asked_are_asked_to_think() {
        let asks = |name: &str| info(name).extra == [("thinking".to_owned(), json!({"type":"adaptive"}))];
        for name in ["claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-7", "claude-opus-4-8-20260801"] {
            assert!(asks(name), "{name}");
        }
        for name in ["claude-opus-4-5", "claude-haiku-4-5", "claude-sonnet-5", "llama", "claude-opus-4-61"] {
            assert!(info(name).extra.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_model_has_the_levels_of_effort_of_its_family() {
        let levels = |name: &str| {
            info(name).efforts.iter().map(|(effort, _)| effort.as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(levels("opus"), "low medium high xhigh max");
        assert_eq!(levels("claude-sonnet-4-6"), "low medium high max");
        assert_eq!(levels("claude-opus-4-5-20251101"), "low medium high");
        assert_eq!(levels("haiku"), "");
        assert_eq!(levels("qwen3:8b"), "");
        assert_eq!(field(Effort::Xhigh), ("output_config".into(), json!({"effort": "xhigh"})));
    }

    #[test]
    fn the_cache_has_its_multiples() {
        let price = info("claude-sonnet-4-6").price;
        assert!(
            price.is_some_and(|p| (p.cache_write - 3.75).abs() < 1e-9 && (p.cache_read - 0.3).abs() < 1e-9)
        );
    }
}
