//! What a run cost: wall-clock time, and CPU time of this process and of the children that it waited for.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

/// Ticks a second in `/proc`: USER_HZ, 100 on every Linux that this runs on (proc(5)).
const TICKS: f64 = 100.0;

/// Seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) wall: f64,
    pub(super) cpu: f64,
}

/// Measures from its start on.
pub(super) struct Meter {
    began: Instant,
    cpu: f64,
}

impl Meter {
    pub(super) fn start() -> Result<Self> {
        Ok(Self { cpu: cpu_now()?, began: Instant::now() })
    }

    pub(super) fn stop(self) -> Result<Cost> {
        let wall = self.began.elapsed().as_secs_f64();
        Ok(Cost { wall, cpu: cpu_now()? - self.cpu })
    }
}

fn cpu_now() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("failed to read the CPU time")?;
    cpu_seconds(&stat).context("failed to find the CPU time in /proc/self/stat")
}

/// The sum of utime, stime, cutime and cstime: fields 14 to 17, counted from 1. The second is the program's
/// name, which may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let times: Vec<f64> =
        rest.split_whitespace().skip(11).take(4).map_while(|word| word.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum::<f64>() / TICKS)
}

/// The middle value, or the mean of the two in the middle; 0 of none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match (values.get(half), values.len().is_multiple_of(2)) {
        (None, _) => 0.0,
        (Some(middle), false) => *middle,
        (Some(upper), true) => f64::midpoint(values[half - 1], *upper),
    }
}

/// The machine's load over 1, 5 and 15 minutes: what else ran beside a measurement.
pub(super) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "these numbers have an exact form")]
    use super::*;

    #[test]
    fn a_program_may_be_called_anything() {
        let stat = "7 (a) 1 (b) R 1 7 7 0 -1 4194304 100 200 0 0 150 25 1000 30 20 0 1 0 5 6 7";
        assert_eq!(cpu_seconds(stat), Some(12.05));
        assert_eq!(cpu_seconds("7 (a) R 1 7 7 0 -1 4194304 100 200 0 0 150 25 1000"), None);
        assert_eq!(cpu_seconds(""), None);
    }

    #[test]
    fn the_median_does_not_depend_on_the_order() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 3.0, 2.0].into_iter()), 2.5);
        assert_eq!(median(std::iter::empty()), 0.0);
    }
}
