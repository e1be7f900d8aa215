//! From a configuration to a model; which provider it is, is not asked again after this.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_core::ports::model::Model;

use crate::anthropic::{self, Anthropic};
use crate::retry::{Retry, RetryPolicy};
use crate::script::{ScriptError, ScriptModel};

/// A provider and how often it is tried again.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which provider.
    pub provider: Provider,
    /// How often and how long a failed request is tried again.
    pub retry: RetryPolicy,
}

/// Which provider, and what it needs to know.
#[derive(Clone, Debug)]
pub enum Provider {
    /// A server that speaks the Messages API.
    Anthropic(anthropic::Config),
    /// A script file.
    Script(PathBuf),
}

/// Opens a provider. Nothing is sent, and no connection made, before the first request.
///
/// # Errors
/// When a script can't be read or has a wrong line.
pub fn open(config: Config) -> Result<Arc<dyn Model>, ScriptError> {
    Ok(match config.provider {
        Provider::Anthropic(provider) => Arc::new(Retry::new(Anthropic::new(provider), config.retry)),
        Provider::Script(path) => Arc::new(Retry::new(ScriptModel::read(&path)?, config.retry)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anthropic::Auth;

    #[test]
    fn a_script_says_that_it_is_one() {
        let folder = std::env::temp_dir().join(format!("troupe-script-{}", std::process::id()));
        let opened =
            |path: PathBuf| open(Config { provider: Provider::Script(path), retry: RetryPolicy::default() });
        let error = opened(folder.join("none.script")).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("none.script")));
        assert!(std::fs::write(&folder, "agent main\nreply \"hello\"\n").is_ok());
        let scripted = opened(folder.clone()).is_ok_and(|model| model.info("opus").scripted);
        assert!(std::fs::remove_file(&folder).is_ok());
        assert!(scripted);
        let provider = Provider::Anthropic(anthropic::Config::new(anthropic::BASE_URL, Auth::None));
        let opened = open(Config { provider, retry: RetryPolicy::default() });
        assert!(opened.is_ok_and(|model| !model.info("opus").scripted));
    }
}
