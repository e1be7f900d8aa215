//! Paths in stored JSON. One that is no UTF-8 is written with replacement characters: it can't be found again by
//! that, but nothing fails on it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    String::deserialize(deserializer).map(PathBuf::from)
}

/// The same for a list.
pub(crate) mod list {
    use super::{Cow, Deserialize, Deserializer, PathBuf, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<Cow<'_, str>> = paths.iter().map(|path| path.to_string_lossy()).collect();
        texts.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Ok(texts.into_iter().map(PathBuf::from).collect())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::PathBuf;

    use crate::state::Effect;

    #[test]
    fn a_name_that_is_no_utf8_is_written_all_the_same() {
        let odd = PathBuf::from(OsStr::from_bytes(b"/b\xff/d"));
        let text = serde_json::to_string(&Effect::Cwd(odd)).unwrap();
        assert_eq!(text, "{\"cwd\":\"/b\u{fffd}/d\"}");
    }
}
