//! The cases of mailboxes that need no script of their own: who can be written to.

use std::path::{Path, PathBuf};

use serde_json::Value;
use troupe_testkit::reading::{close, entries, entries_of, mails, results};
use troupe_testkit::world::turn;

use super::stage::{member, playing, quiet};

#[expect(clippy::disallowed_methods, reason = "the folder of the cases is chosen by a variable")]
fn cases() -> PathBuf {
    std::env::var_os("TROUPE_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases"), PathBuf::from)
}

/// Whom and what `A send TO TEXT` sends; a name in quotes may be empty.
fn sent(op: &str) -> Option<(String, String)> {
    let (to, text) = op.strip_prefix("A send ")?.split_once(' ')?;
    Some((to.trim_matches('\'').to_owned(), text.to_owned()))
}

// proves: M5, F047
#[tokio::test]
async fn a_name_that_is_none_gets_no_mailbox() {
    let text = std::fs::read_to_string(cases().join("coordination-cases.jsonl")).unwrap();
    let mut ran = 0;
    for line in text.lines().filter(|line| line.contains("\"id\": \"c047-")) {
        let case: Value = serde_json::from_str(line).unwrap();
        let (id, expect) = (case["id"].as_str().unwrap(), case["expect"].as_str().unwrap());
        let ops = case["ops"].as_array().unwrap().iter().map(|op| sent(op.as_str().unwrap()).unwrap());
        let calls: Vec<String> = ops
            .map(|(to, text)| {
                let input = serde_json::json!({"to": to, "message": text, "summary": "a greeting"});
                format!("  call SendMessage {input}\n")
            })
            .collect();
        let (world, _) = playing(&format!(
            "agent main\nreply\n  call TeamCreate team_name=blue\n\
             reply\n  call Agent description=\"build\" prompt=\"build\" name=engineer\n\
             reply\n{}reply \"sent\"\n\
             agent general-purpose\nreply \"idle\"\nreply \"idle\"\n",
            calls.concat()
        ));
        let session = world.start().await;
        turn(&session, 0, "go").await;
        quiet(&session).await;
        let told = results(&entries(&session).await).split_off(2);
        let got = mails(&entries_of(&session, &member("engineer")).await);
        let inboxes = std::fs::read_dir(world.config.place.root.join("teams/blue/inboxes")).unwrap();
        let known = |name: &str| name.starts_with("engineer.") || name.starts_with("team-lead.");
        let others: Vec<String> = inboxes
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| !known(name))
            .collect();
        assert!(others.is_empty(), "{id}: {others:?}");
        assert!(!world.config.place.root.join("teams/x").exists(), "{id}");
        let delivered = got.len() == told.len();
        if expect.starts_with("delivered to engineer or error") {
            assert!(delivered || got.is_empty(), "{id}: {told:?}");
        } else {
            assert!(got.is_empty(), "{id}: {got:?}");
            assert!(told.iter().all(|text| !text.contains("Sent to")), "{id}: {told:?}");
        }
        if expect.starts_with("error naming known members") {
            assert!(told[0].contains("engineer"), "{id}: {told:?}");
        }
        close(session).await;
        ran += 1;
    }
    assert!(ran > 0, "there are cases");
}
