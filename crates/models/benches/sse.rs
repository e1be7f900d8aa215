//! placeholder.
fn main() {}
