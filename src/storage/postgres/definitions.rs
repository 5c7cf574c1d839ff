//! Models and their workflows.

use std::sync::Arc;

use sqlx_postgres::PgPool;

use super::{Postgres, text::text};
use crate::id::ModelKey;
use crate::model::{Model, Schema};
use crate::storage::{
    port::{Definitions, Error, Listed, ModelRow, TenantRow},
    rows::{ListedWorkflow, ModelRowData},
};
use crate::workflow::{Entry, Workflow, WorkflowSet};

const DEFINITION_BODIES: &str = include_str!("sql/definition_bodies.sql");
const DEFINITION_BY_HASH: &str = include_str!("sql/definition_by_hash.sql");
const MODEL_DELTAS: &str = include_str!("sql/model_deltas.sql");
const MODEL_GET: &str = include_str!("sql/model_get.sql");
const MODEL_LIST: &str = include_str!("sql/model_list.sql");
const MODEL_ROW: &str = include_str!("sql/model_row.sql");
const WORKFLOW_SET_GET: &str = include_str!("sql/workflow_set_get.sql");

impl Postgres {
    /// The row of a model, also of one that was deleted.
    pub(in crate::storage) async fn model_row(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Result<Option<ModelRow>, Error> {
        let row: Option<i64> = sqlx::query_scalar(MODEL_ROW)
            .bind(tenant.0)
            .bind(text(&model.name))
            .bind(model.version)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(ModelRow))
    }

    /// The workflow that has that hash, in hexadecimal.
    pub(in crate::storage) async fn workflow(&self, hash: &str) -> Result<Option<Workflow>, Error> {
        let body: Option<String> = sqlx::query_scalar(DEFINITION_BY_HASH)
            .bind(hex::decode(hash).unwrap_or_default())
            .fetch_optional(&self.reads)
            .await?;
        Ok(body.and_then(|body| Workflow::load(&body).ok()))
    }

    pub(in crate::storage) async fn models(&self, tenant: TenantRow) -> Result<Vec<Listed>, Error> {
        let rows: Vec<ModelRowData> = sqlx::query_as(MODEL_LIST)
            .bind(tenant.0)
            .fetch_all(&self.reads)
            .await?;
        rows.into_iter()
            .map(|row| {
                Ok(Listed {
                    row: ModelRow(row.m),
                    key: row.key(),
                    lock: row.lock()?,
                    updated: row.updated(),
                })
            })
            .collect()
    }

    pub(in crate::storage) async fn definitions(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Result<Option<Definitions>, Error> {
        let row: Option<ModelRowData> = sqlx::query_as(MODEL_GET)
            .bind(tenant.0)
            .bind(text(&model.name))
            .bind(model.version)
            .fetch_optional(&self.reads)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let (workflow_revision, workflows) = workflows(&self.reads, row.m).await?;
        let (schema, deltas) = schema(&self.reads, row.m).await?;
        Ok(Some(Definitions {
            tenant,
            row: ModelRow(row.m),
            revision: row.rev,
            deltas,
            workflow_revision,
            model: Model {
                key: row.key(),
                lock: row.lock()?,
                change_level: row.change_level()?,
                schema: Arc::new(schema),
                updated: row.updated(),
                unique_keys: row.unique_keys()?,
            },
            workflows,
        }))
    }
}

/// The schema of a model, and how many deltas it is stored as.
async fn schema(reads: &PgPool, model: i64) -> Result<(Schema, usize), Error> {
    let deltas: Vec<String> = sqlx::query_scalar(MODEL_DELTAS)
        .bind(model)
        .fetch_all(reads)
        .await?;
    let inconsistent = |_| Error::Inconsistent {
        table: "model_delta",
        column: "delta",
        row: model,
    };
    let schema = deltas.iter().try_fold(Schema::default(), |schema, delta| {
        Ok::<_, Error>(schema.merge(Schema::decode(delta).map_err(inconsistent)?))
    })?;
    Ok((schema, deltas.len()))
}

async fn workflows(reads: &PgPool, model: i64) -> Result<(i64, WorkflowSet), Error> {
    let newest: Option<(i64, String)> = sqlx::query_as(WORKFLOW_SET_GET)
        .bind(model)
        .fetch_optional(reads)
        .await?;
    let Some((revision, list)) = newest else {
        return Ok((0, WorkflowSet::default()));
    };
    let listed: Vec<ListedWorkflow> =
        serde_json::from_str(&list).map_err(|_| Error::Inconsistent {
            table: "workflow_set",
            column: "list",
            row: model,
        })?;
    let keys: Vec<i64> = listed.iter().map(|ListedWorkflow(key, _)| *key).collect();
    let bodies: Vec<(i64, String)> = sqlx::query_as(DEFINITION_BODIES)
        .bind(keys)
        .fetch_all(reads)
        .await?;
    let entries = listed.into_iter().map(|ListedWorkflow(key, active)| {
        let body = bodies.iter().find(|(d, _)| *d == key);
        let workflow =
            body.and_then(|(_, body)| Workflow::load(body).ok())
                .ok_or(Error::Inconsistent {
                    table: "definition",
                    column: "body",
                    row: key,
                })?;
        Ok(Entry {
            workflow: Arc::new(workflow),
            active,
        })
    });
    Ok((
        revision,
        WorkflowSet {
            entries: entries.collect::<Result<_, Error>>()?,
        },
    ))
}
