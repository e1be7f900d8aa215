//! The log of a mock server as data: which agent sent what, in which order, and how many requests were in
//! flight at once. A log has one JSON object a line and a request.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The tool whose calls stand for one shell command each.
const SHELL: &str = "Bash";

/// What the agents of one run sent.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Recording {
    /// The main agent's requests in order.
    pub(super) root: Vec<Sent>,
    /// Those of each sub-agent.
    pub(super) agents: Vec<Vec<Sent>>,
    /// Most requests in flight at one time.
    pub(super) most_in_flight: usize,
}

/// One request.
#[derive(Debug, PartialEq)]
pub(super) struct Sent {
    /// Path and query.
    pub(super) target: String,
    pub(super) body: String,
    /// Shell commands that its agent ran since the request before it.
    pub(super) commands: usize,
}

/// What is read of a line; a request to the model has all of it.
#[derive(Deserialize)]
struct Line {
    /// When it came, in seconds.
    t: Option<f64>,
    /// When its reply was written.
    t_end: Option<f64>,
    target: Option<String>,
    proto: Option<String>,
    label: Option<String>,
    /// What the prompt asked the mock for; a sub-agent's has its number under `agent`.
    directive: Option<Map<String, Value>>,
    raw: Option<String>,
}

impl Recording {
    /// Reads a log. What is no request of an agent's conversation is left out.
    pub(super) fn read(log: impl BufRead) -> Result<Self> {
        let mut lines = Vec::new();
        for (number, line) in log.lines().enumerate() {
            let line = line.context("failed to read the log")?;
            let line: Line = serde_json::from_str(&line)
                .with_context(|| format!("failed to read line {} of the log", number + 1))?;
            lines.push(line);
        }
        lines.sort_by(|a, b| a.t.unwrap_or_default().total_cmp(&b.t.unwrap_or_default()));
        Self::of(lines)
    }

    fn of(lines: Vec<Line>) -> Result<Self> {
        let mut recording = Self::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut ran: HashMap<Option<usize>, usize> = HashMap::new();
        let mut spans = Vec::new();
        for line in lines {
            let Line { t: Some(start), t_end: Some(end), target: Some(target), proto: Some(_), .. } = line
            else {
                continue;
            };
            let (Some(directive), Some(body)) = (line.directive, line.raw) else { continue };
            if line.label.as_deref() == Some("side") {
                continue;
            }
            spans.push((start, end));
            let agent = directive.get("agent").map(Value::to_string).map(|name| {
                let next = places.len();
                *places.entry(name).or_insert(next)
            });
            let total = shell_calls(&body).context("failed to read a recorded request")?;
            let before = ran.insert(agent, total).unwrap_or_default();
            let sent = Sent { target, body, commands: total.saturating_sub(before) };
            match agent {
                None => recording.root.push(sent),
                Some(place) if place == recording.agents.len() => recording.agents.push(vec![sent]),
                Some(place) => recording.agents[place].push(sent),
            }
        }
        recording.most_in_flight = most_at_once(&spans);
        Ok(recording)
    }

    /// All requests.
    pub(super) fn sent(&self) -> impl Iterator<Item = &Sent> {
        self.root.iter().chain(self.agents.iter().flatten())
    }
}

/// Shell calls in a request's conversation.
fn shell_calls(body: &str) -> serde_json::Result<usize> {
    let body: Value = serde_json::from_str(body)?;
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    Ok(blocks.filter(|block| block["type"] == "tool_use" && block["name"] == SHELL).count())
}

/// Most spans that hold one point in time; one that ends where another starts is over.
fn most_at_once(spans: &[(f64, f64)]) -> usize {
    let mut edges: Vec<(f64, bool)> =
        spans.iter().flat_map(|(start, end)| [(*start, true), (*end, false)]).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most) = (0_usize, 0);
    for (_, starts) in edges {
        now = if starts { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use serde_json::json;

    /// A request of an agent that has made these calls so far.
    fn line(agent: Option<&str>, times: [f64; 2], calls: &[&str]) -> String {
        let call =
            |name: &&str| json!({"role": "assistant", "content": [{"type": "tool_use", "name": name}]});
        let mut messages = vec![json!({"role": "user", "content": "go"})];
        messages.extend(calls.iter().map(call));
        let directive = agent.map_or(json!({"s": "agents"}), |agent| json!({"s": "seq", "agent": agent}));
        let [t, t_end] = times;
        let record = json!({
            "t": t, "t_end": t_end, "proto": "anthropic", "label": "seq", "target": "/v1/messages",
            "directive": directive, "raw": json!({"messages": messages}).to_string(),
        });
        record.to_string()
    }

    fn read(lines: &[String]) -> Result<Recording> {
        Recording::read(lines.join("\n").as_bytes())
    }

    fn commands(sent: &[Sent]) -> Vec<usize> {
        sent.iter().map(|sent| sent.commands).collect()
    }

    #[test]
    fn requests_are_sorted_by_agent_and_time() {
        let recording = read(&[
            line(Some("7"), [2.0, 2.5], &[]),
            line(None, [1.0, 1.5], &[]),
            line(Some("3"), [4.0, 4.1], &["Bash"]),
            line(Some("3"), [2.1, 2.4], &[]),
            line(Some("7"), [3.0, 3.1], &["Bash", "Read", "Bash"]),
            line(Some("7"), [5.0, 5.1], &["Bash", "Read", "Bash", "Bash"]),
            line(None, [6.0, 6.1], &["Agent", "Agent"]),
        ]);
        let recording = recording.unwrap();
        assert_eq!(commands(&recording.root), [0, 0]);
        let agents: Vec<Vec<usize>> = recording.agents.iter().map(|sent| commands(sent)).collect();
        assert_eq!(agents, [vec![0, 2, 1], vec![0, 1]]);
        assert_eq!(recording.sent().count(), 7);
        assert_eq!(recording.root[0].target, "/v1/messages");
    }

    #[test]
    fn only_conversations_count() {
        let mut side: Value = serde_json::from_str(&line(None, [1.0, 9.0], &[])).unwrap();
        side["label"] = "side".into();
        let mut plain = side.clone();
        plain["directive"] = Value::Null;
        plain["label"] = "no-directive".into();
        let models = json!({"t": 1.0, "t_end": 9.0, "target": "/v1/models", "method": "GET"});
        let gone = json!({"t": 1.0, "conn": "c", "client_gone": "ConnectionError"});
        let lines = [side.to_string(), plain.to_string(), models.to_string(), gone.to_string()];
        assert_eq!(read(&lines).unwrap(), Recording::default());
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = read(&[line(None, [1.0, 2.0], &[]), "{\"t\": 1".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        let mut bad: Value = serde_json::from_str(&line(None, [1.0, 2.0], &[])).unwrap();
        bad["raw"] = "{".into();
        assert!(read(&[bad.to_string()]).is_err());
    }

    #[test]
    fn requests_that_meet_are_not_at_once() {
        assert_eq!(most_at_once(&[(1.0, 2.0), (2.0, 3.0)]), 1);
        assert_eq!(most_at_once(&[(1.0, 2.1), (2.0, 3.0), (2.05, 2.06), (4.0, 5.0)]), 3);
        assert_eq!(most_at_once(&[]), 0);
    }
}
