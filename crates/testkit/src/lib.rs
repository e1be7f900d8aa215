//! For the tests of all crates: scenes with a scripted model, played in four ways; faults on demand; and
//! checks that nothing is left behind.
//!
//! A [`scene::Scene`] is a small text file. A [`world::World`] is where it plays: a temporary workspace, the
//! real tools, the real engine. [`ways`] plays it straight, as a child, with a crash after each append, and
//! with an interrupt at each event.

mod acting;
pub mod faults;
pub mod gatekeeper;
pub mod kills;
pub mod post;
pub mod process;
pub mod puppet;
pub mod reading;
pub mod recorder;
pub mod render;
mod resting;
pub mod scene;
mod standing;
pub mod ways;
pub mod world;

pub use scene::Scene;
pub use world::World;
