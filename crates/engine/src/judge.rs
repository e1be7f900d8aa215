//! What a judgement needs to be told by the system, alike for a session and for whoever wants to know
//! beforehand: what a call would touch, and where links lead.

use serde_json::Value;
use troupe_core::access::Access;
use troupe_core::policy::Rules;
use troupe_core::ports::tool::{BadInput, Place, Tool};

use crate::agent::resolve::resolve;

pub use crate::agent::resolve::real;

/// What a call would touch, with links followed.
///
/// # Errors
/// When the tool can't take the input.
pub fn touched(tool: &dyn Tool, place: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
    Ok(followed(tool.access(place, input)?, place))
}

/// The same with the links in it followed.
#[must_use]
pub fn followed(mut access: Vec<Access>, place: &Place) -> Vec<Access> {
    resolve(&mut access, place);
    access
}

/// The rules, those that deny or ask with the links that they name followed.
#[must_use]
pub fn with_links(mut rules: Rules, place: &Place) -> Rules {
    rules.resolve(place, real);
    rules
}
