//! The system's clock and ids; the one place that reads them.

use troupe_core::ports::clock::Clock;
use troupe_core::time::Time;

/// The real clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn uuid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

/// A stamp as the ecosystem writes it: ISO 8601 in UTC with milliseconds.
pub fn iso(at: Time) -> String {
    let stamp = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{stamp:.3}")
}

/// Reads such a stamp.
pub fn parse_iso(text: &str) -> Option<Time> {
    text.parse::<jiff::Timestamp>().ok().map(|stamp| Time(stamp.as_millisecond()))
}

/// The day at `at` in the system's time zone, as `2026-11-30`.
pub fn day(at: Time) -> String {
    let stamp = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    stamp.to_zoned_datetime(jiff::tz::TimeZone::system()).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_round_trip_with_three_digits() {
        assert_eq!(iso(Time(1_500)), "1970-01-01T00:00:01.500Z");
        assert_eq!(iso(Time(1_000)), "1970-01-01T00:00:01.000Z");
        assert_eq!(parse_iso("1970-01-01T00:00:01.500Z"), Some(Time(1_500)));
        assert_eq!(parse_iso("yesterday"), None);
    }
}
