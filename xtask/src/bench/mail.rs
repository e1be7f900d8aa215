//! Mail of a team between processes: how long until it is there, how many a second, and whether a large mailbox costs more.

use std::process::Command;

use anyhow::Result;

use super::cost::load_average;
use crate::process;
use crate::project::Project;

pub(super) fn run(project: &Project) -> Result<()> {
    println!("load average {}", load_average());
    let folder = project.target.join("bench-mail");
    let cargo = ["run", "--release", "--package", "troupe-testkit", "--bin", "mailer", "--", "bench"];
    process::run(Command::new("cargo").args(cargo).arg(folder))?;
    println!("load average {}", load_average());
    Ok(())
}
