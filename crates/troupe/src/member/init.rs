//! What a pane is opened with: it reads what the lead left for it, and becomes that program. So no key stands in a list of
//! processes, no shell reads a word, and the process that the pane was opened with is the member.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::fs::OFlags;
use troupe_engine::load::Env;
use troupe_engine::session::{Handover, MemberOf};

use crate::fault::{Fault, tell};

/// The word that calls for it.
pub(crate) const WORD: &str = "member-init";
/// Most bytes of the file.
const MOST: u64 = 4 << 20;
/// What is the pane's own.
const OF_PANE: [&str; 9] = [
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "ITERM_SESSION_ID",
    "LINES",
    "COLUMNS",
];

/// Becomes the member. Comes back only where that fails.
pub(crate) fn init(file: Option<OsString>) -> ExitCode {
    let fault = match file {
        Some(file) => {
            let file = Path::new(&file);
            let fault = become_member(file);
            if let Some((home, of)) = whose(file) {
                super::tell_lead(home, &of, &fault);
            }
            fault
        }
        None => Fault::usage("member-init takes a file"),
    };
    tell(&fault);
    ExitCode::from(fault.code())
}

/// Whose file it is: `HOME/teams/TEAM/handover/NAME.json`.
fn whose(file: &Path) -> Option<(&Path, MemberOf)> {
    let name = file.file_stem()?.to_str()?.to_owned();
    let mut above = file.ancestors().skip(2);
    let team = above.next()?.file_name()?.to_str()?.to_owned();
    Some((above.nth(1)?, MemberOf { team, name, joins: false }))
}

fn become_member(file: &Path) -> Fault {
    let handover = match read(file) {
        Ok(handover) => handover,
        Err(error) => return Fault::failed(format_args!("failed to read {}: {error}", file.display())),
    };
    // It holds keys, and has done its work.
    if let Err(error) = std::fs::remove_file(file) {
        return Fault::failed(format_args!("failed to remove {}: {error}", file.display()));
    }
    let Handover { program, arguments, mut variables } = handover;
    let own = Env::from_process().map(|env| env.vars).unwrap_or_default();
    for name in OF_PANE {
        match own.get(name) {
            Some(value) => drop(variables.insert(name.to_owned(), value.clone())),
            None => drop(variables.remove(name)),
        }
    }
    let error = Command::new(&program).args(arguments).env_clear().envs(variables).exec();
    Fault::failed(format_args!("failed to run {}: {error}", program.display()))
}

/// Nobody but the person has written it.
fn read(file: &Path) -> std::io::Result<Handover> {
    let nofollow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let open = std::fs::OpenOptions::new().read(true).custom_flags(nofollow).open(file)?;
    let about = open.metadata()?;
    if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o077 != 0 {
        return Err(std::io::Error::other("others than you can reach it"));
    }
    let mut bytes = Vec::new();
    open.take(MOST).read_to_end(&mut bytes)?;
    serde_json::from_slice(&bytes).map_err(std::io::Error::other)
}
