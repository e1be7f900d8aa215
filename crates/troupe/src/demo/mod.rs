//! `troupe demo`: agents at work on a small throwaway project, without a key and without a network. The model is
//! a script; everything else, from the engine to the tools, is what a real run uses.

mod account;
mod play;
mod project;

pub(crate) use play::play;
