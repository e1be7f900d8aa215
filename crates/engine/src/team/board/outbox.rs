//! What moves have to tell: recorded with each move, and again once it was sent, so that what a process that dies between
//! the two did not send, another one does (K3).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use troupe_core::board::Telling;
use troupe_core::ports::journal::{Record, Seq};
use troupe_core::team::Message;

use super::{Mover, TaskList};
use crate::team::TeamError;

/// One telling that nobody is known to have sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Untold {
    /// The position of its move.
    pub seq: Seq,
    /// Names what is sent, so that a second sending is the same message.
    pub id: String,
    /// Who moved.
    pub from: String,
    /// Who is told what.
    pub telling: Telling,
}

/// A telling as it stands in the record of its move.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Recorded {
    tell: Telling,
    from: String,
    /// What marks the session that can send it; any can without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// A record's line: what was told of the move at this position.
#[derive(Serialize, Deserialize)]
struct Told {
    told: Seq,
}

/// What is to be told still, by the position of its move.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox(BTreeMap<Seq, Vec<Recorded>>);

impl Outbox {
    /// Takes the lines of a record.
    pub(super) fn take(&mut self, seq: Seq, lines: &[Map<String, Value>]) {
        for line in lines {
            if line.contains_key("tell")
                && let Some(tell) = read::<Recorded>(line)
            {
                self.0.entry(seq).or_default().push(tell);
            } else if line.contains_key("told")
                && let Some(Told { told }) = read(line)
            {
                self.0.remove(&told);
            }
        }
    }
}

/// The line of a telling.
pub(super) fn tell(telling: &Telling, mover: &Mover<'_>) -> Option<Map<String, Value>> {
    let from = mover.who.name.clone();
    line(&Recorded { tell: telling.clone(), from, session: mover.mark.map(str::to_owned) })
}

impl Untold {
    /// What a move at this position has to tell.
    pub(super) fn of(list: (&str, i64), seq: Seq, told: Vec<Telling>, mover: &Mover<'_>) -> Vec<Self> {
        let untold = |(n, telling)| Self::new(list, seq, n, mover.who.name.clone(), telling);
        told.into_iter().enumerate().map(untold).collect()
    }

    /// The mail to a member.
    pub fn message(&self, timestamp: String) -> Message {
        let telling = &self.telling;
        // What an agent below a member owns, its member answers for.
        let to = telling.to.split('/').next().unwrap_or_default().to_owned();
        Message {
            id: self.id.clone(),
            from: self.from.clone(),
            to,
            text: telling.text.clone(),
            timestamp,
            color: None,
            summary: None,
            kind: telling.kind.clone(),
        }
    }

    fn new((list, born): (&str, i64), seq: Seq, n: usize, from: String, telling: Telling) -> Self {
        // A later list of this name counts from one again.
        Self { seq, id: format!("task-{list}-{born}-{seq}-{n}"), from, telling }
    }
}

impl TaskList {
    /// What nobody is known to have sent, and who stands on the list with this mark can. Another process may be about to.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub async fn untold(&self, mark: Option<&str>) -> Result<Vec<Untold>, TeamError> {
        let at = self.folded.now().await?;
        let list = (self.name.as_str(), at.state.born.unwrap_or_default());
        let all = at.state.outbox.0.iter().flat_map(|(seq, tells)| {
            let ours = tells.iter().enumerate().filter(|(_, tell)| tell.session.as_deref() == mark);
            ours.map(|(n, tell)| Untold::new(list, *seq, n, tell.from.clone(), tell.tell.clone()))
        });
        Ok(all.collect())
    }

    /// Records that what the move at a position had to tell was sent.
    ///
    /// # Errors
    /// When it can't be written; it is sent again then, and is the same message.
    pub async fn was_told(&self, seq: Seq) -> Result<(), TeamError> {
        self.folded.note(Record(line(&Told { told: seq }).into_iter().collect())).await
    }
}

fn line(value: &impl Serialize) -> Option<Map<String, Value>> {
    match serde_json::to_value(value) {
        Ok(Value::Object(line)) => Some(line),
        _ => None,
    }
}

fn read<T: for<'de> Deserialize<'de>>(line: &Map<String, Value>) -> Option<T> {
    T::deserialize(Value::Object(line.clone())).ok()
}
