//! Names of the person's own for models, in front of those that the provider knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_core::ports::model::{Delta, Model, ModelError, ModelInfo, Request, UnknownModel};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};

/// A model that goes by further names.
pub struct Aliased {
    model: Arc<dyn Model>,
    /// In lower case.
    names: BTreeMap<String, String>,
}

impl Aliased {
    /// Gives a model these names, case ignored; each stands for a name that the provider knows.
    pub fn new(model: Arc<dyn Model>, names: impl IntoIterator<Item = (String, String)>) -> Self {
        let names = names.into_iter().map(|(name, id)| (name.to_lowercase(), id)).collect();
        Self { model, names }
    }

    fn meant<'n>(&'n self, name: &'n str) -> &'n str {
        self.names.get(&name.trim().to_lowercase()).map_or(name, String::as_str)
    }
}

impl Model for Aliased {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.model.stream(request, cancel)
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        self.model.count(request)
    }

    fn info(&self, name: &str) -> ModelInfo {
        self.model.info(self.meant(name))
    }

    /// A name of the person's own is taken at their word.
    fn choose<'a>(&'a self, name: &'a str, beside: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        if self.names.contains_key(&name.trim().to_lowercase()) {
            return Box::pin(std::future::ready(Ok(name.to_owned())));
        }
        let in_use = self.meant(beside);
        Box::pin(async move {
            let chosen = self.model.choose(name, in_use).await?;
            Ok(if chosen == in_use { beside.to_owned() } else { chosen })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anthropic::{Anthropic, Auth, BASE_URL, Config};

    fn named(base: &str) -> Aliased {
        let model = Anthropic::new(Config::new(base, Auth::None));
        Aliased::new(Arc::new(model), [("Small".to_owned(), "qwen3:8b".to_owned())])
    }

    // proves: C2
    #[tokio::test]
    async fn a_name_of_the_persons_goes_before_the_providers() {
        let model = named(BASE_URL);
        assert_eq!(model.info("small").id, "qwen3:8b");
        assert_eq!(model.info("opus").id, crate::catalog::resolve("opus"));
        assert_eq!(model.choose("SMALL", "opus").await, Ok("SMALL".to_owned()));
    }

    // proves: C2
    #[tokio::test]
    async fn an_alias_means_the_model_in_use_where_the_server_has_none_of_that_name() {
        // Nothing listens there: an alias needs no question.
        let local = named("http://127.0.0.1:9");
        for alias in ["haiku", "Best", "opusplan", "fable"] {
            assert_eq!(local.choose(alias, "qwen3:8b").await, Ok("qwen3:8b".to_owned()));
            assert_eq!(local.choose(alias, "small").await, Ok("small".to_owned()), "as it was named");
            // It serves the ecosystem's models.
            assert_eq!(local.choose(alias, "claude-opus-4-8").await, Ok(alias.to_owned()));
            assert_eq!(named(BASE_URL).choose(alias, "claude-new-9").await, Ok(alias.to_owned()));
        }
    }
}
