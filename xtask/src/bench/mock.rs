//! The mock model server as a child process: started on a free port of the loopback device, ended when dropped.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::connection::Connection;

/// The longest that it may take to start.
const START: Duration = Duration::from_secs(30);

/// A running server.
pub(super) struct Mock {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Mock {
    /// Starts the Python program `script`, which is to append each request and its body to `log`, and to say
    /// `ready PORT` once it listens.
    pub(super) fn start(script: &Path, log: &Path) -> Result<Self> {
        let mut command = Command::new("python3");
        command.arg(script).args(["--port", "0", "--bodies", "--log"]).arg(log);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let child = child.context("failed to start python3")?;
        // From here on, whatever goes wrong ends the child.
        let mut mock = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let stdout = mock.child.stdout.take().context("the mock has no output")?;
        let (sender, receiver) = mpsc::channel();
        // It ends with its first line, or with the child.
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            // Nobody waits any more when the time was over.
            let _ = sender.send(read.map(|_| line));
        });
        let line = receiver.recv_timeout(START).context("the mock did not start in time")??;
        let port = line.strip_prefix("ready ").and_then(|port| port.trim().parse().ok());
        mock.address.set_port(port.with_context(|| format!("the mock said {line:?}, not its port"))?);
        Ok(mock)
    }

    /// Waits until the requests so far are in the log: the server takes one thing at a time, so what it answers
    /// now comes after them.
    pub(super) fn settle(&self) -> Result<()> {
        Connection::open(self.address)?.exchange("GET", "/v1/models", "").map(|_| ())
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
