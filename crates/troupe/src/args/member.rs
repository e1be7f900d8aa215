//! The flags of teams: where members run, and which member a process is.

use clap::Args;
use troupe_core::policy::Mode;
use troupe_core::team::split;
use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, variables::Variable};
use troupe_engine::session::MemberOf;
use troupe_engine::team::backend::detect::TeammateMode;

use super::Run;
use crate::fault::Fault;

/// Where members run, and who this process is in a team. All but the first are what a lead starts a member with.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Teams")]
pub(crate) struct MemberFlags {
    /// Where the members of a team run: in-process, tmux, iterm2, or auto for what this terminal offers.
    #[arg(long, alias = "teammateMode", value_name = "MODE", value_parser = teammate_mode)]
    pub(crate) teammate_mode: Option<TeammateMode>,
    /// Be a member of a team: one that is there, or a new one of this name that joins it.
    #[arg(long, alias = "agentId", value_name = "NAME@TEAM")]
    pub(crate) agent_id: Option<String>,
    #[arg(long, hide = true, alias = "agentName")]
    pub(crate) agent_name: Option<String>,
    #[arg(long, hide = true, alias = "teamName")]
    pub(crate) team_name: Option<String>,
    #[arg(long, hide = true, alias = "agentColor")]
    pub(crate) agent_color: Option<String>,
    #[arg(long, hide = true, alias = "planModeRequired")]
    pub(crate) plan_mode_required: bool,
    #[arg(long, hide = true, alias = "parentSessionId")]
    pub(crate) parent_session_id: Option<String>,
    #[arg(long, hide = true, alias = "agentType")]
    pub(crate) agent_type: Option<String>,
    /// Who the process is, once that is settled.
    #[arg(skip)]
    pub(crate) of: Option<MemberOf>,
}

fn teammate_mode(text: &str) -> Result<TeammateMode, String> {
    let words = || TeammateMode::ALL.map(TeammateMode::as_str).join(", ");
    TeammateMode::parse(text).ok_or_else(|| format!("the modes are {}", words()))
}

impl Run {
    /// Finds out whether the process is a member of a team (T4): flags say so, else, where nobody asked for an answer
    /// without a terminal, variables.
    ///
    /// # Errors
    /// When half of who it is is said.
    pub(crate) fn settle_member(&mut self, env: &Env) -> Result<(), Fault> {
        let by_variables = !self.is_headless();
        let set = |variable: &Variable| by_variables.then(|| env.text(variable)).flatten().map(str::to_owned);
        let flags = &self.member;
        let id = flags.agent_id.clone().or_else(|| set(&var::AGENT_ID));
        let name = flags.agent_name.clone().or_else(|| set(&var::AGENT_NAME));
        let team = flags.team_name.clone().or_else(|| set(&var::TEAM_NAME));
        let by_id = id.as_deref().and_then(split);
        let name = name.or_else(|| by_id.map(|(name, _)| name.to_owned()));
        let team = team.or_else(|| by_id.map(|(_, team)| team.to_owned()));
        self.member.of = match (name, team) {
            (Some(name), Some(team)) => {
                let joins = flags.parent_session_id.is_none() && set(&var::PARENT_SESSION_ID).is_none();
                Some(MemberOf { team, name, joins })
            }
            (None, None) if id.is_none() => return Ok(()),
            _ => {
                return Err(Fault::usage("a member of a team has a name and a team")
                    .hint("--agent-id NAME@TEAM, or --agent-name and --team-name"));
            }
        };
        let required = by_variables && env.switch(&var::PLAN_MODE_REQUIRED, false).unwrap_or_default();
        if self.member.plan_mode_required || required {
            self.permissions.permission_mode = Some(Mode::Plan);
            self.permissions.dangerously_skip_permissions = false;
        }
        if self.agents.agent.is_none() {
            self.agents.agent.clone_from(&self.member.agent_type);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;

    fn member(words: &[&str], vars: &[(&str, &str)]) -> Result<Option<(String, String)>, u8> {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let env = Env { vars, cwd: "/w".into(), home: None };
        let mut run = Cli::parse_from(std::iter::once(&"troupe").chain(words)).run;
        run.settle_member(&env).map_err(|fault| fault.code())?;
        Ok(run.member.of.map(|of| (of.name, of.team)))
    }

    // proves: T4
    #[test]
    fn flags_say_who_it_is_and_variables_where_they_dont() {
        let who = |name: &str, team: &str| Ok(Some((name.to_owned(), team.to_owned())));
        let vars = [("TROUPE_AGENT_NAME", "bob"), ("CLAUDE_CODE_TEAM_NAME", "red")];
        assert_eq!(member(&["--agent-id", "ann@blue"], &vars[..0]), who("ann", "blue"));
        assert_eq!(member(&["--agent-name=ann", "--team-name=blue"], &vars), who("ann", "blue"));
        assert_eq!(member(&[], &vars), who("bob", "red"));
        assert_eq!(member(&[], &[("CLAUDE_CODE_AGENT_ID", "bob@red")]), who("bob", "red"));
        assert_eq!(member(&[], &vars[..0]), Ok(None));
        // A command of a member that calls troupe is another run.
        assert_eq!(member(&["-p", "x"], &vars), Ok(None));
        assert_eq!(member(&["--agent-name", "ann"], &vars[..0]), Err(2));
        assert_eq!(member(&["--agent-id", "ann"], &vars[..0]), Err(2));
    }

    // proves: S6
    #[test]
    fn one_that_plans_first_does_so_whatever_the_mode() {
        let words = ["troupe", "--agent-id=a@b", "--plan-mode-required", "--permission-mode=acceptEdits"];
        let mut run = Cli::parse_from(words).run;
        assert_eq!(run.settle_member(&Env::default()).map_err(|fault| fault.code()), Ok(()));
        assert_eq!(run.mode(), Some(Mode::Plan));
    }
}
