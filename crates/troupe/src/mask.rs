//! A text without the passwords and keys of the addresses in it.

/// What stands in place of a secret.
const HIDDEN: char = '…';

/// What the name of a parameter holds when its value is a secret.
const SECRET: [&str; 9] = ["token", "key", "secret", "pass", "pwd", "auth", "sig", "credential", "session"];

/// The text, each address in it without what stands before its host, and without the values of parameters that hold
/// keys. Of a list with commas more may be hidden: a password may hold a comma.
pub(crate) fn mask(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace);
    words.map(|word| without_values(&without_users(word))).collect()
}

/// A word without the users and passwords in it. Without a scheme it needs both: else it may be a mailbox.
fn without_users(word: &str) -> String {
    let parts = word.split("://").enumerate().map(|(at, part)| match user_end(part) {
        Some(end) if at > 0 || part[..end].contains(':') => format!("{HIDDEN}{}", &part[end..]),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("://")
}

/// Where the `@` stands that ends user and password.
fn user_end(rest: &str) -> Option<usize> {
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if let Some(at) = rest[..host].rfind('@') {
        return Some(at);
    }
    // What follows a colon and is no port is a password that was written with a `/`, `?` or `#` in it.
    let (_, port) = rest[..host].split_once(':')?;
    let is_port = port.chars().all(|c| c.is_ascii_digit()) || rest.starts_with('[');
    if is_port { None } else { rest.rfind('@') }
}

/// One address without the values of parameters that hold keys.
fn without_values(word: &str) -> String {
    let is_mark = |c: char| matches!(c, '?' | '&' | ';' | '#');
    let mut parts = word.split_inclusive(is_mark);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let held = part.trim_end_matches(|c: char| is_mark(c) || c.is_whitespace());
        match held.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret(name) => {
                text.push_str(name);
                text.push('=');
                text.push(HIDDEN);
                text.push_str(&part[held.len()..]);
            }
            _ => text.push_str(part),
        }
    }
    text
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("https://u:p@ss@host/a@b", "https://…@host/a@b"),
            ("https://sekret@host", "https://…@host"),
            ("u:sekret@host:8080/x", "…@host:8080/x"),
            ("http://u:sek/ret@host/x", "http://…@host/x"),
            ("http://u:sek#ret@host?x=1", "http://…@host?x=1"),
            ("a.org, u:sekret@b.org,http://v:sekret@c.org", "a.org, …@b.org,http://…@c.org"),
            ("a.org,u:sekret@b.org http://u:sek,ret@c.org\n", "…@b.org http://…@c.org\n"),
        ] {
            assert_eq!(mask(text), shown);
        }
    }

    #[test]
    fn a_parameter_that_holds_a_key_is_shown_without_it() {
        for (text, shown) in [
            ("https://h/x?token=sekret", "https://h/x?token=…"),
            ("https://h/x?v=1&API_KEY=sekret&w=2", "https://h/x?v=1&API_KEY=…&w=2"),
            ("h:1/x?x-amz-signature=sekret#access_token=sekret", "h:1/x?x-amz-signature=…#access_token=…"),
            ("https://u:sekret@h/?password=sekret x", "https://…@h/?password=… x"),
        ] {
            assert_eq!(mask(text), shown);
        }
    }

    #[test]
    fn what_holds_no_secret_is_shown_as_it_is() {
        for plain in [
            "https://host/a@b",
            "https://host:8080/a@b?version=2&c=d",
            "http://[::1]:8080/a@b",
            "a@b",
            "",
            "localhost, 127.0.0.1 ,.example.org",
            "00-0af7651916cd43dd-01",
            "claude-opus-4-8",
            "vendor=a:b,token=?",
        ] {
            assert_eq!(mask(plain), plain);
        }
    }
}
