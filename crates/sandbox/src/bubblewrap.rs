//! bubblewrap: its argument list, made from a policy.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::init::{Args, Run};
use crate::plan::{Access, Mount, plan};
use crate::seen::Seen;
use crate::{Network, Policy, Wall, Walled, WrapError};

/// Where the program is looked for. Not along `PATH`, which may lead into a workspace.
pub(crate) const PLACES: &[&str] =
    &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// The folder for temporary files.
const TEMP: &str = "/tmp";
/// Folders where the machine's programs keep their sockets.
const SOCKETS: &[&str] = &["/run", "/var/run", "/var/tmp", TEMP];
/// The proxy's socket, from inside.
const PROXY: &str = "/run/troupe-proxy.sock";
/// What root may write there by owning it, though it has no powers.
const PROC: &[&str] = &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];
/// What is needed of `/run`: programs (NixOS), and the addresses of name servers.
const NEEDED: &[&str] = &["/run/current-system", "/run/wrappers", "/etc/resolv.conf"];

/// A bubblewrap that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bubblewrap {
    pub(crate) program: PathBuf,
    /// Whether it can forbid further user name spaces.
    pub(crate) disable_userns: bool,
}

/// What the argument list is made from, beside the mounts.
struct Frame<'a> {
    root: bool,
    proc: Vec<PathBuf>,
    network: &'a Network,
    cwd: &'a Path,
}

impl Bubblewrap {
    pub(crate) fn wrap(
        &self,
        init: &Path,
        policy: &Policy,
        run: Run,
        cwd: &Path,
    ) -> Result<Walled, WrapError> {
        let program = match &run {
            Run::Command { program, .. } => Some(program.as_path()),
            Run::Probe => None,
        };
        let mut whole = policy.clone();
        whole.writable.extend(policy.temp.clone());
        let mut seen = Seen::default();
        let base = base(policy.temp.as_deref(), [Some(init), program], &mut seen)?;
        let (mounts, hold) = plan(&whole, base, &mut seen)?;
        let root = rustix::process::geteuid().is_root();
        let proc = PROC.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        let mut args = self.args(&mounts, &Frame { root, proc, network: &policy.network, cwd });
        let network = match &policy.network {
            Network::Proxy(_) => Network::Proxy(PROXY.into()),
            other => other.clone(),
        };
        let inner = Args {
            wall: Wall::Bubblewrap,
            network,
            unix_sockets: policy.unix_sockets,
            writable: with(&mounts, Access::Writable),
            held: with(&mounts, Access::ReadOnly),
            temp: policy.temp.is_some().then(|| TEMP.into()),
            profile: None,
            run,
        };
        args.extend(["--".into(), init.into(), "sandbox-init".into()]);
        args.extend(inner.encode());
        Ok(Walled { program: self.program.clone(), args, hold })
    }

    fn args(&self, mounts: &[Mount], frame: &Frame<'_>) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let mut add = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
            args.extend(words.iter().map(|word| word.as_ref().to_owned()));
        };
        add(&[&"--unshare-user", &"--unshare-pid", &"--unshare-ipc"]);
        if self.disable_userns {
            add(&[&"--disable-userns"]);
        }
        if *frame.network != Network::Open {
            add(&[&"--unshare-net"]);
        }
        // No `--new-session`: a signal to the process group is to reach the command. The init gives up the
        // terminal.
        add(&[&"--cap-drop", &"ALL", &"--die-with-parent"]);
        for mount in mounts {
            let path = &mount.path;
            let source = mount.source.as_ref().unwrap_or(path);
            match (mount.access, mount.folder) {
                (Access::Writable, _) => add(&[&"--bind", source, path]),
                (Access::Shown | Access::ReadOnly, _) => add(&[&"--ro-bind", source, path]),
                (Access::Private, _) => add(&[&"--tmpfs", path]),
                (Access::Hidden, true) => add(&[&"--perms", &"0555", &"--tmpfs", path]),
                (Access::Hidden, false) => add(&[&"--ro-bind", &"/dev/null", path]),
            }
            // The system's own folders lie over the root, and below what is more specific.
            if path == Path::new("/") {
                add(&[&"--dev", &"/dev", &"--proc", &"/proc"]);
                if frame.root {
                    frame.proc.iter().for_each(|path| add(&[&"--ro-bind", path, path]));
                }
            }
        }
        if let Network::Proxy(socket) = frame.network {
            add(&[&"--bind", socket, &PROXY]);
        }
        for mount in mounts.iter().filter(|mount| mount.access == Access::Hidden && mount.folder) {
            add(&[&"--remount-ro", &mount.path]);
        }
        add(&[&"--chdir", &frame.cwd]);
        args
    }
}

fn with(mounts: &[Mount], access: Access) -> Vec<PathBuf> {
    mounts.iter().filter(|mount| mount.access == access).map(|mount| mount.path.clone()).collect()
}

/// The machine as it is, without its sockets and other people's temporary files.
fn base(temp: Option<&Path>, programs: [Option<&Path>; 2], seen: &mut Seen) -> Result<Vec<Mount>, WrapError> {
    let mut mounts = vec![Mount::folder("/", Access::Shown)];
    let mut private = Vec::new();
    for path in SOCKETS {
        let real = seen.resolve(Path::new(path))?;
        if !seen.is_folder(&real) {
            continue;
        }
        let source = temp.filter(|_| *path == TEMP).map(|temp| seen.resolve(temp)).transpose()?;
        let access = if source.is_some() { Access::Writable } else { Access::Private };
        private.push(real.clone());
        mounts.push(Mount { source, ..Mount::folder(real, access) });
    }
    let needed = NEEDED.iter().map(PathBuf::from);
    let programs = programs.into_iter().flatten().filter(|path| path.is_absolute()).map(Path::to_owned);
    for path in needed.chain(programs) {
        let Ok(real) = path.canonicalize() else { continue };
        if private.iter().any(|folder| real.starts_with(folder)) {
            mounts.push(Mount { folder: real.is_dir(), ..Mount::folder(real.clone(), Access::Shown) });
        }
        // A link in a folder that is not seen any more: its end is put in its place.
        if real != path && private.iter().any(|folder| path.starts_with(folder)) {
            let folder = real.is_dir();
            mounts.push(Mount { source: Some(real), folder, ..Mount::folder(path, Access::Shown) });
        }
    }
    Ok(mounts)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn list(network: &Network, root: bool, disable_userns: bool) -> Vec<String> {
        let mounts = [
            Mount::folder("/", Access::Shown),
            Mount::folder("/run", Access::Private),
            Mount { source: Some("/scratch/t".into()), ..Mount::folder("/tmp", Access::Writable) },
            Mount::folder("/ws", Access::Writable),
            Mount::folder("/home/.ssh", Access::Hidden),
            Mount { folder: false, ..Mount::folder("/home/.netrc", Access::Hidden) },
            Mount::folder("/ws/.git", Access::Writable),
            Mount::folder("/home/.ssh/config", Access::Shown),
            Mount::folder("/ws/.git/hooks", Access::ReadOnly),
        ];
        let frame = Frame { root, proc: vec!["/proc/sys".into()], network, cwd: Path::new("/ws/sub") };
        let args = Bubblewrap { program: "/bwrap".into(), disable_userns }.args(&mounts, &frame);
        args.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    // proves: S7
    #[test]
    fn the_argument_list() {
        let expected = "--unshare-user --unshare-pid --unshare-ipc --disable-userns --unshare-net --cap-drop ALL \
             --die-with-parent --ro-bind / / --dev /dev --proc /proc --ro-bind /proc/sys /proc/sys --tmpfs /run \
             --bind /scratch/t /tmp --bind /ws /ws --perms 0555 --tmpfs /home/.ssh \
             --ro-bind /dev/null /home/.netrc --bind /ws/.git /ws/.git \
             --ro-bind /home/.ssh/config /home/.ssh/config --ro-bind /ws/.git/hooks /ws/.git/hooks \
             --bind /p.sock /run/troupe-proxy.sock --remount-ro /home/.ssh --chdir /ws/sub";
        assert_eq!(list(&Network::Proxy("/p.sock".into()), true, true).join(" "), expected);
    }

    // proves: S7
    #[test]
    fn what_depends() {
        let has = |words: &[String], word: &str| words.iter().any(|one| one == word);
        let closed = list(&Network::Closed, false, false);
        assert!(has(&closed, "--unshare-net") && !has(&closed, PROXY));
        assert!(!has(&closed, "--disable-userns") && !has(&closed, "/proc/sys"));
        assert!(!has(&list(&Network::Open, false, false), "--unshare-net"));
    }
}
