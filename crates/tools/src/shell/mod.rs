//! The shell: [`Bash`], and how a command becomes a job ([`run`]) with a process group ([`process`]), an
//! output spool ([`spool`]) and an end that leaves nothing behind ([`sweep`]).

mod background;
mod exit;
mod lines;
mod monitor;
mod options;
mod orphans;
pub mod parse;
mod process;
mod prologue;
mod render;
mod run;
pub mod sandbox;
mod snapshot;
mod spool;
#[cfg(target_os = "linux")]
mod stat;
mod sweep;
mod tool;

#[cfg(test)]
mod run_tests;

pub use monitor::Monitor;
pub use options::Options;
pub use orphans::end_orphans;
pub(crate) use render::last_chars;
pub use tool::Bash;
