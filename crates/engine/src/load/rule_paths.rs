//! Permission rules → paths and hosts for the walls around commands. A wall holds folders and files, not
//! patterns: what a rule says beyond that is listed, so that the person can be told.

use std::path::{Path, PathBuf};

use troupe_core::policy::{Behaviour, Rule, Rules, clean, tool_name};

/// What rules give the walls. Paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePaths {
    /// From rules that deny reading.
    pub hidden: Vec<PathBuf>,
    /// From rules that deny editing.
    pub read_only: Vec<PathBuf>,
    /// From rules that allow editing.
    pub writable: Vec<PathBuf>,
    /// From rules that allow fetching.
    pub allowed_domains: Vec<String>,
    /// From rules that deny fetching.
    pub denied_domains: Vec<String>,
    /// Rules that are patterns: for commands they hold as far as the text of a command shows, or, of a bare name,
    /// in the workspace's own folder.
    pub patterns: Vec<String>,
}

/// How much of a pattern a path stands for.
enum Reach {
    Whole(PathBuf),
    Part(PathBuf),
    Nothing,
}

impl RulePaths {
    /// Reads the rules. `workspace` is what `./x` is relative to.
    pub fn of(rules: &Rules, workspace: &Path, home: Option<&Path>) -> Self {
        let mut paths = Self::default();
        for rule in rules.iter() {
            paths.add(rule, workspace, home);
        }
        paths
    }

    fn add(&mut self, rule: &Rule, workspace: &Path, home: Option<&Path>) {
        let Some((tool, rest)) = rule.text.trim().split_once('(') else { return };
        let spec = rest.strip_suffix(')').unwrap_or(rest).trim();
        let list = match (tool_name(tool.trim()), rule.behaviour) {
            ("WebFetch", behaviour) => {
                let domains = match behaviour {
                    Behaviour::Allow => &mut self.allowed_domains,
                    Behaviour::Deny => &mut self.denied_domains,
                    Behaviour::Ask => return,
                };
                domains.extend(spec.strip_prefix("domain:").map(|host| host.trim().to_owned()));
                return;
            }
            ("Read" | "Glob" | "Grep" | "LS", Behaviour::Deny) => &mut self.hidden,
            ("Edit" | "Write" | "NotebookEdit", Behaviour::Deny) => &mut self.read_only,
            ("Edit", Behaviour::Allow) if tool.trim() == "Edit" => &mut self.writable,
            _ => return,
        };
        match reach(spec, &rule.base, workspace, home) {
            Reach::Whole(path) => list.push(path),
            // Of what is allowed, a part is less than was said, and nobody is told of every pattern.
            Reach::Part(_) | Reach::Nothing if rule.behaviour == Behaviour::Allow => {}
            Reach::Part(path) => {
                list.push(path);
                self.patterns.push(rule.text.clone());
            }
            Reach::Nothing => self.patterns.push(rule.text.clone()),
        }
    }
}

/// The path that a pattern comes to, anchored as in rules.
fn reach(spec: &str, base: &Path, workspace: &Path, home: Option<&Path>) -> Reach {
    let (anchor, rest) = if let Some(rest) = spec.strip_prefix("//") {
        (Some(Path::new("/")), rest)
    } else if let Some(rest) = spec.strip_prefix("~/") {
        (home, rest)
    } else if spec == "~" {
        (home, "")
    } else if let Some(rest) = spec.strip_prefix('/') {
        (Some(base), rest)
    } else {
        (Some(workspace), spec.strip_prefix("./").unwrap_or(spec))
    };
    // All below a folder is the folder.
    let stem = rest.trim_end_matches('/');
    let stem = stem.strip_suffix("**").or_else(|| stem.strip_suffix('*').filter(|stem| stem.ends_with('/')));
    let stem =
        stem.filter(|stem| stem.is_empty() || stem.ends_with('/')).unwrap_or(rest).trim_end_matches('/');
    let (Some(anchor), false) = (anchor, stem.contains(['*', '?', '[', '{', '\\'])) else {
        return Reach::Nothing;
    };
    let path = clean(&anchor.join(stem));
    // A bare name means every folder's.
    let bare = !spec.starts_with(['/', '~']) && !spec.starts_with("./");
    let anywhere = bare && !(stem.is_empty() || stem.contains('/'));
    if anywhere { Reach::Part(path) } else { Reach::Whole(path) }
}

#[cfg(test)]
mod tests {
    use troupe_core::policy::Scope;

    use super::*;

    fn of(behaviour: Behaviour, rules: &[&str]) -> RulePaths {
        let mut all = Rules::default();
        for rule in rules {
            assert_eq!(all.add(rule, behaviour, Scope::User, "/base".into()), Ok(()), "{rule}");
        }
        RulePaths::of(&all, Path::new("/w"), Some(Path::new("/h")))
    }

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn rules_that_name_a_path_become_walls() {
        let denied = of(
            Behaviour::Deny,
            &[
                "Read(//etc/x/**)",
                "Read(~/.ssh/**)",
                "Read(/a)",
                "Read(./secrets/*)",
                "Read(src/../k)",
                "Edit(docs/a/**)",
                "Write(//b/)",
                "Read(~)",
                "Bash(rm *)",
                "Read",
                "WebFetch(domain:evil.example)",
            ],
        );
        assert_eq!(denied.hidden, paths(&["/etc/x", "/h/.ssh", "/base/a", "/w/secrets", "/w/k", "/h"]));
        assert_eq!(denied.read_only, paths(&["/w/docs/a", "/b"]));
        assert_eq!(denied.denied_domains, ["evil.example"]);
        assert!(denied.patterns.is_empty() && denied.writable.is_empty());
        let allowed = of(
            Behaviour::Allow,
            &[
                "Edit(//out/**)",
                "Edit(**)",
                "Edit(*.md)",
                "Edit",
                "WebFetch(domain:*.good.example)",
                "Read(//x)",
            ],
        );
        assert_eq!(allowed.writable, paths(&["/out", "/w"]));
        assert_eq!(allowed.allowed_domains, ["*.good.example"]);
        assert_eq!(
            RulePaths { writable: Vec::new(), allowed_domains: Vec::new(), ..allowed },
            RulePaths::default()
        );
        assert_eq!(of(Behaviour::Ask, &["Read(//x)", "WebFetch(domain:a.b)"]), RulePaths::default());
    }

    #[test]
    fn what_a_wall_can_not_hold_is_listed() {
        let rules = ["Read(**/*.pem)", "Read(.env)", "Edit(//a/*/b)", "Read(a[bc]/d)"];
        let denied = of(Behaviour::Deny, &rules);
        assert_eq!(denied.patterns, rules);
        assert_eq!((denied.hidden, denied.read_only), (paths(&["/w/.env"]), paths(&[])));
        let bare = of(Behaviour::Deny, &["Read(node_modules)"]);
        assert_eq!(
            (bare.hidden, bare.patterns),
            (paths(&["/w/node_modules"]), vec!["Read(node_modules)".to_owned()])
        );
    }
}
