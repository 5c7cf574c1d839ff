//! Entities and their versions, as the statements in `sqlite/sql` read them.
#![cfg(test)]

use std::collections::BTreeMap;

use super::{State, StoredEntity, row};
use crate::clock::Timestamp;
use crate::entity::{ChangeKind, Image, Json, Position, Sequence};
use crate::id::{EntityId, StateName, TransactionId};
use crate::storage::port::{EntityRow, ModelRow, TenantRow, Version};

impl State {
    pub(in crate::storage) fn sequence_at(&self, until: Timestamp) -> Sequence {
        let mut newest_first = self.commits.values().rev();
        let found = newest_first.find(|commit| commit.at <= until.micros());
        Sequence(found.map_or(0, |commit| commit.seq))
    }

    pub(super) fn entity(&self, tenant: TenantRow, id: EntityId) -> Option<&StoredEntity> {
        let entity = self.entities.get(self.rows.get(&id)?)?;
        (self.model(entity.made.m).tenant == tenant).then_some(entity)
    }

    pub(super) fn version(&self, n: i64) -> Version {
        let version = &self.versions[&n];
        let made = &self.entities[&version.e].made;
        let commit = &self.commits[&version.seq];
        let model = self.model(made.m);
        let document = version.data.clone().unwrap_or_else(|| "null".into());
        Version {
            row: EntityRow(version.e),
            tenant: model.tenant,
            position: Position(n),
            live: version.kind != ChangeKind::Delete,
            image: Image {
                id: EntityId::from_uuid(made.id),
                model: model.key.clone(),
                state: (&*version.state).into(),
                document: Json::trusted(document),
                created: Timestamp::from_micros(made.created),
                updated: Timestamp::from_micros(commit.at),
                transaction: TransactionId::from_uuid(commit.id),
                transition: version.transition.as_deref().map(Into::into),
                workflow: made.workflow.as_deref().map(Into::into),
            },
        }
    }

    pub(in crate::storage) fn current(&self, tenant: TenantRow, id: EntityId) -> Option<Version> {
        Some(self.version(self.entity(tenant, id)?.n))
    }

    pub(in crate::storage) fn as_of(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Sequence,
    ) -> Option<Version> {
        let mut newest_first = self.entity(tenant, id)?.versions.iter().rev();
        let n = newest_first.find(|n| **n <= at.0)?;
        Some(self.version(*n))
    }

    pub(in crate::storage) fn version_at(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Timestamp,
    ) -> Option<(Version, Option<Timestamp>)> {
        let version = self.as_of(tenant, id, self.sequence_at(at))?;
        let mut later = self.entity(tenant, id)?.versions.iter();
        let next = later.find(|n| **n > version.position.0);
        let until = next.map(|n| self.version(*n).image.updated);
        Some((version, until))
    }

    pub(in crate::storage) fn by_transaction(
        &self,
        tenant: TenantRow,
        id: EntityId,
        transaction: TransactionId,
        at: Sequence,
    ) -> Option<Version> {
        let seq = self.sequences.get(&transaction.uuid())?;
        let mut newest_first = self.entity(tenant, id)?.versions.iter().rev();
        let n = newest_first.find(|n| **n <= at.0 && self.versions[n].seq == *seq)?;
        Some(self.version(*n))
    }

    pub(in crate::storage) fn versions(
        &self,
        tenant: TenantRow,
        positions: &[Position],
    ) -> (Vec<Version>, usize) {
        let known = positions
            .iter()
            .filter(|position| self.versions.contains_key(&position.0));
        let versions = known
            .map(|position| self.version(position.0))
            .filter(|version| version.tenant == tenant);
        (versions.collect(), positions.len())
    }

    pub(in crate::storage) fn positions(&self, ids: &[EntityId]) -> Vec<(EntityId, Position)> {
        let position = |id: &EntityId| Some((*id, Position(self.entities[self.rows.get(id)?].n)));
        ids.iter().filter_map(position).collect()
    }

    pub(in crate::storage) fn newest_entity(&self) -> EntityRow {
        EntityRow(self.entities.last_key_value().map_or(0, |(e, _)| *e))
    }

    pub(in crate::storage) fn has_entities(&self, model: ModelRow) -> bool {
        self.live(model).next().is_some()
    }

    pub(in crate::storage) fn count(&self, model: ModelRow) -> i64 {
        row(self.live(model).count()) - 1
    }

    pub(in crate::storage) fn counts_by_state(&self, model: ModelRow) -> Vec<(StateName, i64)> {
        let mut counts = BTreeMap::new();
        for entity in self.live(model) {
            *counts.entry(StateName::from(&*entity.state)).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    pub(super) fn live(&self, model: ModelRow) -> impl Iterator<Item = &StoredEntity> {
        let all = self.rows.values().map(|e| &self.entities[e]);
        all.filter(move |entity| entity.live && entity.made.m == model.0)
    }
}
