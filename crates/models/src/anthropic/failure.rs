//! Answers that are failures, in the provider's own words.

use std::time::Duration;

use http::header::{DATE, HeaderMap, LOCATION, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use serde_json::Value;
use troupe_core::ports::model::{Fault, ModelError};

/// Words in an error that say the request is longer than the context window; servers differ, and none
/// gives it a type of its own.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "exceed context limit",
    "exceeds the context",
    "exceed the context",
    "exceed_context_size",
    "context length",
    "context window",
    "context_length_exceeded",
    "maximum context",
];

/// Words that say it is about money: waiting does not help.
const MONEY: &[&str] = &["billing", "quota", "spend", "credit balance"];

/// Most characters of a body that is not the API's own error.
const EXCERPT: usize = 300;

/// What an answer with an error status says.
pub(crate) fn of_answer(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let said = Said::parse(body);
    let message = said.message.unwrap_or_else(|| match (headers.get(LOCATION), excerpt(body)) {
        (Some(to), _) if status.is_redirection() => {
            format!("the server answers {status} and points to {}", String::from_utf8_lossy(to.as_bytes()))
        }
        (_, Some(text)) => format!("the server answers {status}: {text}"),
        _ => format!("the server answers {status}"),
    });
    ModelError {
        fault: fault_of_status(status, &said.kind, &message),
        status: Some(status.as_u16()),
        message,
        request_id: text_of(headers, &HeaderName::from_static("request-id")).or(said.request_id),
        retry_after: retry_after(headers, jiff::Timestamp::now()),
        should_retry: match headers.get("x-should-retry").map(http::HeaderValue::as_bytes) {
            Some(b"true") => Some(true),
            Some(b"false") => Some(false),
            _ => None,
        },
    }
}

/// What an error in the middle of a stream, or in a body of status 200, says.
pub(super) fn of_error(error: &Value) -> ModelError {
    let said = Said::of(error);
    let message = said.message.unwrap_or_else(|| format!("the provider reports an error: {error}"));
    ModelError {
        request_id: said.request_id,
        ..ModelError::new(fault_of_kind(&said.kind, &message), message)
    }
}

/// The first characters of a body, on one line; none when it is blank.
pub(super) fn excerpt(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT)]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(EXCERPT).collect();
    (!line.is_empty()).then_some(line)
}

#[derive(Default)]
struct Said {
    kind: String,
    message: Option<String>,
    request_id: Option<String>,
}

impl Said {
    fn parse(body: &[u8]) -> Self {
        serde_json::from_slice::<Value>(body).map(|value| Self::of(&value)).unwrap_or_default()
    }

    /// Takes `{"error":{"type","message"}}` and what stands in for it elsewhere: the inner object alone, a
    /// string in its place, a `code` for a `type`.
    fn of(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        let code = error.pointer("/details/error_code").and_then(Value::as_str);
        let kind = [text("type"), text("code"), code.map(str::to_owned)];
        Self {
            kind: kind.into_iter().flatten().collect::<Vec<_>>().join(" "),
            message: text("message")
                .or_else(|| error.as_str().map(str::to_owned))
                .filter(|text| !text.is_empty()),
            request_id: value.get("request_id").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

fn fault_of_status(status: StatusCode, kind: &str, message: &str) -> Fault {
    match status.as_u16() {
        400 | 422 if is_money(kind, message) => Fault::Billing,
        400 | 413 | 422 if is_too_long(kind, message) => Fault::PromptTooLong,
        401 => Fault::Authentication,
        402 => Fault::Billing,
        403 => Fault::Permission,
        404 => Fault::NotFound,
        408 | 504 => Fault::Timeout,
        // A conflict passes by itself.
        409 => Fault::Server,
        413 => Fault::TooLarge,
        429 if is_money(kind, message) => Fault::Billing,
        429 => Fault::RateLimit,
        529 => Fault::Overloaded,
        _ if kind.contains("overloaded_error") => Fault::Overloaded,
        500.. => Fault::Server,
        _ => Fault::InvalidRequest,
    }
}

fn fault_of_kind(kind: &str, message: &str) -> Fault {
    match kind.split(' ').next().unwrap_or_default() {
        "invalid_request_error" if is_too_long(kind, message) => Fault::PromptTooLong,
        "invalid_request_error" => Fault::InvalidRequest,
        "authentication_error" => Fault::Authentication,
        "billing_error" => Fault::Billing,
        "permission_error" => Fault::Permission,
        "not_found_error" => Fault::NotFound,
        "request_too_large" => Fault::TooLarge,
        "rate_limit_error" if is_money(kind, message) => Fault::Billing,
        "rate_limit_error" => Fault::RateLimit,
        "overloaded_error" => Fault::Overloaded,
        "timeout_error" => Fault::Timeout,
        _ => Fault::Server,
    }
}

fn is_too_long(kind: &str, message: &str) -> bool {
    names(TOO_LONG, kind, message)
}

fn is_money(kind: &str, message: &str) -> bool {
    names(MONEY, kind, message)
}

fn names(words: &[&str], kind: &str, message: &str) -> bool {
    let (kind, message) = (kind.to_lowercase(), message.to_lowercase());
    words.iter().any(|word| kind.contains(word) || message.contains(word))
}

/// `retry-after-ms`, else `retry-after` in seconds (with a fraction) or as an HTTP date. A date is measured
/// against the answer's own `date` where it has one: the clocks may differ.
fn retry_after(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Duration> {
    let number = |name: &HeaderName, unit: f64| {
        let amount: f64 = text_of(headers, name)?.trim().parse().ok()?;
        Duration::try_from_secs_f64(amount * unit).ok()
    };
    let date = |name: &HeaderName| {
        let text = text_of(headers, name)?;
        jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()
    };
    number(&HeaderName::from_static("retry-after-ms"), 1e-3).or_else(|| number(&RETRY_AFTER, 1.0)).or_else(
        || {
            let wait = date(&RETRY_AFTER)?.duration_since(date(&DATE).unwrap_or(now));
            Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
        },
    )
}

fn text_of(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
