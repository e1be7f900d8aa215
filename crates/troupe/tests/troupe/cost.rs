//! `troupe cost`.

use serde_json::Value;

use crate::stage::{Stage, end};

const SCRIPT: &str = "agent main\nreply\n  usage input=10 output=20 cache_write=50000\n  call Agent description=one prompt=\"part one\" run_in_background=false\n  call Agent description=two prompt=\"part two\" run_in_background=false\nreply \"done\"\n  usage input=10 output=5 cache_write=1000 cache_read=10000\nagent fork /part one/\nreply \"Scope: one.\"\n  usage input=5 output=7 cache_write=300 cache_read=50000\nagent fork /part two/\nreply \"Scope: two.\"\n  usage input=5 output=7 cache_write=300 cache_read=0\n";

// proves: E5, X5, X21, F199
#[test]
fn each_agent_is_shown_with_what_the_cache_did_for_it() {
    let stage = Stage::new();
    let mut command = stage.scripted(SCRIPT);
    command.env("TROUPE_FORK_SUBAGENT", "1").args(["-p", "go"]);
    let ended = end(&mut command);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "done\n"), "{ended:?}");
    assert!(
        ended.err.contains("40000 tokens of the prompt cache were lost"),
        "told when it happens: {ended:?}"
    );
    let json: Value = serde_json::from_str(end(stage.troupe().args(["cost", "--json"])).clean()).unwrap();
    let agents = json["agents"].as_array().unwrap();
    let of = |address: &str| agents.iter().find(|agent| agent["address"] == address).unwrap();
    assert_eq!(agents[0]["address"], "main");
    assert_eq!(of("main")["breaks"][0]["lost"], 40_000);
    assert_eq!(of("main")["breaks"][0]["request"], 2);
    let lost: Vec<u64> = ["main/fork-1", "main/fork-2"]
        .map(|fork| {
            assert_eq!(of(fork)["fork"], true);
            of(fork)["breaks"][0]["lost"].as_u64().unwrap_or(0)
        })
        .into();
    assert_eq!(lost.iter().sum::<u64>(), 50_000, "one fork read all that its parent left, one nothing");
    assert_eq!(json["total"]["requests"], 4);
    assert_eq!(json["total"]["begun_on_cache"], 50_000);
    assert_eq!(json["total"]["cache_read_input_tokens"], 60_000);
    assert_eq!(json["total"]["cost_usd"], Value::Null, "a script has no price");

    let shown = end(stage.troupe().arg("cost")).clean().to_owned();
    assert!(shown.contains("main/fork-2") && shown.contains("began on 50000 tokens"), "{shown}");
    assert!(shown.contains("main, request 2: 40000 tokens of the prompt cache were lost"), "{shown}");
}

// proves: X5
#[test]
fn a_session_that_is_not_there_is_named() {
    let stage = Stage::new();
    end(stage.troupe().args(["cost"])).says(1, &["no session in this folder"]);
    end(stage.troupe().args(["cost", "../x"])).says(1, &["there is no session ../x"]);
}
