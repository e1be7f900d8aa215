//! `troupe config …`.

use clap::Args;

use super::cli::{Format, OutputFormat, Run, Sources};

/// What is to be shown.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigWish {
    /// One flag or variable alone.
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    sources: Sources,
}

impl ConfigWish {
    /// The run that the answer is about. Nobody is asked anything in it.
    pub(crate) fn run(&self) -> Run {
        Run {
            sources: self.sources.clone(),
            format: Format { output_format: Some(OutputFormat::Json), ..Format::default() },
            print: true,
            ..Run::default()
        }
    }
}
