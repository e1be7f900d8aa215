//! Which system prompt the main agent gets (C1): the first that there is, and what is added to it.

/// The prompts that there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain<'a> {
    /// In place of all others and of what is added.
    pub replace: Option<&'a str>,
    /// The coordinator's.
    pub coordinator: Option<&'a str>,
    /// That of the agent chosen for the main one.
    pub agent: Option<&'a str>,
    /// Whether that one speaks after the default and not in its place.
    pub proactive: bool,
    /// The person's (`--system-prompt`).
    pub custom: Option<&'a str>,
    /// The usual one.
    pub default: &'a str,
    /// At the end (`--append-system-prompt`).
    pub append: Option<&'a str>,
}

impl<'a> Chain<'a> {
    /// The blocks of the system prompt in their order, none of them empty. One that was chosen and is empty
    /// leaves no prompt.
    pub fn blocks(&self) -> Vec<&'a str> {
        let chosen = match self {
            Self { replace: Some(text), .. } => return kept([Some(*text), None, None]),
            Self { coordinator: Some(text), .. } => [Some(*text), None],
            Self { agent: Some(text), proactive: true, .. } => [Some(self.default), Some(*text)],
            Self { agent: Some(text), .. } | Self { custom: Some(text), .. } => [Some(*text), None],
            Self { .. } => [Some(self.default), None],
        };
        kept([chosen[0], chosen[1], self.append])
    }
}

fn kept(texts: [Option<&str>; 3]) -> Vec<&str> {
    texts.into_iter().flatten().map(str::trim_end).filter(|text| !text.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: C1
    #[test]
    fn the_first_that_there_is_and_what_is_added() {
        let given = |given: &str| {
            let text = |letter, text| given.contains(letter).then_some(text);
            let chain = Chain {
                replace: text('R', "replace"),
                coordinator: text('C', "coordinator"),
                agent: text('A', "agent"),
                proactive: given.contains('P'),
                custom: text('S', "custom"),
                default: "default\n",
                append: text('+', "append"),
            };
            chain.blocks().join(" ")
        };
        let table = [
            ("", "default"),
            ("+", "default append"),
            ("S", "custom"),
            ("S+", "custom append"),
            ("A", "agent"),
            ("AS+", "agent append"),
            ("AP", "default agent"),
            ("APS+", "default agent append"),
            ("CAPS+", "coordinator append"),
            ("RCAPS+", "replace"),
            ("P", "default"),
        ];
        for (there, blocks) in table {
            assert_eq!(given(there), blocks, "{there}");
        }
    }

    // proves: C1
    #[test]
    fn an_empty_one_leaves_none() {
        let chain =
            Chain { custom: Some(" "), default: "default", append: Some("append"), ..Chain::default() };
        assert_eq!(chain.blocks(), ["append"]);
        assert_eq!(Chain { replace: Some(""), ..chain }.blocks(), [""; 0]);
    }
}
