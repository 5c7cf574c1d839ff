//! What became of requests that are to be done once (`stream.md` §2, idempotency).
//!
//! An outcome is a row of the commit that did the work, so it is there if and only if the work is.
//! Who repeats a request looks for it first; judging makes that binding, since of two commits that
//! bring one the second is refused and finds it when it looks again. What is past its time is as
//! good as gone, and deleted a part at a time.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;
use tracing::warn;

use super::{
    Error, Storage, UnitOfWork,
    backend::Writer,
    draft::Draft,
    port::{OutcomeRow, Print, Remembered, Stored, TenantRow},
};
use crate::clock::Timestamp;
use crate::id::Tenant;

/// What an outcome takes beside its answer, roughly.
const OUTCOME_BYTES: usize = 200;

/// How many outcomes are deleted at once.
const SWEPT_AT_ONCE: i64 = 1_000;

/// How long is waited at least, and at most, before outcomes are deleted.
const SWEEP_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));

/// One transaction of a request that is to be done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// As the client chose it.
    pub key: Arc<str>,
    /// Which of its transactions, where it has several.
    pub part: u32,
    pub print: Print,
    /// Until when a repeat is given the same.
    pub expires: Timestamp,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub once: Once,
    pub answer: Arc<str>,
    /// Whether an earlier commit of the same request has stored one, which this replaces.
    pub again: bool,
}

impl Storage {
    /// The outcomes that are stored for a key, unless they are past their time.
    pub async fn outcomes(&self, tenant: &Tenant, key: &str) -> Result<Vec<Remembered>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(Vec::new());
        };
        let stored = self.0.database.outcomes(tenant, key, self.now()).await?;
        self.once_durable(stored).await
    }
}

impl UnitOfWork {
    /// Stores an outcome with everything else.
    pub fn remember(&mut self, outcome: Outcome) -> Result<(), Error> {
        self.grow(outcome.answer.len() + OUTCOME_BYTES)?;
        self.outcomes.push(outcome);
        Ok(())
    }

    /// The outcomes that this unit itself would store for a key.
    pub fn remembered(&self, key: &str) -> Vec<Remembered> {
        let own = self.outcomes.iter();
        own.filter(|outcome| *outcome.once.key == *key)
            .map(|outcome| Remembered {
                part: outcome.once.part,
                print: outcome.once.print,
                answer: Arc::clone(&outcome.answer),
            })
            .collect()
    }
}

/// A key, and whose it is.
type Name = (Tenant, Arc<str>);

/// What is stored for the keys of a batch, after the units that survived so far.
#[derive(Debug, Default)]
pub(super) struct Taken(HashMap<Name, Vec<(u32, Print)>>);

impl Taken {
    pub(super) fn know(&mut self, tenant: &Tenant, stored: &Stored) {
        let name = (tenant.clone(), stored.key.as_str().into());
        let known = self.0.entry(name).or_default();
        known.push((stored.part, stored.print));
    }

    /// Whether nothing of what a unit brings is stored already.
    pub(super) fn leaves_room_for(&self, draft: &Draft) -> bool {
        draft.outcomes.iter().all(|outcome| {
            let Once {
                key, part, print, ..
            } = &outcome.once;
            let stored = self.0.get(&(draft.tenant.clone(), Arc::clone(key)));
            let mut stored = stored.into_iter().flatten();
            outcome.again || stored.all(|(other, same)| other != part && same == print)
        })
    }

    /// Notes what a unit brings that has survived.
    pub(super) fn take(&mut self, draft: &Draft) {
        for Outcome { once, .. } in &draft.outcomes {
            let name = (draft.tenant.clone(), Arc::clone(&once.key));
            let stored = self.0.entry(name).or_default();
            stored.push((once.part, once.print));
        }
    }
}

impl Storage {
    /// What is stored for the keys of units; of none, without a trip.
    pub(super) async fn taken<'a>(
        &self,
        drafts: impl Iterator<Item = &'a Draft>,
    ) -> Result<Taken, Error> {
        let mut tenants = HashMap::new();
        let mut names = Vec::new();
        for draft in drafts.filter(|draft| !draft.outcomes.is_empty()) {
            // Of a tenant that has never written nothing is stored.
            if let Some(row) = self.tenant_row(&draft.tenant).await? {
                tenants.insert(row, draft.tenant.clone());
                let keys = draft.outcomes.iter().map(|outcome| &outcome.once.key);
                names.extend(keys.map(|key| (row, Arc::clone(key))));
            }
        }
        let mut taken = Taken::default();
        if !names.is_empty() {
            for stored in self.0.database.prints(&names, self.now()).await? {
                if let Some(tenant) = tenants.get(&stored.tenant) {
                    taken.know(tenant, &stored);
                }
            }
        }
        Ok(taken)
    }
}

/// The rows of the outcomes that a unit brings.
pub(super) fn rows(draft: &Draft, tenant: TenantRow) -> impl Iterator<Item = OutcomeRow> {
    draft
        .outcomes
        .iter()
        .map(move |outcome| row(outcome, tenant))
}

/// The row of one outcome.
pub(super) fn row(outcome: &Outcome, tenant: TenantRow) -> OutcomeRow {
    OutcomeRow {
        t: tenant.0,
        key: Arc::clone(&outcome.once.key),
        part: outcome.once.part.into(),
        hash: outcome.once.print.to_vec(),
        answer: Arc::clone(&outcome.answer),
        expires: outcome.once.expires.micros(),
    }
}

/// Deletes outcomes that are past their time, in the committer's spare moments.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    /// None while nothing is stored.
    due: Option<Instant>,
}

impl Sweeper {
    /// Returns when there may be something to delete.
    pub(super) async fn is_due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// Finds out when there will be.
    pub(super) async fn plan(&mut self, storage: &Storage) {
        match storage.0.database.next_expiry().await {
            Ok(None) => self.due = None,
            Ok(Some(at)) => self.wait(Timestamp::from_micros(at).since(storage.now())),
            Err(error) => {
                warn!(%error, "what has expired could not be looked for; trying again");
                self.wait(SWEEP_PAUSE.1);
            }
        }
    }

    /// Takes note of what has been stored.
    pub(super) fn note(&mut self, rows: &[OutcomeRow], now: Timestamp) {
        if let (None, Some(stored)) = (self.due, rows.first()) {
            self.wait(Timestamp::from_micros(stored.expires).since(now));
        }
    }

    fn wait(&mut self, pause: Duration) {
        self.due = Some(Instant::now() + pause.clamp(SWEEP_PAUSE.0, SWEEP_PAUSE.1));
    }

    pub(super) async fn sweep(&mut self, storage: &Storage, writer: Option<&mut Writer>) {
        let Some(writer) = writer else { return };
        if let Err(error) = writer.sweep(storage.now(), SWEPT_AT_ONCE).await {
            warn!(%error, "what has expired could not be deleted; trying again");
            return self.wait(SWEEP_PAUSE.1);
        }
        self.plan(storage).await;
    }
}
