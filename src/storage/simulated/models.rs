//! Tenants, actors and models.
#![cfg(test)]

use std::sync::Arc;

use super::{State, StoredModel, row};
use crate::clock::Timestamp;
use crate::entity::Actor;
use crate::id::{ModelKey, Tenant};
use crate::model::{Lock, Model, Schema, UniqueKeys};
use crate::storage::port::{
    ActorRow, Definitions, Edit, Effect, Listed, ModelCommit, ModelRow, TenantRow,
};
use crate::workflow::{Workflow, WorkflowSet};

impl State {
    pub(in crate::storage) fn tenant(&self, tenant: &Tenant) -> Option<TenantRow> {
        let index = self.tenants.iter().position(|known| known == tenant)?;
        Some(TenantRow(row(index)))
    }

    pub(super) fn model(&self, m: i64) -> &StoredModel {
        &self.models[usize::try_from(m - 1).expect("a row")]
    }

    pub(in crate::storage) fn model_row(
        &self,
        tenant: TenantRow,
        key: &ModelKey,
    ) -> Option<ModelRow> {
        let of_it = |model: &StoredModel| model.tenant == tenant && model.key == *key;
        self.models
            .iter()
            .position(of_it)
            .map(|index| ModelRow(row(index)))
    }

    pub(in crate::storage) fn models(&self, tenant: TenantRow) -> Vec<Listed> {
        let of_tenant = self
            .models
            .iter()
            .zip(1..)
            .filter(|(model, _)| model.tenant == tenant);
        let mut listed: Vec<_> = of_tenant
            .filter_map(|(model, m)| {
                Some(Listed {
                    row: ModelRow(m),
                    key: model.key.clone(),
                    lock: model.lock?,
                    updated: Timestamp::from_micros(model.updated),
                })
            })
            .collect();
        listed.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        listed
    }

    pub(in crate::storage) fn definitions(
        &self,
        tenant: TenantRow,
        key: &ModelKey,
    ) -> Option<Definitions> {
        let same = |model: &StoredModel| model.tenant == tenant && model.key == *key;
        let index = self.models.iter().position(same)?;
        let model = &self.models[index];
        Some(Definitions {
            tenant,
            row: ModelRow(row(index)),
            revision: model.revision,
            deltas: 1,
            workflow_revision: model.workflow_revision,
            model: Model {
                key: key.clone(),
                lock: model.lock?,
                change_level: model.change_level,
                schema: Arc::new(model.schema.clone()),
                updated: Timestamp::from_micros(model.updated),
                unique_keys: model.unique_keys.clone(),
            },
            workflows: model.workflows.clone(),
        })
    }

    pub(in crate::storage) fn workflow(&self, hash: &str) -> Option<Workflow> {
        self.workflows
            .get(hash)
            .map(|workflow| Workflow::clone(workflow))
    }

    /// The row of a tenant, which is made if there is none.
    pub(in crate::storage) fn add_tenant(&mut self, tenant: &Tenant) -> TenantRow {
        self.tenant(tenant).unwrap_or_else(|| {
            self.tenants.push(tenant.clone());
            TenantRow(row(self.tenants.len() - 1))
        })
    }

    pub(in crate::storage) fn actor(&mut self, tenant: TenantRow, actor: &Actor) -> ActorRow {
        let known = |(of, known): &(TenantRow, Actor)| *of == tenant && known == actor;
        let index = self.actors.iter().position(known).unwrap_or_else(|| {
            self.actors.push((tenant, actor.clone()));
            self.actors.len() - 1
        });
        ActorRow(row(index))
    }

    pub(in crate::storage) fn change_model(&mut self, commit: &ModelCommit<'_>) {
        let (seq, at) = (commit.commit.seq, commit.commit.at);
        match &commit.effect {
            Effect::Make(schema) => self.make_model(commit, schema),
            Effect::Edit(row, change) => self.edit_model(*row, change, at, seq),
        }
        self.remember(&commit.outcomes);
        self.sequences.insert(commit.commit.id, seq);
        self.commits.insert(seq, commit.commit.clone());
    }

    fn make_model(&mut self, commit: &ModelCommit<'_>, schema: &Schema) {
        let (seq, at) = (commit.commit.seq, commit.commit.at);
        let same = |model: &StoredModel| model.tenant == commit.tenant && model.key == *commit.key;
        let index = self.models.iter().position(same).unwrap_or_else(|| {
            self.models.push(StoredModel {
                tenant: commit.tenant,
                key: commit.key.clone(),
                lock: None,
                change_level: None,
                schema: Schema::default(),
                unique_keys: UniqueKeys::default(),
                updated: at,
                revision: seq,
                workflow_revision: 0,
                workflows: WorkflowSet::default(),
            });
            self.models.len() - 1
        });
        let model = &mut self.models[index];
        model.lock = Some(Lock::Unlocked);
        model.change_level = None;
        model.schema = schema.clone();
        model.unique_keys = UniqueKeys::default();
        (model.updated, model.revision) = (at, seq);
    }

    fn edit_model(&mut self, row: ModelRow, change: &Edit<'_>, at: i64, seq: i64) {
        let model = &mut self.models[usize::try_from(row.0 - 1).expect("a row")];
        match change {
            Edit::Extend(schema) => {
                model.schema = std::mem::take(&mut model.schema).merge((*schema).clone());
                (model.updated, model.revision) = (at, seq);
            }
            Edit::Fold(schema) => {
                model.schema = schema.clone();
                (model.updated, model.revision) = (at, seq);
            }
            Edit::SetChangeLevel(level) => model.change_level = Some(*level),
            Edit::Touch => (model.updated, model.revision) = (at, seq),
            Edit::SetLock(lock) => (model.lock, model.revision) = (Some(*lock), seq),
            Edit::SetUniqueKeys(keys) => {
                (model.unique_keys, model.revision) = (keys.clone(), seq);
            }
            Edit::Delete => {
                (model.lock, model.revision) = (None, seq);
                model.schema = Schema::default();
                (model.workflow_revision, model.workflows) = (0, WorkflowSet::default());
            }
            Edit::SetWorkflows(workflows) => {
                model.workflow_revision = seq;
                model.workflows = (*workflows).clone();
                for entry in &workflows.entries {
                    let hash = entry.workflow.definition.hash.to_string();
                    self.workflows.insert(hash, Arc::clone(&entry.workflow));
                }
            }
        }
    }
}
