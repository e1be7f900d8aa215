//! What the model is told of plan mode, and when: once for each time that it begins or ends.

use std::path::Path;
use std::sync::Arc;

use crate::block::Block;
use crate::entry::{Body, Entry, Origin};
use crate::policy::Mode;
use crate::transcript::Transcript;

use super::reminder;

const ON: &str = include_str!("plan_on.md");
const ALONE: &str = include_str!("plan_alone.md");
const OFF: &str = include_str!("plan_off.md");
/// What the texts for a beginning begin with.
const ON_MARK: &str = "<system-reminder>\nPlan mode is on.";
/// What the text for an end begins with.
const OFF_MARK: &str = "<system-reminder>\nPlan mode is over.";

/// What the model has to be told of plan mode before the next request, if it does not stand in what it sees.
/// `file` is where the plan goes; none where nobody can approve one.
pub fn plan_due(transcript: &Transcript, file: Option<&Path>) -> Option<String> {
    let told = last_told(transcript);
    if transcript.state().mode == Mode::Plan {
        let text = reminder(
            &file.map_or_else(|| ALONE.to_owned(), |file| ON.replace("{file}", &file.display().to_string())),
        );
        return (told != Some(text.as_str())).then_some(text);
    }
    told.filter(|told| told.starts_with(ON_MARK)).map(|_| reminder(OFF))
}

/// The last such text in the model's sight. Only the harness's own entries count.
fn last_told(transcript: &Transcript) -> Option<&str> {
    fn told(entry: &Arc<Entry>) -> &[Block] {
        match &entry.body {
            Body::User { from: Origin::System, blocks, .. } => blocks,
            _ => &[],
        }
    }
    let seen = transcript.entries()[transcript.view_start()..].iter();
    let texts = seen.flat_map(told).filter_map(Block::as_text);
    texts.rev().find(|text| text.starts_with(ON_MARK) || text.starts_with(OFF_MARK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Setting;
    use crate::ids::EntryId;
    use crate::state::AgentState;
    use crate::time::Time;

    fn push(transcript: &mut Transcript, body: Body) -> EntryId {
        let id = EntryId::new(format!("e{}", transcript.entries().len()));
        let parent = transcript.last_id().cloned();
        transcript.push(Arc::new(Entry { id: id.clone(), parent, at: Time(0), body }));
        id
    }

    fn user(text: &str, from: Origin) -> Body {
        Body::User { blocks: Arc::from([Block::text(text)]), from, cause: None, starts_turn: false }
    }

    fn mode(mode: Mode) -> Body {
        Body::Set(Setting::Mode(mode))
    }

    // proves: S1
    #[test]
    fn each_beginning_and_each_end_is_told_once_and_again_after_a_summary() {
        let mut transcript =
            Transcript::new(AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into()));
        let file = Path::new("/plans/p.md");
        let due = |transcript: &Transcript| plan_due(transcript, Some(file));
        assert_eq!(due(&transcript), None);
        push(&mut transcript, mode(Mode::Plan));
        let on = due(&transcript).unwrap_or_default();
        assert!(on.contains("/plans/p.md") && on.starts_with(ON_MARK), "{on}");
        push(&mut transcript, user(&on, Origin::Human));
        assert_eq!(due(&transcript).as_ref(), Some(&on), "a person's words are not the harness's");
        let told = push(&mut transcript, user(&on, Origin::System));
        assert_eq!(due(&transcript), None);
        push(&mut transcript, Body::Summary { upto: told, text: "s".into() });
        assert_eq!(due(&transcript).as_ref(), Some(&on), "it is out of sight");
        push(&mut transcript, user(&on, Origin::System));
        push(&mut transcript, mode(Mode::AcceptEdits));
        let off = due(&transcript).unwrap_or_default();
        assert!(off.starts_with(OFF_MARK), "{off}");
        push(&mut transcript, user(&off, Origin::System));
        assert_eq!(due(&transcript), None);
        push(&mut transcript, mode(Mode::Plan));
        assert_eq!(due(&transcript), Some(on), "the second time too");
        let alone = plan_due(&transcript, None).unwrap_or_default();
        assert!(alone.starts_with(ON_MARK) && !alone.contains("ExitPlanMode"), "{alone}");
    }
}
