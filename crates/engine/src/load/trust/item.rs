//! One thing that waits for trust, and the set of those that were trusted.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::load::places::Places;

/// Characters of a value that a person is shown.
const SHOWN: usize = 400;

/// What kind of content it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrustKind {
    /// A setting that loosens something.
    Settings,
    /// What git would run in the repository, also where it only reads.
    Git,
    /// What git would run in the repository where it changes something: hooks.
    Hooks,
    /// A field of an agent definition that loosens something.
    Agents,
}

/// Something in a repository that waits until the person trusts it. Nothing in it is made harmless for a
/// terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustItem {
    /// What kind of content it is.
    pub kind: TrustKind,
    /// The file that it stands in.
    pub source: PathBuf,
    /// What it is called there, such as `permissions.allow`.
    pub name: String,
    /// What it would be, shortened.
    pub value: String,
    /// What the content is known by.
    pub digest: Digest,
}

/// What a content is known by: the SHA-256 of its kind, place, name and value, in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

/// What a person has trusted in one project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen(BTreeSet<Digest>);

impl TrustKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Settings, Self::Git, Self::Hooks, Self::Agents];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Git => "git",
            Self::Hooks => "hooks",
            Self::Agents => "agents",
        }
    }
}

impl TrustItem {
    /// An item; `content` is all that its effect depends on, `value` what a person is shown of it. Its place is
    /// taken from the project's root, so that worktrees share it.
    pub(crate) fn new(
        kind: TrustKind,
        source: &Path,
        places: &Places,
        name: impl Into<String>,
        value: &str,
        content: &[u8],
    ) -> Self {
        let name = name.into();
        let place = places.checkout.as_ref().and_then(|checkout| {
            [&checkout.root, &checkout.main].into_iter().find_map(|root| source.strip_prefix(root).ok())
        });
        let place = place.unwrap_or(source).as_os_str().as_encoded_bytes();
        let mut hash = Sha256::new();
        for part in [kind.as_str().as_bytes(), place, name.as_bytes(), content] {
            // The length keeps two parts from being read as two others.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = Digest(format!("{:x}", hash.finalize()));
        let mut shown: String = value.chars().take(SHOWN).collect();
        if shown.len() < value.len() {
            // What follows may be what matters, so it is said how much there is.
            let more = value.chars().count() - SHOWN;
            shown = format!("{shown}… [{more} more characters]");
        }
        Self { kind, source: source.to_owned(), name, value: shown, digest }
    }
}

impl fmt::Display for TrustItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

impl Digest {
    /// Reads one; none if it can't be one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let hex = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| Self(text.to_owned()))
    }

    /// The hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Seen {
    /// Nothing.
    pub const NOTHING: Self = Self(BTreeSet::new());

    /// Whether this very content was trusted.
    pub fn covers(&self, item: &TrustItem) -> bool {
        self.0.contains(&item.digest)
    }

    /// The same and these.
    #[must_use]
    pub fn with<'a>(mut self, items: impl IntoIterator<Item = &'a TrustItem>) -> Self {
        self.0.extend(items.into_iter().map(|item| item.digest.clone()));
        self
    }
}

impl FromIterator<Digest> for Seen {
    fn from_iter<T: IntoIterator<Item = Digest>>(digests: T) -> Self {
        Self(digests.into_iter().collect())
    }
}
