//! Gates: places where a reply waits until somebody lets it on.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// The gates of a script, by name. One that was released stays open.
#[derive(Debug, Default)]
pub(super) struct Gates {
    open: watch::Sender<BTreeSet<String>>,
    reached: watch::Sender<BTreeSet<String>>,
}

impl Gates {
    pub(super) fn release(&self, name: &str) {
        self.open.send_modify(|open| {
            open.insert(name.to_owned());
        });
    }

    /// Waits before a gate. Who waits sets the limit, by dropping this.
    pub(super) async fn pass(&self, name: &str) {
        self.reached.send_modify(|reached| {
            reached.insert(name.to_owned());
        });
        has(&self.open, name).await;
    }

    /// Those that a reply has come to and that are shut, in the order of their names.
    pub(super) fn held(&self) -> Vec<String> {
        let open = self.open.borrow();
        self.reached.borrow().iter().filter(|name| !open.contains(*name)).cloned().collect()
    }

    pub(super) async fn reached(&self, name: &str) {
        has(&self.reached, name).await;
    }
}

async fn has(names: &watch::Sender<BTreeSet<String>>, name: &str) {
    // An error would say that the sender is gone, and it is borrowed here.
    let _ = names.subscribe().wait_for(|names| names.contains(name)).await;
}
