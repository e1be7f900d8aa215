//! How the headless frontend behaves, by flags and environment.

use std::time::Duration;

use troupe_engine::load::Env;
use troupe_engine::load::variables as var;
use troupe_wire::headless::{Options, Output, Product, StateEvents};

use super::session::{COMPATIBLE, VERSION};
use super::tools::number;
use crate::args::{OutputFormat, Run};

/// Its options.
pub(super) fn options(run: &Run, env: &Env, bypass_allowed: bool, key_source: &str) -> Options {
    let usual = Options::default();
    let on = |variable| env.switch(variable, false).unwrap_or_default();
    let states = if on(&var::EMIT_SESSION_STATE_EVENTS) {
        StateEvents::All
    } else if on(&var::SDK_READS_SESSION_STATE) {
        StateEvents::Sdk
    } else {
        StateEvents::Off
    };
    let agents_ceiling = match number(env, &var::PRINT_BG_WAIT_CEILING_MS) {
        None => usual.agents_ceiling,
        Some(0) => None,
        Some(ms) => Some(Duration::from_millis(ms)),
    };
    Options {
        output: match run.format.output_format.unwrap_or_default() {
            OutputFormat::Text => Output::Text,
            OutputFormat::Json => Output::Json,
            OutputFormat::StreamJson => Output::StreamJson,
        },
        partial: run.format.include_partial_messages,
        replay: run.format.replay_user_messages,
        child_text: run.format.forward_subagent_text,
        states,
        bypass_allowed,
        agents_ceiling,
        product: Product {
            version: VERSION.to_owned(),
            compatible_version: COMPATIBLE.to_owned(),
            api_key_source: key_source.to_owned(),
            commands: Vec::new(),
            sandbox: None,
        },
    }
}
