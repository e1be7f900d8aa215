//! Table: fields of definitions that this version can't honour. When it can, the row goes.

use crate::def::{AgentDef, Isolation};

/// What becomes of an agent whose field can't be honoured.
enum Lack {
    /// It works without, and people are told. Says whether the field is set.
    Ignored(fn(&AgentDef) -> bool),
    /// It is not offered, since it would not be what its writer relies on. Says what it lacks.
    Needed(fn(&AgentDef) -> Option<String>),
}

const NOT_YET: &[(&str, Lack)] = &[
    ("isolation", Lack::Needed(|def| place(def.isolation?))),
    ("requiredMcpServers", Lack::Needed(servers)),
    ("mcpServers", Lack::Ignored(|def| !def.mcp_servers.is_empty())),
    ("hooks", Lack::Ignored(|def| def.hooks.is_some())),
    ("skills", Lack::Ignored(|def| !def.skills.is_empty())),
];

/// The fields of a definition that have no effect.
pub fn ignored(def: &AgentDef) -> Vec<&'static str> {
    let is_set = |(field, lack): &(&'static str, Lack)| match lack {
        Lack::Ignored(is_set) => is_set(def).then_some(*field),
        Lack::Needed(_) => None,
    };
    NOT_YET.iter().filter_map(is_set).collect()
}

/// The same in words for people; none where all have.
pub fn ignored_words(def: &AgentDef) -> Option<String> {
    let fields: Vec<String> = ignored(def).iter().map(|field| format!("`{field}`")).collect();
    let verb = if fields.len() == 1 { "has" } else { "have" };
    (!fields.is_empty()).then(|| format!("{} {verb} no effect in this version", fields.join(", ")))
}

/// Why no agent can be started from a definition; none where one can.
pub fn lacks(def: &AgentDef) -> Option<String> {
    let lack = |(field, lack): &(&str, Lack)| match lack {
        Lack::Needed(lacks) => lacks(def).map(|what| format!("`{field}`: {what}")),
        Lack::Ignored(_) => None,
    };
    let all: Vec<String> = NOT_YET.iter().filter_map(lack).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The same in words for people, with the definition's name.
pub fn lacks_words(def: &AgentDef) -> Option<String> {
    lacks(def).map(|why| format!("agent type {} can't be started: {why}", def.name))
}

/// Why no agent is started that is to work there; none where one can.
pub fn place(isolation: Isolation) -> Option<String> {
    match isolation {
        Isolation::Worktree => None,
        Isolation::Remote => {
            Some("it is to work on another machine, and there is none to work on in this version".to_owned())
        }
    }
}

fn servers(def: &AgentDef) -> Option<String> {
    let named = def.required_mcp_servers.join(", ");
    (!named.is_empty()).then(|| format!("it needs MCP servers of which none is connected: {named}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: D5
    #[test]
    fn each_field_says_what_it_lacks() {
        let plain = AgentDef::default();
        assert_eq!((ignored_words(&plain), lacks(&plain)), (None, None));
        let worktree = AgentDef { isolation: Some(Isolation::Worktree), ..AgentDef::default() };
        assert_eq!(lacks(&worktree), None);
        let remote = AgentDef { isolation: Some(Isolation::Remote), ..AgentDef::default() };
        assert!(
            lacks(&remote)
                .is_some_and(|why| why.starts_with("`isolation`: it is to work on another machine"))
        );
        let both = AgentDef { required_mcp_servers: vec!["git*".into(), "docs".into()], ..remote };
        assert!(lacks(&both).is_some_and(|why| why.contains("machine") && why.ends_with("git*, docs")));
        let told = AgentDef { mcp_servers: vec!["m".into()], skills: vec!["s".into()], ..plain };
        assert_eq!(lacks(&told), None);
        assert_eq!(
            ignored_words(&told).as_deref(),
            Some("`mcpServers`, `skills` have no effect in this version")
        );
    }
}
