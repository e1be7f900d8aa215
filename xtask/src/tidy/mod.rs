//! Rules that neither the compiler nor clippy can hold; one module for each check.

mod core_manifest;
mod edges;
mod fields;
mod finding;
mod header;
mod length;
mod machine_paths;
mod module_names;
mod phrases;
mod proofs;
mod run;
mod whitespace;

pub(crate) use run::run;
