//! What a unit leaves for repeats of the requests that it is the work of.

use std::{collections::HashMap, sync::Arc};

use super::Draft;
use crate::clock::Timestamp;
use crate::id::Tenant;
use crate::storage::port::{OutcomeRow, Print, Stored, TenantRow};

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
pub struct StoredOutcome {
    pub once: Once,
    pub answer: Arc<str>,
    /// Whether an earlier commit of the same request has stored one, which this replaces.
    pub again: bool,
}

/// A key, and whose it is.
type Name = (Tenant, Arc<str>);

/// What is stored for the keys of a batch, after the units that survived so far.
#[derive(Debug, Default)]
pub(in crate::storage) struct Taken(HashMap<Name, Vec<(u32, Print)>>);

impl Taken {
    pub(in crate::storage) fn know(&mut self, tenant: &Tenant, stored: &Stored) {
        let name = (tenant.clone(), stored.key.as_str().into());
        let known = self.0.entry(name).or_default();
        known.push((stored.part, stored.print));
    }

    /// Whether nothing of what a unit brings is stored already.
    pub(in crate::storage) fn leaves_room_for(&self, draft: &Draft) -> bool {
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
    pub(in crate::storage) fn take(&mut self, draft: &Draft) {
        for StoredOutcome { once, .. } in &draft.outcomes {
            let name = (draft.tenant.clone(), Arc::clone(&once.key));
            let stored = self.0.entry(name).or_default();
            stored.push((once.part, once.print));
        }
    }
}

/// The rows of the outcomes that a unit brings.
pub(in crate::storage) fn outcome_rows(
    draft: &Draft,
    tenant: TenantRow,
) -> impl Iterator<Item = OutcomeRow> {
    draft
        .outcomes
        .iter()
        .map(move |outcome| outcome_row(outcome, tenant))
}

/// The row of one outcome.
pub(in crate::storage) fn outcome_row(outcome: &StoredOutcome, tenant: TenantRow) -> OutcomeRow {
    OutcomeRow {
        t: tenant.0,
        key: Arc::clone(&outcome.once.key),
        part: outcome.once.part.into(),
        hash: outcome.once.print.to_vec(),
        answer: Arc::clone(&outcome.answer),
        expires: outcome.once.expires.micros(),
    }
}
