//! A process that can be found again: by its number and its start.

use troupe_core::team::Owner;

/// When the process of this number started, as the system counts it; none where there is no such process, it only
/// waits to be reaped, or the system does not tell.
#[cfg(target_os = "linux")]
pub fn started(pid: u32) -> Option<u64> {
    start_of(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The same. Without `/proc` it is the second in which it started, as `ps` tells it.
#[cfg(not(target_os = "linux"))]
pub fn started(pid: u32) -> Option<u64> {
    let mut ps = std::process::Command::new("/bin/ps");
    ps.args(["-o", "stat=,lstart=", "-p", &pid.to_string()]).env("LC_ALL", "C").env("TZ", "UTC");
    let text = String::from_utf8(ps.output().ok()?.stdout).ok()?;
    let (state, start) = text.trim().split_once(char::is_whitespace)?;
    let start = start.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let start = jiff::civil::DateTime::strptime("%a %b %d %H:%M:%S %Y", start).ok()?;
    let start = start.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
    if state.starts_with('Z') { None } else { u64::try_from(start).ok() }
}

/// This process.
pub fn own() -> Option<Owner> {
    let pid = std::process::id();
    Some(Owner { pid, start: started(pid)? })
}

/// Whether it is there still.
pub fn is_alive(process: &Owner) -> bool {
    started(process.pid) == Some(process.start)
}

/// `pid (name) state …`: the 22nd field; the name may have anything in it.
#[cfg(target_os = "linux")]
fn start_of(stat: &[u8]) -> Option<u64> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    // proves: X17
    #[test]
    fn a_process_is_the_same_by_number_and_start_alone() {
        assert_eq!(own().map(|own| is_alive(&own)), Some(true));
        let other = own().map(|own| Owner { start: own.start + 1, ..own });
        assert_eq!(other.map(|other| is_alive(&other)), Some(false));
        let fields = "0 ".repeat(18);
        assert_eq!(start_of(format!("7 (a) b) S {fields}42 0").as_bytes()), Some(42));
        assert_eq!(start_of(format!("7 (a) Z {fields}42 0").as_bytes()), None);
        assert_eq!(start_of(b"7 (a) S 1"), None);
    }
}
