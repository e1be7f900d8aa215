//! `troupe permissions`: how a call is decided here and why, the rules with where they stand, and what was
//! decided in a session.

mod case;
mod judge;
mod list;
mod log;
mod report;

use std::io;

use troupe_engine::load::Env;

use crate::args::{PermissionsCommand, Test};
use crate::fault::Fault;
use crate::wiring::standing;

/// Does what is asked; gives the exit code.
///
/// # Errors
/// When there is nothing to judge, or a session could not start here either.
pub(crate) fn run(wish: &PermissionsCommand, env: Env) -> Result<u8, Fault> {
    match wish {
        PermissionsCommand::Test(test) if test.jsonl => {
            case::judge_lines(&env, io::stdin().lock(), &mut io::stdout().lock())
        }
        PermissionsCommand::Test(test) => crate::print(&one(test, env)?),
        PermissionsCommand::List(wish) => crate::print(&list::text(wish, env)?),
        PermissionsCommand::Log(wish) => crate::print(&log::text(wish, &env)?),
    }
}

fn one(test: &Test, env: Env) -> Result<String, Fault> {
    let input = match (&test.input, &test.command) {
        (Some(text), _) => serde_json::from_str(text)
            .map_err(|error| Fault::usage(format_args!("--input is not JSON: {error}")))?,
        (None, command) => serde_json::json!({ "command": command }),
    };
    let call = judge::Call { tool: test.tool.clone(), input };
    let mut standing = standing(&test.given.run(), env)?;
    if let Some(mode) = test.mode {
        standing.mode = mode;
        "--mode".clone_into(&mut standing.mode_from);
    }
    let (rules, mode, place) = (&standing.rules, standing.mode, &standing.place);
    let judged = judge::judge(&call, rules, mode, place, &standing.tools).map_err(Fault::usage)?;
    Ok(if test.json {
        report::json(&call, &judged, mode)
    } else {
        report::text(&call, &judged, mode, &standing.mode_from)
    })
}
