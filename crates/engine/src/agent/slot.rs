//! The slot that an agent holds while it samples or runs calls.

use std::sync::Arc;

use troupe_core::event::Phase;

use super::actor::{Actor, Halt};
use super::watch::Alarm;

impl Actor {
    /// Holds a slot while the agent samples or runs tools. One that waits on a job gives it back, so a full
    /// house can't dead-lock. `false` where the turn is to end before there was one.
    pub(super) async fn hold_slot(&mut self) -> Result<bool, Halt> {
        self.begin_run();
        // A person waits for the main agent: it does not queue behind those that it started.
        if self.slot.is_some() || self.me().is_main() {
            return Ok(true);
        }
        let slots = Arc::clone(&self.shared.slots);
        self.slot = Arc::clone(&slots).try_acquire_owned().ok();
        if self.slot.is_some() {
            self.row.begin();
            return Ok(true);
        }
        let mut watch = self.watch(Phase::Waiting);
        let free = slots.acquire_owned();
        tokio::pin!(free);
        loop {
            tokio::select! {
                biased;
                () = self.token.cancelled() => return Err(Halt::Cancelled),
                control = self.drain.control.recv() => {
                    let Some(control) = control else { return Err(Halt::Cancelled) };
                    if self.control_in_turn(control).await? {
                        return Ok(false);
                    }
                }
                slot = &mut free => {
                    self.slot = slot.ok();
                    self.row.begin();
                    return Ok(true);
                }
                alarm = watch.alarm() => match alarm {
                    Alarm::OutOfTime => return Ok(false),
                    Alarm::Stalled => {
                        let most = self.shared.config.ceilings.live_agents;
                        self.stalled(&mut watch, format!("one of the {most} agents at work to end or to wait"));
                    }
                },
            }
        }
    }
}
