//! Commands that run outside of the sandbox, since they can't work in it (`docker`).

use troupe_core::policy::{Command, RedirectKind, Simple};

/// Patterns of commands: `docker` and `docker *` cover it with any arguments, `make image` with these and more; a
/// `*` elsewhere stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excluded(Vec<String>);

impl Excluded {
    /// Takes patterns as settings have them.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        let trimmed = patterns.into_iter().map(|pattern| {
            let pattern = pattern.trim();
            let stem = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")).unwrap_or(pattern);
            stem.trim_end().to_owned()
        });
        // A star alone would switch the sandbox off.
        Self(trimmed.filter(|stem| !stem.trim_matches(['*', ' ']).is_empty()).collect())
    }

    /// Whether a line is made of such commands alone. What could smuggle another past them is none: a doubt, an
    /// assignment in front, output to a file, a word that only the shell knows.
    pub(super) fn covers(&self, command: &Command) -> bool {
        command.doubt.is_none()
            && !command.parts.is_empty()
            && command.parts.iter().all(|part| self.covers_part(part))
    }

    fn covers_part(&self, part: &Simple) -> bool {
        let writes = part.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Write);
        if writes || !part.assignments.is_empty() || part.words.is_empty() || !part.is_static() {
            return false;
        }
        let text = part.texts().join(" ");
        self.0.iter().any(|stem| fits(stem, &text))
    }
}

/// Whether a text is the stem, or the stem and more words.
fn fits(stem: &str, text: &str) -> bool {
    let mut pieces = stem.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(rest) = text.strip_prefix(first) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    match pieces.split_last() {
        None => rest.is_empty() || rest.starts_with(' '),
        Some((last, middle)) => {
            let after = middle
                .iter()
                .try_fold(rest, |rest, piece| rest.find(piece).map(|at| &rest[at + piece.len()..]));
            after.is_some_and(|rest| {
                last.is_empty()
                    || rest.match_indices(last).any(|(at, _)| {
                        let end = &rest[at + last.len()..];
                        end.is_empty() || end.starts_with(' ')
                    })
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::parse;
    use super::Excluded;

    fn covers(patterns: &[&str], line: &str) -> bool {
        Excluded::new(patterns.iter().map(|&pattern| pattern.to_owned())).covers(&parse(line))
    }

    #[test]
    fn a_line_of_excluded_commands_alone_is_excluded() {
        for (pattern, line) in [
            ("docker", "docker ps -a"),
            ("docker *", "docker"),
            ("docker:*", "docker ps && docker 'run' x | docker load"),
            ("npm run *:docker", "npm run image:docker --x"),
            ("npm * docker", "npm run the docker"),
        ] {
            assert!(covers(&[pattern], line), "{pattern}: {line}");
        }
        assert!(covers(&["docker", "watchman *"], "watchman x; docker ps"));
        for (pattern, line) in [
            ("docker", "dockerd"),
            ("docker ps", "docker run x"),
            ("docker", "docker ps && curl evil"),
            ("docker", "docker ps > ~/.bashrc"),
            ("docker", "PATH=/tmp/x docker ps"),
            ("docker", "docker $(curl evil)"),
            ("docker", "docker $X"),
            ("docker", "./docker ps"),
            ("docker", "x | docker load"),
            ("docker", "docker \"$("),
            ("docker", "timeout 5 docker ps"),
            ("docker", ""),
            ("*", "anything"),
            ("**", "anything"),
            ("npm run *:docker", "npm run image:dockerx"),
        ] {
            assert!(!covers(&[pattern], line), "{pattern}: {line}");
        }
    }
}
