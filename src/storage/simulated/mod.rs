//! A simulated database: maps in memory that do what the statements of a database would, and keep
//! account of what no database would have taken. With it goes a writer that is as slow and as
//! unreliable as a test wants it.
#![cfg(test)]

mod absent;
mod beside;
mod disturbance;
mod entities;
mod models;
mod named;
mod pages;
mod records;
mod runs;
mod topics;
mod write;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures_util::{FutureExt as _, future};
use parking_lot::{Mutex, MutexGuard};
use uuid::Uuid;

use super::port::{
    Batch, CommitRow, Identity, IdentityKind, MessageRow, NewDecision, NewEntity, NewRun,
    NewVersion, OutcomeRow, RecordGone, RecordPut, RunEventRow, RunName, RunTimer, Syncing,
    TaskRow, TenantRow, TopicEventRow, TopicPut,
};
use crate::entity::Actor;
use crate::id::{EntityId, ModelKey, Tenant};
use crate::model::{ChangeLevel, Lock, Schema, UniqueKeys};
use crate::workflow::{Workflow, WorkflowSet};

pub(crate) use disturbance::{Disturbance, Moment};
pub(super) use disturbance::{Still, disturb, pass, still};

/// A database in memory that outlives those who open it.
#[derive(Debug, Default)]
pub(crate) struct Simulated(Mutex<State>);

#[derive(Debug, Default)]
pub(in crate::storage) struct State {
    tenants: Vec<Tenant>,
    actors: Vec<(TenantRow, Actor)>,
    models: Vec<StoredModel>,
    /// By their hashes.
    workflows: HashMap<String, Arc<Workflow>>,
    commits: BTreeMap<i64, CommitRow>,
    sequences: HashMap<Uuid, i64>,
    entities: BTreeMap<i64, StoredEntity>,
    rows: BTreeMap<EntityId, i64>,
    versions: BTreeMap<i64, NewVersion>,
    decisions: BTreeMap<i64, NewDecision>,
    tasks: BTreeMap<i64, TaskRow>,
    timers: BTreeMap<i64, RunTimer>,
    run_names: Vec<(TenantRow, RunName)>,
    runs: BTreeMap<i64, NewRun>,
    run_events: BTreeMap<i64, RunEventRow>,
    /// By tenant, kind, scope and key.
    run_keys: BTreeMap<(i64, i64, Arc<str>, Arc<str>), i64>,
    messages: HashMap<(Uuid, i64), MessageRow>,
    /// Who holds what value of what key of what model.
    claims: BTreeMap<(i64, i64, Vec<u8>), i64>,
    /// By tenant, key and part.
    outcomes: BTreeMap<(i64, Arc<str>, i64), OutcomeRow>,
    /// With their rows.
    records: BTreeMap<RecordGone, (i64, RecordPut)>,
    topics: BTreeMap<i64, TopicPut>,
    /// By topic and sequence.
    topic_events: BTreeMap<(i64, i64), TopicEventRow>,
    /// By kind and name.
    identities: BTreeMap<(IdentityKind, Arc<str>), Identity>,
    /// What a database would have refused.
    violations: Vec<String>,
}

#[derive(Debug)]
struct StoredModel {
    tenant: TenantRow,
    key: ModelKey,
    /// None of one that was deleted.
    lock: Option<Lock>,
    change_level: Option<ChangeLevel>,
    schema: Schema,
    unique_keys: UniqueKeys,
    updated: i64,
    revision: i64,
    workflow_revision: i64,
    workflows: WorkflowSet,
}

#[derive(Debug)]
struct StoredEntity {
    made: NewEntity,
    n: i64,
    state: Arc<str>,
    live: bool,
    versions: Vec<i64>,
    decisions: Vec<i64>,
}

impl Simulated {
    pub(in crate::storage) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Writes a batch, which is durable at once.
    pub(in crate::storage) fn write(&self, batch: &Batch) -> Syncing {
        self.state().write(batch);
        future::ready(Ok(())).boxed()
    }

    /// What was written that no database would have taken.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }
}

fn row(index: usize) -> i64 {
    i64::try_from(index).expect("few rows") + 1
}
