//! What the results of calls say of tasks, read from a transcript: which ones their calls sent off, and which ends
//! their owner knows without a notice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use troupe_core::entry::{Body, Entry, Origin};
use troupe_core::ids::{CallId, InputId, JobId};
use troupe_core::job::notice;

/// What an owner was told of its tasks.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Tasks that go on without the call that started them.
    pub sent_off: HashMap<JobId, CallId>,
    /// Notices that it read, or need not read.
    pub notices: HashSet<InputId>,
}

impl Told {
    /// Reads entries as they stand on disk, structured results included.
    pub fn of(entries: &[Arc<Entry>]) -> Self {
        let mut told = Self::default();
        for entry in entries {
            told.add(&entry.body);
        }
        told
    }

    /// Takes in an entry that follows.
    pub(super) fn add(&mut self, body: &Body) {
        match body {
            Body::User { from: Origin::Job(_), cause: Some(cause), .. } => {
                self.notices.insert(cause.clone());
            }
            Body::Result { call, data: Some(data), .. } => self.result(call, data),
            _ => {}
        }
    }

    fn result(&mut self, call: &CallId, data: &Value) {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if text(data, "status").as_deref() == Some("async_launched")
            && let Some(agent) = text(data, "agentId")
        {
            self.sent_off.insert(JobId::new(agent), call.clone());
        }
        if let Some(shell) = text(data, "backgroundTaskId") {
            self.sent_off.insert(JobId::new(shell), call.clone());
        }
        self.notices.extend(end_in(data).map(|(job, run)| notice(&job, run)));
    }
}

/// The end of a run that a structured result tells its owner of: one that was looked up, or that the owner brought
/// about.
pub(crate) fn end_in(data: &Value) -> Option<(JobId, u32)> {
    let id = |value: &Value| value.get("task_id").and_then(Value::as_str).map(JobId::new);
    let run =
        |value: &Value| value.get("run").and_then(Value::as_u64).and_then(|run| u32::try_from(run).ok());
    if data.get("retrieval_status").and_then(Value::as_str) == Some("success") {
        let task = data.get("task")?;
        return Some((id(task)?, run(task).unwrap_or(1)));
    }
    data.get("task_type")?;
    Some((id(data)?, run(data)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(data: &Value) -> Told {
        let mut told = Told::default();
        told.result(&"c".into(), data);
        told
    }

    // proves: X1
    #[test]
    fn a_result_says_what_was_sent_off_and_what_is_known() {
        let agent = told(&json!({"status": "async_launched", "agentId": "a1"}));
        assert_eq!(agent.sent_off.get(&JobId::new("a1")), Some(&"c".into()));
        let shell = told(&json!({"stdout": "", "backgroundTaskId": "b1"}));
        assert!(shell.sent_off.contains_key(&JobId::new("b1")));
        let waited = told(&json!({"status": "completed", "agentId": "a1"}));
        assert!(waited.sent_off.is_empty() && waited.notices.is_empty());
        for (status, known) in [("success", 1), ("timeout", 0), ("not_ready", 0)] {
            let looked = told(&json!({"retrieval_status": status, "task": {"task_id": "a1", "run": 2}}));
            assert_eq!(looked.notices.len(), known, "{status}");
            assert!(looked.notices.iter().all(|id| id.as_str() == "job-a1-2"));
        }
        assert!(
            told(&json!({"task_id": "a1", "task_type": "local_agent", "run": 1}))
                .notices
                .contains(&"job-a1".into())
        );
        assert!(
            told(&json!({"task_id": "a1", "task_type": "local_agent"})).notices.is_empty(),
            "it had not ended"
        );
    }
}
