//! Sets up a session and a run of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::duplex;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use troupe_core::block::Block;
use troupe_core::budget::Limits;
use troupe_core::def::{AgentDef, Filter};
use troupe_core::ids::SessionId;
use troupe_engine::clock::SystemClock;
use troupe_engine::guards::Guards;
use troupe_engine::session::{
    Background, Caching, Ceilings, Contexts, Definitions, Forks, Leave, Models, PlaceConfig, Prompting,
    Watching,
};
use troupe_engine::team::Teams;
use troupe_engine::{Config, Parts, Session, Start};
use troupe_wire::headless::{Asker, Exit, Input, Io, Options, Output, Product, Signal, StateEvents, run};

use crate::disk::Disk;
use crate::host::Host;
use crate::model::{Gate, Replies, Reply};
use crate::tools;

pub(crate) const SESSION: &str = "0b6f3a52-6f0e-4a54-9a3c-2f1d1a3f4c5d";

/// A run that goes on.
pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) model: Arc<Replies>,
    pub(crate) gate: Gate,
    pub(crate) disk: Arc<Disk>,
    pub(crate) signals: mpsc::Sender<Signal>,
    told: Arc<Mutex<String>>,
    tells: Arc<Notify>,
    run: JoinHandle<Exit>,
    _folder: TempDir,
}

/// What a test says of its run.
pub(crate) struct Setup {
    pub(crate) options: Options,
    pub(crate) replies: Vec<(&'static str, Vec<Reply>)>,
    /// A prompt; none takes a host's lines.
    pub(crate) prompt: Option<&'static str>,
    pub(crate) asks: Asks,
    /// How long a question may stay open.
    pub(crate) question_limit: Option<Duration>,
    /// Whether settings forbid the mode `auto`.
    pub(crate) auto_disabled: bool,
    /// Bytes of output that wait unread.
    pub(crate) pipe: usize,
    /// Whether nothing can be written any more once the session is open.
    pub(crate) full: bool,
}

pub(crate) enum Asks {
    Nobody,
    Host,
    Person(tokio::io::DuplexStream),
}

impl Setup {
    /// A host on a stream, with one list of replies.
    pub(crate) fn stream(main: Vec<Reply>) -> Self {
        let options = Options {
            output: Output::StreamJson,
            states: StateEvents::Sdk,
            product: Product {
                version: "0.1.0".into(),
                compatible_version: "2.1.332".into(),
                api_key_source: "none".into(),
                commands: Vec::new(),
                sandbox: None,
            },
            ..Options::default()
        };
        Self {
            options,
            replies: vec![("main", main)],
            prompt: None,
            asks: Asks::Host,
            question_limit: None,
            auto_disabled: false,
            pipe: 1 << 20,
            full: false,
        }
    }

    /// A prompt in the arguments.
    pub(crate) fn prompt(output: Output, main: Vec<Reply>) -> Self {
        let mut setup = Self::stream(main);
        setup.options.output = output;
        setup.options.states = StateEvents::Off;
        setup.prompt = Some("go");
        setup.asks = Asks::Nobody;
        setup
    }

    pub(crate) async fn start(self) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let gate = Gate::new();
        let model = Arc::new(Replies::new(self.replies));
        let disk = Arc::new(Disk::default());
        let parts = Parts {
            model: Arc::clone(&model) as _,
            tools: tools::all(&gate),
            defs: Definitions::fixed([definition("main"), definition("helper")]),
            journal: Arc::clone(&disk) as _,
            teams: Teams::new(folder.path().to_owned()),
            clock: Arc::new(SystemClock),
            export: None,
            worktrees: None,
            sweep: None,
        };
        let asks = !matches!(self.asks, Asks::Nobody);
        let mut config = config(&folder, asks);
        config.leave.question_limit = self.question_limit;
        config.leave.auto_disabled = self.auto_disabled;
        let session = Session::open(parts, config, Start::New(SessionId::new(SESSION))).await.unwrap();
        if self.full {
            disk.fill();
        }
        let (input, host_input) = duplex(1 << 20);
        let (output, host_output) = duplex(self.pipe);
        let (signals, heard) = mpsc::channel(4);
        let told = Arc::new(Mutex::new(String::new()));
        let tells = Arc::new(Notify::new());
        let (tell, tells_now) = (Arc::clone(&told), Arc::clone(&tells));
        let io = Io {
            input: match self.prompt {
                Some(prompt) => Input::Prompt(vec![Block::text(prompt)]),
                None => Input::Lines(Box::new(input)),
            },
            output,
            tell: Arc::new(move |text: &str| {
                tell.lock().unwrap().push_str(text);
                tells_now.notify_one();
            }),
            asker: match self.asks {
                Asks::Nobody => Asker::Nobody,
                Asks::Host => Asker::Host,
                Asks::Person(terminal) => {
                    Asker::Terminal { answers: Box::new(terminal), forget: Arc::new(|| ()) }
                }
            },
            signals: heard,
        };
        let run = spawn(run(session, self.options, io));
        Stage {
            host: Host::new(host_input, host_output),
            model,
            gate,
            disk,
            signals,
            told,
            tells,
            run,
            _folder: folder,
        }
    }
}

impl Stage {
    /// Waits until people were told these words so often.
    pub(crate) async fn told(&self, words: &str, times: usize) {
        let told = async {
            while self.told.lock().unwrap().matches(words).count() < times {
                self.tells.notified().await;
            }
        };
        tokio::time::timeout(Duration::from_hours(1), told).await.unwrap();
    }

    /// Waits for the end of the run; no more input comes.
    pub(crate) async fn exit(mut self) -> (Exit, Vec<serde_json::Value>, String) {
        self.host.hang_up();
        let rest = self.host.rest().await;
        let exit = tokio::time::timeout(Duration::from_hours(1), self.run).await.unwrap().unwrap();
        let told = self.told.lock().unwrap().clone();
        (exit, rest, told)
    }
}

fn definition(name: &str) -> AgentDef {
    AgentDef {
        name: name.into(),
        when: "always".into(),
        prompt: "Do it.".into(),
        omit_instructions: true,
        ..AgentDef::default()
    }
}

fn config(folder: &TempDir, asks: bool) -> Config {
    let at = folder.path().to_owned();
    Config {
        place: PlaceConfig {
            cwd: at.clone(),
            roots: Vec::new(),
            home: at.clone(),
            root: at.clone(),
            plans: at.join("plans"),
            project: "-stage".into(),
            memory: None,
            branch: None,
        },
        leave: Leave { asks, by_host: asks, ..Leave::default() },
        prompting: Prompting {
            system: None,
            append: None,
            instructions: Arc::new(Vec::new),
            status: None,
            platform: "linux".into(),
        },
        model: None,
        default_model: "mock".into(),
        subagent_model: None,
        models: Models::default(),
        small_model: None,
        pool: Filter::default(),
        contexts: Contexts::default(),
        limits: Limits::default(),
        ceilings: Ceilings::default(),
        watching: Watching::default(),
        guards: Guards::default(),
        background: Background::default(),
        forks: Forks::default(),
        cache: Caching::default(),
        tasks: None,
        teams: troupe_engine::session::Teamwork::default(),
        peers: troupe_engine::session::Peering::default(),
        version: "0.1.0".into(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the test awaits the handle")]
fn spawn(run: impl Future<Output = Exit> + Send + 'static) -> JoinHandle<Exit> {
    tokio::spawn(run)
}
