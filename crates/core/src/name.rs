//! Names by which agents reach each other (A10).

/// Most characters of a name.
pub const LONGEST: usize = 64;

/// Words that mean something else wherever an agent is named.
const RESERVED: &[&str] = &[
    "main",
    "parent",
    "lead",
    "leader",
    "team-lead",
    "system",
    "user",
    "human",
    "person",
    "all",
    "everyone",
];

/// Why a name can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty or too long.
    #[error("a name has 1 to {LONGEST} characters")]
    Length,
    /// It holds something else than letters, digits, `-` and `_`.
    #[error("a name has letters, digits, `-` and `_`, and begins with a letter or digit")]
    Letters,
    /// It means something else.
    #[error("`{0}` is no free name: it stands for something else")]
    Reserved(String),
    /// It looks like an agent's id.
    #[error("`{0}` looks like an agent's id")]
    Id(String),
}

/// Checks the name of an agent. One that passes is fit for a file name and can't be taken for an address or an id.
///
/// # Errors
/// See [`NameError`].
pub fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() || name.chars().count() > LONGEST {
        return Err(NameError::Length);
    }
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if !name.starts_with(char::is_alphanumeric) || !name.chars().all(fits) {
        return Err(NameError::Letters);
    }
    if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        return Err(NameError::Reserved(name.to_owned()));
    }
    let is_id = name.len() == 10
        && name.starts_with('a')
        && name[1..].chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    if is_id { Err(NameError::Id(name.to_owned())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: A10
    #[test]
    fn a_name_is_no_path_no_address_and_no_id() {
        for good in ["reviewer", "Reviewer-2", "a", "prüfer", "a_b", "7", &"x".repeat(LONGEST), "a12345678"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("", NameError::Length),
            (&"x".repeat(LONGEST + 1), NameError::Length),
            ("a/b", NameError::Letters),
            ("..", NameError::Letters),
            ("a b", NameError::Letters),
            ("-a", NameError::Letters),
            ("*", NameError::Letters),
            ("uds:x", NameError::Letters),
            ("a\u{202e}b", NameError::Letters),
            ("Main", NameError::Reserved("Main".into())),
            ("lead", NameError::Reserved("lead".into())),
            ("a123456789", NameError::Id("a123456789".into())),
        ] {
            assert_eq!(check(bad), Err(why), "{bad}");
        }
    }
}
