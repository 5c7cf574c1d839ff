//! Models and their workflows.

use sqlx_sqlite::SqlitePool;

use super::{Sqlite, read::json_list};
use crate::id::ModelKey;
use crate::storage::{
    port::{Definitions, Error, Listed, ModelRow, TenantRow},
    rows::definitions::{ListedWorkflow, ModelRowData, listed_workflows, workflow_set},
};
use crate::workflow::{Workflow, WorkflowSet};

const DEFINITION_BODIES: &str = include_str!("sql/definition_bodies.sql");
const DEFINITION_BY_HASH: &str = include_str!("sql/definition_by_hash.sql");
const MODEL_DELTAS: &str = include_str!("sql/model_deltas.sql");
const MODEL_GET: &str = include_str!("sql/model_get.sql");
const MODEL_LIST: &str = include_str!("sql/model_list.sql");
const MODEL_ROW: &str = include_str!("sql/model_row.sql");
const WORKFLOW_SET_GET: &str = include_str!("sql/workflow_set_get.sql");

impl Sqlite {
    /// The row of a model, also of one that was deleted.
    pub(in crate::storage) async fn model_row(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Result<Option<ModelRow>, Error> {
        let row: Option<i64> = sqlx::query_scalar(MODEL_ROW)
            .bind(tenant.0)
            .bind(&*model.name)
            .bind(model.version)
            .fetch_optional(&self.reads)
            .await?;
        Ok(row.map(ModelRow))
    }

    /// The workflow that has that hash, in hexadecimal.
    pub(in crate::storage) async fn workflow(&self, hash: &str) -> Result<Option<Workflow>, Error> {
        let body: Option<String> = sqlx::query_scalar(DEFINITION_BY_HASH)
            .bind(hash)
            .fetch_optional(&self.reads)
            .await?;
        Ok(body.and_then(|body| Workflow::load(&body).ok()))
    }

    pub(in crate::storage) async fn models(&self, tenant: TenantRow) -> Result<Vec<Listed>, Error> {
        let rows: Vec<ModelRowData> = sqlx::query_as(MODEL_LIST)
            .bind(tenant.0)
            .fetch_all(&self.reads)
            .await?;
        rows.iter().map(ModelRowData::listed).collect()
    }

    pub(in crate::storage) async fn definitions(
        &self,
        tenant: TenantRow,
        model: &ModelKey,
    ) -> Result<Option<Definitions>, Error> {
        let row: Option<ModelRowData> = sqlx::query_as(MODEL_GET)
            .bind(tenant.0)
            .bind(&*model.name)
            .bind(model.version)
            .fetch_optional(&self.reads)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let workflows = workflows(&self.reads, row.m).await?;
        let deltas: Vec<String> = sqlx::query_scalar(MODEL_DELTAS)
            .bind(row.m)
            .fetch_all(&self.reads)
            .await?;
        row.definitions(tenant, &deltas, workflows).map(Some)
    }
}

/// The workflows of a model, and their revision.
async fn workflows(reads: &SqlitePool, model: i64) -> Result<(i64, WorkflowSet), Error> {
    let newest: Option<(i64, String)> = sqlx::query_as(WORKFLOW_SET_GET)
        .bind(model)
        .fetch_optional(reads)
        .await?;
    let Some((revision, list)) = newest else {
        return Ok((0, WorkflowSet::default()));
    };
    let listed = listed_workflows(model, &list)?;
    let keys = json_list(listed.iter().map(|ListedWorkflow(key, _)| key));
    let bodies: Vec<(i64, String)> = sqlx::query_as(DEFINITION_BODIES)
        .bind(keys)
        .fetch_all(reads)
        .await?;
    Ok((revision, workflow_set(&listed, &bodies)?))
}
