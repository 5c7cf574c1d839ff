//! What other processes have committed.

use std::sync::Arc;

use super::{Newest, NodeRow, Record, RecordKey, TenantRow, TopicKey};
use crate::clock::Timestamp;
use crate::entity::Sequence;
use crate::id::{EntityId, RunId, Tenant};

/// The newest commit, and what has changed since an earlier one.
#[derive(Debug)]
pub(in crate::storage) struct Pulse {
    pub(in crate::storage) newest: Newest,
    /// The entities that were changed or deleted since; none if there are too many.
    pub(in crate::storage) moved: Option<Vec<EntityId>>,
    /// The runs that were advanced since; none if there are too many.
    pub(in crate::storage) runs: Option<Vec<RunMoved>>,
    pub(in crate::storage) records: Vec<(Tenant, RecordKey)>,
    /// Those of them that say which work failed, as they are now.
    pub(in crate::storage) troubles: Vec<(Tenant, RecordKey, Option<Record>)>,
    pub(in crate::storage) topics: Vec<(Tenant, TopicKey)>,
    /// The types of the events that they have got, with their namespaces.
    pub(in crate::storage) published: Vec<(Tenant, Arc<str>, Arc<str>)>,
    /// How many bytes more tenants have stored, by commits.
    pub(in crate::storage) stored: Vec<(Sequence, Tenant, i64)>,
    /// Whether clients, keys or providers were changed.
    pub(in crate::storage) identities: bool,
    /// What the clock of the server said.
    pub(in crate::storage) now: Timestamp,
    /// The newest commit that is there of those this process knows of, if later ones are not: the
    /// server lacks what another one had acknowledged.
    pub(in crate::storage) lost: Option<Sequence>,
    /// Whether there are later commits.
    pub(in crate::storage) has_more: bool,
}

impl Pulse {
    /// A pulse that brings nothing new.
    pub(in crate::storage) fn without_news(newest: Newest, now: Timestamp) -> Self {
        Self {
            newest,
            moved: Some(Vec::new()),
            runs: Some(Vec::new()),
            records: Vec::new(),
            troubles: Vec::new(),
            topics: Vec::new(),
            published: Vec::new(),
            stored: Vec::new(),
            identities: false,
            now,
            lost: None,
            has_more: false,
        }
    }
}

/// A run that was advanced.
#[derive(Debug)]
pub(in crate::storage) struct RunMoved {
    pub(in crate::storage) run: RunId,
    pub(in crate::storage) tenant: Tenant,
    pub(in crate::storage) row: TenantRow,
    /// The entity that it waits for.
    pub(in crate::storage) awaits: Option<EntityId>,
    pub(in crate::storage) ended: bool,
    /// The process that drives it.
    pub(in crate::storage) owner: Option<NodeRow>,
}
