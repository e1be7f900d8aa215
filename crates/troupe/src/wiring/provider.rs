//! Which provider answers, and what it is given. Nothing is used that the person did not name.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, Settings};
use troupe_models::anthropic::{self, Auth, HELPER_TTL, IdleLimits};
use troupe_models::detect::Server;
use troupe_models::{Config, Provider, RetryPolicy};

use super::key_helper::helper;
use super::tools::number;
use crate::fault::Fault;
use crate::trace::Secrets;

/// What a model's name begins with when it is a script's.
pub(super) const SCRIPT: &str = "script:";

/// The source of a key that a program of the person's prints.
pub(super) const HELPER: &str = "apiKeyHelper";

/// Variables of the system and of the ecosystem that name more certificate authorities.
const CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// A provider, and where its key comes from in the ecosystem's words.
pub(super) struct Chosen {
    pub(super) config: Config,
    pub(super) key_source: &'static str,
}

/// Chooses the provider; `None` when there is neither a key nor a server.
pub(super) fn choose(
    model: Option<&str>,
    betas: &[String],
    env: &Env,
    settings: &Settings,
    secrets: &Secrets,
) -> Option<Chosen> {
    let retry = retry(env);
    if let Some(path) = model.and_then(|model| model.strip_prefix(SCRIPT)) {
        let config = Config { provider: Provider::Script(env.cwd.join(path)), retry };
        return Some(Chosen { config, key_source: "none" });
    }
    let base = env.text(&var::ANTHROPIC_BASE_URL);
    let auth =
        auth(env, settings, secrets).or_else(|| base.is_some_and(is_loopback).then_some(Auth::None))?;
    let mut config = anthropic::Config::new(base.unwrap_or(anthropic::BASE_URL), auth);
    if !env.switch(&var::DISABLE_EXPERIMENTAL_BETAS, false).unwrap_or_default() {
        config.betas =
            betas.iter().map(|beta| beta.trim().to_owned()).filter(|beta| !beta.is_empty()).collect();
    }
    config.extra_ca = certificates(env);
    config.idle = idle(env);
    let key_source = match config.auth {
        Auth::Key(_) => var::ANTHROPIC_API_KEY.name,
        Auth::Helper { .. } => HELPER,
        Auth::Token(_) | Auth::None => "none",
    };
    Some(Chosen { config: Config { provider: Provider::Anthropic(config), retry }, key_source })
}

/// What is told when there is neither a key nor a server, with the servers that were found on this machine.
pub(crate) fn nobody_answers(servers: &[Server]) -> Fault {
    let key = "set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, or apiKeyHelper in your settings.json";
    let Some(server) = servers.first() else {
        return Fault::failed("there is no model to ask: no key is set, and no server")
            .hint(format!("{key}; or ANTHROPIC_BASE_URL for a server that speaks the Messages API"))
            .hint("without either, a scripted run shows what troupe does: troupe demo");
    };
    let mut fault = Fault::failed(
        "there is no model to ask: no key is set; servers on this machine are used only when they are named",
    );
    for Server { name, base_url, models } in servers {
        let listed: Vec<&str> = models.iter().take(5).map(String::as_str).collect();
        let listed = if listed.is_empty() { "no model loaded".to_owned() } else { listed.join(", ") };
        fault = fault.hint(format!("{base_url} answers, probably {name} ({listed})"));
    }
    let model = server.models.first().map_or("NAME", String::as_str);
    fault
        .hint(format!("to use it: ANTHROPIC_BASE_URL={} troupe -p \"…\" --model {model}", server.base_url))
        .hint(format!("or {key}"))
}

fn auth(env: &Env, settings: &Settings, secrets: &Secrets) -> Option<Auth> {
    let text = |variable| env.text(variable).map(str::to_owned);
    text(&var::ANTHROPIC_AUTH_TOKEN)
        .map(Auth::Token)
        .or_else(|| text(&var::ANTHROPIC_API_KEY).map(Auth::Key))
        .or_else(|| {
            let command = settings.model().api_key_helper?.value;
            Some(Auth::Helper { run: helper(command, secrets.clone()), ttl: HELPER_TTL })
        })
}

/// Whether the server is this machine's own, where a key is rarely wanted.
fn is_loopback(base: &str) -> bool {
    let Ok(url) = Url::parse(base.trim()) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

pub(super) fn certificates(env: &Env) -> Vec<PathBuf> {
    let set = CERTIFICATES.iter().filter_map(|name| env.vars.get(*name)).filter(|path| !path.is_empty());
    set.map(|path| env.cwd.join(path)).collect()
}

fn retry(env: &Env) -> RetryPolicy {
    let mut policy = RetryPolicy::default();
    if let Some(again) = number(env, &var::MAX_RETRIES) {
        policy.tries = u32::try_from(again).unwrap_or(u32::MAX).saturating_add(1);
    }
    if let Some(limit) = number(env, &var::OVERLOAD_LIMIT_MS) {
        policy.overload = Duration::from_millis(limit);
    }
    policy
}

fn idle(env: &Env) -> IdleLimits {
    let mut limits = IdleLimits::default();
    if let Some(limit) = number(env, &var::FIRST_BYTE_LIMIT_MS) {
        limits.first_byte = Duration::from_millis(limit);
    }
    if let Some(limit) = number(env, &var::STREAM_IDLE_LIMIT_MS) {
        limits.byte = Duration::from_millis(limit);
    }
    if let Some(limit) = number(env, &var::STREAM_PROGRESS_LIMIT_MS) {
        limits.progress = Duration::from_millis(limit);
    }
    limits
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use troupe_engine::load::{CommandLine, Places, Sources, Trust};

    use super::*;

    fn chosen(vars: &[(&str, &str)], settings: &str, model: Option<&str>) -> Option<Config> {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let env = Env { vars, cwd: "/w".into(), home: None };
        let mut places = Places::of(&env);
        places.managed.clear();
        let line = CommandLine { settings: Some(settings.into()), ..CommandLine::default() };
        let settings = Settings::load(&places, &env, &line, Sources::NONE, &Trust::Trusted).unwrap();
        let chosen = choose(model, &["b".into(), String::new()], &env, &settings, &Secrets::default());
        chosen.map(|chosen| chosen.config)
    }

    fn of(config: Option<Config>) -> anthropic::Config {
        match config.unwrap().provider {
            Provider::Anthropic(config) => config,
            Provider::Script(path) => panic!("a script: {}", path.display()),
        }
    }

    #[test]
    fn the_token_goes_before_the_key_and_the_key_before_the_helper() {
        let (key, token) = (("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "t"));
        let helper = r#"{"apiKeyHelper":"echo k"}"#;
        assert!(matches!(of(chosen(&[key, token], helper, None)).auth, Auth::Token(token) if token == "t"));
        assert!(matches!(of(chosen(&[key], helper, None)).auth, Auth::Key(key) if key == "k"));
        let found = of(chosen(&[], helper, None));
        assert!(matches!(found.auth, Auth::Helper { .. }));
        assert_eq!((found.base_url.as_str(), found.betas), (anthropic::BASE_URL, vec!["b".to_owned()]));
        assert!(chosen(&[], "{}", None).is_none());
    }

    #[test]
    fn a_server_of_this_machine_needs_no_key() {
        let at = |base| chosen(&[("ANTHROPIC_BASE_URL", base)], "{}", None);
        for base in ["http://127.0.0.1:8080", "http://localhost:1/v1", "http://[::1]:1"] {
            assert!(matches!(of(at(base)).auth, Auth::None), "{base}");
        }
        for base in ["http://10.0.0.1", "https://localhost.example.org", "nonsense"] {
            assert!(at(base).is_none(), "{base}");
        }
    }

    #[test]
    fn a_script_needs_nothing() {
        let config = chosen(&[], "{}", Some("script:a.script")).unwrap();
        assert!(
            matches!(config.provider, Provider::Script(path) if path == std::path::Path::new("/w/a.script"))
        );
    }

    #[test]
    fn certificates_and_tries_come_from_the_environment() {
        let vars = [
            ("ANTHROPIC_API_KEY", "k"),
            ("NODE_EXTRA_CA_CERTS", "ca.pem"),
            ("SSL_CERT_FILE", ""),
            ("CLAUDE_CODE_MAX_RETRIES", "0"),
            ("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "1"),
        ];
        let config = chosen(&vars, "{}", None);
        assert_eq!(config.as_ref().unwrap().retry.tries, 1);
        let config = of(config);
        assert_eq!((config.extra_ca, config.betas.len()), (vec![PathBuf::from("/w/ca.pem")], 0));
    }

    #[test]
    fn what_is_found_is_named_and_not_used() {
        let server =
            Server { name: "Ollama".into(), base_url: "http://127.0.0.1:1".into(), models: vec!["q".into()] };
        let told = nobody_answers(&[server]).to_string();
        assert!(told.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:1 troupe -p \"…\" --model q"), "{told}");
        let told = nobody_answers(&[]).to_string();
        assert_eq!(told.lines().count(), 3);
        assert!(told.contains("troupe demo"));
    }
}
