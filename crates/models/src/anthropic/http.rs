//! The HTTP client: built once, at the first request, and no more of it than the address needs.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Certificate, Client, Url, redirect};
use troupe_core::ports::model::{Fault, ModelError};

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// A connection with HTTP/2 that does not answer a ping in this time is dead, and is not used again.
const PING_LIMIT: Duration = Duration::from_secs(20);

/// What is known as the sender.
const USER_AGENT: &str = concat!("troupe/", env!("CARGO_PKG_VERSION"));

/// A client that is built when it is first needed.
#[derive(Debug)]
pub(crate) struct LazyClient {
    base: Result<Url, String>,
    extra_ca: Vec<PathBuf>,
    client: OnceLock<Result<Client, String>>,
}

impl LazyClient {
    pub(crate) fn new(base: &str, extra_ca: Vec<PathBuf>) -> Self {
        Self { base: parse(base), extra_ca, client: OnceLock::new() }
    }

    /// The client and the address of one of the API's paths.
    pub(crate) fn get(&self, path: &str) -> Result<(&Client, Url), ModelError> {
        let unusable = |words: &String| ModelError::new(Fault::InvalidRequest, words.clone());
        let base = self.base.as_ref().map_err(unusable)?;
        let client =
            self.client.get_or_init(|| http_client(base, &self.extra_ca)).as_ref().map_err(unusable)?;
        let mut url = base.clone();
        url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
        Ok((client, url))
    }
}

/// The base address: without a trailing `/` or `/v1`, which some write out.
fn parse(base: &str) -> Result<Url, String> {
    let wrong = |why: String| format!("the base URL `{base}` is unusable: {why}");
    let mut url = Url::parse(base.trim()).map_err(|error| wrong(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("it must begin with http:// or https:// and name a host".to_owned()));
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Makes ring the process's cryptography, unless there is one already. Called before the first `https` request;
/// earlier by a program that uses TLS elsewhere too.
pub fn install_crypto() {
    // An error says that one is there: whoever came first stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for a server: no proxy before one of this machine, no redirects, and these files of certificates besides the
/// system's.
///
/// # Errors
/// In words, when a file of certificates can't be used.
pub fn http_client(base: &Url, extra_ca: &[PathBuf]) -> Result<Client, String> {
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_LIMIT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING_LIMIT)
        .http2_keep_alive_timeout(PING_LIMIT)
        .http2_keep_alive_while_idle(true)
        // A redirected POST would carry the key to a place that nobody chose.
        .redirect(redirect::Policy::none());
    if is_loopback(base) {
        builder = builder.no_proxy();
    }
    if base.scheme() == "https" || !is_loopback(base) {
        install_crypto();
        for path in extra_ca {
            for certificate in certificates(path)? {
                builder = builder.add_root_certificate(certificate);
            }
        }
    } else {
        builder = builder.tls_backend_preconfigured(trusts_nobody()?);
    }
    builder.build().map_err(|error| format!("the HTTP client can't be made: {}", chain(&error)))
}

/// A TLS configuration for a client that never uses TLS: reading the system's roots takes longer than a whole
/// request to a local server.
fn trusts_nobody() -> Result<rustls::ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn certificates(path: &PathBuf) -> Result<Vec<Certificate>, String> {
    let wrong = |why: String| format!("the certificates in {} can't be used: {why}", path.display());
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("there is none in PEM form".to_owned())) } else { Ok(found) }
}

/// Whether the address is this machine's own: no proxy stands before it.
fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An error and its causes: the outermost of this client says little.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn address(base: &str) -> Result<String, String> {
        let client = LazyClient::new(base, Vec::new());
        client.get("/v1/messages").map(|(_, url)| url.to_string()).map_err(|error| error.message)
    }

    #[test]
    fn the_base_is_taken_as_people_write_it() {
        for base in ["http://127.0.0.1:1", "http://127.0.0.1:1/", " http://127.0.0.1:1/v1/ "] {
            assert_eq!(address(base).unwrap(), "http://127.0.0.1:1/v1/messages");
        }
        assert_eq!(address("http://localhost/anthropic").unwrap(), "http://localhost/anthropic/v1/messages");
        assert!(address("localhost:8080").unwrap_err().contains("localhost:8080"));
        assert!(address("").unwrap_err().contains("unusable"));
    }

    #[test]
    fn loopback_is_told_from_other_hosts() {
        let is = |text: &str| is_loopback(&Url::parse(text).unwrap());
        assert!(is("http://localhost:1") && is("http://127.0.0.2") && is("http://[::1]:1"));
        assert!(!is("http://10.0.0.1") && !is("http://localhost.example.org"));
    }

    #[test]
    fn a_client_for_https_needs_no_set_up_by_the_caller() {
        assert!(address("https://api.example.org").is_ok());
    }

    #[test]
    fn certificates_that_are_none_are_named() {
        let client = LazyClient::new("https://api.example.org", vec!["no/such.pem".into()]);
        assert!(client.get("/x").unwrap_err().message.contains("no/such.pem"));
    }
}
