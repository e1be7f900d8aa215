//! May a target be reached? By the lists, then by whoever can be asked; and what was refused.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::domains::{Domains, Listed};
use super::target::{Host, Target, Zone};

/// How many refusals are kept.
const REFUSALS_MOST: usize = 32;
/// How many hosts are asked about in the life of a proxy; further ones that are in no list are refused.
const ANSWERS_MOST: usize = 16;
/// How long an answer is awaited.
const ASK_LIMIT: Duration = Duration::from_mins(10);

/// Decides on a host that is in no list.
#[derive(Clone)]
pub struct Ask(Arc<Asking>);

type Asking = dyn Fn(Target) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync;

impl Ask {
    /// Asks by `ask`.
    pub fn new<F: Future<Output = bool> + Send + 'static>(
        ask: impl Fn(Target) -> F + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |target| Box::pin(ask(target))))
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ask")
    }
}

/// What was refused, and why, for people and models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was to be reached.
    pub target: Target,
    /// Why it was refused.
    pub why: &'static str,
}

/// The judge of one proxy.
#[derive(Debug)]
pub(super) struct Judge {
    domains: Domains,
    ask: Option<Ask>,
    /// Held while a question is open, so that there is one at a time.
    answers: tokio::sync::Mutex<BTreeMap<Target, bool>>,
    refusals: Mutex<Vec<Refusal>>,
}

impl Judge {
    pub(super) fn new(domains: Domains, ask: Option<Ask>) -> Self {
        let (answers, refusals) = Default::default();
        Self { domains, ask, answers, refusals }
    }

    /// How far the addresses of a target may lie; none if it may not be reached.
    pub(super) async fn zone(&self, target: &Target) -> Option<Zone> {
        let why = match self.domains.look_up(target) {
            Listed::Allowed(zone) => return Some(zone),
            Listed::Denied => "it is denied",
            Listed::No if self.asked(target).await => {
                // Whoever says yes to an address has seen it; a name is only the name of something public.
                return Some(match target.host {
                    Host::Address(_) => Zone::Special,
                    Host::Name(_) => Zone::Public,
                });
            }
            Listed::No => "it is not among the allowed domains",
        };
        self.refuse(target, why);
        None
    }

    /// Those of a target's addresses that may be connected to; none of them is a refusal.
    pub(super) fn passing(&self, target: &Target, zone: Zone, addresses: &[SocketAddr]) -> Vec<SocketAddr> {
        let near = |address: &SocketAddr| Zone::of(address.ip()) > zone;
        let denied = |address: &SocketAddr| self.domains.denies_address(target, address.ip());
        let passing: Vec<_> = addresses.iter().copied().filter(|a| !near(a) && !denied(a)).collect();
        if passing.is_empty() && addresses.iter().any(near) {
            self.refuse(target, "its address is on this machine or a local network");
        } else if passing.is_empty() && !addresses.is_empty() {
            self.refuse(target, "its address is denied");
        }
        passing
    }

    async fn asked(&self, target: &Target) -> bool {
        let Some(Ask(ask)) = &self.ask else { return false };
        let mut answers = self.answers.lock().await;
        if let Some(answer) = answers.get(target) {
            return *answer;
        }
        if answers.len() >= ANSWERS_MOST {
            return false;
        }
        let answer = timeout(ASK_LIMIT, ask(target.clone())).await.unwrap_or(false);
        answers.insert(target.clone(), answer);
        answer
    }

    fn refuse(&self, target: &Target, why: &'static str) {
        let refusal = Refusal { target: target.clone(), why };
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < REFUSALS_MOST && !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }

    pub(super) fn refusals(&self) -> Vec<Refusal> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn of_a_name_bent_to_this_machine_only_the_other_addresses_are_left() {
        let judge = Judge::new(Domains::default(), None);
        let target = Target::parse("bent.example:443", None).unwrap();
        let all = ["192.0.2.1:443", "127.0.0.1:443", "10.1.1.1:443", "[::ffff:169.254.169.254]:443"];
        let all = all.map(|address| address.parse().unwrap());
        for (zone, left) in [(Zone::Public, 1), (Zone::Private, 2), (Zone::Loopback, 3), (Zone::Special, 4)] {
            assert_eq!(judge.passing(&target, zone, &all).len(), left, "{zone:?}");
        }
        assert!(judge.refusals().is_empty(), "one that passes is no refusal");
        assert!(judge.passing(&target, Zone::Public, &all[1..]).is_empty());
        assert_eq!(judge.refusals().len(), 1);
    }
}
