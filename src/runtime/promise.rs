//! What is stored for a request that has an idempotency key (`stream.md` §2).

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::clock::Timestamp;
use crate::id::{EntityId, Tenant, TransactionId};
use crate::storage::{Attribution, Error, Once, PROVISIONAL, Storage, StoredOutcome, UnitOfWork};

/// Writes the answer for a request of which a part was committed.
type SoFar = dyn Fn(TransactionId, &[EntityId]) -> String + Send + Sync;

/// A request with an idempotency key.
pub struct Promise {
    once: Once,
    /// Makes the answer if the request ends after a partial commit, from its transaction and the
    /// entities it has written so far.
    so_far: Box<SoFar>,
    entities: Vec<EntityId>,
    /// Whether an outcome is already stored.
    stored: bool,
    /// Whether the request has more to do than what it is at: if it ends there, it was not done.
    has_more: bool,
}

impl Promise {
    pub fn new(
        once: Once,
        so_far: impl Fn(TransactionId, &[EntityId]) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            once,
            so_far: Box::new(so_far),
            entities: Vec::new(),
            stored: false,
            has_more: false,
        }
    }

    /// That of a request whose rest is done without it: what it would have answered stays, unless
    /// there was more to do.
    pub(super) fn resumed(once: Once, answer: String, has_more: bool) -> Self {
        Self {
            stored: true,
            has_more,
            ..Self::new(once, move |_, _| answer.clone())
        }
    }

    pub(super) const fn once(&self) -> &Once {
        &self.once
    }

    /// Notes an entity that the request is about to write.
    pub(super) fn is_about(&mut self, id: EntityId) {
        self.entities.push(id);
    }

    /// A provisional outcome is stored.
    pub(super) const fn is_stored(&mut self) {
        self.stored = true;
    }

    /// Notes whether the request has more to do than what it is at.
    pub(super) const fn has_more(&mut self, has_more: bool) {
        self.has_more = has_more;
    }

    pub(super) const fn is_partial(&self) -> bool {
        self.has_more
    }

    /// The outcome of the whole request. If it ends with more to do, its key is free again.
    pub(super) fn outcome(&self, answer: &str) -> StoredOutcome {
        if self.has_more {
            return freed(&self.once);
        }
        self.stored(answer)
    }

    fn stored(&self, answer: &str) -> StoredOutcome {
        StoredOutcome {
            once: self.once.clone(),
            answer: answer.into(),
            again: self.stored,
        }
    }

    /// What is stored with a part: that the rest is in flight.
    pub(super) fn provisional(&self, entry: TransactionId) -> StoredOutcome {
        let mut answer = String::from(PROVISIONAL);
        answer.push_str(&(self.so_far)(entry, &self.entities));
        self.stored(&answer)
    }
}

impl std::fmt::Debug for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Promise").field(&self.once).finish()
    }
}

/// Replaces a provisional outcome: the key is free again.
pub(super) fn free(unit: &mut UnitOfWork, once: &Once) -> Result<(), Error> {
    unit.remember(freed(once))
}

/// An outcome whose time is over.
fn freed(once: &Once) -> StoredOutcome {
    StoredOutcome {
        once: Once {
            expires: Timestamp::from_micros(0),
            ..once.clone()
        },
        answer: "".into(),
        again: true,
    }
}

/// The answer of a provisional outcome, if that is what is stored.
pub(super) async fn provisional(
    storage: &Storage,
    tenant: &Tenant,
    once: &Once,
) -> Result<Option<String>, Error> {
    let stored = storage.outcomes(tenant, &once.key).await?;
    let mut own = stored
        .iter()
        .filter(|stored| stored.part == once.part && stored.print == once.print);
    let answer = own.find_map(|stored| stored.answer.strip_prefix(PROVISIONAL));
    Ok(answer.map(str::to_owned))
}

/// Frees the key of a request whose rest cannot be done any more, where its outcome is still
/// provisional.
pub(super) async fn free_if_provisional(
    storage: &Storage,
    tenant: &Tenant,
    by: Attribution,
    once: &Once,
) {
    let freeing = async {
        if provisional(storage, tenant, once).await?.is_some() {
            let mut unit = storage.unit(tenant, by);
            free(&mut unit, once)?;
            unit.commit(&CancellationToken::new()).await?;
        }
        Ok::<_, Error>(())
    };
    if let Err(error) = freeing.await {
        warn!(%error, "an idempotency key could not be freed; repeats are refused until it expires");
    }
}
