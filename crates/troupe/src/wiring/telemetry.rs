//! Where the log of agents is sent: nowhere, unless the person's own environment or settings say so. The settings of a
//! repository can't, trusted or not.

use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use troupe_engine::load::Env;
use troupe_engine::load::variables as var;
use troupe_engine::load::variables::Variable;

use super::session::VERSION;
use super::{provider, tools};
use crate::fault::warn;
use crate::telemetry::Destination;
use crate::trace::Secrets;

/// Where a collector listens on this machine, by its protocol.
const USUAL: &str = "http://localhost:4318";
/// What comes after an address that is for all signals.
const LOGS: &str = "v1/logs";
/// The one form of the protocol that is spoken here.
const PROTOCOL: &str = "http/json";

/// Where it is sent; `None` unless it is asked for. What can't be done is told, and then nothing is sent.
pub(super) fn destination(env: &Env, secrets: &Secrets) -> Option<Destination> {
    // The standard knows this one word alone.
    let is_disabled = |word: &str| word.trim().eq_ignore_ascii_case("true");
    if env.text(&var::OTEL_SDK_DISABLED).is_some_and(is_disabled) {
        return None;
    }
    if !tools::is_on(env, &var::ENABLE_TELEMETRY, false) || !exports(env) {
        return None;
    }
    read(env, secrets)
        .map_err(|why| warn(format_args!("telemetry: {why}; the log of agents is not sent")))
        .ok()
}

/// Whether the list of exporters has the one that there is here.
fn exports(env: &Env) -> bool {
    let words = env.text(&var::OTEL_LOGS_EXPORTER).unwrap_or_default();
    let mut found = false;
    for word in words.split(',').map(str::trim).filter(|word| !matches!(*word, "" | "none")) {
        if word == "otlp" {
            found = true;
        } else {
            warn(format_args!("telemetry: OTEL_LOGS_EXPORTER: there is no exporter {word}, only otlp"));
        }
    }
    found
}

fn read(env: &Env, secrets: &Secrets) -> Result<Destination, String> {
    let protocol = either(env, &var::OTEL_EXPORTER_OTLP_LOGS_PROTOCOL, &var::OTEL_EXPORTER_OTLP_PROTOCOL);
    if let Some((name, protocol)) = protocol.filter(|(_, protocol)| protocol.trim() != PROTOCOL) {
        return Err(format!("{name}: {protocol} is not supported, only {PROTOCOL}"));
    }
    Ok(Destination {
        url: url(env)?,
        headers: headers(env, secrets)?,
        resource: resource(env),
        extra_ca: provider::certificates(env),
    })
}

/// The value of a variable for logs, else of the one for all signals, with its name.
fn either<'e>(env: &'e Env, logs: &Variable, all: &Variable) -> Option<(&'static str, &'e str)> {
    [logs, all].into_iter().find_map(|variable| Some((variable.name, env.text(variable)?)))
}

fn url(env: &Env) -> Result<Url, String> {
    let parse = |name: &str, text: &str| {
        let url = Url::parse(text.trim()).ok();
        url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| format!("{name} is no address with http:// or https://"))
    };
    let logs = &var::OTEL_EXPORTER_OTLP_LOGS_ENDPOINT;
    if let Some(text) = env.text(logs) {
        return parse(logs.name, text);
    }
    let all = &var::OTEL_EXPORTER_OTLP_ENDPOINT;
    let mut url = parse(all.name, env.text(all).unwrap_or(USUAL))?;
    let path = format!("{}/{LOGS}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

fn headers(env: &Env, secrets: &Secrets) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let set = either(env, &var::OTEL_EXPORTER_OTLP_LOGS_HEADERS, &var::OTEL_EXPORTER_OTLP_HEADERS);
    if let Some((variable, text)) = set {
        // Its values are keys: nothing of it is shown.
        let wrong = || format!("{variable} is no list like name=value,name=value");
        for (name, value) in pairs(text).ok_or_else(wrong)? {
            secrets.add(&value);
            let name = HeaderName::try_from(name).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(headers)
}

/// Who sends. A list that can't be read is told and left out, as the standard has it.
fn resource(env: &Env) -> Vec<(String, String)> {
    let variable = &var::OTEL_RESOURCE_ATTRIBUTES;
    let named = pairs(env.text(variable).unwrap_or_default()).unwrap_or_else(|| {
        warn(format_args!("telemetry: {} is no list like name=value,name=value", variable.name));
        Vec::new()
    });
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let service = env.text(&var::OTEL_SERVICE_NAME).map(|name| pair("service.name", name));
    let usual = [pair("service.name", "troupe"), pair("service.version", VERSION)];
    let mut resource: Vec<(String, String)> = Vec::new();
    for (name, value) in service.into_iter().chain(named).chain(usual) {
        if !resource.iter().any(|(known, _)| *known == name) {
            resource.push((name, value));
        }
    }
    resource
}

/// `a=1,b=2` with each value percent-decoded; `None` where a part is no pair.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
            Some((name.trim().to_owned(), value.into_owned())).filter(|(name, _)| !name.is_empty())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let on = [("CLAUDE_CODE_ENABLE_TELEMETRY", "1"), ("OTEL_LOGS_EXPORTER", "otlp")];
        let vars = on.iter().chain(vars).map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Env { vars, cwd: "/w".into(), home: None }
    }

    fn found(vars: &[(&str, &str)]) -> Option<Destination> {
        destination(&env(vars), &Secrets::default())
    }

    fn refused(vars: &[(&str, &str)]) -> String {
        read(&env(vars), &Secrets::default()).unwrap_err()
    }

    // proves: B10
    #[test]
    fn it_takes_both_a_switch_and_an_exporter() {
        assert!(found(&[]).is_some());
        assert!(found(&[("TROUPE_ENABLE_TELEMETRY", "0")]).is_none());
        assert!(found(&[("CLAUDE_CODE_ENABLE_TELEMETRY", "")]).is_none());
        for (exporter, sends) in [("", false), ("none", false), ("console", false), ("console, otlp", true)] {
            assert_eq!(found(&[("OTEL_LOGS_EXPORTER", exporter)]).is_some(), sends, "{exporter}");
        }
    }

    // proves: B10
    #[test]
    fn the_standards_switch_turns_it_off() {
        for (word, sends) in [("true", false), (" TRUE ", false), ("false", true), ("1", true), ("", true)] {
            assert_eq!(found(&[("OTEL_SDK_DISABLED", word)]).is_some(), sends, "{word}");
        }
    }

    // proves: B10
    #[test]
    fn the_address_is_the_one_for_logs_or_made_of_the_one_for_all() {
        let (all, logs) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT");
        let at = |vars: &[(&str, &str)]| found(vars).unwrap().url.to_string();
        assert_eq!(at(&[]), "http://localhost:4318/v1/logs");
        assert_eq!(at(&[(all, "https://h/otlp/")]), "https://h/otlp/v1/logs");
        assert_eq!(at(&[(all, "http://a"), (logs, "http://b/x")]), "http://b/x");
        for wrong in ["localhost:4318", "file:///x", "http://"] {
            assert!(refused(&[(all, wrong)]).starts_with(all), "{wrong}");
        }
    }

    // proves: B10
    #[test]
    fn another_protocol_is_named_and_nothing_is_sent() {
        let (all, logs) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL");
        for protocol in ["grpc", "http/protobuf"] {
            assert!(refused(&[(all, protocol)]).contains(protocol));
            assert!(found(&[(all, protocol)]).is_none());
        }
        assert!(found(&[(all, "grpc"), (logs, "http/json")]).is_some());
    }

    // proves: B10
    #[test]
    fn headers_are_keys_and_are_never_shown() {
        let all = "OTEL_EXPORTER_OTLP_HEADERS";
        let to = found(&[(all, "Authorization=Bearer%20a=b, x-team = one,")]).unwrap();
        assert_eq!(to.headers["authorization"], "Bearer a=b");
        assert_eq!(to.headers["x-team"], "one");
        assert!(!format!("{to:?}").contains("Bearer"));
        assert_eq!(
            found(&[(all, "a=1"), ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "b=2")]).unwrap().headers.len(),
            2
        );
        for wrong in ["sekret", "=sekret", "a b=sekret", "a=sekret%0a"] {
            let why = refused(&[(all, wrong)]);
            assert!(why.starts_with(all) && !why.contains("sekret"), "{why}");
        }
    }

    // proves: B10
    #[test]
    fn the_sender_is_named_by_its_variable_then_by_the_list_then_as_usual() {
        let names = |vars: &[(&str, &str)]| {
            let named = found(vars).unwrap().resource;
            let text = |(name, value): (String, String)| format!("{name}={value}");
            named.into_iter().map(text).collect::<Vec<_>>().join(",")
        };
        let list = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=listed,team=a%2Cb");
        let version = format!("service.version={VERSION}");
        assert_eq!(names(&[]), format!("service.name=troupe,{version}"));
        assert_eq!(names(&[list]), format!("service.name=listed,team=a,b,{version}"));
        assert_eq!(
            names(&[list, ("OTEL_SERVICE_NAME", "mine")]),
            format!("service.name=mine,team=a,b,{version}")
        );
        assert_eq!(
            names(&[("OTEL_RESOURCE_ATTRIBUTES", "nonsense")]),
            format!("service.name=troupe,{version}")
        );
    }
}
