//! A team with members in panes of a real tmux, on a server of the test's own: the program itself in each process. The lead
//! is a host's; what a member does next waits for the host's answer to its question, so the order is the test's to say.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use troupe_engine::team::process;
use troupe_testkit::process::{LIMIT, poll};

use crate::stage::{Stage, end};

/// Each member reads a file outside of the workspace, which asks, before each step that the lead answers.
const SCRIPT: &str = r#"agent main
reply
  call TeamCreate team_name=blue description="try panes"
reply
  call Agent description="ann" name=ann prompt="ANN: read"
  call Agent description="bob" name=bob mode=plan prompt="BOB: plan"
  call Agent description="cat" name=cat mode=plan prompt="CAT: plan"
reply "started three"
reply
  expect "ann has read it"
  text "heard ann"
reply
  expect "plan-bob-toolu_main_1_0"
  call SendMessage to=bob message={"type":"plan_approval_response","request_id":"plan-bob-toolu_main_1_0","approve":true}
reply "approved bob"
reply
  expect "bob has written it"
  text "heard bob"
reply
  expect "plan-cat-toolu_main_1_0"
  call SendMessage to=cat message={"type":"plan_approval_response","request_id":"plan-cat-toolu_main_1_0","approve":false,"feedback":"too red"}
reply "refused cat"
reply
  expect "cat plans again"
  text "heard cat"
reply
  call SendMessage to=ann message={"type":"shutdown_request","request_id":"r1"}
reply "asked ann"
reply
  expect "Shuts down"
  text "ann goes"
reply
  call SendMessage to=bob message={"type":"shutdown_request","request_id":"r2"}
reply "asked bob"
reply
  expect "Does not shut down"
  text "bob stays"
agent general-purpose /ANN/
reply
  call Read file_path=../secret.txt
reply
  expect "of the test"
  call SendMessage to=team-lead summary="ann has read it" message="ann has read it"
reply "ann waits"
reply
  expect "shut down"
  call Read file_path=../secret.txt
reply
  call SendMessage to=team-lead message={"type":"shutdown_response","request_id":"r1","approve":true}
reply "never said"
agent general-purpose /BOB/
reply
  call Read file_path=../secret.txt
reply
  call ExitPlanMode plan="paint it blue"
reply
  expect "approved"
  call Write file_path=bob.txt content=blue
reply
  call SendMessage to=team-lead summary="bob has written it" message="bob has written it"
reply "bob waits"
reply
  call Read file_path=../secret.txt
reply
  call SendMessage to=team-lead message={"type":"shutdown_response","request_id":"r2","approve":false,"reason":"not yet"}
reply "bob goes on"
agent general-purpose /CAT/
reply
  call Read file_path=../secret.txt
reply
  call ExitPlanMode plan="paint it red"
reply
  expect "too red"
  call Read file_path=../secret.txt
reply
  call SendMessage to=team-lead summary="cat plans again" message="cat plans again"
reply "cat waits"
"#;

/// A server of tmux with a person's pane `%0` on it.
pub(crate) struct Server {
    socket: PathBuf,
}

impl Server {
    pub(crate) fn start(stage: &Stage) -> Self {
        let server = Self { socket: stage.path("tmux") };
        server.say(&["-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "48", "sleep 6000"]);
        server
    }

    /// What tmux sets in its panes.
    pub(crate) fn variable(&self) -> String {
        format!("{},1,0", self.socket.display())
    }

    pub(crate) fn say(&self, words: &[&str]) -> String {
        let said = Command::new("tmux").arg("-S").arg(&self.socket).args(words).output().unwrap();
        assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8_lossy(&said.stdout).trim_end().to_owned()
    }

    /// The panes that are there, sorted.
    pub(crate) fn panes(&self) -> Vec<String> {
        sorted(&self.say(&["list-panes", "-a", "-F", "#{pane_id}"]).lines().collect::<Vec<_>>())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

/// The lead, with a host on its pipes.
pub(crate) struct Lead {
    pub(crate) child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(crate) asked: Vec<Value>,
    pub(crate) session: String,
}

impl Lead {
    pub(crate) fn start(stage: &Stage, server: &Server, script: &str, arguments: &[&str]) -> Self {
        Self::start_in(stage, server, script, arguments, &[])
    }

    pub(crate) fn start_in(
        stage: &Stage,
        server: &Server,
        script: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut child = stage
            .scripted(script)
            .args(["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"])
            .args(["--permission-prompt-tool", "stdio", "--teammate-mode", "auto"])
            .args(arguments)
            .env("TROUPE_AGENT_TEAMS", "1")
            .env("TMUX", server.variable())
            .env("TMUX_PANE", "%0")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, asked: Vec::new(), session: String::new() }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.send(&json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    #[track_caller]
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "no more frames");
            let frame: Value = serde_json::from_str(&line).unwrap();
            if let Some(session) = frame["session_id"].as_str() {
                session.clone_into(&mut self.session);
            }
            if frame["request"]["subtype"] == "can_use_tool" {
                self.asked.push(frame.clone());
            }
            if wanted(&frame) {
                return frame;
            }
        }
    }

    #[track_caller]
    pub(crate) fn result(&mut self, text: &str) {
        let result = self.until(|frame| frame["type"] == "result");
        assert_eq!(result["result"], text, "{result:#}");
    }

    /// What a member asks, once it does.
    #[track_caller]
    pub(crate) fn question(&mut self, member: &str) -> Value {
        let of = |frame: &Value| frame["request"]["agent_id"] == format!("{member}@blue");
        let at = self.asked.iter().position(of);
        let question = match at {
            Some(at) => self.asked[at].clone(),
            None => self.until(|frame| frame["request"]["subtype"] == "can_use_tool" && of(frame)),
        };
        self.asked.retain(|asked| asked["request_id"] != question["request_id"]);
        question
    }

    /// Lets a member do what it asks for, once it does; gives the question.
    #[track_caller]
    pub(crate) fn allow(&mut self, member: &str) -> Value {
        let question = self.question(member);
        self.answer(&question, &json!([]));
        question["request"].clone()
    }

    /// Allows what is asked, with what holds from then on.
    pub(crate) fn answer(&mut self, question: &Value, updates: &Value) {
        let input = &question["request"]["input"];
        let response = json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": updates});
        let response =
            json!({"subtype": "success", "request_id": question["request_id"], "response": response});
        self.send(&json!({"type": "control_response", "response": response}));
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn members(stage: &Stage) -> Vec<Value> {
    let team = stage.read("home/.troupe/teams/blue/config.json");
    let team: Value = serde_json::from_str(&team).unwrap_or_default();
    team["members"].as_array().cloned().unwrap_or_default()
}

/// The lead, then the others by name: of calls at once any may be the first to join.
pub(crate) fn names(stage: &Stage) -> Vec<String> {
    let members = members(stage);
    let mut names: Vec<_> =
        members.iter().map(|member| member["name"].as_str().unwrap().to_owned()).collect();
    if let Some(others) = names.get_mut(1..) {
        others.sort();
    }
    names
}

pub(crate) fn sorted(words: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    words.sort();
    words
}

// proves: T4, T7, T9, S3, S6, X6, X17
#[test]
fn a_team_in_panes_asks_plans_ends_and_outlives_its_killed_lead_until_it_is_cleared_away() {
    let stage = Stage::new();
    stage.write("secret.txt", "of the test\n");
    let server = Server::start(&stage);
    let mut lead = Lead::start(&stage, &server, SCRIPT, &[]);
    lead.prompt("go");
    lead.result("started three");
    assert_eq!(server.panes(), sorted(&["%0", "%1", "%2", "%3"]));
    // They start at the same time, so that each has one of the three.
    let pane_of = |name: &str| {
        let member = members(&stage).into_iter().find(|member| member["name"] == name).unwrap();
        member["tmuxPaneId"].as_str().unwrap().to_owned()
    };
    let (bob, cat) = (pane_of("bob"), pane_of("cat"));
    // A person opens one of their own.
    server.say(&["split-window", "-d", "-t", "%0", "sleep 6000"]);

    let question = lead.allow("ann");
    assert_eq!(question["tool_name"], "Read", "{question:#}");
    assert!(question["title"].as_str().unwrap().starts_with("main/ann: "), "{question:#}");
    lead.result("heard ann");

    lead.allow("bob");
    lead.result("approved bob");
    let question = lead.allow("bob");
    assert_eq!(question["tool_name"], "Write", "{question:#}");
    lead.result("heard bob");
    assert_eq!(stage.read("work/bob.txt"), "blue");

    lead.allow("cat");
    lead.result("refused cat");
    lead.allow("cat");
    lead.result("heard cat");

    lead.prompt("ann is to end");
    lead.result("asked ann");
    lead.allow("ann");
    lead.result("ann goes");
    poll("ann's pane is closed", LIMIT, || {
        (server.panes() == sorted(&["%0", "%4", &bob, &cat])).then_some(())
    });
    assert_eq!(names(&stage), ["team-lead", "bob", "cat"]);

    lead.prompt("bob is to end");
    lead.result("asked bob");
    lead.allow("bob");
    lead.result("bob stays");
    assert_eq!(server.panes(), sorted(&["%0", "%4", &bob, &cat]));

    lead.child.kill().unwrap();
    lead.child.wait().unwrap();
    let owners: Vec<_> = members(&stage)[1..]
        .iter()
        .map(|member| process::owner(u32::try_from(member["process"]["pid"].as_u64().unwrap()).unwrap()))
        .collect();
    let next =
        end(stage.scripted("agent main\nreply \"next\"\n").args(["-p", "hi"]).env("TROUPE_AGENT_TEAMS", "1"));
    assert_eq!((next.code, next.out.as_str()), (Some(0), "next\n"), "{next:?}");
    for words in [
        "the team blue was left behind",
        &format!("bob (pane {bob}, process"),
        &format!("cat (pane {cat}"),
        "troupe team clean blue",
    ] {
        assert!(next.err.contains(words), "{next:?}");
    }
    assert!(
        owners.iter().all(|owner| owner.as_ref().is_some_and(process::is_alive)),
        "nobody is ended unasked"
    );

    let cleaned = end(stage.troupe().args(["team", "clean", "blue", "--yes"]));
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert!(cleaned.out.contains("The team blue is gone"), "{cleaned:?}");
    assert!(!owners.iter().flatten().any(process::is_alive));
    assert_eq!(server.panes(), sorted(&["%0", "%4"]));
    assert!(!stage.path("home/.troupe/teams/blue").exists());
    assert_eq!(stage.survivors(), Vec::<u32>::new());
}
