//! The arguments of `sandbox-init`: written when a command is wrapped, read behind the walls. Whatever does not
//! fit is an error: a mistake must not run the command with fewer walls.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::{Network, Wall};

/// What to put up around which command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) wall: Wall,
    /// The proxy's path is the one that is seen from here.
    pub(crate) network: Network,
    pub(crate) unix_sockets: bool,
    /// Files and folders that may be written. Those that are missing are passed over.
    pub(crate) writable: Vec<PathBuf>,
    /// What must be a mount that can't be written (bubblewrap).
    pub(crate) held: Vec<PathBuf>,
    /// Becomes `TMPDIR`.
    pub(crate) temp: Option<PathBuf>,
    /// Seatbelt's profile.
    pub(crate) profile: Option<OsString>,
    pub(crate) run: Run,
}

/// What to run behind the walls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// Nothing: to say that the walls stand.
    Probe,
    Command {
        program: PathBuf,
        args: Vec<OsString>,
    },
}

/// What is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadArgs {
    #[error("the wall is missing")]
    NoWall,
    #[error("the network is missing")]
    NoNetwork,
    #[error("the command is missing")]
    NoCommand,
    #[error("{} is not understood", .0.display())]
    Unknown(OsString),
    #[error("{0} needs a value")]
    NoValue(&'static str),
    #[error("{0} is given twice, or beside what it excludes")]
    Twice(&'static str),
}

const CLOSED: &str = "--closed";
const OPEN: &str = "--open";
const PROXY: &str = "--proxy";
const UNIX: &str = "--unix-sockets";
const WRITE: &str = "--write";
const HELD: &str = "--held";
const TEMP: &str = "--temp";
const PROFILE: &str = "--profile";
const PROBE: &str = "--probe";
const COMMAND: &str = "--";

impl Args {
    /// The words, without `sandbox-init`.
    pub(crate) fn encode(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.wall.as_str().into()];
        match &self.network {
            Network::Closed => words.push(CLOSED.into()),
            Network::Open => words.push(OPEN.into()),
            Network::Proxy(socket) => words.extend([PROXY.into(), socket.into()]),
        }
        if self.unix_sockets {
            words.push(UNIX.into());
        }
        for path in &self.writable {
            words.extend([WRITE.into(), path.into()]);
        }
        for path in &self.held {
            words.extend([HELD.into(), path.into()]);
        }
        if let Some(temp) = &self.temp {
            words.extend([TEMP.into(), temp.into()]);
        }
        if let Some(profile) = &self.profile {
            words.extend([PROFILE.into(), profile.clone()]);
        }
        match &self.run {
            Run::Probe => words.push(PROBE.into()),
            Run::Command { program, args } => {
                words.extend([COMMAND.into(), program.into()]);
                words.extend(args.iter().cloned());
            }
        }
        words
    }

    /// Reads what [`Args::encode`] writes.
    pub(crate) fn decode(mut words: impl Iterator<Item = OsString>) -> Result<Self, BadArgs> {
        let wall = words.next().ok_or(BadArgs::NoWall)?;
        let wall = [Wall::Bubblewrap, Wall::Landlock, Wall::Seatbelt]
            .into_iter()
            .find(|known| OsStr::new(known.as_str()) == wall)
            .ok_or(BadArgs::Unknown(wall))?;
        let (mut network, mut temp, mut profile) = (None, None, None);
        let (mut writable, mut held, mut unix_sockets) = (Vec::new(), Vec::new(), false);
        let run = loop {
            let word = words.next().ok_or(BadArgs::NoCommand)?;
            let mut value = |name| words.next().ok_or(BadArgs::NoValue(name));
            match word.to_str() {
                Some(CLOSED) => once(&mut network, Network::Closed, CLOSED)?,
                Some(OPEN) => once(&mut network, Network::Open, OPEN)?,
                Some(PROXY) => once(&mut network, Network::Proxy(value(PROXY)?.into()), PROXY)?,
                Some(TEMP) => once(&mut temp, PathBuf::from(value(TEMP)?), TEMP)?,
                Some(PROFILE) => once(&mut profile, value(PROFILE)?, PROFILE)?,
                Some(WRITE) => writable.push(PathBuf::from(value(WRITE)?)),
                Some(HELD) => held.push(PathBuf::from(value(HELD)?)),
                Some(UNIX) if !unix_sockets => unix_sockets = true,
                Some(PROBE) => match words.next() {
                    None => break Run::Probe,
                    Some(word) => return Err(BadArgs::Unknown(word)),
                },
                Some(COMMAND) => {
                    let program = words.next().filter(|word| !word.is_empty()).ok_or(BadArgs::NoCommand)?;
                    break Run::Command { program: program.into(), args: words.collect() };
                }
                _ => return Err(BadArgs::Unknown(word)),
            }
        };
        let network = network.ok_or(BadArgs::NoNetwork)?;
        Ok(Self { wall, network, unix_sockets, writable, held, temp, profile, run })
    }
}

fn once<T>(slot: &mut Option<T>, value: T, name: &'static str) -> Result<(), BadArgs> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(BadArgs::Twice(name)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(words: &[&str]) -> Result<Args, BadArgs> {
        Args::decode(words.iter().map(OsString::from))
    }

    proptest! {
        // proves: S7
        #[test]
        fn what_is_written_is_read(
            wall in 0..3usize, network in 0..3u8, unix_sockets: bool, words in prop::collection::vec(".{1,8}", 4..8),
            temp: bool, probe: bool,
        ) {
            let path = |n: usize| PathBuf::from(&words[n]);
            let args = Args {
                wall: [Wall::Bubblewrap, Wall::Landlock, Wall::Seatbelt][wall],
                network: match network { 0 => Network::Closed, 1 => Network::Open, _ => Network::Proxy(path(0)) },
                unix_sockets,
                writable: vec![path(1), path(2)],
                held: vec![path(3)],
                temp: temp.then(|| path(2)),
                profile: (wall == 2).then(|| path(0).into()),
                run: if probe { Run::Probe } else {
                    Run::Command { program: path(3), args: words[4..].iter().map(OsString::from).collect() }
                },
            };
            prop_assert_eq!(Args::decode(args.encode().into_iter()), Ok(args));
        }
    }

    // proves: S7
    #[test]
    fn a_mistake_is_an_error() {
        let cases: [(&[&str], BadArgs); 12] = [
            (&[], BadArgs::NoWall),
            (&["none", "--closed", "--", "true"], BadArgs::Unknown("none".into())),
            (&["landlock", "--", "true"], BadArgs::NoNetwork),
            (&["landlock", "--closed"], BadArgs::NoCommand),
            (&["landlock", "--closed", "--"], BadArgs::NoCommand),
            (&["landlock", "--closed", "--", ""], BadArgs::NoCommand),
            (&["landlock", "--closed", "--open", "--", "true"], BadArgs::Twice("--open")),
            (&["landlock", "--closed", "--write"], BadArgs::NoValue("--write")),
            (&["landlock", "--closed", "true"], BadArgs::Unknown("true".into())),
            (&["landlock", "--closed", "--unix-sockets", "--unix-sockets"], BadArgs::Unknown(UNIX.into())),
            (&["landlock", "--closed", "--probe", "true"], BadArgs::Unknown("true".into())),
            (&["landlock", "--Closed", "--", "true"], BadArgs::Unknown("--Closed".into())),
        ];
        for (words, wrong) in cases {
            assert_eq!(decode(words), Err(wrong), "{words:?}");
        }
    }
}
