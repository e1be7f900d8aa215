//! The control protocol: what comes in on a host's lines, and what is answered and asked. Shapes only; who
//! does what is asked, [`crate::headless`] says.

mod answers;
mod incoming;
mod permission;

pub(crate) use answers::{
    Initialized, context_usage, failure, initialize, models, permission_rules, refused_fields, success,
};
pub(crate) use incoming::{HostMessage, Incoming, blocks, parse, when};
pub(crate) use permission::{Asked, answer, request, withdrawal};
