//! Fields → a definition. What can't be used is told, and the rest holds (D3).

use std::path::PathBuf;

use serde_json::Value;
use troupe_core::builtin::{COORDINATOR, MAIN};
use troupe_core::catalogue::DefFault;
use troupe_core::def::{AgentDef, MemoryScope, Source};
use troupe_core::fork::FORK;
use troupe_core::visible::is_hidden;

use super::field;
use super::loosening::Loose;
use crate::load::front_matter::Field;

/// The fields that there are, with other names of each.
const FIELDS: &[(&str, &[&str])] = &[
    ("name", &[]),
    ("description", &[]),
    ("tools", &[]),
    ("disallowedTools", &[]),
    ("allowedTools", &[]),
    ("model", &[]),
    ("effort", &[]),
    ("permissionMode", &[]),
    ("maxTurns", &[]),
    ("background", &[]),
    ("initialPrompt", &[]),
    ("memory", &[]),
    ("isolation", &[]),
    ("skills", &[]),
    ("mcpServers", &[]),
    ("requiredMcpServers", &[]),
    ("hooks", &[]),
    ("color", &[]),
    ("omitInstructions", &["omitClaudeMd"]),
    ("criticalReminder", &["criticalSystemReminder"]),
];

/// Fields that a plugin can't set: they would reach beyond it.
const NOT_OF_PLUGINS: &[&str] = &["permissionMode", "mcpServers", "hooks", "allowedTools"];

/// Names that mean something of their own: in headers, in calls and in rules.
const RESERVED: [&str; 3] = [MAIN, COORDINATOR, FORK];

/// Most characters of a name.
const NAME: usize = 100;

/// What is known of a definition before its fields.
pub(super) struct Draft {
    /// The file, or the flag that it came by.
    pub(super) file: PathBuf,
    pub(super) source: Source,
    /// The text below the front matter; none where a field holds the prompt.
    pub(super) prompt: Option<String>,
    /// For a plugin's: what stands before any name, and the name where the file gives none.
    pub(super) name: Option<(String, String)>,
    /// The name, where it stands outside of the fields.
    pub(super) inline: Option<String>,
}

/// What makes a name unfit, if anything.
pub fn name_fault(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("a name is missing: write `name: …`")
    } else if name.chars().count() > NAME {
        Some("a name has at most 100 characters")
    } else if name.starts_with(['-', '.']) {
        Some("a name can't begin with `-` or `.`")
    } else if name.contains(|c: char| is_hidden(c) || ":/\\(),*".contains(c)) {
        // It is a part of addresses, rules and paths.
        Some("a name can't have `:`, `/`, `\\`, `(`, `)`, `,`, `*` or characters that can't be seen")
    } else if RESERVED.iter().any(|reserved| name.trim().eq_ignore_ascii_case(reserved)) {
        Some("`main`, `coordinator` and `fork` are troupe's own: choose another name")
    } else {
        None
    }
}

/// Makes a definition; none where one of the fields that it can't do without is missing or wrong.
pub(super) fn of(draft: Draft, fields: Vec<Field>) -> (Option<AgentDef>, Vec<DefFault>, Vec<Loose>) {
    let mut maker = Maker {
        def: AgentDef { source: draft.source, ..AgentDef::default() },
        is_file: draft.prompt.is_some(),
        said: Vec::new(),
        faults: Vec::new(),
        loose: Vec::new(),
        fatal: false,
        file: draft.file,
        who: draft.inline.clone(),
    };
    if let Some(prompt) = draft.prompt {
        maker.def.prompt = prompt;
    }
    if let Some(name) = draft.inline {
        maker.def.name = name;
    }
    for Field { key, value, line } in fields {
        maker.field(&key, &value, line);
    }
    maker.finish(draft.name)
}

struct Maker {
    def: AgentDef,
    /// Whether it is read from a file, whose text is the prompt.
    is_file: bool,
    /// The fields that stood there.
    said: Vec<&'static str>,
    faults: Vec<DefFault>,
    loose: Vec<Loose>,
    /// Whether it can't be used.
    fatal: bool,
    file: PathBuf,
    /// Which of several definitions it is.
    who: Option<String>,
}

impl Maker {
    fn fault(&mut self, line: Option<usize>, what: impl AsRef<str>) {
        let what = match &self.who {
            Some(who) => format!("`{who}`: {}", what.as_ref()),
            None => what.as_ref().to_owned(),
        };
        self.faults.push(DefFault { file: self.file.clone(), line, what, used: true });
    }

    fn field(&mut self, key: &str, value: &Value, line: Option<usize>) {
        if !self.is_file && key == "prompt" {
            match field::text(value) {
                Ok(prompt) => self.def.prompt = prompt,
                Err(what) => self.fault(line, format!("`prompt`: {what}")),
            }
            return;
        }
        let named = |(field, others): &&(&str, &[&str])| *field == key || others.contains(&key);
        let Some((field, _)) =
            FIELDS.iter().find(named).filter(|(field, _)| self.is_file || *field != "name")
        else {
            return self.unknown(key, value, line);
        };
        if self.said.contains(field) {
            self.fault(line, format!("`{field}` stands there twice: the last one counts"));
        }
        self.said.push(field);
        // An empty field is none.
        if value.is_null() {
            return;
        }
        if matches!(self.def.source, Source::Plugin { .. }) && NOT_OF_PLUGINS.contains(field) {
            return self.fault(line, format!("`{field}` of a plugin's agent does not count"));
        }
        if let Err(what) = self.set(field, value, line) {
            self.fatal |= matches!(*field, "name" | "description");
            self.fault(line, format!("`{key}`: {what}"));
        }
    }

    fn set(&mut self, field: &str, value: &Value, line: Option<usize>) -> Result<(), String> {
        let def = &mut self.def;
        match field {
            "name" => {
                let name = field::text(value)?;
                if let Some(fault) = name_fault(&name) {
                    return Err(fault.to_owned());
                }
                def.name = name;
            }
            // Programs of the ecosystem write line ends so.
            "description" => def.when = field::text(value)?.replace("\\n", "\n"),
            "tools" => {
                let mut tools = field::tools(value)?;
                let remarks = std::mem::take(&mut tools.remarks);
                field::only(tools, &mut def.tools);
                for remark in remarks {
                    self.fault(line, format!("`tools`: {remark}"));
                }
            }
            "disallowedTools" => {
                let mut tools = field::tools(value)?;
                let remarks = std::mem::take(&mut tools.remarks);
                field::without(tools, &mut def.tools);
                for remark in remarks {
                    self.fault(line, format!("`disallowedTools`: {remark}"));
                }
            }
            "allowedTools" => {
                def.allowed = Some(field::rules(value)?);
                self.loose.push(Loose::AllowedTools(value.clone()));
            }
            "model" => def.model = field::model(value)?,
            "effort" => def.effort = Some(field::effort(value)?),
            "permissionMode" => {
                let mode = field::mode(value)?;
                def.mode = Some(mode);
                self.loose.extend(Loose::of_mode(mode));
            }
            "maxTurns" => def.limits.turns = Some(field::count(value)?),
            "background" => def.background = field::switch(value)?,
            "initialPrompt" => def.initial_prompt = Some(field::text(value)?),
            "memory" => {
                let scope = field::memory(value)?;
                def.memory = Some(scope);
                self.loose.extend((scope == MemoryScope::User).then_some(Loose::UserMemory));
            }
            "isolation" => def.isolation = Some(field::isolation(value)?),
            "skills" => def.skills = field::texts(value)?,
            "mcpServers" => {
                def.mcp_servers = field::servers(value)?;
                self.loose.extend(Loose::of_servers(&def.mcp_servers));
            }
            "requiredMcpServers" => def.required_mcp_servers = field::texts(value)?,
            "hooks" => {
                def.hooks = Some(field::hooks(value)?);
                self.loose.push(Loose::Hooks(value.clone()));
            }
            "color" => def.color = Some(field::color(value)?),
            "omitInstructions" => def.omit_instructions = field::switch(value)?,
            "criticalReminder" => def.reminder = Some(field::text(value)?),
            _ => {}
        }
        Ok(())
    }

    fn unknown(&mut self, key: &str, value: &Value, line: Option<usize>) {
        if !self.is_file && key == "name" && value.as_str() == Some(self.def.name.as_str()) {
            return;
        }
        let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
        let near = FIELDS.iter().map(|(field, _)| *field).find(|field| plain(field) == plain(key));
        let what = match near {
            Some(field) => format!("there is no field `{key}`: write `{field}`"),
            None if key == "prompt" => {
                "`prompt` does not count: the prompt stands below the second `---`".to_owned()
            }
            None => format!("there is no field `{key}`; it has no effect"),
        };
        self.fault(line, what);
    }

    fn finish(mut self, plugin: Option<(String, String)>) -> (Option<AgentDef>, Vec<DefFault>, Vec<Loose>) {
        if let Some((before, stem)) = plugin {
            let own = if self.def.name.is_empty() { stem } else { std::mem::take(&mut self.def.name) };
            self.def.name = format!("{before}{own}");
        } else if !self.fatal
            && let Some(fault) = name_fault(&self.def.name)
        {
            self.fatal = true;
            self.fault(None, fault);
        }
        if !self.fatal && self.def.when.is_empty() {
            self.fatal = true;
            self.fault(
                None,
                "a description is missing: write `description: …`, for the model that chooses an agent",
            );
        }
        if !self.fatal && self.def.prompt.is_empty() {
            // A file may say all in its fields; nobody gives an agent by flag without a prompt on purpose.
            self.fatal |= !self.is_file;
            let place = if self.is_file { "write it below the second `---`" } else { "write `prompt`" };
            self.fault(None, format!("it has no prompt: {place}"));
        }
        if self.fatal {
            for fault in &mut self.faults {
                fault.used = false;
            }
            return (None, self.faults, Vec::new());
        }
        (Some(self.def), self.faults, self.loose)
    }
}
