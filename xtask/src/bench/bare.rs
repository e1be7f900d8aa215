//! The floor that a harness is measured against: a client that sends a recorded run again, byte for byte and
//! with the same concurrency, and does nothing else but run as many shell commands as the agents did.

use std::fs::File;
use std::io::BufReader;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};

use super::connection::{Connection, address_of};
use super::cost::{Cost, Meter, load_average};
use super::recording::{Recording, Sent};

/// What to send again, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// `http://host:port`.
    pub(crate) url: String,
    /// The mock server's log of one run, with bodies.
    pub(crate) log: PathBuf,
}

pub(super) fn run(options: &Options) -> Result<()> {
    let recording = read(&options.log)?;
    let cost = replay(address_of(&options.url)?, &recording)?;
    println!(
        "{} requests of {} sub-agents: {:.3} s, {:.2} CPU s (load average {})",
        recording.sent().count(),
        recording.agents.len(),
        cost.wall,
        cost.cpu,
        load_average()
    );
    Ok(())
}

/// Reads a whole log.
pub(super) fn read(log: &Path) -> Result<Recording> {
    let file = File::open(log).with_context(|| format!("failed to open {}", log.display()))?;
    Recording::read(BufReader::new(file))
}

/// Sends a run again: the main agent's first request, the sub-agents at once with a connection each, and what
/// the main agent sent after them.
pub(super) fn replay(address: SocketAddr, recording: &Recording) -> Result<Cost> {
    let (first, rest) =
        recording.root.split_first().context("the recording has no request of a main agent")?;
    let meter = Meter::start()?;
    let mut root = Connection::open(address)?;
    send(&mut root, first)?;
    thread::scope(|scope| {
        let agents: Vec<_> = recording
            .agents
            .iter()
            .map(|sent| scope.spawn(move || send_all(&mut Connection::open(address)?, sent)))
            .collect();
        agents
            .into_iter()
            .try_for_each(|agent| agent.join().unwrap_or_else(|_| Err(anyhow!("a sub-agent panicked"))))
    })?;
    send_all(&mut root, rest)?;
    meter.stop()
}

fn send_all(to: &mut Connection, sent: &[Sent]) -> Result<()> {
    sent.iter().try_for_each(|sent| send(to, sent))
}

fn send(to: &mut Connection, sent: &Sent) -> Result<()> {
    for _ in 0..sent.commands {
        let output = Command::new("bash").args(["-c", "true"]).stdin(Stdio::null()).output();
        let output = output.context("failed to start bash")?;
        ensure!(output.status.success(), "bash ended with {}", output.status);
    }
    to.exchange("POST", &sent.target, &sent.body).map(|_| ())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::{Barrier, mpsc};

    use super::*;

    /// A server for so many connections; each request's body goes to the channel, and the first one of each
    /// sub-agent is answered when all of them have sent theirs.
    fn serve(listener: &TcpListener, agents: usize, heard: &mpsc::Sender<String>) {
        let all_sent = Barrier::new(agents);
        thread::scope(|scope| {
            for _ in 0..=agents {
                let (stream, _) = listener.accept().unwrap();
                let (heard, all_sent) = (heard.clone(), &all_sent);
                scope.spawn(move || {
                    let mut reader = BufReader::new(stream);
                    while let Some(body) = request(&mut reader) {
                        let waits = body.ends_with(".1");
                        heard.send(body).unwrap();
                        if waits {
                            all_sent.wait();
                        }
                        let reply =
                            b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
                        reader.get_mut().write_all(reply).unwrap();
                    }
                });
            }
        });
    }

    fn request(reader: &mut BufReader<std::net::TcpStream>) -> Option<String> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                return Some(String::from_utf8(body).unwrap());
            }
        }
    }

    fn sent(body: &str, commands: usize) -> Sent {
        Sent { target: "/v1/messages".into(), body: body.into(), commands }
    }

    #[test]
    fn sub_agents_send_at_once_and_between_the_main_agents_requests() {
        let recording = Recording {
            root: vec![sent("first", 0), sent("last", 0)],
            agents: vec![vec![sent("a.1", 0), sent("a.2", 1)], vec![sent("b.1", 0), sent("b.2", 2)]],
            most_in_flight: 2,
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, bodies) = mpsc::channel();
        let server = thread::spawn(move || serve(&listener, 2, &heard));
        let cost = replay(address, &recording).unwrap();
        server.join().unwrap();
        let bodies: Vec<String> = bodies.iter().collect();
        let at = |body: &str| bodies.iter().position(|heard| heard == body).unwrap();
        assert_eq!((bodies.len(), at("first"), at("last")), (6, 0, 5));
        assert!(at("a.1") < at("b.2") && at("b.1") < at("a.2"), "{bodies:?}");
        assert!(cost.wall > 0.0 && cost.cpu >= 0.0);
    }

    #[test]
    fn a_recording_without_a_main_agent_is_refused() {
        assert!(replay(([127, 0, 0, 1], 1).into(), &Recording::default()).is_err());
    }
}
