//! How many tests passed and failed, read off what the runners print.

use std::fmt;
use std::ops::AddAssign;

/// Tests that ran.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: u64,
    pub(super) failed: u64,
}

impl Count {
    /// From nextest's summary; none when it printed no summary.
    ///
    /// `Summary [ 1.2s] 6 tests run: 3 passed (1 slow, 1 leaky), 2 failed, 1 timed out, 0 skipped`
    pub(super) fn of_nextest(output: &str) -> Option<Self> {
        let line = output.lines().rev().find(|line| line.trim_start().starts_with("Summary ["))?;
        let (_, list) = line.split_once(" run: ")?;
        let mut count = Self::default();
        for part in without_parentheses(list).split(',') {
            let (number, state) = part.trim().split_once(' ')?;
            let number: u64 = number.parse().ok()?;
            match state.trim() {
                "passed" => count.passed += number,
                "skipped" => {}
                // Failed, failed to start, timed out: whatever is no success.
                _ => count.failed += number,
            }
        }
        Some(count)
    }

    /// From the lines that the test harness prints, one for each crate.
    ///
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s`
    pub(super) fn of_doc_tests(output: &str) -> Self {
        let mut count = Self::default();
        for line in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            for part in line.split([';', '.']) {
                let words: Vec<&str> = part.split_whitespace().collect();
                if let [number, state] = words.as_slice() {
                    let number: u64 = number.parse().unwrap_or(0);
                    match *state {
                        "passed" => count.passed += number,
                        "failed" => count.failed += number,
                        _ => {}
                    }
                }
            }
        }
        count
    }
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let keep = |c: &char| {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    };
    text.chars().filter(keep).collect()
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nextest(line: &str) -> Option<(u64, u64)> {
        Count::of_nextest(line).map(|count| (count.passed, count.failed))
    }

    #[test]
    fn reads_every_form_of_the_summary() {
        let all = "     Summary [   0.012s] 5 tests run: 5 passed, 0 skipped\n";
        assert_eq!(nextest(all), Some((5, 0)));
        let one = "     Summary [   0.012s] 1 test run: 1 passed (1 leaky), 12 skipped\n";
        assert_eq!(nextest(one), Some((1, 0)));
        let bad = "     Summary [  61.002s] 9/20 tests run: 4 passed (1 slow, 2 leaky), 2 failed (1 due to being leaky), 1 exec failed, 2 timed out, 3 skipped\n  FAIL x\n";
        assert_eq!(nextest(bad), Some((4, 5)));
    }

    #[test]
    fn no_summary_is_no_count() {
        assert_eq!(nextest("error: could not compile `x`\n"), None);
    }

    #[test]
    fn doc_tests_are_summed_over_crates() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                      other\n\
                      test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.50s\n";
        assert_eq!(Count::of_doc_tests(output), Count { passed: 5, failed: 1 });
    }

    #[test]
    fn the_line_has_a_fixed_form() {
        let mut count = Count { passed: 1, failed: 0 };
        count += Count { passed: 2, failed: 3 };
        assert_eq!(count.to_string(), "3 passed, 3 failed");
    }
}
