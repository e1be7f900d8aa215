//! The name of a project's folder of transcripts. It follows the SDKs' own functions to the letter, since they
//! look for sessions there.

use std::path::Path;

use unicode_normalization::UnicodeNormalization as _;

/// Characters that are kept whole; a longer key ends in a hash.
const LONGEST: usize = 200;

/// The key of a folder: links followed, in NFC, each character but ASCII letters and digits made `-`. One that is
/// longer than 200 characters is cut there and ends in a hash of the whole path.
///
/// A folder that is gone is taken as it was written.
pub fn project_key(folder: &Path) -> String {
    let real = folder.canonicalize();
    let path = real.as_deref().unwrap_or(folder).to_string_lossy();
    key_of(&path.nfc().collect::<String>())
}

fn key_of(path: &str) -> String {
    let mut key: String = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    // One byte a character from here on.
    if key.len() > LONGEST {
        key.truncate(LONGEST);
        key.push('-');
        key.push_str(&base36(hash(path).unsigned_abs()));
    }
    key
}

/// `h * 31 + c` over the code points, in 32 bits with a sign.
fn hash(text: &str) -> i32 {
    text.chars().fold(0_i32, |h, c| h.wrapping_shl(5).wrapping_sub(h).wrapping_add((c as u32).cast_signed()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_known_values() {
        assert_eq!(key_of("/home/u/x"), "-home-u-x");
        assert_eq!(base36(hash("/home/u/x").unsigned_abs()), "7mvqe5");
        assert_eq!(base36(0), "0");
        assert_eq!(base36(i32::MIN.unsigned_abs()), "zik0zk");
    }

    #[test]
    fn a_long_path_is_cut_and_hashed() {
        let exact = format!("/{}", "a".repeat(199));
        assert_eq!(key_of(&exact).len(), 200);
        let long = format!("/{}", "é".repeat(250));
        let key = key_of(&long);
        assert_eq!(&key[..201], &"-".repeat(201));
        assert_eq!(&key[201..], base36(hash(&long).unsigned_abs()));
        assert_ne!(key_of(&format!("{long}b")), key, "the hash is of the whole path");
    }

    #[test]
    fn one_folder_has_one_key() {
        let folder = tempfile::tempdir().unwrap();
        // Decomposed on disk, a link to it, and the composed form as text.
        let real = folder.path().join("e\u{301}t");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        let key = project_key(&real);
        assert!(key.ends_with("--t"), "one character after composition: {key}");
        assert_eq!(project_key(&folder.path().join("link")), key);
        assert_eq!(
            project_key(&folder.path().join("gone/./x")),
            key_of(&format!("{}/gone/./x", folder.path().display()))
        );
    }
}
