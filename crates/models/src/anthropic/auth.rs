//! What a request proves itself with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use troupe_core::BoxFuture;
use troupe_core::ports::model::{Fault, ModelError};

/// Gives a key, or words on why it can't.
pub type KeyHelper = Arc<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// How long a helper's key is used before it is asked again.
pub const HELPER_TTL: Duration = Duration::from_mins(5);
/// How long a helper may take.
const HELPER_LIMIT: Duration = Duration::from_mins(1);

/// Where the credential comes from.
#[derive(Clone)]
pub enum Auth {
    /// A key, sent as `x-api-key`.
    Key(String),
    /// A token, sent as `authorization: Bearer`.
    Token(String),
    /// A program's key (`apiKeyHelper`): kept for `ttl`, asked for again after a 401. Sent both ways, since a
    /// helper may stand in front of a gateway that knows only one of them.
    Helper {
        /// Asks for it.
        run: KeyHelper,
        /// How long one answer is used.
        ttl: Duration,
    },
    /// Nothing: a local server.
    None,
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(…)",
            Self::Token(_) => "Token(…)",
            Self::Helper { .. } => "Helper(…)",
            Self::None => "None",
        })
    }
}

/// An [`Auth`] with what its helper said last.
#[derive(Debug)]
pub(super) struct Credentials {
    auth: Auth,
    /// Held while the helper runs: one run serves all who wait.
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    key: HeaderValue,
    until: Instant,
}

/// The headers of one request.
pub(super) type Proof = Vec<(HeaderName, HeaderValue)>;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

impl Credentials {
    pub(super) fn new(auth: Auth) -> Self {
        Self { auth, kept: Mutex::new(None) }
    }

    pub(super) async fn headers(&self) -> Result<Proof, ModelError> {
        Ok(match &self.auth {
            Auth::Key(key) => vec![(API_KEY, header(key.trim())?)],
            Auth::Token(token) => vec![(AUTHORIZATION, header(&format!("Bearer {}", token.trim()))?)],
            Auth::Helper { run, ttl } => {
                let mut kept = self.kept.lock().await;
                let key = match &*kept {
                    Some(kept) if Instant::now() < kept.until => kept.key.clone(),
                    _ => {
                        let key = ask(run).await?;
                        *kept = Some(Kept { key: key.clone(), until: Instant::now() + *ttl });
                        key
                    }
                };
                let bearer = header(&format!("Bearer {}", key.to_str().unwrap_or_default()))?;
                vec![(API_KEY, key), (AUTHORIZATION, bearer)]
            }
            Auth::None => Vec::new(),
        })
    }

    /// Drops the helper's key that `proof` was made of, after a 401. True when another try may use a new one.
    pub(super) async fn forget(&self, proof: &Proof) -> bool {
        if !matches!(self.auth, Auth::Helper { .. }) {
            return false;
        }
        let mut kept = self.kept.lock().await;
        // Another agent may have brought a newer key meanwhile.
        if kept.as_ref().is_some_and(|kept| proof.iter().any(|(_, value)| *value == kept.key)) {
            *kept = None;
        }
        true
    }
}

async fn ask(run: &KeyHelper) -> Result<HeaderValue, ModelError> {
    let refused =
        |words: String| ModelError::new(Fault::Authentication, format!("the key helper failed: {words}"));
    let key = match timeout(HELPER_LIMIT, run()).await {
        Ok(answer) => answer.map_err(refused)?,
        Err(_) => return Err(refused(format!("no answer in {} s", HELPER_LIMIT.as_secs()))),
    };
    if key.trim().is_empty() {
        return Err(refused("it gave no key".to_owned()));
    }
    header(key.trim())
}

fn header(text: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| ModelError {
        should_retry: Some(false),
        ..ModelError::new(
            Fault::Authentication,
            "the key or token holds characters that a header can't carry",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn counting() -> Credentials {
        let runs = Arc::new(AtomicU32::new(0));
        let run: KeyHelper = Arc::new(move || {
            let run = runs.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move { Ok(format!("key-{run}\n")) })
        });
        Credentials::new(Auth::Helper { run, ttl: HELPER_TTL })
    }

    // proves: E6
    #[tokio::test(start_paused = true)]
    async fn a_helper_is_asked_again_after_its_time_or_a_401() {
        let credentials = counting();
        let first = credentials.headers().await.unwrap();
        assert_eq!(first[0].1, "key-0");
        assert_eq!(first[1].1, "Bearer key-0");
        tokio::time::advance(HELPER_TTL / 2).await;
        assert_eq!(credentials.headers().await.unwrap()[0].1, "key-0");
        tokio::time::advance(HELPER_TTL).await;
        let second = credentials.headers().await.unwrap();
        assert_eq!(second[0].1, "key-1");
        assert!(credentials.forget(&first).await);
        assert_eq!(credentials.headers().await.unwrap()[0].1, "key-1", "a newer key stays");
        assert!(credentials.forget(&second).await);
        assert_eq!(credentials.headers().await.unwrap()[0].1, "key-2");
    }

    // proves: X2
    #[tokio::test(start_paused = true)]
    async fn a_helper_that_hangs_is_given_up() {
        let run: KeyHelper = Arc::new(|| Box::pin(std::future::pending()));
        let error = Credentials::new(Auth::Helper { run, ttl: HELPER_TTL }).headers().await.unwrap_err();
        assert_eq!(error.fault, Fault::Authentication);
        assert!(error.message.contains("no answer in 60 s"), "{error}");
    }

    #[tokio::test]
    async fn a_key_that_no_header_can_carry_is_an_error() {
        let error = Credentials::new(Auth::Key("a\nb".into())).headers().await.unwrap_err();
        assert_eq!(error.fault, Fault::Authentication);
        assert_eq!(format!("{:?}", Auth::Key("secret".into())), "Key(…)");
        assert!(!Credentials::new(Auth::None).forget(&Vec::new()).await);
    }
}
