//! The checks of a report, in the form that the checking agent is told.

/// How a report writes a command that was run.
const MARK: &str = "$ ";
/// How the line begins that says what came of a check.
const RESULT: &str = "Result:";
/// What stands before the exit code of a command that was to fail.
const EXPECTED: &str = "expected exit code ";

/// One check.
#[derive(Debug, PartialEq)]
pub(super) struct Check<'r> {
    /// What is checked.
    pub(super) what: &'r str,
    /// The command, as the report writes it.
    pub(super) command: Option<&'r str>,
    /// What came of it, in the report's words.
    result: Option<&'r str>,
    /// The exit code that the command was to end with.
    pub(super) expected: i32,
}

impl Check<'_> {
    pub(super) fn passed(&self) -> bool {
        self.begins("pass")
    }

    pub(super) fn failed(&self) -> bool {
        self.begins("fail")
    }

    fn begins(&self, word: &str) -> bool {
        let starts =
            |result: &str| result.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        self.result.is_some_and(starts)
    }
}

/// The checks: each begins with a head. Its command is the line after the head; where the check has a result, its
/// first line with the mark. Later ones are output.
pub(super) fn checks(report: &str) -> Vec<Check<'_>> {
    let lines: Vec<&str> = report.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // Where a fence is left open nothing is known of what stands in one.
    let fences = lines.iter().filter(|line| is_fence(line)).count() % 2 == 0;
    let mut found: Vec<Check<'_>> = Vec::new();
    let (mut fenced, mut at_head) = (false, false);
    for (at, line) in lines.iter().enumerate() {
        if is_fence(line) {
            fenced = fences && !fenced;
            continue;
        }
        if !fenced && is_head(line, &lines[at + 1..]) {
            let what = line.trim_matches(['#', ' ']);
            found.push(Check { what, command: None, result: None, expected: 0 });
            at_head = true;
            continue;
        }
        let Some(check) = found.last_mut() else { continue };
        if let Some(result) = line.trim_start_matches(['*', '-', ' ']).strip_prefix(RESULT) {
            check.take(result.trim_matches(['*', ' ']));
        } else if let Some(command) = line.strip_prefix(MARK) {
            let claimed = at_head || has_result(&lines[at + 1..]);
            if check.command.is_none() && claimed {
                check.command = Some(command.trim().trim_matches('`')).filter(|command| !command.is_empty());
            }
        }
        at_head = false;
    }
    found
}

impl<'r> Check<'r> {
    fn take(&mut self, result: &'r str) {
        self.result = Some(result);
        let lower = result.to_ascii_lowercase();
        let code = lower.split_once(EXPECTED).map(|(_, code)| code);
        let digits = code.and_then(|code| code.split(|c: char| !c.is_ascii_digit()).next());
        self.expected = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    }
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```")
}

/// Output has lines that begin with `#` too: one alone makes a head only before a command.
fn is_head(line: &str, after: &[&str]) -> bool {
    let before_command =
        || after.iter().find(|line| !is_fence(line)).is_some_and(|next| next.starts_with(MARK));
    line.starts_with("##") || (line.starts_with('#') && before_command())
}

/// Whether a result comes before the next head.
fn has_result(after: &[&str]) -> bool {
    let mut of_check = after.iter().take_while(|line| !line.starts_with("##"));
    of_check.any(|line| line.trim_start_matches(['*', '-', ' ']).starts_with(RESULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(report: &str) -> Vec<(&str, Option<&str>, i32)> {
        checks(report).iter().map(|check| (check.what, check.command, check.expected)).collect()
    }

    // proves: D10
    #[test]
    fn a_check_has_a_head_a_command_and_a_result() {
        let report = "All of it.\n\n### a\n$ make test\nok\nResult: pass\n\n## b\n```\n$ ./x bad\n$ no claim\n```\n\
                      **Result:** pass, Expected exit code 3.\n# c\n$ `ls`\nVERDICT: PASS";
        assert_eq!(
            read(report),
            [("a", Some("make test"), 0), ("b", Some("./x bad"), 3), ("c", Some("ls"), 0)]
        );
        let all = checks(report);
        assert!(all[0].passed() && all[1].passed() && !all[2].passed() && !all[2].failed());
        assert!(checks("### a\n- Result: FAIL, 2 is not 3")[0].failed());
    }

    // proves: D10
    #[test]
    fn what_a_command_prints_is_no_check() {
        let printed =
            "### a\n$ prove\n# Subtest: x\nok 1\n```\n## not a head\n$ jest --ci\n```\nResult: pass";
        assert_eq!(read(printed), [("a", Some("prove"), 0)]);
        let open = "### a\n```\n$ prove\nResult: pass\n### b\n$ make\nResult: pass";
        assert_eq!(read(open).len(), 2, "an open fence hides nothing");
        let left_out = "### Not checked\nThere was no time:\n$ cargo bench";
        assert_eq!(read(left_out), [("Not checked", None, 0)]);
        let told = "### a\nI looked at it.\n$ cargo test\nResult: pass";
        assert_eq!(
            read(told),
            [("a", Some("cargo test"), 0)],
            "words before the command hide it from nobody"
        );
    }
}
