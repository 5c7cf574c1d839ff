//! Models and their workflows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::columns::from_row;
use crate::clock::Timestamp;
use crate::id::ModelKey;
use crate::model::{ChangeLevel, Lock, Model, Schema, UniqueKeys};
use crate::storage::port::{Definitions, Error, Listed, ModelRow, TenantRow};
use crate::workflow::{Entry, Workflow, WorkflowSet};

/// A model without its schema.
#[derive(Debug)]
pub(in crate::storage) struct ModelRowData {
    pub(in crate::storage) m: i64,
    name: String,
    version: i32,
    state: String,
    unique_keys: Option<String>,
    change_level: Option<String>,
    updated: i64,
    rev: i64,
}

from_row! { ModelRowData { m, name, version, state, unique_keys, change_level, updated, rev } }

impl ModelRowData {
    fn key(&self) -> ModelKey {
        ModelKey::new(&self.name, self.version)
    }

    fn lock(&self) -> Result<Lock, Error> {
        [Lock::Unlocked, Lock::Locked]
            .into_iter()
            .find(|lock| lock.as_str() == self.state)
            .ok_or(Error::Inconsistent {
                table: "model",
                column: "state",
                row: self.m,
            })
    }

    fn unique_keys(&self) -> Result<UniqueKeys, Error> {
        let Some(text) = &self.unique_keys else {
            return Ok(UniqueKeys::default());
        };
        UniqueKeys::decode(text).ok_or(Error::Inconsistent {
            table: "model",
            column: "unique_keys",
            row: self.m,
        })
    }

    fn change_level(&self) -> Result<Option<ChangeLevel>, Error> {
        let Some(name) = &self.change_level else {
            return Ok(None);
        };
        let inconsistent = Error::Inconsistent {
            table: "model",
            column: "change_level",
            row: self.m,
        };
        ChangeLevel::from_name(name).ok_or(inconsistent).map(Some)
    }

    const fn updated(&self) -> Timestamp {
        Timestamp::from_micros(self.updated)
    }

    pub(in crate::storage) fn listed(&self) -> Result<Listed, Error> {
        Ok(Listed {
            row: ModelRow(self.m),
            key: self.key(),
            lock: self.lock()?,
            updated: self.updated(),
        })
    }

    /// The model with its schema, which is stored as these deltas, and its workflows of a revision.
    pub(in crate::storage) fn definitions(
        &self,
        tenant: TenantRow,
        deltas: &[String],
        (workflow_revision, workflows): (i64, WorkflowSet),
    ) -> Result<Definitions, Error> {
        Ok(Definitions {
            tenant,
            row: ModelRow(self.m),
            revision: self.rev,
            deltas: deltas.len(),
            workflow_revision,
            model: Model {
                key: self.key(),
                lock: self.lock()?,
                change_level: self.change_level()?,
                schema: Arc::new(schema(self.m, deltas)?),
                updated: self.updated(),
                unique_keys: self.unique_keys()?,
            },
            workflows,
        })
    }
}

fn schema(model: i64, deltas: &[String]) -> Result<Schema, Error> {
    let inconsistent = |_| Error::Inconsistent {
        table: "model_delta",
        column: "delta",
        row: model,
    };
    deltas.iter().try_fold(Schema::default(), |schema, delta| {
        Ok(schema.merge(Schema::decode(delta).map_err(inconsistent)?))
    })
}

/// An element of `workflow_set.list`.
#[derive(Serialize, Deserialize)]
pub(in crate::storage) struct ListedWorkflow(
    pub(in crate::storage) i64,
    pub(in crate::storage) bool,
);

/// The workflows of a model as their list names them.
pub(in crate::storage) fn listed_workflows(
    model: i64,
    list: &str,
) -> Result<Vec<ListedWorkflow>, Error> {
    serde_json::from_str(list).map_err(|_| Error::Inconsistent {
        table: "workflow_set",
        column: "list",
        row: model,
    })
}

/// The workflows of a list, from the definitions that it names.
pub(in crate::storage) fn workflow_set(
    listed: &[ListedWorkflow],
    bodies: &[(i64, String)],
) -> Result<WorkflowSet, Error> {
    let entry = |&ListedWorkflow(key, active): &ListedWorkflow| {
        let body = bodies.iter().find(|(definition, _)| *definition == key);
        let workflow = body.and_then(|(_, body)| Workflow::load(body).ok());
        let workflow = workflow.ok_or(Error::Inconsistent {
            table: "definition",
            column: "body",
            row: key,
        })?;
        Ok(Entry {
            workflow: Arc::new(workflow),
            active,
        })
    };
    let entries = listed.iter().map(entry).collect::<Result<_, Error>>()?;
    Ok(WorkflowSet { entries })
}
