//! The built-in tools. One file a tool: schema, access, body; its text for the model is the `.md` beside it.

use std::sync::Arc;

use troupe_core::ports::tool::Tool;

pub mod file;
pub mod plan;
pub mod question;
pub mod search;
pub mod shell;
pub mod task;
pub mod team;
pub mod todo;
pub mod troupe;
pub mod worktree;

pub use shell::Options;

/// All built-in tools, in the order in which the model is told of them. The order is part of the prefix that
/// a cache sees, so it is fixed.
pub fn builtin(options: Options) -> Vec<Arc<dyn Tool>> {
    builtin_with(options, troupe::AgentOptions::default())
}

/// The same, with what the settings say of agents.
pub fn builtin_with(options: Options, agents: troupe::AgentOptions) -> Vec<Arc<dyn Tool>> {
    let (read_back, tasks) = (options.read_back_chars, agents.tasks);
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(troupe::Agent::new(agents)),
        Arc::new(question::AskUserQuestion::default()),
        Arc::new(shell::Bash::new(options.clone())),
        Arc::new(plan::EnterPlanMode::default()),
        Arc::new(plan::ExitPlanMode::default()),
        Arc::new(search::Glob::new()),
        Arc::new(search::Grep::new()),
        Arc::new(troupe::ListAgents::new()),
        Arc::new(troupe::SendMessage::new()),
        Arc::new(troupe::TaskOutput::new(read_back)),
        Arc::new(troupe::TaskStop::new()),
    ];
    if tasks {
        tools.extend(task::tools());
    } else {
        tools.push(Arc::new(todo::TodoWrite::new()));
    }
    tools.extend(file::tools());
    if options.background && options.monitor {
        tools.push(Arc::new(shell::Monitor::new(options)));
    }
    tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
    tools
}
