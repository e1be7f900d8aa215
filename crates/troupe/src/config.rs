//! `troupe config`: the product's switches and the variables that are read, each with its value, where that comes
//! from, and what it is for. Keys and tokens are never shown.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::visible::visible;
use troupe_engine::load::unused::has_effect;
use troupe_engine::load::variables::{self, OnWhen, Variable};
use troupe_engine::load::{Env, Flag, Flags, Settings, Value as Found, Whence};

use crate::args::ConfigWish;
use crate::fault::{Fault, warn};
use crate::mask::mask;
use crate::wiring::settings_of;

/// Characters of a value that a list shows.
const SHOWN: usize = 40;

/// The switches' heading.
const FLAGS: &str = "Flags";

/// What is known of one of them.
struct Row {
    name: &'static str,
    group: &'static str,
    value: Value,
    /// The value for people.
    shown: String,
    default: Option<&'static str>,
    from: Whence,
    meaning: &'static str,
    names: Vec<String>,
    used: bool,
}

/// The list, or one of it, as text or JSON.
///
/// # Errors
/// When a setting that a flag names can't be used, or there is nothing of the name.
pub(crate) fn text(wish: &ConfigWish, env: Env) -> Result<String, Fault> {
    let settings = settings_of(&wish.run(), &env)?;
    let env = env.with_settings(settings.env().into_iter().map(|(name, value)| (name, value.value)));
    let (flags, told) = Flags::resolve(&env, &settings, false);
    told.iter().for_each(warn);
    let rows = rows(&flags, &env, &settings);
    match &wish.name {
        None if wish.json => {
            let of = |wanted: fn(&&Row) -> bool| rows.iter().filter(wanted).map(Row::json).collect();
            let (flags, variables): (Vec<Value>, Vec<Value>) =
                (of(|row| row.group == FLAGS), of(|row| row.group != FLAGS));
            Ok(format!("{:#}\n", json!({"flags": flags, "variables": variables})))
        }
        None => Ok(list(&rows)),
        Some(name) => {
            let is = |row: &&Row| row.name == name || row.names.iter().any(|known| known == name);
            let bare = |row: &&Row| Flag::named(name).is_some_and(|flag| flag.name() == row.name);
            let row = rows.iter().find(is).or_else(|| rows.iter().find(bare)).ok_or_else(|| unknown(name))?;
            Ok(if wish.json { format!("{:#}\n", row.json()) } else { row.whole() })
        }
    }
}

fn unknown(name: &str) -> Fault {
    Fault::usage(format_args!("there is no flag or variable {}", visible(name)))
        .hint("troupe config lists all that are read")
}

fn rows(flags: &Flags, env: &Env, settings: &Settings) -> Vec<Row> {
    let of_flag = |flag: &Flag| {
        let state = flags.state(*flag);
        let word = |on| if on { "on" } else { "off" };
        let unset = state.from == Whence::Default && flag.default() == OnWhen::Interactive;
        Row {
            value: state.on.into(),
            shown: if unset { "on with a terminal" } else { word(state.on) }.to_owned(),
            default: Some(match flag.default() {
                OnWhen::Set => "off",
                OnWhen::Always => "on",
                OnWhen::Interactive => "interactive",
            }),
            from: state.from.clone(),
            ..Row::of(flag.variable(), FLAGS)
        }
    };
    let of_variable = |variable: &Variable| {
        let Found { text, from } = Found::of(variable, env, settings);
        let set = from != Whence::Default;
        let shown = match (&text, set) {
            (Some(text), _) => mask(text),
            (None, true) => "set, not shown".to_owned(),
            (None, false) => "-".to_owned(),
        };
        let value = text.map_or(Value::Null, |text| mask(&text).into());
        Row { value, shown, from, ..Row::of(variable, variable.group) }
    };
    let is_flag = |variable: &&Variable| Flag::named(variable.name).is_some();
    let variables = variables::ALL.iter().filter(|variable| !is_flag(variable));
    Flag::ALL.iter().map(of_flag).chain(variables.map(of_variable)).collect()
}

impl Row {
    fn of(variable: &Variable, group: &'static str) -> Self {
        Self {
            name: variable.name,
            group,
            value: Value::Null,
            shown: String::new(),
            default: None,
            from: Whence::Default,
            meaning: variable.meaning,
            names: variable.names(),
            used: has_effect(variable),
        }
    }

    fn json(&self) -> Value {
        let mut row = json!({
            "name": self.name, "value": self.value, "from": self.from.to_string(),
            "set": self.from != Whence::Default, "meaning": self.meaning, "names": self.names, "used": self.used,
        });
        if let Some(default) = self.default {
            row["default"] = default.into();
        } else {
            row["group"] = self.group.into();
        }
        row
    }

    fn note(&self) -> &'static str {
        if self.used { "" } else { " (not used yet)" }
    }

    /// All that is known of it, a line each.
    fn whole(&self) -> String {
        let mut text = format!("{}\n", self.name);
        let mut line = |name: &str, value: &str| {
            // Writing to a string can't fail.
            let _ = writeln!(text, "  {name:<8} {}", visible(value));
        };
        line("value", &self.shown);
        line("from", &self.from.to_string());
        if let Some(default) = self.default {
            line("default", default);
        }
        line("names", &self.names.join(", "));
        line("meaning", &format!("{}{}", self.meaning, self.note()));
        text
    }
}

fn list(rows: &[Row]) -> String {
    let mut text = String::from(
        "A name is read as TROUPE_X, CLAUDE_CODE_X, CLAUDE_X; one that begins with such a prefix, or is another's, \
         as it is. Flags also stand in settings: {\"flags\": {\"NAME\": true}}.\n",
    );
    for (at, row) in rows.iter().enumerate() {
        if at == 0 || rows[at - 1].group != row.group {
            let _ = write!(text, "\n{}\n", row.group);
        }
        let mut value: String = visible(&row.shown).chars().take(SHOWN).collect();
        if value.len() < visible(&row.shown).len() {
            value.push('…');
        }
        let from = if row.from == Whence::Default { String::new() } else { format!("  [{}]", row.from) };
        let (name, from) = (row.name, visible(&from));
        let _ = writeln!(text, "  {name:<40} {value:<18} {}{}{from}", row.meaning, row.note());
    }
    text
}
