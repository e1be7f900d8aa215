//! Tests of the reading of failures.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use http::HeaderValue;
use serde_json::json;

use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
        .collect()
}

fn answer(status: u16, kind: &str, message: &str) -> ModelError {
    let body = json!({"type":"error","error":{"type":kind,"message":message},"request_id":"req_body"});
    of_answer(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.to_string().as_bytes())
}

// proves: E6
#[test]
fn each_status_has_its_fault() {
    for (status, kind, message, fault) in [
        (400, "invalid_request_error", "messages: bad", Fault::InvalidRequest),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", Fault::PromptTooLong),
        (400, "exceed_context_size_error", "no", Fault::PromptTooLong),
        (400, "invalid_request_error", "Your credit balance is too low", Fault::Billing),
        (401, "authentication_error", "no", Fault::Authentication),
        (402, "billing_error", "no", Fault::Billing),
        (403, "permission_error", "no", Fault::Permission),
        (404, "not_found_error", "model: x", Fault::NotFound),
        (408, "", "no", Fault::Timeout),
        (409, "conflict_error", "no", Fault::Server),
        (413, "request_too_large", "no", Fault::TooLarge),
        (429, "rate_limit_error", "slow down", Fault::RateLimit),
        (429, "insufficient_quota", "no", Fault::Billing),
        (429, "rate_limit_error", "you have reached your Spend limit", Fault::Billing),
        (500, "api_error", "no", Fault::Server),
        (503, "overloaded_error", "no", Fault::Overloaded),
        (504, "timeout_error", "no", Fault::Timeout),
        (529, "overloaded_error", "no", Fault::Overloaded),
    ] {
        let error = answer(status, kind, message);
        assert_eq!((error.fault, error.status), (fault, Some(status)), "{status} {kind} {message}");
        assert_eq!(error.message, message);
        assert_eq!(error.request_id.as_deref(), Some("req_body"));
    }
}

// proves: E6
#[test]
fn headers_tell_when_and_whether_to_try_again() {
    let said = headers(&[("request-id", "req_1"), ("retry-after", "1.5"), ("x-should-retry", "false")]);
    let error = of_answer(StatusCode::TOO_MANY_REQUESTS, &said, b"");
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
    assert_eq!(error.should_retry, Some(false));
    assert_eq!(error.message, "the server answers 429 Too Many Requests");
}

// proves: E6
#[test]
fn a_wait_is_read_in_each_of_its_forms() {
    let now: jiff::Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (pairs, wait) in [
        (vec![("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
        (vec![("retry-after", "0.5")], Some(500)),
        (vec![("retry-after", date)], Some(7000)),
        (vec![("retry-after", date), ("date", "Sun, 06 Nov 1994 08:49:27 GMT")], Some(10_000)),
        (vec![("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
        (vec![("retry-after", "-3")], None),
        (vec![("retry-after", "soon")], None),
        (vec![("retry-after", "1e300")], None),
        (vec![], None),
    ] {
        assert_eq!(retry_after(&headers(&pairs), now), wait.map(Duration::from_millis), "{pairs:?}");
    }
}

#[test]
fn other_bodies_are_quoted() {
    let said = |body: &str| of_answer(StatusCode::BAD_GATEWAY, &HeaderMap::new(), body.as_bytes()).message;
    assert_eq!(said("<h1>\n bad  gateway</h1>"), "the server answers 502 Bad Gateway: <h1> bad gateway</h1>");
    assert_eq!(said(r#"{"error":"no such model"}"#), "no such model");
    assert_eq!(said(r#"{"message":"busy"}"#), "busy");
    let moved = headers(&[("location", "https://example.org/")]);
    let error = of_answer(StatusCode::FOUND, &moved, b"<a>");
    assert_eq!(error.message, "the server answers 302 Found and points to https://example.org/");
    assert_eq!(error.fault, Fault::InvalidRequest);
}

#[test]
fn an_error_in_the_stream_has_the_same_faults() {
    let error = of_error(&json!({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}));
    assert_eq!((error.fault, error.status, error.message.as_str()), (Fault::Overloaded, None, "Overloaded"));
    assert_eq!(of_error(&json!({"type":"error","error":{}})).fault, Fault::Server);
}
