//! A gatekeeper that does as it is told, and keeps what it was asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use troupe_core::BoxFuture;
use troupe_core::policy::{Answer, Question};
use troupe_core::ports::gatekeeper::{GateFault, Gated, Gatekeeper, Moment, Ruling};

type Before = dyn Fn(&Gated) -> Option<Result<Ruling, GateFault>> + Send + Sync;
type Objects = dyn Fn(&Moment) -> Option<String> + Send + Sync;
type Asked = dyn Fn(&Question) -> Option<Option<Answer>> + Send + Sync;

/// The gatekeeper. Where a function gives `None`, it never answers.
pub struct Doorkeeper {
    before: Box<Before>,
    asked: Box<Asked>,
    objects: Box<Objects>,
    is_gate: bool,
    seen: Mutex<Vec<Gated>>,
    questions: Mutex<Vec<Question>>,
    taken_back: Arc<Mutex<usize>>,
}

impl Doorkeeper {
    /// One that lets rules and mode decide, and leaves questions to others.
    pub fn new() -> Self {
        Self {
            before: Box::new(|_| Some(Ok(Ruling::default()))),
            asked: Box::new(|_| Some(None)),
            objects: Box::new(|_| None),
            is_gate: true,
            seen: Mutex::default(),
            questions: Mutex::default(),
            taken_back: Arc::default(),
        }
    }

    /// The same with this before each call.
    #[must_use]
    pub fn before(
        mut self,
        before: impl Fn(&Gated) -> Option<Result<Ruling, GateFault>> + Send + Sync + 'static,
    ) -> Self {
        self.before = Box::new(before);
        self
    }

    /// The same with this beside each question.
    #[must_use]
    pub fn asked(
        mut self,
        asked: impl Fn(&Question) -> Option<Option<Answer>> + Send + Sync + 'static,
    ) -> Self {
        self.asked = Box::new(asked);
        self
    }

    /// The same with this at the moments of a team.
    #[must_use]
    pub fn objects(mut self, objects: impl Fn(&Moment) -> Option<String> + Send + Sync + 'static) -> Self {
        self.objects = Box::new(objects);
        self
    }

    /// The same, whose failure stops no call.
    #[must_use]
    pub fn mild(mut self) -> Self {
        self.is_gate = false;
        self
    }

    /// The calls that it was asked about.
    pub fn seen(&self) -> Vec<Gated> {
        lock(&self.seen).clone()
    }

    /// The questions that it was asked.
    pub fn questions(&self) -> Vec<Question> {
        lock(&self.questions).clone()
    }

    /// How many requests were taken back that it never answered.
    pub fn taken_back(&self) -> usize {
        *lock(&self.taken_back)
    }

    fn or_never<T: Send>(&self, said: Option<T>) -> impl Future<Output = T> + Send + use<T> {
        let count = Arc::clone(&self.taken_back);
        async move {
            if let Some(said) = said {
                return said;
            }
            let _pending = Pending(count);
            std::future::pending().await
        }
    }
}

impl Default for Doorkeeper {
    fn default() -> Self {
        Self::new()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts what is dropped before its end.
struct Pending(Arc<Mutex<usize>>);

impl Drop for Pending {
    fn drop(&mut self) {
        *lock(&self.0) += 1;
    }
}

impl Gatekeeper for Doorkeeper {
    fn before<'a>(&'a self, call: &'a Gated) -> BoxFuture<'a, Result<Ruling, GateFault>> {
        lock(&self.seen).push(call.clone());
        let said = (self.before)(call);
        Box::pin(self.or_never(said))
    }

    fn asked<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Option<Answer>, GateFault>> {
        lock(&self.questions).push(question.clone());
        let said = (self.asked)(question);
        Box::pin(self.or_never(said.map(Ok)))
    }

    fn objects<'a>(&'a self, moment: &'a Moment) -> BoxFuture<'a, Result<Option<String>, GateFault>> {
        Box::pin(std::future::ready(Ok((self.objects)(moment))))
    }

    fn is_gate(&self) -> bool {
        self.is_gate
    }
}
