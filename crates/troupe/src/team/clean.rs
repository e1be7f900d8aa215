//! The end of what a team has left behind: its own processes, worktrees without unsaved work, then its folders.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use troupe_core::team::{BackendKind, LEAD, Member};
use troupe_core::visible::{visible, visible_lines};
use troupe_engine::load::Env;
use troupe_engine::store::Lease;
use troupe_engine::team::Teams;
use troupe_engine::team::end_member::{Ended, end_member};
use troupe_engine::team::standing::{FoundTeam, Standing};

use super::worktree;
use super::{Found, fault, find};
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
    let targets = targets(teams, wish.team.as_deref()).await?;
    if targets.is_empty() {
        let nothing = if wish.json { "{\n  \"teams\": []\n}\n" } else { "No team is left behind.\n" };
        return print(nothing);
    }
    if !wish.yes && !confirmed(&plan(&targets))? {
        tell("nothing was done\n");
        return Ok(1);
    }
    let mut reports = Vec::new();
    for found in &targets {
        reports.push(clear(teams, found, env).await?);
    }
    let is_left = reports.iter().any(|report| !report.left.is_empty());
    if wish.json {
        let teams: Vec<Value> = reports.iter().map(Report::json).collect();
        print(&format!("{:#}\n", json!({"teams": teams})))?;
    } else {
        print(&reports.iter().map(Report::lines).collect::<String>())?;
    }
    Ok(u8::from(is_left))
}

/// The team that is named, else those whose lead is gone.
async fn targets(teams: &Teams, name: Option<&str>) -> Result<Vec<Found>, Fault> {
    if name.is_some() {
        let found = find(teams, name).await?;
        return match standing_of_lead(&found) {
            Standing::Gone => Ok(vec![found]),
            _ => Err(is_led(&found)),
        };
    }
    let mut targets = Vec::new();
    for FoundTeam { place, team } in teams.all().await.map_err(fault)? {
        match team {
            Ok(Some(team)) => targets.push(Found { place, team }),
            Ok(None) => warn(format_args!("nothing of a team can be read in {}", place.folder.display())),
            Err(error) => warn(format_args!("{}: {error}", place.name)),
        }
    }
    targets.retain(|found| standing_of_lead(found) == Standing::Gone);
    Ok(targets)
}

fn standing_of_lead(found: &Found) -> Standing {
    let lead = found.team.members.iter().find(|member| found.team.is_lead(&member.name));
    lead.map_or(Standing::Gone, |lead| found.place.standing(&found.team, lead))
}

fn is_led(found: &Found) -> Fault {
    let lock = found.place.mail(found.team.array_mail).lock(LEAD);
    let process = Lease::holder(&lock).unwrap_or_else(|| "?".to_owned());
    Fault::failed(format_args!(
        "the team {} is led by a running session, process {process}",
        found.place.name
    ))
    .hint("end that session: the team ends with it")
    .hint("or ask its lead to end the team, by TeamDelete")
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

async fn clear(teams: &Teams, found: &Found, env: &Env) -> Result<Report, Fault> {
    let Found { place, team } = found;
    // Held to the end: a session that comes back for its team finds it in use, or gone.
    let lock = place.mail(team.array_mail).lock(LEAD);
    let Ok(_lease) = Lease::take(&lock).await else { return Err(is_led(found)) };
    let mut report =
        Report { team: place.name.clone(), ended: Vec::new(), kept: Vec::new(), left: Vec::new() };
    for member in team.members.iter().filter(|member| !team.is_lead(&member.name)) {
        match end_member(member).await {
            Ok(Ended::Now) => report.ended.push((member.name.clone(), "ended")),
            Ok(Ended::Before) => report.ended.push((member.name.clone(), "had ended")),
            Ok(Ended::WithLead) => {}
            Err(error) => report.left.push(format!("{}: {error}", member.name)),
        }
        if !has_own(member) && place.standing(team, member) != Standing::Gone {
            let lock = place.mail(team.array_mail).lock(&member.name);
            let known = member.process.as_ref().map(|process| process.pid.to_string());
            let process = Lease::holder(&lock).or(known).unwrap_or_else(|| "?".to_owned());
            let why = "which this team did not start";
            report.left.push(format!("{} is run by process {process}, {why}", member.name));
        }
    }
    if !report.left.is_empty() {
        return Ok(report);
    }
    for path in team.members.iter().filter_map(|member| member.worktree_path.as_ref()).map(PathBuf::from) {
        if let Err(kept) = worktree::remove(&path, env) {
            report.kept.push((path, kept.why()));
        }
    }
    report.left = teams.remove(place);
    Ok(report)
}

impl Report {
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
