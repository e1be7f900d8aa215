//! One request to a collector: OTLP over HTTP, as JSON.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use troupe_engine::export::LogLine;
use troupe_models::http_client;

use super::{Destination, body};

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A collector.
pub(super) struct Collector {
    to: Destination,
    /// Built at the first request, as most runs have none.
    client: OnceLock<Result<Client, String>>,
}

/// Why lines did not get through.
pub(super) struct Unsent {
    /// For people. It has no more of the address than its host, for the rest may hold a key.
    pub(super) what: String,
    /// Whether a later try may do better.
    pub(super) again: bool,
}

impl Collector {
    pub(super) fn new(to: Destination) -> Self {
        Self { to, client: OnceLock::new() }
    }

    /// Sends lines, once.
    pub(super) async fn send(&self, lines: &[LogLine]) -> Result<(), Unsent> {
        let Destination { url, headers, resource, extra_ca } = &self.to;
        let client = self.client.get_or_init(|| http_client(url, extra_ca)).as_ref();
        let client = client.map_err(|what| Unsent { what: what.clone(), again: false })?;
        let request = client.post(url.clone()).headers(headers.clone()).timeout(LIMIT);
        let host = url.origin().ascii_serialization();
        match request.body(body::logs(resource, lines).to_string()).send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => {
                let status = answer.status();
                let what = format!("the collector at {host} answers with status {}", status.as_u16());
                Err(Unsent { what, again: is_passing(status) })
            }
            Err(error) => {
                let why = if error.is_connect() { "can't be reached" } else { "does not answer" };
                Err(Unsent { what: format!("the collector at {host} {why}"), again: true })
            }
        }
    }
}

/// The answers that the protocol lets a sender try again after.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}
