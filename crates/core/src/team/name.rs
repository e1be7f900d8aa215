//! Names of teams and members, as ids and as names of files (T1).

/// The lead's name in its team.
pub const LEAD: &str = "team-lead";

/// The name under which a person at a shell writes to members and has tasks. No agent can have it.
pub const PERSON: &str = "user";

/// Most bytes of a name in a path.
const LONGEST: usize = 64;

/// A name as it stands in a path: letters and digits in lower case, all else `-`. Two names of one slug are one
/// name. Empty when the name has neither letters nor digits.
pub fn slug(name: &str) -> String {
    let mut slug: String = name
        .trim()
        .chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    while slug.len() > LONGEST {
        slug.pop();
    }
    let plain = slug.trim_matches('-');
    plain.to_owned()
}

/// The first of `name`, `name-2`, `name-3`, … that is not taken.
pub fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(name) {
        return name.to_owned();
    }
    let mut number = 2_u64;
    loop {
        let end = format!("-{number}");
        // The number has to fit: what is longer than a name in a path is cut there.
        let mut base = name;
        while base.len() + end.len() > LONGEST && !base.is_empty() {
            base = &base[..base.floor_char_boundary(base.len() - 1)];
        }
        let next = format!("{}{end}", base.trim_end_matches('-'));
        if !taken(&next) {
            return next;
        }
        number += 1;
    }
}

/// The id of a member: `NAME@TEAM`.
pub fn member_id(name: &str, team: &str) -> String {
    format!("{name}@{team}")
}

/// The id of a team's lead.
pub fn lead_id(team: &str) -> String {
    member_id(LEAD, team)
}

/// The name and the team of a member's id.
pub fn split(id: &str) -> Option<(&str, &str)> {
    let (name, team) = id.split_once('@')?;
    (!name.is_empty() && !team.is_empty()).then_some((name, team))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: T1
    #[test]
    fn a_slug_is_plain_whatever_the_name() {
        for (name, wanted) in [
            ("Blue Team", "blue-team"),
            ("../../etc", "etc"),
            ("a/b", "a-b"),
            ("Prüfer 7", "prüfer-7"),
            ("..", ""),
            ("", ""),
            ("a\0b", "a-b"),
        ] {
            assert_eq!(slug(name), wanted, "{name}");
        }
        assert_eq!(slug(&"x".repeat(400)).len(), LONGEST);
        assert!(slug(&"ü".repeat(400)).len() <= LONGEST);
    }

    // proves: T1
    #[test]
    fn a_taken_name_gets_the_next_number() {
        let taken = ["a", "a-2"];
        assert_eq!(free("a", |name| taken.contains(&name)), "a-3");
        assert_eq!(free("b", |name| taken.contains(&name)), "b");
        let long = "x".repeat(LONGEST);
        let next = free(&long, |name| name == long);
        assert_eq!((slug(&next), next.len()), (next.clone(), LONGEST));
    }

    #[test]
    fn an_id_is_a_name_and_a_team() {
        assert_eq!(split(&member_id("ann", "blue")), Some(("ann", "blue")));
        assert_eq!(split("ann"), None);
        assert_eq!(split("@blue"), None);
    }
}
