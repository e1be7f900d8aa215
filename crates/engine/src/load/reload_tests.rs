//! Rules that change while a session runs, with real files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::time::Instant;

use troupe_core::policy::Behaviour;

use super::*;
use crate::load::settings::save;
use troupe_core::policy::{Destination, Update};

struct Stage {
    folder: tempfile::TempDir,
    files: RuleFiles,
}

impl Stage {
    fn new() -> Self {
        Self::of(Trust::Trusted)
    }

    fn of(trust: Trust) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let cwd = root.join("ws");
        fs::create_dir_all(cwd.join(".claude")).unwrap();
        fs::create_dir_all(root.join("managed")).unwrap();
        let env = Env { cwd, home: Some(root.join("home")), ..Env::default() };
        let mut places = Places::of(&env);
        places.managed = vec![root.join("managed")];
        let files = RuleFiles::new(RuleSources {
            places,
            env,
            command_line: CommandLine::default(),
            sources: Sources::ALL,
            trust,
            git: troupe_core::policy::GitTrust::All,
            flags: RuleFlags::default(),
        });
        Self { folder, files }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ws/.claude/settings.json")
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    /// Every rule, after what has changed; none where nothing has.
    fn changed(&self) -> Option<(Vec<String>, Vec<String>)> {
        let reread = self.files.changed()?;
        Some((texts(&reread.rules), reread.told))
    }

    fn now(&self) -> Vec<String> {
        self.files.changed();
        self.files.state.lock().unwrap().last.as_ref().map(|(rules, _)| texts(rules)).unwrap()
    }
}

fn texts(rules: &Rules) -> Vec<String> {
    let word = |behaviour| match behaviour {
        Behaviour::Allow => "+",
        Behaviour::Ask => "?",
        Behaviour::Deny => "-",
    };
    rules.iter().map(|rule| format!("{}{}", word(rule.behaviour), rule.text)).collect()
}

const BOTH: &str = r#"{"permissions": {"deny": ["Read(./x)"], "allow": ["Bash(make)"]}}"#;

// proves: S7, X7
#[test]
fn a_change_of_a_file_is_seen_once_and_at_once() {
    let stage = Stage::new();
    assert_eq!(stage.changed(), Some((vec![], vec![])));
    assert_eq!(stage.changed(), None);
    stage.write(BOTH);
    assert_eq!(stage.now(), ["-Read(./x)", "+Bash(make)"]);
    // As long: only the content differs, and both writes are within one tick of the clock.
    for name in ["y", "z", "x", "w"] {
        stage.write(&BOTH.replace("./x", &format!("./{name}")));
        assert_eq!(stage.now()[0], format!("-Read(./{name})"));
    }
    fs::remove_file(stage.path()).unwrap();
    assert_eq!(stage.now(), [""; 0], "a file that is gone says nothing");
}

// proves: S7
#[test]
fn a_file_that_another_takes_the_place_of_is_read_again() {
    let stage = Stage::new();
    stage.write(BOTH);
    assert_eq!(stage.now().len(), 2);
    let beside = stage.folder.path().join("next");
    fs::write(&beside, BOTH.replace("make", "just")).unwrap();
    // An old stamp: an editor or a checkout may set any.
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(&beside).unwrap().set_modified(old).unwrap();
    fs::rename(&beside, stage.path()).unwrap();
    assert_eq!(stage.now(), ["-Read(./x)", "+Bash(just)"]);
}

// proves: S7
#[test]
fn a_half_written_file_loses_no_rule_and_is_told_once() {
    let stage = Stage::new();
    stage.write(BOTH);
    assert_eq!(stage.now().len(), 2);
    // Every length at which a writer may be stopped.
    for end in 0..BOTH.len() {
        stage.write(&BOTH[..end]);
        assert_eq!(stage.now(), ["-Read(./x)", "+Bash(make)"], "cut at {end}");
    }
    stage.write("{");
    let told = stage.changed().map(|(_, told)| told).unwrap_or_default();
    assert!(told.is_empty() || told[0].contains("still hold"), "{told:?}");
    stage.write("{{");
    stage.files.changed();
    assert_eq!(stage.changed(), None, "it is told once");
    stage.write("{}");
    assert_eq!(stage.now(), [""; 0], "an object without rules is what was wanted");
}

// proves: S7
#[test]
fn a_file_cut_to_a_comment_or_to_null_loses_no_rule_and_is_told_once() {
    for cut in ["// my settings", "// my settings\n", "/* mine */ ", "null", "// mine\nnull\n", "\n"] {
        let stage = Stage::new();
        stage.write(&format!("// my settings\n{BOTH}"));
        assert_eq!(stage.now(), ["-Read(./x)", "+Bash(make)"]);
        stage.write(cut);
        let told = stage.changed().map(|(_, told)| told).unwrap_or_default();
        assert!(told.len() == 1 && told[0].contains("it is empty"), "{cut:?}: {told:?}");
        assert_eq!(stage.now(), ["-Read(./x)", "+Bash(make)"], "{cut:?}");
        assert_eq!(stage.changed(), None, "{cut:?} is told once");
        stage.write("// my settings\n{}");
        assert_eq!(stage.now(), [""; 0], "an object without rules is what was wanted");
    }
}

// proves: S7
#[test]
fn a_rule_is_not_lost_to_a_wrong_type_or_a_folder_in_the_way() {
    let stage = Stage::new();
    stage.write(BOTH);
    assert_eq!(stage.now().len(), 2);
    for wrong in [
        r#"{"permissions": {"deny": "Read(./x)"}}"#,
        r#"{"permissions": {"deny": [{"a": 1}]}}"#,
        r#"{"permissions": []}"#,
        "[]",
        "7",
    ] {
        stage.write(wrong);
        assert_eq!(stage.now(), ["-Read(./x)", "+Bash(make)"], "{wrong}");
    }
    fs::remove_file(stage.path()).unwrap();
    fs::create_dir(stage.path()).unwrap();
    assert_eq!(stage.now(), ["-Read(./x)", "+Bash(make)"], "a folder can't be read");
}

// proves: S7
#[test]
fn what_is_wrong_is_told_once_until_it_is_mended() {
    let stage = Stage::new();
    stage.write("{ broken");
    let told = |stage: &Stage| stage.changed().map(|(_, told)| told.len());
    assert_eq!(told(&stage), Some(1));
    assert_eq!(told(&stage), None);
    stage.write("{}");
    assert_eq!(told(&stage), None, "nothing is wrong, and there was no rule before");
    stage.write("{ broken");
    assert_eq!(told(&stage), Some(1));
    stage.write(r#"{"permissions": {"allow": ["Bash", "Edit(open"]}}"#);
    assert_eq!(told(&stage), Some(2), "a rule that is too wide, and one that is wrong");
}

// proves: S7
#[test]
fn an_organisation_s_rules_are_not_lost_with_their_folder() {
    let stage = Stage::new();
    let folder = stage.folder.path().join("managed/managed-settings.d");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.json"), r#"{"permissions": {"deny": ["WebSearch"]}}"#).unwrap();
    assert_eq!(stage.now(), ["-WebSearch"]);
    fs::write(folder.join("b.json"), r#"{"permissions": {"deny": ["Edit"]}}"#).unwrap();
    assert_eq!(stage.now(), ["-WebSearch", "-Edit"], "a new drop-in counts");
    fs::rename(&folder, stage.folder.path().join("aside")).unwrap();
    fs::write(&folder, "").unwrap();
    assert_eq!(stage.now(), ["-WebSearch", "-Edit"], "what can't be listed says what it last said");
}

// proves: S1
#[test]
fn what_an_answer_saves_is_read_back_and_so_are_folders() {
    let stage = Stage::new();
    stage.files.changed();
    let file = stage.files.from.places.settings_file(Destination::LocalSettings).unwrap();
    let destination = Destination::LocalSettings;
    let rules = vec!["Bash(npm test)".to_owned()];
    let folder = stage.folder.path().canonicalize().unwrap().join("home");
    fs::create_dir(&folder).unwrap();
    let directories = vec![folder.display().to_string(), "/no/such/folder".to_owned()];
    let add = Update::AddRules { rules: rules.clone(), behaviour: Behaviour::Allow, destination };
    save(&file, &add).unwrap();
    save(&file, &Update::AddDirectories { directories: directories.clone(), destination }).unwrap();
    let reread = stage.files.changed().unwrap();
    assert_eq!((texts(&reread.rules), reread.folders), (vec!["+Bash(npm test)".into()], vec![folder]));
    save(&file, &Update::RemoveRules { rules, behaviour: Behaviour::Allow, destination }).unwrap();
    save(&file, &Update::RemoveDirectories { directories, destination }).unwrap();
    let reread = stage.files.changed().unwrap();
    assert_eq!((texts(&reread.rules), reread.folders), (vec![], vec![]));
}

// proves: S1
#[test]
fn any_layer_turns_a_switch_on_and_none_turns_it_off_for_another() {
    let stage = Stage::new();
    stage.write(r#"{"permissions": {"denyInsteadOfPrompting": true}}"#);
    let managed = stage.folder.path().join("managed/managed-settings.json");
    fs::write(
        managed,
        r#"{"permissions": {"denyInsteadOfPrompting": false, "blockReadsOutsideWorkingDirectories": true}}"#,
    )
    .unwrap();
    let bounds = stage.files.changed().unwrap().rules.bounds();
    assert!(bounds.questions && bounds.reads_outside && !bounds.writes_outside);
}

/// A look that finds nothing new must be as cheap as a few looks at files.
#[test]
fn a_look_costs_little() {
    let stage = Stage::new();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    stage.write(BOTH);
    fs::File::options().write(true).open(stage.path()).unwrap().set_modified(old).unwrap();
    // It settles: the stamp of its last change is its own.
    while stage.files.state.lock().unwrap().seen.iter().any(|(_, seen)| *seen == Signature::Fresh)
        || stage.files.state.lock().unwrap().seen.is_empty()
    {
        stage.files.changed();
    }
    let start = Instant::now();
    for _ in 0..1_000 {
        assert_eq!(stage.files.changed(), None);
    }
    let each = start.elapsed() / 1_000;
    assert!(each < std::time::Duration::from_micros(500), "{each:?}");
}

// proves: S7
#[test]
fn a_rule_that_waits_for_trust_is_told_once_and_one_of_an_answer_is_not() {
    let stage = Stage::of(Trust::UNTRUSTED);
    stage.write(r#"{"permissions": {"deny": ["Read(./x)"]}}"#);
    assert_eq!(stage.changed().unwrap().1, Vec::<String>::new());
    stage.write(BOTH);
    let (rules, told) = stage.changed().unwrap();
    assert_eq!(rules, ["-Read(./x)"]);
    assert!(
        told.len() == 1 && told[0].contains("Bash(make)") && told[0].contains("troupe trust"),
        "{told:?}"
    );
    stage.write(r#"{"permissions": {"deny": ["Read(./y)"], "allow": ["Bash(make)"]}}"#);
    assert_eq!(stage.changed().unwrap(), (vec!["-Read(./y)".to_owned()], vec![]));

    let places = &stage.files.from.places;
    let rules = vec!["Bash(mine)".into()];
    let update =
        Update::AddRules { rules, behaviour: Behaviour::Allow, destination: Destination::LocalSettings };
    let file = places.settings_file(update.destination()).unwrap();
    save(&file, &update).unwrap();
    let items = crate::load::trust::answered(&file.path, places, &update);
    TrustStore::at(&places.home).trust(places.trusted_root(), &items).unwrap();
    assert!(stage.changed().is_none_or(|(_, told)| told.is_empty()));
}
