//! Commands in the sandbox, with the walls that this machine has: real bubblewrap, the real binary, a scripted model.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::stage::{Ended, Stage, end};

mod checking;
mod ending;

/// A script in which the main agent makes these Bash calls one after the other, and then says "done".
fn script(inputs: &[Value]) -> String {
    let calls = inputs.iter().map(|input| format!("reply\ncall Bash {input}\n"));
    format!("agent main\n{}reply \"done\"\n", calls.collect::<String>())
}

fn commands(commands: &[&str]) -> String {
    script(&commands.iter().map(|command| json!({"command": command})).collect::<Vec<_>>())
}

/// Runs it, and gives what each call was answered.
fn results(stage: &Stage, script: &str, arguments: &[&str]) -> Vec<(bool, String)> {
    let mut run = stage.scripted(script);
    run.env("IS_SANDBOX", "1").args(["-p", "hi", "--output-format", "stream-json", "--verbose", "--sandbox"]);
    read(&end(run.args(arguments)))
}

fn read(ended: &Ended) -> Vec<(bool, String)> {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let frames = ended.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let blocks = frames
        .filter(|frame| frame["type"] == "user")
        .flat_map(|frame| frame["message"]["content"].as_array().cloned().unwrap_or_default());
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|block| (block["is_error"] == true, text_of(&block["content"]))).collect()
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A place whose files can be seen from the sandbox, although it lies among temporary files.
fn seen() -> Stage {
    let stage = Stage::new();
    stage.write("home/.troupe/settings.json", r#"{"sandbox": {"filesystem": {"allowRead": ["~/.."]}}}"#);
    stage
}

fn repository(stage: &Stage) {
    let made = end(stage.program("git".as_ref()).args(["init", "-q", "."]));
    assert_eq!(made.code, Some(0), "{made:?}");
}

// proves: X8
#[test]
fn a_command_writes_in_the_workspace_unasked_and_nowhere_else() {
    let stage = seen();
    let elsewhere = stage.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let outside = elsewhere.join("x");
    let lines = ["echo in > inside && cat inside", &format!("cd .. && echo out > {}", outside.display())];
    let results = results(&stage, &commands(&lines), &[]);
    assert_eq!(results[0], (false, "in".to_owned()));
    let (failed, told) = &results[1];
    assert!(*failed && told.contains("Exit code 1"), "{told}");
    let wanted = format!(
        "The sandbox refused access to {}. If it is needed, dangerouslyDisableSandbox asks the person.",
        outside.display()
    );
    assert!(told.contains(&wanted), "{told}");
    assert!(!outside.exists());
    assert_eq!(std::fs::read_to_string(stage.path("work/inside")).unwrap(), "in\n");
}

// proves: F165
#[test]
fn what_decides_what_runs_later_is_out_of_reach() {
    let stage = seen();
    repository(&stage);
    let lines = [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "mkdir -p .troupe && echo '{}' > .troupe/settings.json",
        "g=.git; mv $g .git2",
        "echo a > a && git add a && git -c user.name=n -c user.email=e@x commit -qm a && git log --format=%s",
    ];
    // The walls hold also where nothing is asked.
    let results = results(&stage, &commands(&lines), &["--permission-mode", "bypassPermissions"]);
    for (at, held) in
        [".git/hooks/pre-commit", ".git/config", ".troupe/settings.json", ".git"].iter().enumerate()
    {
        let (failed, told) = &results[at];
        let path = stage.path("work").canonicalize().unwrap().join(held);
        assert!(
            *failed && told.contains(&format!("The sandbox refused access to {}", path.display())),
            "{told}"
        );
    }
    assert_eq!(results[4], (false, "a".to_owned()), "a commit works");
    assert!(
        !stage.path("work/.troupe").exists() && !stage.path("work/.mcp.json").exists(),
        "nothing is left over"
    );
}

// proves: S7, F165
#[test]
fn what_came_to_be_between_two_commands_is_held_for_the_second() {
    let stage = seen();
    repository(&stage);
    let lines = [
        "git init -q cloned && mkdir -p sub/.husky; ls -d sub/.husky",
        "echo x > cloned/.git/hooks/pre-commit",
        "echo x > sub/.husky/pre-commit",
        // A folder that becomes a link leads to nothing that can be written.
        "mv sub moved && ln -s moved sub; echo x > sub/.husky/pre-commit",
        "echo x > sub/.husky/pre-commit",
    ];
    let results = results(&stage, &commands(&lines), &["--permission-mode", "bypassPermissions"]);
    assert_eq!(results[0], (false, "sub/.husky".to_owned()));
    for (failed, told) in &results[1..] {
        assert!(*failed && told.contains("The sandbox refused access to"), "{told}");
    }
    for path in
        ["work/cloned/.git/hooks/pre-commit", "work/moved/.husky/pre-commit", "work/sub/.husky/pre-commit"]
    {
        assert!(!stage.path(path).exists(), "{path}");
    }
}

#[test]
fn secrets_are_hidden_and_so_is_what_a_rule_denies() {
    let stage = seen();
    stage.write("home/.ssh/id", "a key");
    stage.write("work/secret/x", "a secret");
    stage.write("work/.troupe/settings.json", r#"{"permissions": {"deny": ["Read(./secret/**)"]}}"#);
    let lines = ["cat ~/.ss*/id", "p=sec; cat ${p}ret/x", "echo got ${ANTHROPIC_API_KEY-nothing}"];
    let mut run = stage.scripted(&commands(&lines));
    run.env("ANTHROPIC_API_KEY", "sk-x").args(["-p", "hi", "--sandbox", "--allowed-tools", "Bash"]);
    let results = read(&end(run.args(["--output-format", "stream-json", "--verbose"])));
    for (failed, told) in &results[..2] {
        assert!(*failed && !told.contains("a key") && !told.contains("a secret"), "{told}");
    }
    assert_eq!(results[2], (false, "got nothing".to_owned()));
}

// proves: S10
#[test]
fn the_network_is_the_allowed_hosts_alone() {
    let stage = seen();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let settings = json!({"sandbox": {"network": {"allowedDomains": [format!("127.0.0.1:{port}")], "strictAllowlist": true}}});
    let served = std::thread::spawn(move || {
        let (mut client, _) = server.accept().unwrap();
        let mut head = BufReader::new(client.try_clone().unwrap()).lines();
        let first = head.next().unwrap().unwrap();
        while !head.next().unwrap().unwrap().is_empty() {}
        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
        first
    });
    let url = format!("http://127.0.0.1:{port}/there");
    let lines = [
        format!("curl -sS --noproxy '' {url}"),
        format!("curl -sS --noproxy '*' {url}"),
        "curl -sS -o /dev/null -w '%{http_code}' http://other.invalid/; true".to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let results = results(&stage, &commands(&lines), &["--settings", &settings.to_string()]);
    assert_eq!(results[0], (false, "hello".to_owned()));
    assert_eq!(served.join().unwrap(), "GET /there HTTP/1.1");
    assert!(results[1].0, "past the proxy there is nothing: {results:?}");
    let (failed, told) = &results[2];
    assert!(!*failed && told.starts_with("403"), "{told}");
    assert!(
        told.contains("refused network access to other.invalid:80 (it is not among the allowed domains)"),
        "{told}"
    );
}

#[test]
fn unix_sockets_of_the_machine_are_closed_but_for_those_that_are_allowed() {
    let stage = seen();
    let folder = stage.path("sockets");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("s");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
            let _ = client.read(&mut [0; 1024]);
        }
    });
    let script = commands(&[&format!("curl -sS --unix-socket {} http://x/", path.display())]);
    let with = |network: Value| {
        let settings = json!({"sandbox": {"network": network}}).to_string();
        results(&stage, &script, &["--settings", &settings]).remove(0)
    };
    let closed = with(json!({}));
    assert!(closed.0 && !closed.1.contains("hello"), "{closed:?}");
    for network in [json!({"allowUnixSockets": [path]}), json!({"allowAllUnixSockets": true})] {
        assert_eq!(with(network.clone()), (false, "hello".to_owned()), "{network}");
    }
}

#[test]
fn without_walls_around_files_the_network_is_held_all_the_same() {
    let stage = seen();
    let outside = stage.path("outside");
    let settings =
        json!({"sandbox": {"filesystem": {"disabled": true}, "network": {"strictAllowlist": true}}})
            .to_string();
    let lines = [
        format!("echo x > {}", outside.display()),
        "curl -sS --noproxy '*' http://127.0.0.1:9/".into(),
        "curl -s http://a.invalid".into(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let asked = results(&stage, &commands(&lines[..1]), &["--settings", &settings]);
    assert!(asked[0].0 && !outside.exists(), "what is not held is asked about: {asked:?}");
    let results = results(
        &stage,
        &commands(&lines),
        &["--settings", &settings, "--permission-mode", "bypassPermissions"],
    );
    assert!(!results[0].0 && outside.exists(), "{results:?}");
    assert!(results[1].0 && results[2].1.contains("refused network access to a.invalid:80"), "{results:?}");
}

/// Answers questions of a run as a host does, until it ends.
fn hosted(
    stage: &Stage,
    script: &str,
    allow: impl Fn(&Value) -> bool,
    settings: &Value,
) -> (Vec<Value>, Vec<Value>) {
    let mut child = stage
        .scripted(script)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(["--permission-prompt-tool", "stdio", "--sandbox", "--settings", &settings.to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let prompt = json!({"type": "user", "message": {"role": "user", "content": "hi"}});
    writeln!(stdin, "{prompt}").unwrap();
    let (mut frames, mut asked) = (Vec::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let frame: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if frame["request"]["subtype"] == "can_use_tool" {
            let request = frame["request"].clone();
            let response = if allow(&request) {
                json!({"behavior": "allow", "updatedInput": request["input"]})
            } else {
                json!({"behavior": "deny", "message": "no"})
            };
            let answer = json!({"type": "control_response", "response":
                {"subtype": "success", "request_id": frame["request_id"], "response": response}});
            writeln!(stdin, "{answer}").unwrap();
            asked.push(request);
        }
        let over = frame["type"] == "result";
        frames.push(frame);
        if over {
            break;
        }
    }
    drop(stdin);
    child.wait().unwrap();
    (frames, asked)
}

fn told(frames: &[Value]) -> Vec<String> {
    let blocks = frames
        .iter()
        .filter(|frame| frame["type"] == "user")
        .flat_map(|frame| frame["message"]["content"].as_array().cloned().unwrap_or_default());
    blocks.filter(|block| block["type"] == "tool_result").map(|block| text_of(&block["content"])).collect()
}

#[test]
fn to_leave_the_sandbox_is_asked_and_then_done() {
    let stage = seen();
    let outside = stage.path("outside");
    let command = format!("echo out > {}", outside.display());
    let leaving = json!({"command": command, "dangerouslyDisableSandbox": true});
    let script = script(&[json!({"command": command}), leaving.clone(), leaving.clone()]);
    let (frames, asked) = hosted(&stage, &script, |_| true, &json!({}));
    assert_eq!(frames[0]["troupe_sandbox"], json!({"wall": "bubblewrap"}), "{}", frames[0]);
    assert_eq!(asked.len(), 2, "what stays inside is not asked about: {asked:#?}");
    assert!(asked[0].to_string().contains("outside the sandbox"), "{asked:#?}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "out\n");

    std::fs::remove_file(&outside).unwrap();
    let (frames, asked) = hosted(&stage, &script, |_| false, &json!({}));
    assert_eq!((asked.len(), outside.exists()), (2, false), "{frames:#?}");

    // Where the settings do not let it, the word has no effect.
    let strict = json!({"sandbox": {"allowUnsandboxedCommands": false}});
    let (frames, asked) = hosted(&stage, &script, |_| true, &strict);
    assert_eq!((asked.len(), outside.exists()), (0, false));
    assert!(
        told(&frames)
            .iter()
            .all(|told| told.contains("The sandbox refused") && !told.contains("dangerously"))
    );
}

#[test]
fn a_host_in_no_list_is_asked_about_and_reached_when_allowed() {
    let stage = seen();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut client, _) = server.accept().unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest);
    });
    let command = format!("curl -sS --noproxy '' http://127.0.0.1:{port}/; curl -s http://no.invalid/");
    let script = commands(&[&command]);
    let (frames, asked) =
        hosted(&stage, &script, |request| request["input"]["host"] == "127.0.0.1", &json!({}));
    served.join().unwrap();
    assert_eq!(asked.len(), 2, "{asked:#?}");
    assert_eq!(asked[0]["tool_name"], "SandboxNetworkAccess");
    assert_eq!(asked[0]["input"], json!({"host": "127.0.0.1", "port": port}));
    let told = told(&frames);
    assert!(
        told[0].starts_with("hello") && told[0].contains("refused network access to no.invalid:80"),
        "{told:?}"
    );
}

#[test]
fn the_folder_lasts_and_temporary_files_are_the_sessions_own() {
    let stage = seen();
    std::fs::create_dir(stage.path("work/a b'c")).unwrap();
    let lines = ["cd \"a b'c\"", "pwd", "echo t > /tmp/t; echo t > $TMPDIR/u; ls /tmp", "cat /tmp/t"];
    let results = results(&stage, &commands(&lines), &[]);
    let folder = stage.path("work/a b'c").canonicalize().unwrap();
    assert_eq!(results[1], (false, folder.display().to_string()));
    // The program itself may lie there too, and is to be seen then.
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_troupe")).strip_prefix("/tmp");
    let program = program.ok().and_then(|path| path.iter().next()).map(|name| name.to_string_lossy());
    let mut names: Vec<&str> =
        results[2].1.lines().filter(|name| Some(*name) != program.as_deref()).collect();
    assert_eq!((names.remove(0), names.pop()), ("t", Some("u")), "{results:?}");
    assert_eq!(results[3], (false, "t".to_owned()));
    assert_eq!(std::fs::read_dir(stage.path("tmp")).unwrap().count(), 0, "it goes with the session");
}

#[test]
fn excluded_commands_run_outside_and_are_judged_as_usual() {
    let stage = seen();
    let outside = stage.path("x");
    let settings = json!({"sandbox": {"excludedCommands": ["touch *"]}});
    let lines =
        [format!("touch {}", outside.display()), format!("touch {}; echo $HOME > y", outside.display())];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let all = ["--settings", &settings.to_string(), "--allowed-tools", "Bash(touch *)"];
    let first = results(&stage, &commands(&lines[..1]), &all[..2]);
    assert!(first[0].0 && !outside.exists(), "nobody could be asked: {first:?}");
    let first = results(
        &stage,
        &commands(&lines[..1]),
        &[&all[..], &["--add-dir", stage.path("").to_str().unwrap()]].concat(),
    );
    assert!(!first[0].0 && outside.exists(), "{first:?}");
    std::fs::remove_file(&outside).unwrap();
    let second = results(&stage, &commands(&lines[1..]), &all);
    assert!(!outside.exists(), "one part that is not excluded keeps all of it in: {second:?}");
}

#[test]
fn what_runs_in_the_background_has_walls_too_and_says_what_was_refused() {
    let stage = seen();
    let pipe = stage.path("work/pipe");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, rustix::fs::Mode::RWXU, 0).unwrap();
    let script = format!(
        "agent main\nreply\ncall Bash {}\nreply\ncall Bash {}\nreply \"started\"\nreply \"told\"\n",
        json!({"command": "read x < pipe; echo x > /etc/troupe-test; curl -s http://no.invalid/", "run_in_background": true}),
        json!({"command": "echo go > pipe"}),
    );
    let results =
        results(&stage, &script, &["--settings", r#"{"sandbox": {"network": {"strictAllowlist": true}}}"#]);
    let output =
        results[0].1.split("Output goes to ").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
    let output = std::fs::read_to_string(output).unwrap();
    assert!(output.contains("Read-only file system"), "{output}");
    assert!(output.contains("The sandbox refused network access to no.invalid:80"), "{output}");
    assert!(!std::path::Path::new("/etc/troupe-test").exists());
}

// proves: F230, S9
#[test]
fn a_sandbox_that_must_be_there_and_is_not_refuses_every_command() {
    let stage = seen();
    let file = stage.path("work/file");
    let script = commands(&["touch file"]);
    // No folder for the session's own files: the sandbox can't be put up.
    let play = |arguments: &[&str]| {
        let mut run = stage.scripted(&script);
        run.env("TMPDIR", stage.path("not/there")).args([
            "-p",
            "hi",
            "--sandbox",
            "--permission-mode",
            "acceptEdits",
        ]);
        end(run.args(["--output-format", "stream-json", "--verbose"]).args(arguments))
    };
    let ended = play(&["--settings", r#"{"sandbox": {"failIfUnavailable": true}}"#]);
    assert!(ended.err.contains("every command is refused"), "{ended:?}");
    let told = read(&ended);
    assert!(told[0].0 && told[0].1.contains("sandbox.failIfUnavailable"), "{told:?}");
    assert!(!file.exists());

    // Without that word it runs, and both the person and the host are told.
    let ended = play(&[]);
    assert!(ended.err.contains("commands run without it"), "{ended:?}");
    let init: Value = serde_json::from_str(ended.out.lines().next().unwrap()).unwrap();
    assert_eq!(init["troupe_sandbox"]["wall"], Value::Null, "{init}");
    assert!(init["troupe_sandbox"]["reason"].as_str().unwrap().contains("temporary files"));
    assert!(file.exists(), "{ended:?}");
}

// proves: F230
#[test]
fn in_a_folder_that_can_not_be_written_there_are_walls_all_the_same() {
    let stage = seen();
    let work = stage.path("work");
    std::fs::set_permissions(&work, std::fs::Permissions::from_mode(0o555)).unwrap();
    let outside = stage.path("outside");
    let command = format!("pwd; echo x > {}", outside.display());
    let strict = r#"{"sandbox": {"failIfUnavailable": true}}"#;
    let results = results(&stage, &commands(&[&command]), &["--settings", strict]);
    assert!(results[0].0, "{results:?}");
    assert!(!outside.exists());
    std::fs::set_permissions(&work, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_person_sees_the_sandbox_and_can_run_a_command_in_it() {
    let stage = seen();
    repository(&stage);
    stage.write("work/.troupe/settings.json", r#"{"sandbox": {"enabled": true, "network": {"allowedDomains": ["a.example"]}, "filesystem": {"allowWrite": ["../more"]}}}"#);
    let shown = end(stage.troupe().env("TROUPE_TRUST_WORKSPACE", "1").arg("sandbox"));
    let text = shown.clean();
    for words in
        ["sandbox     on", "wall        bubblewrap", "work/.git/hooks", "/more", "allowed     a.example"]
    {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let ran =
        end(stage.troupe().args(["sandbox", "--", "bash", "-c", "echo in > in; echo out > ../out; exit 7"]));
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(stage.path("work/in").exists() && !stage.path("out").exists());
    let missing = end(stage.troupe().args(["sandbox", "--", "no-such-program"]));
    assert_eq!(missing.code, Some(127), "{missing:?}");
}

#[test]
fn an_init_with_arguments_that_make_no_sense_runs_nothing() {
    let stage = seen();
    for arguments in
        [&["sandbox-init"][..], &["sandbox-init", "touch", "x"], &["sandbox-init", "--", "touch", "x"]]
    {
        let ended = end(stage.troupe().args(arguments));
        assert_eq!(ended.code, Some(126), "{arguments:?}: {ended:?}");
        assert!(ended.err.starts_with("sandbox: "), "{ended:?}");
    }
    assert!(!stage.path("work/x").exists());
}

// proves: F157
#[test]
fn a_folder_s_name_can_do_nothing_where_the_sandbox_is_shown() {
    let stage = Stage::new();
    let sly = stage.path("sly\u{1b}[2K\nallowed     evil.example");
    std::fs::create_dir(&sly).unwrap();
    let shown = end(stage.troupe().arg("sandbox").current_dir(&sly));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.out.contains("sly\\u{1b}[2K\\u{a}allowed"), "{}", shown.out);
    assert!(!shown.out.contains('\u{1b}') && !shown.out.contains("\nallowed     evil"), "{}", shown.out);
}
