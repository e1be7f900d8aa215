//! The end of what a team has left behind: its own processes, worktrees without unsaved work, then its folders.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use troupe_core::team::{BackendKind, LEAD, Member, Team};
use troupe_core::visible::{visible, visible_lines};
use troupe_engine::load::Env;
use troupe_engine::store::Lease;
use troupe_engine::team::end_member::{Ended, end_member};
use troupe_engine::team::standing::{FoundTeam, Lead, Standing};
use troupe_engine::team::{TeamPlace, Teams, process};
use troupe_tools::shell::end_orphans;

use super::worktree;
use super::{Found, fault, find, lines_of_json};
use crate::args::TeamClean;
use crate::fault::{Fault, tell, warn};
use crate::headless::forget_typed;
use crate::print;

/// How long an answer is waited for; then nothing is done.
const PATIENCE: Duration = Duration::from_mins(10);

/// What became of a team.
struct Report {
    team: String,
    ended: Vec<(String, &'static str)>,
    kept: Vec<(PathBuf, String)>,
    /// What is there still, and why.
    left: Vec<String>,
}

/// Clears away; the exit code says whether anything is left.
pub(super) async fn run(teams: &Teams, wish: &TeamClean, env: &Env) -> Result<u8, Fault> {
    if let Some(name) = &wish.team
        && let Some(place) = unreadable(teams, name).await?
    {
        return remove_unreadable(teams, &place, wish);
    }
    let is_dead = |team: &Team| {
        let lead = team.members.iter().find(|member| team.is_lead(&member.name));
        lead.and_then(|lead| lead.process.as_ref()).is_none_or(|owner| !process::is_alive(owner))
    };
    for fault in teams.end_removals(is_dead) {
        warn(fault);
    }
    let targets = targets(teams, wish.team.as_deref()).await?;
    if targets.is_empty() {
        return if wish.json { show(&[], wish) } else { print("No team is left behind.\n") };
    }
    if !wish.yes && !confirmed(&plan(&targets))? {
        tell("nothing was done\n");
        return Ok(1);
    }
    let mut reports = Vec::new();
    for found in &targets {
        reports.push(clear(teams, found, env).await);
    }
    show(&reports, wish)
}

fn show(reports: &[Report], wish: &TeamClean) -> Result<u8, Fault> {
    if wish.json {
        let teams: Vec<Value> = reports.iter().map(Report::json).collect();
        print(&lines_of_json(&json!({"teams": teams})))?;
    } else {
        print(&reports.iter().map(Report::lines).collect::<String>())?;
    }
    Ok(u8::from(reports.iter().any(|report| !report.left.is_empty())))
}

/// The folder of this name in which nothing of a team can be read.
async fn unreadable(teams: &Teams, name: &str) -> Result<Option<TeamPlace>, Fault> {
    let place = teams.place(name).map_err(fault)?;
    let is_team = place.members.load().await.map_err(fault)?.is_some();
    Ok(Some(place).filter(|place| !is_team && place.folder.is_dir()))
}

/// Removes what is no team, unless a process reads mail there.
fn remove_unreadable(teams: &Teams, place: &TeamPlace, wish: &TeamClean) -> Result<u8, Fault> {
    let folder = place.folder.display();
    let plan = format!("Nothing of a team can be read in {folder}:\n  remove it\n");
    if !wish.yes && !confirmed(&visible_lines(&plan))? {
        tell("nothing was done\n");
        return Ok(1);
    }
    let mut report = Report::new(&place.name);
    report.left = place.held().into_iter().map(|lock| format!("{} is held", lock.display())).collect();
    if report.left.is_empty() {
        report.left = teams.remove(place);
    }
    show(&[report], wish)
}

/// The team that is named, unless its lead runs; else those whose lead is known to be dead.
async fn targets(teams: &Teams, name: Option<&str>) -> Result<Vec<Found>, Fault> {
    if name.is_some() {
        let found = find(teams, name).await?;
        return match found.place.lead(&found.team) {
            Lead::Runs => Err(Fault::failed(is_led(&found))
                .hint("end that session: the team ends with it")
                .hint("or ask its lead to end the team, by TeamDelete")),
            Lead::Dead => Ok(vec![found]),
            Lead::Unknown => {
                warn(unknown_lead(&found));
                Ok(vec![found])
            }
        };
    }
    let mut targets = Vec::new();
    for FoundTeam { place, team } in teams.all().await.map_err(fault)? {
        let found = match team {
            Ok(Some(team)) => Found { place, team },
            Ok(None) => {
                warn(format_args!("nothing of a team can be read in {}", place.folder.display()));
                continue;
            }
            Err(error) => {
                warn(format_args!("{}: {error}", place.name));
                continue;
            }
        };
        match found.place.lead(&found.team) {
            Lead::Runs => {}
            Lead::Dead => targets.push(found),
            Lead::Unknown => {
                let name = &found.place.name;
                warn(format_args!("{}; to remove it: troupe team clean {name}", unknown_lead(&found)));
            }
        }
    }
    Ok(targets)
}

fn unknown_lead(found: &Found) -> String {
    format!("whether a program still leads the team {} is not known", found.place.name)
}

fn is_led(found: &Found) -> String {
    let lock = found.place.mail(found.team.array_mail).lock(LEAD);
    let process = Lease::holder(&lock).unwrap_or_else(|| "?".to_owned());
    format!("the team {} is led by a running session, process {process}", found.place.name)
}

/// Whether a member has a process of its own, which ends with the team.
fn has_own(member: &Member) -> bool {
    matches!(member.backend_type, Some(BackendKind::Tmux | BackendKind::Iterm2)) && member.process.is_some()
}

/// What is going to be done.
fn plan(targets: &[Found]) -> String {
    let mut text = String::new();
    for Found { place, team } in targets {
        // Writing to a string can't fail.
        let _ = writeln!(text, "The team {}:", place.name);
        if place.lead(team) == Lead::Unknown {
            let _ = writeln!(text, "  whether a program still leads it is not known");
        }
        for member in &team.members {
            let there = place.standing(team, member) != Standing::Gone;
            if let Some(process) = member.process.as_ref().filter(|_| has_own(member) && there) {
                let _ = writeln!(text, "  end process {} of {}", process.pid, member.name);
            }
            if let Some(worktree) = &member.worktree_path {
                let _ = writeln!(text, "  remove {worktree}, unless it has unsaved work");
            }
        }
        let _ = writeln!(text, "  remove {}, with all mail and tasks", place.folder.display());
    }
    visible_lines(&text)
}

/// Asks at the terminal; what is no yes is a no.
fn confirmed(plan: &str) -> Result<bool, Fault> {
    let terminal = File::open("/dev/tty").map_err(|error| {
        Fault::failed(format_args!("/dev/tty can't be read ({error}), so nobody can be asked"))
            .hint("to do it without a question: --yes")
    })?;
    tell(plan);
    forget_typed();
    tell("Go on? [y] yes, [n] no (n) ");
    let mut lines = BufReader::new(terminal);
    let mut fds = [PollFd::new(lines.get_ref(), PollFlags::IN)];
    let limit = Timespec::try_from(PATIENCE).ok();
    let mut line = String::new();
    let answered =
        poll(&mut fds, limit.as_ref()).unwrap_or(0) > 0 && lines.read_line(&mut line).unwrap_or(0) > 0;
    Ok(answered && matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

async fn clear(teams: &Teams, found: &Found, env: &Env) -> Report {
    let place = &found.place;
    let mut report = Report::new(&place.name);
    // Held to the end: a session that comes back for its team finds it in use, or gone.
    let Ok(_lease) = Lease::take(&place.mail(found.team.array_mail).lock(LEAD)).await else {
        report.left.push(is_led(found));
        return report;
    };
    // Only now nobody but members changes it.
    let anew = teams.place(&place.name).map(|place| place.members);
    let read = match &anew {
        Ok(members) => members.load().await,
        Err(error) => {
            report.left.push(error.to_string());
            return report;
        }
    };
    let team = match read {
        Ok(Some(team)) => team,
        Ok(None) => return report,
        Err(error) => {
            report.left.push(error.to_string());
            return report;
        }
    };
    for member in team.members.iter().filter(|member| !team.is_lead(&member.name)) {
        match end_member(member).await {
            Ok(Ended::Now) => report.ended.push((member.name.clone(), "ended")),
            Ok(Ended::Before) => report.ended.push((member.name.clone(), "had ended")),
            Ok(Ended::WithLead) => {}
            Err(error) => report.left.push(format!("{}: {error}", member.name)),
        }
        // Also one with a pane: a person may have taken it up somewhere else.
        if place.standing(&team, member) != Standing::Gone {
            let lock = place.mail(team.array_mail).lock(&member.name);
            let known = member.process.as_ref().map(|process| process.pid.to_string());
            let process = Lease::holder(&lock).or(known).unwrap_or_else(|| "?".to_owned());
            let why = "which this team did not start";
            report.left.push(format!("{} is run by process {process}, {why}", member.name));
        }
    }
    if let Some(home) = env.home.clone() {
        // What their shells left running, where they could not end it themselves.
        let _ = tokio::task::spawn_blocking(move || end_orphans(&home)).await;
    }
    if !report.left.is_empty() {
        return report;
    }
    for path in team.members.iter().filter_map(|member| member.worktree_path.as_ref()).map(PathBuf::from) {
        if let Err(kept) = worktree::remove(&path, env) {
            report.kept.push((path, kept.why()));
        }
    }
    report.left = teams.remove(place);
    report
}

impl Report {
    fn new(team: &str) -> Self {
        Self { team: team.to_owned(), ended: Vec::new(), kept: Vec::new(), left: Vec::new() }
    }

    fn json(&self) -> Value {
        let ended = self.ended.iter().map(|(name, how)| json!({"name": name, "how": how}));
        let kept = self.kept.iter().map(|(path, why)| json!({"path": path, "why": why}));
        json!({
            "name": self.team,
            "removed": self.left.is_empty(),
            "ended": ended.collect::<Vec<_>>(),
            "worktreesKept": kept.collect::<Vec<_>>(),
            "left": self.left,
        })
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        for (name, how) in &self.ended {
            let _ = writeln!(text, "the process of {} {how}", visible(name));
        }
        for (path, why) in &self.kept {
            let _ = writeln!(text, "kept: {}: {}", visible(&path.display().to_string()), visible(why));
        }
        for left in &self.left {
            let _ = writeln!(text, "left: {}", visible(left));
        }
        let end = if self.left.is_empty() { "is gone" } else { "is there still" };
        let _ = writeln!(text, "The team {} {end}.", self.team);
        text
    }
}
