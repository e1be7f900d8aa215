//! One command in the sandbox: its policy, its way to the network, and what is known of its refusals afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use troupe_core::ids::{AgentId, CallId, QuestionId};
use troupe_core::policy::{Answer, Asker, Question, ReasonKind};
use troupe_core::ports::supervisor::Supervisor;
use troupe_core::ports::tool::Place;
use troupe_sandbox::proxy::{Ask, End, Proxy, Refusal, Rules, Target};
use troupe_sandbox::{Network, Policy, Walled};

use super::{Refused, ShellSandbox};

/// The tool that a question about a host names, as in the ecosystem.
const NETWORK_TOOL: &str = "SandboxNetworkAccess";

/// What a command's walls are to be made from.
pub(crate) struct Plan {
    pub(crate) sandbox: Arc<ShellSandbox>,
    pub(crate) place: Place,
    /// A file that the shell reads, and writes its last folder to.
    pub(crate) prologue: Option<PathBuf>,
    pub(crate) door: Door,
}

/// Who can be asked about a host.
pub(crate) struct Door {
    /// Whether the agent's mode lets anything be asked.
    pub(crate) asks: bool,
    pub(crate) agent: AgentId,
    pub(crate) call: CallId,
    pub(crate) supervisor: Arc<dyn Supervisor>,
}

/// A command's walls. To be kept until it has ended.
pub(crate) struct Inside {
    walled: Walled,
    proxy: Option<Proxy>,
    policy: Policy,
    sandbox: Arc<ShellSandbox>,
    place: Place,
}

impl Plan {
    /// Puts the walls up around `program` with `args`. Needs a runtime.
    ///
    /// # Errors
    /// Why it can't be done; the command must not run then.
    pub(crate) fn build(self, program: &Path, args: &[std::ffi::OsString]) -> Result<Inside, String> {
        let Self { sandbox, place, prologue, door } = self;
        let mut policy = sandbox.policies.take(&place);
        policy.writable.extend(prologue);
        let proxy = if sandbox.has_network() {
            let network = &sandbox.network;
            let rules = Rules {
                domains: network.domains.clone(),
                ask: (network.asks && door.asks).then(|| door.ask()),
                upstream: network.upstream.clone(),
            };
            let started = Proxy::start(&socket(&sandbox.folder), rules);
            Some(started.map_err(|error| format!("the sandbox's proxy does not start: {error}"))?)
        } else {
            None
        };
        policy.network = match &proxy {
            Some(proxy) => Network::Proxy(proxy.socket().to_owned()),
            None => Network::Closed,
        };
        let walled =
            sandbox.sandbox.wrap(&policy, program, args, &place.cwd).map_err(|error| error.to_string())?;
        Ok(Inside { walled, proxy, policy, sandbox, place })
    }
}

/// A name of a socket that no command of this session had yet. Short: the system takes some 100 bytes.
fn socket(folder: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    folder.join(format!("{:x}.sock", COUNT.fetch_add(1, Ordering::Relaxed)))
}

impl Door {
    fn ask(self) -> Ask {
        let count = Arc::new(AtomicU64::new(0));
        Ask::new(move |target| {
            let id = format!("{}-net-{}", self.call.as_str(), count.fetch_add(1, Ordering::Relaxed));
            let question = self.question(&target, QuestionId::new(id));
            let supervisor = Arc::clone(&self.supervisor);
            async move { matches!(supervisor.ask(question).await, Answer::Allow { .. }) }
        })
    }

    fn question(&self, target: &Target, id: QuestionId) -> Question {
        Question {
            id,
            agent: self.agent.clone(),
            asker: Asker::default(),
            call: self.call.clone(),
            tool: NETWORK_TOOL.into(),
            input: json!({"host": target.host.to_string(), "port": target.port}),
            title: format!("a command connects to {target}"),
            reason: format!("{} is not among the allowed domains of the sandbox", target.host),
            reason_kind: ReasonKind::Safety,
            blocked_path: None,
            suggestions: Vec::new(),
            alternatives: Vec::new(),
            hard: true,
            interactive: false,
        }
    }
}

impl Inside {
    /// The command, ready for its environment and its pipes.
    pub(crate) fn command(&self) -> std::process::Command {
        let mut command = self.walled.command();
        for name in &self.sandbox.withheld {
            command.env_remove(name);
        }
        command
    }

    /// Takes the walls down, once all has ended.
    pub(crate) async fn take_down(self) {
        let sandbox = Arc::clone(&self.sandbox);
        sandbox.sweeps.add(self).await;
    }

    /// The end of all its processes.
    pub(crate) fn end(&self) -> Option<End> {
        self.proxy.as_ref().map(Proxy::end)
    }

    /// What is to be told of its refusals once it has ended.
    pub(crate) fn refused(&self) -> Refused {
        let refusals: Vec<Refusal> = self.proxy.as_ref().map(Proxy::refusals).unwrap_or_default();
        Refused {
            hosts: refusals.iter().map(|refusal| format!("{} ({})", refusal.target, refusal.why)).collect(),
            policy: self.policy.clone(),
            place: self.place.clone(),
            allow_unsandboxed: self.sandbox.allow_unsandboxed,
            ignored: self.sandbox.ignored.clone(),
        }
    }
}
