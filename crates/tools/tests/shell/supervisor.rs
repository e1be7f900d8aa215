//! A supervisor for tests: it runs jobs as the real one does, and remembers who was told of what.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use troupe_core::ids::{AgentId, JobId};
use troupe_core::job::JobKind;
use troupe_core::outcome::Outcome;
use troupe_core::policy::{Answer, Mode, Question};
use troupe_core::ports::supervisor::{
    Job, JobCx, JobError, JobNews, JobStart, Release, SpawnError, Supervisor, Waiter,
};
use troupe_core::ports::tool::{Place, Reporter, Tool, ToolCx, ToolOutput};
use troupe_core::spawn::Spawn;
use troupe_core::state::{AgentState, Effect};
use troupe_core::{BoxFuture, CancellationToken};

struct Row {
    job: Job,
    cancel: CancellationToken,
}

/// Jobs in a folder of their own.
pub(crate) struct World {
    folder: TempDir,
    rows: Mutex<Vec<Row>>,
    tasks: Mutex<JoinSet<()>>,
    pub(crate) released: Mutex<Vec<(JobId, Release)>>,
    pub(crate) news: Mutex<Vec<JobNews>>,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            folder: TempDir::new().unwrap(),
            rows: Mutex::default(),
            tasks: Mutex::default(),
            released: Mutex::default(),
            news: Mutex::default(),
        })
    }

    /// The folder in which agents work.
    pub(crate) fn work(&self) -> PathBuf {
        let work = self.folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(&work).unwrap();
        work
    }

    pub(crate) fn folder_of_outputs(&self) -> PathBuf {
        self.folder.path().join("outputs")
    }

    /// The folder of output files.
    pub(crate) fn outputs(&self) -> PathBuf {
        let outputs = self.folder_of_outputs();
        std::fs::create_dir_all(&outputs).unwrap();
        outputs
    }

    pub(crate) fn job_of(&self, id: &str) -> Job {
        self.job(&AgentId::main(), id).unwrap()
    }

    /// Adds a job that no runner has.
    pub(crate) fn add(&self, job: Job) {
        self.rows.lock().unwrap().push(Row { job, cancel: CancellationToken::new() });
    }

    fn find(&self, owner: &AgentId, id: &str) -> Result<(Job, CancellationToken), JobError> {
        let rows = self.rows.lock().unwrap();
        let mine = || rows.iter().filter(|row| row.job.owner == *owner);
        let known = || mine().map(|row| row.job.id.to_string()).collect();
        mine()
            .find(|row| row.job.id.as_str() == id)
            .map(|row| (row.job.clone(), row.cancel.clone()))
            .ok_or_else(|| JobError::Unknown { id: id.into(), known: known() })
    }
}

/// The door for one agent's calls.
pub(crate) struct Door(pub(crate) Arc<World>);

impl Supervisor for Door {
    fn spawn(&self, _spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async { Err(SpawnError::Ending) })
    }

    fn start(&self, start: JobStart) -> Result<Waiter, SpawnError> {
        let world = &self.0;
        let id = JobId::from(format!("b{}", world.rows.lock().unwrap().len() + 1));
        let output = world.outputs().join(format!("{id}.output"));
        let cancel = CancellationToken::new();
        let (end, outcome) = watch::channel(None);
        let job = Job {
            id: id.clone(),
            owner: start.owner,
            title: start.title,
            kind: JobKind::Shell,
            run: 1,
            name: None,
            model: None,
            background: false,
            call: Some(start.call),
            output: output.clone(),
            outcome,
        };
        world.rows.lock().unwrap().push(Row { job: job.clone(), cancel: cancel.clone() });
        let run = (start.run)(JobCx { id, output, cancel: cancel.clone() });
        world.tasks.lock().unwrap().spawn(async move {
            let outcome = run.await;
            end.send_replace(Some(outcome));
        });
        let released = Arc::downgrade(world);
        let release = Arc::new(move |id: &JobId, how: Release| {
            if let Some(world) = released.upgrade() {
                world.released.lock().unwrap().push((id.clone(), how));
            }
        });
        Ok(Waiter::new(job, cancel, release))
    }

    fn job(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        self.0.job(owner, id)
    }

    fn stop(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        let (job, cancel) = self.0.find(owner, id)?;
        if job.outcome.borrow().is_some() {
            return Err(JobError::Ended(job.id));
        }
        cancel.cancel();
        Ok(job)
    }

    fn tell(&self, news: JobNews) -> BoxFuture<'_, Result<(), String>> {
        self.0.news.lock().unwrap().push(news);
        Box::pin(async { Ok(()) })
    }

    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Deny { message: "nobody is there".into(), interrupt: false } })
    }
}

impl World {
    fn job(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        Ok(self.find(owner, id)?.0)
    }
}

/// One agent that calls tools; its folder follows the results' effects.
pub(crate) struct Agent {
    pub(crate) world: Arc<World>,
    pub(crate) id: AgentId,
    pub(crate) place: Place,
    pub(crate) cancel: CancellationToken,
}

impl Agent {
    pub(crate) fn main(world: &Arc<World>) -> Self {
        Self::named(world, AgentId::main())
    }

    pub(crate) fn named(world: &Arc<World>, id: AgentId) -> Self {
        let work = world.work();
        let place = Place {
            cwd: work.clone(),
            home: "/nonexistent".into(),
            roots: vec![work],
            scratch: vec![],
            read_only: false,
        };
        Self { world: world.clone(), id, place, cancel: CancellationToken::new() }
    }

    /// What a call gets.
    pub(crate) fn cx(&self) -> ToolCx {
        let state = AgentState::new(self.place.cwd.clone(), Mode::Default, "m".into(), "p".into());
        ToolCx {
            me: self.id.clone(),
            call: "toolu_1".into(),
            place: self.place.clone(),
            state: Arc::new(state),
            cancel: self.cancel.clone(),
            report: Reporter::silent(),
            supervisor: Arc::new(Door(self.world.clone())),
        }
    }

    pub(crate) async fn call(&mut self, tool: &dyn Tool, input: Value) -> ToolOutput {
        troupe_core::schema::check(&tool.spec().input_schema, &input).unwrap();
        let output = tool.call(&self.cx(), input).await;
        for effect in &output.effects {
            if let Effect::Cwd(cwd) = effect {
                self.place.cwd.clone_from(cwd);
            }
        }
        output
    }

    /// Runs a command.
    pub(crate) async fn run(&mut self, tool: &dyn Tool, command: &str) -> ToolOutput {
        self.call(tool, json!({"command": command})).await
    }
}

/// The texts of an output, one a line.
pub(crate) fn text(output: &ToolOutput) -> String {
    let texts: Vec<&str> = output.content.iter().filter_map(|block| block.as_text()).collect();
    texts.join("\n")
}

/// A field of the structured result.
pub(crate) fn field<'a>(output: &'a ToolOutput, key: &str) -> &'a Value {
    output.data.as_ref().and_then(|data| data.get(key)).unwrap_or(&Value::Null)
}

/// A pipe with a name, by which a command and a test wait for one another.
pub(crate) fn fifo(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

/// Waits until a command opens the pipe and writes to it; gives what it wrote.
pub(crate) async fn hear(path: &Path) -> String {
    let text = tokio::fs::read_to_string(path);
    tokio::time::timeout(std::time::Duration::from_secs(30), text).await.unwrap().unwrap()
}

/// How a shell job ended.
pub(crate) fn shell_end(outcome: Outcome) -> troupe_core::outcome::ShellEnd {
    match outcome {
        Outcome::Shell(end) => end,
        Outcome::Agent(_) => panic!("not a shell"),
    }
}

/// The command lines of live processes that have `word` among their arguments or in their environment.
pub(crate) fn alive(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            continue;
        }
        // A process that ended meanwhile has neither.
        let read = |file| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let (line, environ) = (read("cmdline"), read("environ"));
        let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        if name.to_str() != Some(&std::process::id().to_string()) && (has(&line) || has(&environ)) {
            found.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    found
}
