//! Where scenes play: a temporary workspace with the real tools, the real engine and a scripted model.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::faults::Death;
use troupe_core::block::Block;
use troupe_core::budget::Limits;
use troupe_core::builtin;
use troupe_core::coordinator;
use troupe_core::def::{AgentDef, Filter};
use troupe_core::entry::Origin;
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, InputId, SessionId};
use troupe_core::input::{Input, Prompt, When};
use troupe_core::outcome::Envelope;
use troupe_core::policy::Mode;
use troupe_core::ports::clock::Clock;
use troupe_core::ports::journal::Journal;
use troupe_core::ports::model::Model;
use troupe_core::ports::tool::Tool;
use troupe_core::time::Time;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::guards::Guards;
use troupe_engine::journal::MemoryJournal;
use troupe_engine::load::agents::Given;
use troupe_engine::load::{AgentFiles, AgentSources, Env, Places, Sources, Trust};
use troupe_engine::session::{
    Background, Caching, Ceilings, Contexts, Definitions, Forks, Leave, Models, PlaceConfig, Prompting,
    Teamwork, Watching,
};
use troupe_engine::team::Teams;
use troupe_engine::worktree::{Setup, Worktrees};
use troupe_engine::{Config, Parts, Session, Start};
use troupe_models::script::ScriptModel;
use troupe_tools::troupe::AgentOptions;

use crate::scene::Scene;

/// The longest that any wait of a scene may take, in real time.
pub const LIMIT: Duration = Duration::from_mins(1);

/// The session that scenes play in.
pub const SESSION: &str = "00000000-0000-4000-8000-00000000feed";

/// A clock that counts: each look is a millisecond later, each id the next number.
#[derive(Default)]
pub struct CountingClock {
    now: AtomicU64,
    ids: AtomicU64,
}

impl Clock for CountingClock {
    fn now(&self) -> Time {
        let ms = self.now.fetch_add(1, Ordering::Relaxed);
        Time(1_767_225_600_000 + i64::try_from(ms).unwrap_or(0))
    }

    fn uuid(&self) -> String {
        let number = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        format!("00000000-0000-4000-8000-{number:012x}")
    }
}

/// A world: it outlives the sessions that are opened in it, as a disk outlives a process.
pub struct World {
    folder: tempfile::TempDir,
    /// Where transcripts go.
    pub journal: Arc<dyn Journal>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Time and ids.
    pub clock: Arc<CountingClock>,
    /// How sessions are configured; change it before opening one.
    pub config: Config,
    /// Agent definitions.
    pub defs: Vec<AgentDef>,
    /// What new worktrees get.
    pub setup: Setup,
}

impl World {
    /// A world for a scene, with its files laid out, and the model that plays it.
    ///
    /// # Panics
    /// When it can't be set up.
    pub fn of(scene: &Scene) -> (Self, ScriptModel) {
        let model = scene.model();
        let mut world = Self::new(Arc::new(model.clone()));
        world.config.leave.mode = Some(scene.mode);
        world.config.guards = scene.guards;
        world.config.forks.enabled = scene.forks;
        world.config.teams.enabled = scene.teams;
        world.config.contexts.verify_plan = scene.verify_plan;
        world.config.leave.asks = !scene.answers.is_empty();
        for (path, content) in &scene.files {
            world.write(path, content);
        }
        if scene.coordinator {
            world.defs = vec![coordinator::definition(), coordinator::worker()];
        }
        (world, model)
    }

    /// An empty world with this model.
    ///
    /// # Panics
    /// When it can't be set up.
    pub fn new(model: Arc<dyn Model>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = std::fs::canonicalize(folder.path()).expect("the temporary folder");
        let cwd = root.join("ws");
        std::fs::create_dir(&cwd).expect("the workspace");
        let config = Config {
            place: PlaceConfig {
                cwd,
                roots: Vec::new(),
                home: root.join("home"),
                root: root.join("state"),
                project: "-ws".to_owned(),
                plans: root.join("home/plans"),
                memory: None,
                branch: None,
            },
            leave: Leave::default(),
            prompting: Prompting {
                system: None,
                append: None,
                instructions: Arc::new(Vec::new),
                status: None,
                platform: "linux".to_owned(),
            },
            model: None,
            default_model: "script".to_owned(),
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
            teams: Teamwork::default(),
            peers: troupe_engine::session::Peering::default(),
            version: "0.0.0".to_owned(),
        };
        Self {
            folder,
            journal: Arc::new(MemoryJournal::default()),
            model,
            clock: Arc::default(),
            config,
            defs: definitions(),
            setup: Setup::default(),
        }
    }

    /// An empty world with this model, in which nobody is asked for leave.
    ///
    /// # Panics
    /// When it can't be set up.
    pub fn unasked(model: Arc<dyn Model>) -> Self {
        let mut world = Self::new(model);
        world.config.leave.mode = Some(Mode::BypassPermissions);
        world
    }

    /// The same with a model that plays this script; the model, to release its gates by.
    ///
    /// # Panics
    /// When the script makes no sense, or the world can't be set up.
    pub fn playing(script: &str) -> (Self, ScriptModel) {
        let model = ScriptModel::parse("test", script).expect("the test's script");
        (Self::unasked(Arc::new(model.clone())), model)
    }

    /// Makes a named pipe in the workspace, at which a command can wait.
    ///
    /// # Panics
    /// When it can't.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.workspace().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("a named pipe");
        path
    }

    /// The temporary folder that holds everything.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The workspace.
    pub fn workspace(&self) -> &Path {
        &self.config.place.cwd
    }

    /// Writes a file of the workspace.
    ///
    /// # Panics
    /// When it can't.
    pub fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.workspace().join(path);
        std::fs::create_dir_all(path.parent().expect("a file in the workspace")).expect("its folder");
        std::fs::write(&path, content).expect("the file");
        path
    }

    /// Reads a file of the workspace; empty when it isn't there.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.workspace().join(path)).unwrap_or_default()
    }

    /// Opens a session on this world's journal.
    ///
    /// # Panics
    /// When it can't be opened.
    pub async fn open(&self, start: Start) -> Session {
        self.open_on(Arc::clone(&self.journal), start).await
    }

    /// Opens a session on another journal, such as one with faults.
    ///
    /// # Panics
    /// When it can't be opened.
    pub async fn open_on(&self, journal: Arc<dyn Journal>, start: Start) -> Session {
        Session::open(self.parts(journal), self.config.clone(), start).await.expect("the session opens")
    }

    /// The parts of a session.
    pub fn parts(&self, journal: Arc<dyn Journal>) -> Parts {
        Parts {
            model: Arc::clone(&self.model),
            tools: self.tools(),
            defs: self.definitions(),
            journal,
            teams: Teams::new(self.config.place.root.clone()),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            export: None,
            worktrees: self.worktrees(),
            sweep: None,
        }
    }

    /// The worktrees of the workspace, where it is a repository.
    pub fn worktrees(&self) -> Option<Worktrees> {
        let is_repository = self.workspace().join(".git").exists();
        let open = || Worktrees::open(&self.env(), &self.config.place.root, self.setup.clone()).ok();
        is_repository.then(open).flatten()
    }

    fn env(&self) -> Env {
        let home = self.config.place.home.clone();
        let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        let vars = [("PATH".to_owned(), path), ("HOME".to_owned(), home.display().to_string())].into();
        Env { vars, cwd: self.workspace().to_owned(), home: Some(home) }
    }

    /// Runs git in the workspace as a person does; what it prints.
    ///
    /// # Panics
    /// When it fails.
    pub fn git(&self, words: &[&str]) -> String {
        let of = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let said =
            Command::new("git").args(of).args(words).current_dir(self.workspace()).output().expect("git");
        assert!(said.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8_lossy(&said.stdout).trim_end().to_owned()
    }

    /// Makes the workspace a repository, with all that is in it as its first commit.
    ///
    /// # Panics
    /// When git fails.
    pub fn commit_all(&self) {
        self.git(&["init", "-q"]);
        // Commits of agents need a name, too.
        self.git(&["config", "user.name", "A"]);
        self.git(&["config", "user.email", "a@b"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    }

    /// The parts of a session whose process dies after so many appends, to its journal or to those that it shares.
    pub fn dying(&self, appends: usize) -> (Parts, Arc<Death>) {
        let death = Death::after(appends);
        let root = &self.config.place.root;
        let shared = death.journal(Teams::new(root.clone()).journal());
        let teams = Teams::on(root.clone(), shared);
        (Parts { teams, ..self.parts(death.journal(Arc::clone(&self.journal))) }, death)
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let teams = self.config.teams.enabled;
        let agents = AgentOptions { tasks: teams, teams, ..AgentOptions::default() };
        let mut tools = troupe_tools::builtin_with(troupe_tools::Options::default(), agents);
        if teams {
            tools.extend(troupe_tools::team::tools());
        }
        if self.workspace().join(".git").exists() {
            tools.extend(troupe_tools::worktree::tools());
        }
        tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        tools
    }

    /// The built-in definitions, and those of the workspace's files, all of which are trusted and read at each look.
    fn definitions(&self) -> Definitions {
        let mut builtin = self.defs.clone();
        let main = Arc::new(builtin.remove(0));
        let env = Env { cwd: self.workspace().to_owned(), ..Env::default() };
        let from = AgentSources {
            places: Places { managed: Vec::new(), ..Places::of(&env) },
            sources: Sources { user: false, ..Sources::ALL },
            trust: Trust::Trusted,
            mode: Mode::Default,
            plugins: Vec::new(),
            added: Vec::new(),
            bare: false,
        };
        let files = AgentFiles::new(from, builtin, Given::default());
        Definitions::of_files(main, files.with_pause(Duration::ZERO))
    }

    /// Opens the new session of a scene.
    pub async fn start(&self) -> Session {
        self.open(Start::New(session())).await
    }

    /// Opens it again.
    pub async fn resume(&self) -> Session {
        self.open(Start::Resume(session())).await
    }
}

/// The session of scenes.
pub fn session() -> SessionId {
    SessionId::new(SESSION)
}

/// The definitions of scenes: the built-in ones, `scene`, which is the main agent's as a child, and `checker`,
/// which is `verification` with somebody who waits for it.
pub fn definitions() -> Vec<AgentDef> {
    let options = builtin::Options { settings: "/settings.json".into() };
    vec![
        builtin::main(),
        builtin::general_purpose(),
        builtin::explore(),
        builtin::plan(),
        builtin::verification(),
        builtin::guide(),
        builtin::statusline_setup(&options),
        AgentDef { name: "scene".to_owned(), ..builtin::main() },
        AgentDef { name: "checker".to_owned(), background: false, ..builtin::verification() },
    ]
}

/// A person's prompt. The same number is the same prompt, also after a crash.
pub fn prompt(number: usize, text: &str) -> Input {
    Input::Prompt(Prompt {
        id: InputId::new(format!("prompt-{number}")),
        blocks: vec![Block::text(text)],
        from: Origin::Human,
        when: When::Later,
        starts_turn: true,
    })
}

/// Sends a prompt to the main agent.
///
/// # Panics
/// When it isn't taken.
pub async fn say(session: &Session, number: usize, text: &str) {
    session.send(&AgentId::main(), prompt(number, text)).await.expect("the prompt is taken");
}

/// Waits for the end of the main agent's run.
///
/// # Panics
/// When it does not come within [`LIMIT`].
pub async fn ended(events: &mut Subscription) -> Arc<Envelope> {
    let wait = async {
        loop {
            match events.next().await {
                Heard::Event(event) if event.agent.is_main() => {
                    if let EventKind::Ended(envelope) = &event.kind {
                        return Some(Arc::clone(envelope));
                    }
                }
                Heard::Closed => return None,
                Heard::Event(_) | Heard::Missed(_) => {}
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect("the run ends in time").expect("the session lives")
}

/// Says one thing and waits for the end of the run.
pub async fn turn(session: &Session, number: usize, text: &str) -> Arc<Envelope> {
    let mut events = session.subscribe(false);
    say(session, number, text).await;
    ended(&mut events).await
}

/// A mode for scenes that need leave for everything.
pub const ASKING: Mode = Mode::Default;
