//! Tables: where secrets lie. git and cargo go on without them; what needs a key, over the network, does not.

/// Below a home.
pub(crate) const OF_HOME: &[&str] = &[
    // Keys.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".age",
    ".local/share/keyrings",
    ".pki",
    "Library/Keychains",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/rclone",
    ".oci",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    // Tokens of registries and hosts. cargo and npm pass over a file that they may not read.
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings-security.xml",
    // Databases.
    ".pgpass",
    ".my.cnf",
    ".mongorc.js",
    // Other agents.
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    // What was typed, and browsers' sessions.
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Cookies",
];

/// Of the machine; root reads them by owning them.
pub(crate) const OF_MACHINE: &[&str] = &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-"];
