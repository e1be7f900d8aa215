//! The built-in agents as a run of the program has them.

use std::path::PathBuf;

use crate::stage::{Stage, end};

/// Everything that was kept of the sessions: transcripts, and what is kept beside them.
fn kept(stage: &Stage, ending: &str) -> String {
    // A host's sessions lie in the ecosystem's folder.
    let mut folders = vec![stage.path("home/.troupe/projects"), stage.path("home/.claude/projects")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                files.push(path);
            }
        }
    }
    files.sort();
    files.into_iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

// proves: D4, D8
#[test]
fn the_guide_reads_the_programs_own_documentation_unless_a_host_started_it() {
    let stage = Stage::new();
    let script = "agent main\nreply\ncall Agent subagent_type=claude-code-guide description=\"ask\" prompt=\"Which modes are there?\"\n\
                  reply \"over\"\nagent guide\nreply\ncall Docs find=\"bypasspermissions mode\"\nreply \"told\"\n";
    let ended = stage.play(script, &["-p", "hi"]);
    assert_eq!(ended.clean(), "over\n");
    let told = kept(&stage, ".jsonl");
    assert!(told.contains("permissions:") && told.contains("told"), "{told}");

    let hosted = Stage::new();
    let ended = end(hosted.scripted(script).args(["-p", "hi"]).env("CLAUDE_AGENT_SDK_VERSION", "1"));
    assert_eq!(ended.out, "over\n", "{ended:?}");
    let told = kept(&hosted, ".jsonl");
    assert!(told.contains("there is no agent type `claude-code-guide`"), "{told}");
}

// proves: D6
#[test]
fn a_variable_puts_the_agent_types_into_the_tools_text() {
    let script = "agent main\nreply \"over\"\n";
    let found = |value: &str| {
        let stage = Stage::new();
        let mut command = stage.scripted(script);
        end(command.args(["-p", "hi"]).env("TROUPE_AGENT_LIST_ATTACHMENT", value)).clean();
        let line = "- Explore: finds and reads code";
        (kept(&stage, ".jsonl").contains(line), kept(&stage, ".json").contains(line))
    };
    assert_eq!(found("1"), (true, false));
    assert_eq!(found("0"), (false, true));
}

// proves: C4
#[test]
fn a_variable_gives_agents_that_only_look_the_instructions_and_the_state_of_the_checkout() {
    let script = "agent main\nreply\ncall Agent subagent_type=Explore description=\"look\" prompt=\"look\"\n\
                  call Agent description=\"work\" prompt=\"work\"\nreply \"over\"\n\
                  agent Explore\nreply \"seen\"\nagent general-purpose\nreply \"worked\"\n";
    let found = |slim: &str| {
        let stage = Stage::new();
        for arguments in [&["init", "-q"][..], &["config", "user.email", "a@b"]] {
            end(stage.program("git".as_ref()).args(arguments));
        }
        stage.write("work/AGENTS.md", "the token is ZEBRA\n");
        let mut command = stage.scripted(script);
        let ended = end(command.args(["-p", "hi"]).env("TROUPE_SLIM_SUBAGENT_INSTRUCTIONS", slim));
        assert_eq!(ended.out, "over\n", "{ended:?}");
        let told = kept(&stage, ".jsonl");
        let of = |part: &str| told.lines().filter(|line| line.contains(part)).count();
        (of("ZEBRA"), of("Git status when the session began"))
    };
    assert_eq!(found("1"), (2, 2), "the main agent and the one that works");
    assert_eq!(found("0"), (3, 3));
}
