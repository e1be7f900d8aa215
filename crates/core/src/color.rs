//! The colours of agents on screens, and which one a member of a team gets (T6).

use serde::{Deserialize, Serialize};

/// An agent's colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is the colour that it says")]
pub enum Color {
    Red,
    Blue,
    Green,
    Yellow,
    Purple,
    Orange,
    Pink,
    Cyan,
}

/// All of them, in order.
pub const PALETTE: [Color; 8] = [
    Color::Red,
    Color::Blue,
    Color::Green,
    Color::Yellow,
    Color::Purple,
    Color::Orange,
    Color::Pink,
    Color::Cyan,
];

/// The colour of an agent: by the hash of its id, or the next one that is not taken. When all are taken, the
/// hash alone decides.
pub fn choose(agent_id: &str, taken: &[Color]) -> Color {
    let start = usize::try_from(fnv1a(agent_id) % PALETTE.len() as u64).unwrap_or(0);
    let mut order = PALETTE.iter().cycle().skip(start).take(PALETTE.len());
    order.find(|color| !taken.contains(color)).copied().unwrap_or(PALETTE[start])
}

/// FNV-1a with 64 bits: the same in each version and on each machine.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Color {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Blue => "blue",
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Purple => "purple",
            Self::Orange => "orange",
            Self::Pink => "pink",
            Self::Cyan => "cyan",
        }
    }

    /// The colour of a name.
    pub fn parse(name: &str) -> Option<Self> {
        PALETTE.into_iter().find(|color| color.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: T6
    #[test]
    fn eight_members_have_eight_colours_and_the_ninth_its_own_again() {
        let mut taken = Vec::new();
        for member in 0..8 {
            let color = choose(&format!("m{member}@t"), &taken);
            assert!(!taken.contains(&color));
            taken.push(color);
        }
        assert_eq!(choose("m0@t", &taken), choose("m0@t", &[]));
    }

    // proves: T6
    #[test]
    fn a_name_is_its_colours() {
        for color in PALETTE {
            assert_eq!(Color::parse(color.as_str()), Some(color));
            assert_eq!(serde_json::to_value(color).ok(), Some(color.as_str().into()));
        }
    }
}
