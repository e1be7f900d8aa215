//! The two tools against a supervisor that says what the test wants.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use troupe_core::block::text_of;
use troupe_core::ids::AgentId;
use troupe_core::mail::MailError;
use troupe_core::policy::{Answer, Mode, Question};
use troupe_core::ports::supervisor::{Job, JobError, JobStart, SpawnError, Supervisor, Waiter};
use troupe_core::ports::tool::Reporter;
use troupe_core::spawn::Spawn;
use troupe_core::state::AgentState;
use troupe_core::{CancellationToken, schema};

use super::*;

struct Post {
    answer: Result<Delivery, MailError>,
    sent: Mutex<Vec<Mail>>,
    agents: usize,
}

impl Post {
    fn of(answer: Result<Delivery, MailError>) -> Arc<Self> {
        Arc::new(Self { answer, sent: Mutex::default(), agents: 0 })
    }

    fn cx(self: &Arc<Self>) -> ToolCx {
        ToolCx {
            me: AgentId::main(),
            call: "call".into(),
            place: place(),
            state: Arc::new(AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into())),
            cancel: CancellationToken::new(),
            report: Reporter::silent(),
            supervisor: self.clone(),
        }
    }

    async fn send(self: &Arc<Self>, input: Value) -> (String, bool) {
        let output = SendMessage::new().call(&self.cx(), input).await;
        (text_of(&output.content), output.is_error)
    }
}

fn place() -> Place {
    Place { cwd: "/w".into(), home: "/h".into(), roots: vec![], scratch: vec![], read_only: false }
}

impl Supervisor for Post {
    fn spawn(&self, _spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async { Err(SpawnError::Ending) })
    }

    fn start(&self, _start: JobStart) -> Result<Waiter, SpawnError> {
        Err(SpawnError::Ending)
    }

    fn job(&self, _owner: &AgentId, id: &str) -> Result<Job, JobError> {
        Err(JobError::Unknown { id: id.into(), known: Vec::new() })
    }

    fn stop(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        self.job(owner, id)
    }

    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Deny { message: "nobody is there".into(), interrupt: false } })
    }

    fn send(&self, mail: Mail) -> BoxFuture<'_, Result<Receipt, MailError>> {
        self.sent.lock().unwrap().push(mail);
        let answer = self.answer.clone();
        let receipt = |delivery| Receipt { to: AgentId::new("a1"), name: Some("rev".into()), delivery };
        Box::pin(async move { answer.map(receipt) })
    }

    fn correspondents(&self, _me: &AgentId) -> BoxFuture<'_, Vec<Correspondent>> {
        let agent = |n: usize| Correspondent {
            id: AgentId::new(format!("a{n}")),
            name: (n == 0).then(|| "rev".to_owned()),
            definition: "Explore".into(),
            state: "running",
            description: "look\nat it".into(),
        };
        let agents = (0..self.agents).map(agent).collect();
        Box::pin(async move { agents })
    }
}

// proves: B7, M5
#[tokio::test]
async fn the_sender_is_told_when_it_is_read() {
    let post = Post::of(Ok(Delivery::Queued));
    let long = "The parser is done and the tests pass, all but one that never did.";
    let (text, is_error) = post.send(json!({"to": "rev", "message": long})).await;
    assert!(!is_error && text.contains("rev (a1)") && text.contains("between two steps"), "{text}");
    let mail = post.sent.lock().unwrap().pop().unwrap();
    assert_eq!((&*mail.to, &*mail.text), ("rev", long));
    assert_eq!(mail.summary, None);
    assert_eq!(mail.brief(), "The parser is done and the tests pass, all but…");
    let resumed = Post::of(Ok(Delivery::Resumed { job: "a1".into(), run: 2 }));
    let (text, _) = resumed.send(json!({"to": "rev", "message": "go on", "summary": "next part"})).await;
    assert!(text.contains("in the background as task a1"), "{text}");
    assert_eq!(resumed.sent.lock().unwrap()[0].summary.as_deref(), Some("next part"));
}

// proves: M5
#[tokio::test]
async fn what_can_not_be_sent_says_why() {
    let unknown = MailError::Unknown { to: "x".into(), known: vec!["main".into(), "rev".into()] };
    let post = Post::of(Err(unknown));
    let (text, is_error) = post.send(json!({"to": "x", "message": "hi"})).await;
    assert!(is_error && text.ends_with("there are: main, rev"), "{text}");
    for (input, word) in [
        (json!({"to": "*", "message": {"type": "shutdown_request"}}), "one member each"),
        (json!({"to": "uds:", "message": "x"}), "no socket"),
        (json!({"to": "uds:/tmp/x", "message": {"type": "shutdown_request"}}), "text alone"),
        (json!({"to": " ", "message": "x"}), "ListAgents"),
        (json!({"to": "rev", "message": "  "}), "empty"),
        (json!({"to": "rev", "message": {"type": "mode_set_request", "mode": "plan"}}), "shutdown_request"),
        (json!({"to": "rev", "message": {"type": "shutdown_response"}}), "request_id"),
        (json!({"to": "rev", "message": "x".repeat(LONGEST + 1)}), "file"),
    ] {
        let tool = SendMessage::new();
        assert_eq!(schema::check(&tool.spec().input_schema, &input), Ok(()), "{word}");
        let fault = tool.access(&place(), &input).unwrap_err().to_string();
        assert!(fault.contains(word), "{fault}");
        assert!(post.send(input).await.1);
    }
    assert_eq!(post.sent.lock().unwrap().len(), 1, "what makes no sense is not sent");
}

// proves: M6
#[tokio::test]
async fn the_list_is_bounded_and_a_line_each() {
    for (agents, lines, last) in
        [(0, 1, "none"), (2, 2, "a1 [Explore] running: look"), (130, 101, "and 30 more")]
    {
        let post = Arc::new(Post { answer: Ok(Delivery::Queued), sent: Mutex::default(), agents });
        let output = ListAgents::new().call(&post.cx(), json!({})).await;
        let text = text_of(&output.content);
        assert_eq!(text.lines().count(), lines, "{text}");
        assert!(text.lines().last().unwrap().starts_with(last), "{text}");
        assert!(agents == 0 || text.starts_with("a0 rev [Explore] running: look"), "{text}");
    }
}

// proves: M5, S1
#[tokio::test]
async fn a_message_that_leaves_the_session_is_judged_by_where_it_goes() {
    let access = |to: &str| SendMessage::new().access(&place(), &json!({"to": to, "message": "x"})).unwrap();
    let send = |to: &str| vec![Access::Send { to: to.to_owned() }];
    assert_eq!(access("rev"), [Access::Own]);
    for spelled in ["bridge:7c1d", "bridge: 7c1d", "bridge:\t7c1d ", " bridge:7c1d"] {
        assert_eq!(access(spelled), send("bridge:7c1d"), "{spelled:?}");
    }
    assert_eq!(access("uds:/run/./x/../a.sock"), send("uds:/run/a.sock"));
    assert_eq!(access("uds:a.sock"), send("uds:/w/a.sock"));
    let post = Post::of(Ok(Delivery::Queued));
    post.send(json!({"to": "uds:a.sock", "message": "x"})).await;
    assert_eq!(post.sent.lock().unwrap()[0].to, "uds:/w/a.sock");
}
